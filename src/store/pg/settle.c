/* Settling: waits until every transaction whose time was read before now has ended. A transaction
 * locks its writer's marker row first, reads the server's clock, and holds the lock until it ends.
 * So: read the clock, list the markers of all members, lock each of them once. Whoever read an
 * earlier time had its marker locked before, and has ended when we get the lock. Steps are ordinary
 * requests of this store; on the thread of the caller's home. */
#include "base/mem.h"
#include "store/pg/pg_internal.h"

struct settling {
    struct store_settle *settle;
    struct pg *pg;
    struct store_range range;
    struct arena range_arena;
    struct str *markers;
    size_t count;
    size_t capacity;
};

static void finish(struct settling *settling, enum store_status status)
{
    struct store_settle *settle = settling->settle;
    arena_finish(&settling->range_arena);
    mem_free(settling->markers);
    mem_free(settling);
    settle->status = status;
    settle->done(settle);
}

static bool write_nothing(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    (void)update;
    (void)rows;
    (void)batch;
    return false;
}

static void locked(struct store_update *update)
{
    struct store_settle *settle = CONTAINER_OF(update, struct store_settle, update);
    finish(settle->internal, update->status == STORE_NO_WRITE ? STORE_OK : update->status);
}

static bool keep_marker(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct settling *settling = CONTAINER_OF(range, struct settling, range);
    if (settling->count == settling->capacity) {
        settling->capacity = MAX(2 * settling->capacity, (size_t)32);
        settling->markers =
            mem_realloc(settling->markers, settling->capacity * sizeof(*settling->markers));
    }
    settling->markers[settling->count++] = arena_copy(settling->settle->arena, key);
    return true;
}

static void listed(struct store_range *range)
{
    struct settling *settling = CONTAINER_OF(range, struct settling, range);
    if (range->status != STORE_OK) {
        finish(settling, range->status);
        return;
    }
    struct store_settle *settle = settling->settle;
    settle->update = (struct store_update){
        .keys = settling->markers,
        .key_count = settling->count,
        .arena = settle->arena,
        .home = settle->home,
        .eval = write_nothing,
        .done = locked,
    };
    pg_update(&settling->pg->store, &settle->update, true);
}

static void list_markers(struct store_update *update)
{
    struct store_settle *settle = CONTAINER_OF(update, struct store_settle, update);
    struct settling *settling = settle->internal;
    if (update->status != STORE_NO_WRITE) {
        finish(settling, update->status);
        return;
    }
    settle->time_ns = update->time_ns;
    uint8_t key[OWN_KEY_MAX];
    size_t len = pg_own_key(key, OWN_MARKER, STR(""));
    struct str lo = arena_copy(settle->arena, str_make(key, len));
    key[len - 1]++;
    settling->range = (struct store_range){
        .lo = lo,
        .hi = arena_copy(settle->arena, str_make(key, len)),
        .arena = &settling->range_arena,
        .home = settle->home,
        .row = keep_marker,
        .done = listed,
        .before_serving = true,
    };
    pg_range(&settling->pg->store, &settling->range);
}

void pg_settle(struct store *store, struct store_settle *settle)
{
    struct settling *settling = mem_zalloc(sizeof(*settling));
    settling->settle = settle;
    settling->pg = pg_of(store);
    arena_init(&settling->range_arena);
    settle->internal = settling;
    settle->update = (struct store_update){
        .arena = settle->arena,
        .home = settle->home,
        .eval = write_nothing,
        .done = list_markers,
        .wants_time = true,
    };
    pg_update(store, &settle->update, true);
}
