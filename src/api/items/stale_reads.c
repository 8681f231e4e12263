/* Makes eventually consistent reads return an older state, if that is simulated
 * (meter/simulation.h). Called by the operations that read and write items, on the thread of the
 * call. Reads of the console are never stale (their call->meter is NULL), but its writes are
 * remembered as those of programs are, so that programs may see the state before them. */
#include "api/api_internal.h"

void api_write_items(struct api_call *call, struct items_write *const *writes, size_t count)
{
    struct meter_thread *meter = call->thread->meter;
    if (UNLIKELY(simulation_is_on(meter))) {
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < writes[i]->write_count; k++) {
                struct item_write *write = &writes[i]->writes[k];
                write->want_old |= simulation_wants_writes(meter, write->table);
            }
        }
    }
    engine_write_items(writes, count);
}

void api_remember_writes(struct api_call *call, const struct items_write *write)
{
    struct meter_thread *meter = call->thread->meter;
    if (LIKELY(!simulation_is_on(meter)) || write->failed || write->replayed ||
        write->call.err.code != ERR_NONE) {
        return;
    }
    for (size_t i = 0; i < write->write_count; i++) {
        const struct item_write *one = &write->writes[i];
        if (one->kind != WRITE_CHECK) {
            simulation_remember(meter, one->table,
                                &(struct past_write){.row = one->key.row,
                                                     .old_item = one->old_item,
                                                     .new_item = one->new_item});
        }
    }
}

void api_see_past_item(struct api_call *call, const struct table *table, struct str row_key,
                       struct row *row)
{
    struct value old;
    if (UNLIKELY(simulation_is_on(call->meter)) &&
        simulation_is_stale(call->meter, table, row_key, call->arena, &old)) {
        row->item = old;
        row->size = value_is_absent(old) ? 0 : item_size(old);
    }
}

void api_read_items(struct api_call *call, struct items_read *read)
{
    if (UNLIKELY(simulation_is_on(call->meter)) && !read->consistent && !read->fetch) {
        read->past = simulation_past(call->meter, read, call->arena);
    }
    engine_read_items(read);
}
