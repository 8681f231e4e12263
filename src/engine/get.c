/* Reads items by key. On the thread of the call. */
#include "engine/engine_internal.h"

static void get_done(struct store_get *get)
{
    struct items_get *call = CONTAINER_OF(get, struct items_get, get);
    engine_set_get_error(&call->call.err, get);
    if (call->call.err.code == ERR_NONE) {
        for (size_t i = 0; i < call->key_count; i++) {
            call->rows[i] = row_decode(get->rows[i]);
        }
    }
    call->call.done(&call->call);
}

void engine_get_items(struct items_get *call)
{
    struct arena *arena = call->call.arena;
    struct str *keys = arena_alloc(arena, call->key_count * sizeof(*keys));
    for (size_t i = 0; i < call->key_count; i++) {
        keys[i] = call->keys[i].row;
    }
    call->rows = ARENA_ARRAY(arena, struct row, call->key_count);
    call->get = (struct store_get){
        .keys = keys,
        .key_count = call->key_count,
        .snapshot = call->snapshot,
        .bytes_max = call->call.bytes_max,
        .arena = arena,
        .home = call->call.home,
        .done = get_done,
    };
    store_get(call->call.engine->store, &call->get);
}
