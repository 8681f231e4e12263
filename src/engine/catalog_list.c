/* Lists rows of one part of the catalog. Called by backup.c, export.c and load.c; runs on the
 * thread of the call. */
#include "engine/catalog_list.h"

#include "engine/engine_internal.h"

static bool take_row(struct store_range *range, struct str key, struct str value)
{
    struct catalog_list *list = CONTAINER_OF(range, struct catalog_list, range);
    struct arena *arena = list->call->arena;
    struct arena_mark mark = arena_mark(arena);
    struct str row_name = arena_copy(arena, str_skip(key, STORE_PREFIX_LEN));
    bool is_wanted = false;
    if (!list->read(list, *list->out_count, row_name, value, &is_wanted)) {
        return false;
    }
    if (!is_wanted) {
        arena_rewind(arena, mark);
        return true;
    }
    if (*list->out_count == list->limit) {
        *list->out_more = true;
        return false;
    }
    (*list->out_count)++;
    return true;
}

static void list_done(struct store_range *range)
{
    struct catalog_list *list = CONTAINER_OF(range, struct catalog_list, range);
    arena_finish(&list->scratch);
    engine_set_store_error(&list->call->err, range->status);
    list->call->done(list->call);
}

void catalog_list_start(struct catalog_list *list)
{
    *list->out_count = 0;
    *list->out_more = false;
    arena_init(&list->scratch);
    list->range = (struct store_range){
        .lo = list->lo,
        .hi = list->hi,
        .backward = list->backward,
        .arena = &list->scratch,
        .home = list->call->home,
        .row = take_row,
        .done = list_done,
    };
    store_range(list->call->engine->store, &list->range);
}
