/* DescribeTable: returns the description in memory and the counters in the store. On the thread of
 * the call. */
#include "engine/engine_internal.h"
#include "err/messages.h"

static size_t counted_spaces(const struct table *table)
{
    return 1 + table->index_count + (table->deleting_index != NULL);
}

/* The space of the table, those of its indexes, and that of the index that is being deleted. */
static uint32_t space_at(const struct table *table, size_t i)
{
    if (i == 0) {
        return table->space;
    }
    return i <= table->index_count ? table->indexes[i - 1].space : table->deleting_index->space;
}

static void describe_done(struct store_get *get)
{
    struct table_describe *describe = CONTAINER_OF(get, struct table_describe, get);
    engine_set_store_error(&describe->call.err, get->status);
    if (describe->call.err.code == ERR_NONE) {
        struct table_sizes *sizes = &describe->sizes;
        struct store_count size = store_count_value(get->rows[0]);
        sizes->item_count = size.count;
        sizes->bytes = size.bytes;
        for (size_t i = 1; i < counted_spaces(describe->table); i++) {
            size = store_count_value(get->rows[i]);
            sizes->index_item_counts[i - 1] = size.count;
            sizes->index_bytes[i - 1] = size.bytes;
        }
    }
    describe->call.done(&describe->call);
}

void engine_describe_table(struct table_describe *describe)
{
    struct engine_call *call = &describe->call;
    describe->table = table_acquire(call->engine, describe->name);
    if (describe->table == NULL) {
        err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND,
                STR_ARG(describe->name));
        call->done(call);
        return;
    }
    size_t count = counted_spaces(describe->table);
    struct str *keys = ARENA_ARRAY(call->arena, struct str, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t space = space_at(describe->table, i);
        keys[i] = space_fact_key(call->arena, space, SPACE_SIZE);
    }
    describe->get = (struct store_get){
        .keys = keys,
        .key_count = count,
        .snapshot = true,
        .are_counters = true,
        .arena = call->arena,
        .home = call->home,
        .done = describe_done,
    };
    store_get(call->engine->store, &describe->get);
}
