/* Idempotency tokens: see token.h. In evals, on threads of the store; token_sweep() runs on the
 * housekeeper. */
#include "engine/token.h"

#include "base/bytes.h"
#include "engine/engine_internal.h"
#include "model/builder.h"

enum { TOKEN_VERSION = 1, TOKEN_HEAD_LEN = 1 + 8 + 4 };

struct str token_key(const struct engine *engine, struct str token, struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 64);
    builder_add_string(&builder, token);
    struct value value = builder_finish(&builder);
    struct key_writer writer;
    key_start(&writer, arena, SPACE_TOKENS);
    key_add_hash(&writer, engine->seed, &value, 1);
    return key_finish(&writer);
}

static int64_t expiry_of(struct str row)
{
    assert(row.len >= TOKEN_HEAD_LEN && row.data[0] == TOKEN_VERSION);
    return (int64_t)get_u64_le(row.data + 1);
}

enum token_state token_check(struct str row, struct str digest, int64_t now_ms,
                             struct str *out_note)
{
    if (str_is_null(row) || expiry_of(row) <= now_ms) {
        return TOKEN_FRESH;
    }
    uint32_t digest_len = get_u32_le(row.data + 9);
    if (!str_eq(str_make(row.data + TOKEN_HEAD_LEN, digest_len), digest)) {
        return TOKEN_MISMATCH;
    }
    *out_note = str_skip(row, TOKEN_HEAD_LEN + digest_len);
    return TOKEN_REPLAY;
}

/* The row by which an expired token is found; `hash` is what follows the space in the token's key.
 */
static struct str expiry_key(struct arena *arena, int64_t expires_ms, struct str hash)
{
    struct key_writer writer;
    key_start(&writer, arena, SPACE_TOKEN_EXPIRY);
    char bytes[STORE_PART_LEN + 8] = {0};
    put_u64_be(bytes + STORE_PART_LEN, (uint64_t)expires_ms);
    key_add_bytes(&writer, str_make(bytes, sizeof(bytes)));
    key_add_bytes(&writer, hash);
    return key_finish(&writer);
}

void token_remember(struct store_update *update, struct store_batch *batch, size_t key_index,
                    struct str digest, struct str note, int64_t now_ms)
{
    int64_t expires_ms = now_ms + TOKEN_LIFETIME_MS;
    size_t len = TOKEN_HEAD_LEN + digest.len + note.len;
    char *row = arena_bytes(update->arena, len);
    row[0] = TOKEN_VERSION;
    put_u64_le(row + 1, (uint64_t)expires_ms);
    put_u32_le(row + 9, (uint32_t)digest.len);
    memcpy(row + TOKEN_HEAD_LEN, digest.data, digest.len);
    if (note.len > 0) {
        memcpy(row + TOKEN_HEAD_LEN + digest.len, note.data, note.len);
    }
    store_batch_put(batch, key_index, str_make(row, len));
    store_batch_put_owned(
        batch,
        expiry_key(update->arena, expires_ms, str_skip(update->keys[key_index], KEY_SPACE_LEN)),
        STR(""));
}

/* --- sweeping --- */

enum { SWEEP_MAX = 256 };

struct sweep {
    struct background *background;
    struct arena arena;
    int64_t now_ms;
    struct background_range range;
    struct background_update update;
    struct str keys[SWEEP_MAX];        /* of the tokens */
    struct str expiry_keys[SWEEP_MAX]; /* of the rows that led to them */
    size_t count;
};

static bool sweep_row(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct sweep *sweep = CONTAINER_OF(range, struct sweep, range.range);
    struct key_writer writer;
    key_start(&writer, &sweep->arena, SPACE_TOKENS);
    key_add_bytes(&writer, str_skip(key, STORE_PREFIX_LEN + 8));
    struct str token = key_finish(&writer);
    for (size_t i = 0; i < sweep->count; i++) {
        if (str_eq(sweep->keys[i], token)) { /* it has two expiry rows: the next round erases one */
            return true;
        }
    }
    sweep->keys[sweep->count] = token;
    sweep->expiry_keys[sweep->count++] = arena_copy(&sweep->arena, key);
    return sweep->count < SWEEP_MAX;
}

/* A token that was used again after it had expired is kept; only its old expiry row is erased. */
static bool sweep_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct sweep *sweep = CONTAINER_OF(update, struct sweep, update.update);
    for (size_t i = 0; i < sweep->count; i++) {
        store_batch_erase_owned(batch, sweep->expiry_keys[i]);
        if (!str_is_null(rows[i]) && expiry_of(rows[i]) <= sweep->now_ms) {
            store_batch_erase(batch, i);
        }
    }
    return true;
}

/* One round; false when there is nothing more to do. */
static bool sweep_some(struct sweep *sweep)
{
    struct arena *arena = &sweep->arena;
    sweep->count = 0;
    sweep->range.range = (struct store_range){
        .lo = expiry_key(arena, 0, STR("")),
        .hi = expiry_key(arena, sweep->now_ms + 1, STR("")),
        .arena = arena,
        .row = sweep_row,
    };
    if (background_range(sweep->background, &sweep->range) != STORE_OK || sweep->count == 0) {
        return false;
    }
    sweep->update.update = (struct store_update){
        .keys = sweep->keys,
        .key_count = sweep->count,
        .arena = arena,
        .eval = sweep_eval,
        .frees = STORE_FREES_ROWS,
    };
    return background_update(sweep->background, &sweep->update) == STORE_OK;
}

void token_sweep(struct background *background, int64_t now_ms)
{
    struct sweep sweep = {.background = background, .now_ms = now_ms};
    arena_init(&sweep.arena);
    while (!background_is_stopping(background) && sweep_some(&sweep)) {
        arena_reset(&sweep.arena);
    }
    arena_finish(&sweep.arena);
}
