/* Drops the spaces of deleted tables and indexes, then erases their facts and their "drop" rows.
 * Any thread. */
#include "base/bytes.h"
#include "base/mem.h"
#include "engine/engine_internal.h"

struct str catalog_drop_key(struct arena *arena, uint32_t space)
{
    char sort[4];
    put_u32_be(sort, space);
    return catalog_key(arena, "drop", str_make(sort, sizeof(sort)));
}

/* Erases the rows about dropped spaces, after the spaces were dropped. */
struct drop {
    struct engine *engine;
    struct store_update update;
    struct arena arena;
    uint32_t *spaces;
};

static bool drop_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    (void)rows;
    struct drop *drop = CONTAINER_OF(update, struct drop, update);
    for (size_t i = 0; i < update->key_count; i++) {
        store_batch_erase(batch, i);
        store_batch_erase_counter(batch, space_fact_key(&drop->arena, drop->spaces[i], SPACE_SIZE));
        store_batch_erase_owned(batch, space_fact_key(&drop->arena, drop->spaces[i], SPACE_CURSOR));
    }
    return true;
}

static void drop_done(struct store_update *update)
{
    struct drop *drop = CONTAINER_OF(update, struct drop, update);
    struct engine *engine = drop->engine;
    arena_finish(&drop->arena);
    mem_free(drop);
    background_end(&engine->housekeeper);
}

void catalog_drop_spaces(struct engine *engine, const uint32_t *spaces, size_t count)
{
    struct drop *drop = mem_zalloc(sizeof(*drop));
    drop->engine = engine;
    arena_init(&drop->arena);
    drop->spaces = ARENA_ARRAY(&drop->arena, uint32_t, count);
    struct str *keys = ARENA_ARRAY(&drop->arena, struct str, count);
    for (size_t i = 0; i < count; i++) {
        assert(spaces[i] >= SPACE_FIRST_FREE); /* the others are never dropped */
        store_drop_space(engine->store, spaces[i]);
        drop->spaces[i] = spaces[i];
        keys[i] = catalog_drop_key(&drop->arena, spaces[i]);
    }
    drop->update = (struct store_update){
        .keys = keys,
        .key_count = count,
        .arena = &drop->arena,
        .home = background_begin(&engine->housekeeper),
        .eval = drop_eval,
        .frees = STORE_FREES_SPACES,
        .done = drop_done,
    };
    store_update(engine->store, &drop->update);
}
