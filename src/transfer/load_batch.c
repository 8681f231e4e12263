/* Batches of records: checks items and writes them, several to an update of the store. Called by
 * load_read.c and load_run.c. */
#include "base/clock.h"
#include "base/mem.h"
#include "transfer/load_run_internal.h"

enum { REDO_MAX = 20 };

/* --- a batch --- */

void load_batch_finish(struct load_batch *batch)
{
    table_release(batch->table);
    arena_finish(&batch->arena);
    buf_finish(&batch->object_key);
    buf_finish(&batch->end.key);
    buf_finish(&batch->end.etag);
    for (size_t i = 0; i < REPORT_KINDS; i++) {
        buf_finish(&batch->reports[i]);
    }
}

static void reset(struct load_batch *batch)
{
    table_release(batch->table);
    batch->table = NULL;
    arena_reset(&batch->arena);
    batch->writes = NULL;
    batch->count = 0;
    batch->bytes = 0;
    batch->text_bytes = 0;
    batch->units = 0;
    batch->group_count = 0;
    batch->object_key.len = 0;
    batch->object_key_copy = STR_NULL;
    batch->records = 0;
    batch->errors = 0;
    batch->is_started = false;
    for (size_t i = 0; i < REPORT_KINDS; i++) {
        batch->reports[i].len = 0;
    }
}

/* The newest description of the load's table; NULL: it has been deleted. */
static const struct table *acquire_table(const struct load_run *run)
{
    const struct table *table = table_acquire(run->engine, run->load.table_name);
    run->background->calls_seen++; /* background_give_way() must not count this as a call */
    if (table != NULL && !str_eq(str_make(table->id, sizeof(table->id)), run->load.table_id)) {
        table_release(table); /* another one of that name */
        return NULL;
    }
    return table;
}

struct load_batch *load_batch_filling(struct load_run *run)
{
    struct load_batch *batch = &run->batches[run->filling];
    if (batch->writes == NULL) {
        batch->table = acquire_table(run);
        batch->writes = ARENA_ARRAY(&batch->arena, struct item_write, BATCH_ITEMS);
        batch->pointers = ARENA_ARRAY(&batch->arena, struct load_pointer, BATCH_ITEMS);
        batch->groups = ARENA_ARRAY(&batch->arena, struct items_write *, BATCH_ITEMS);
        batch->begin_us = clock_monotonic_us();
    }
    return batch;
}

/* --- adding a record --- */

/* Where the record that the reader has returned last stands. The name of the object is copied once
 * per object and batch. */
static struct load_pointer pointer_of(struct load_run *run, struct load_batch *batch)
{
    struct str key = buf_str(&run->at.key);
    if (str_is_null(batch->object_key_copy) || !str_eq(batch->object_key_copy, key)) {
        batch->object_key_copy = arena_copy(&batch->arena, key);
    }
    return (struct load_pointer){.key = batch->object_key_copy, .index = run->at.index};
}

static bool is_in_group(const struct items_write *group, struct str row)
{
    for (size_t i = 0; i < group->write_count; i++) {
        if (str_eq(group->writes[i].key.row, row)) {
            return true;
        }
    }
    return false;
}

/* An update is carried out as a whole or not at all, and must not write an item twice: writes that
 * can fail have an update of their own. */
static bool fits_group(const struct items_write *group, const struct item_write *write)
{
    bool can_fail = write->condition != NULL || write->table->local_count > 0;
    return !can_fail && group->write_count < GROUP_ITEMS && group->writes[0].condition == NULL &&
           !is_in_group(group, write->key.row);
}

static void add_to_group(struct load_batch *batch, struct item_write *write)
{
    struct items_write *last =
        batch->group_count == 0 ? NULL : batch->groups[batch->group_count - 1];
    if (last == NULL || !fits_group(last, write)) {
        last = ARENA_NEW(&batch->arena, struct items_write);
        last->writes = write;
        batch->groups[batch->group_count++] = last;
    }
    last->write_count++; /* its writes stand next to each other */
}

static bool check_item(struct load_run *run, const struct table *table, struct value item,
                       struct arena *arena, struct item_write *write, struct err *err)
{
    write->item_size = item_size(item);
    return item_key_from_item(run->engine, table, item, arena, &write->key, err) &&
           item_check_index_keys(table, item, err) &&
           item_check_size(table, item, write->item_size, err);
}

bool load_batch_add(struct load_run *run, const struct record *record, struct err *err)
{
    struct load_batch *batch = load_batch_filling(run);
    const struct table *table = batch->table;
    assert(batch->count < BATCH_ITEMS && !batch->is_started);
    if (table == NULL) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, "the table does not exist");
    }
    struct item_write *write = &batch->writes[batch->count];
    *write = (struct item_write){
        .kind = WRITE_PUT,
        .table = table,
        .item = record->item,
        .want_old_on_failure = true,
        .err = ERR_INIT(&batch->arena),
    };
    if (!check_item(run, table, record->item, &batch->arena, write, err) ||
        (run->load.kind == LOAD_BULK_PUT &&
         !load_condition(run, record, &batch->arena, &write->condition, err))) {
        return false;
    }
    batch->pointers[batch->count++] = pointer_of(run, batch);
    batch->bytes += write->item_size;
    batch->units += capacity_write_units(write->item_size);
    add_to_group(batch, write);
    return true;
}

/* --- writing --- */

static void group_done(struct engine_call *call)
{
    struct load_batch *batch = call->owner;
    batch->done = --batch->waiting == 0;
}

static void start(struct load_run *run, struct load_batch *batch, struct items_write **groups,
                  size_t count)
{
    batch->waiting = count;
    batch->done = count == 0;
    for (size_t i = 0; i < count; i++) {
        groups[i]->call = (struct engine_call){
            .engine = run->engine,
            .arena = &batch->arena,
            .home = waiting_mailbox_box(run->background->mailbox),
            .err = ERR_INIT(&batch->arena),
            .done = group_done,
            .owner = batch,
        };
        groups[i]->failed = false;
    }
    if (count > 0) {
        engine_write_items(groups, count);
    }
}

bool load_is_replay(const struct load_run *run, const struct item_write *write)
{
    return run->load.items < run->replay_items && value_eq(write->old_item, write->item);
}

/* Counts a write that has been carried out. */
static void count_written(struct load_run *run, struct load_batch *batch, struct item_write *write,
                          double *units)
{
    struct load *load = &run->load;
    load->written++;
    *units += capacity_total(&write->capacity);
    if (load->kind != LOAD_BULK_PUT) {
        return;
    }
    load->table_bytes += (int64_t)write->item_size;
    struct arena_mark mark = arena_mark(&batch->arena);
    for (size_t i = 0; i < load->index_count; i++) {
        const struct index *index = table_index(write->table, load->index_names[i]);
        if (index != NULL) {
            run->index_bytes[i] += (int64_t)load_index_bytes(
                run->engine, write->table, index, &write->key, write->item, &batch->arena);
        }
    }
    arena_rewind(&batch->arena, mark);
}

/* Handles the failure of a write that is alone in its group. */
static void take_failed(struct load_run *run, struct load_batch *batch, struct item_write *write,
                        double *units)
{
    const struct load_pointer *pointer = &batch->pointers[write - batch->writes];
    if (write->err.code != ERR_CONDITIONAL_CHECK_FAILED) {
        load_report_error(run, batch, pointer, write->err.message);
    } else if (load_is_replay(run, write)) {
        count_written(run, batch, write, units);
    } else {
        run->load.conditions_failed++;
        load_report_condition(run, batch, pointer, write);
    }
}

/* Whether a group can be written by a newer description of the table, or item by item. */
static bool can_be_redone(const struct items_write *group)
{
    return group->call.err.code == ERR_TABLE_CHANGED ||
           group->call.err.code == ERR_TRANSACTION_CONFLICT ||
           (group->call.err.code == ERR_NONE && group->failed && group->write_count > 1);
}

/* Handles the result of a group. LOAD_RUN_LATER: the store failed. */
static enum load_result take_group(struct load_run *run, struct load_batch *batch,
                                   struct items_write *group, double *units)
{
    if (group->call.err.code == ERR_RESOURCE_NOT_FOUND) {
        return load_fail_without_table(run);
    }
    if (group->call.err.code != ERR_NONE) {
        return LOAD_RUN_LATER;
    }
    if (group->failed) {
        take_failed(run, batch, &group->writes[0], units);
        return LOAD_RUN_ON;
    }
    for (size_t i = 0; i < group->write_count; i++) {
        count_written(run, batch, &group->writes[i], units);
    }
    return LOAD_RUN_ON;
}

/* Writes one item of a group again, with the newest description of the table. */
static enum load_result redo_write(struct load_run *run, struct load_batch *batch,
                                   struct item_write *write, double *units)
{
    for (int i = 0; i < REDO_MAX && !background_is_stopping(run->background); i++) {
        const struct table *table = acquire_table(run);
        if (table == NULL) {
            return load_fail_without_table(run);
        }
        struct items_write *group = ARENA_NEW(&batch->arena, struct items_write);
        group->writes = write;
        group->write_count = 1;
        write->table = table;
        write->err = ERR_INIT(&batch->arena);
        write->capacity = (struct capacity){0};
        if (!item_check_index_keys(table, write->item, &write->err)) { /* of an index that is new */
            take_failed(run, batch, write, units);
            write->table = batch->table;
            table_release(table);
            return LOAD_RUN_ON;
        }
        start(run, batch, &group, 1);
        waiting_mailbox_run(run->background->mailbox, &batch->done);
        bool again = can_be_redone(group);
        enum load_result result = again ? LOAD_RUN_ON : take_group(run, batch, group, units);
        write->table = batch->table;
        table_release(table);
        if (!again) {
            return result;
        }
    }
    return LOAD_RUN_LATER;
}

static enum load_result redo_group(struct load_run *run, struct load_batch *batch,
                                   struct items_write *group, double *units)
{
    enum load_result result = LOAD_RUN_ON;
    for (size_t i = 0; result == LOAD_RUN_ON && i < group->write_count; i++) {
        result = redo_write(run, batch, &group->writes[i], units);
    }
    return result;
}

/* --- progress --- */

static void set_text(struct buf *to, struct str text)
{
    to->len = 0;
    buf_add(to, text);
}

/* Everything of the batch has been written or reported: the load is at its end. */
static void advance(struct load_run *run, struct load_batch *batch)
{
    struct load *load = &run->load;
    const struct load_place *end = &batch->end;
    load->items += batch->records;
    load->errors += batch->errors;
    load->bytes = end->total_bytes;
    set_text(&run->key, buf_str(&end->key));
    set_text(&run->etag, buf_str(&end->etag));
    load->cursor.key = buf_str(&run->key);
    load->cursor.etag = buf_str(&run->etag);
    load->cursor.offset = end->offset;
    load->cursor.index = end->index;
    load->cursor.bytes = end->bytes;
    load->cursor.is_done = end->is_done;
    for (size_t i = 0; i < REPORT_KINDS; i++) {
        buf_add(&run->reports[i], buf_str(&batch->reports[i]));
    }
}

static enum load_result save(struct load_run *run)
{
    if (!engine_leads_transfers(run->engine)) {
        return LOAD_RUN_LATER; /* another server may be further already */
    }
    enum load_result result = load_report_flush(run);
    if (result != LOAD_RUN_ON) {
        return result;
    }
    arena_reset(&run->scratch);
    run->saved_us = clock_monotonic_us();
    run->saved_items = run->load.items;
    switch (load_save(run->background, &run->scratch, run->row_name, &run->load)) {
    case LOAD_SAVED:
        return LOAD_RUN_ON;
    case LOAD_CANCEL_WANTED:
        return LOAD_RUN_CANCEL;
    case LOAD_GONE:
        return LOAD_RUN_ENDED;
    case LOAD_NOT_SAVED:
        break;
    }
    return LOAD_RUN_LATER;
}

/* Stores progress if it is time. */
static enum load_result save_sometimes(struct load_run *run)
{
    size_t report_bytes = run->reports[REPORT_ERROR].len + run->reports[REPORT_CONDITION].len;
    bool is_due = clock_monotonic_us() >= run->saved_us + SAVE_US ||
                  run->load.items >= run->saved_items + SAVE_ITEMS || report_bytes >= REPORT_BYTES;
    return is_due ? save(run) : LOAD_RUN_ON;
}

/* Sleeps to keep the rate; stores progress meanwhile. */
static enum load_result keep_rate(struct load_run *run, double units)
{
    enum load_result result = LOAD_RUN_ON;
    if (run->load.units_max == 0) {
        return result;
    }
    int64_t now_us = clock_monotonic_us();
    run->paused_until_us =
        MAX(run->paused_until_us, now_us) + (int64_t)(units * 1e6 / (double)run->load.units_max);
    while (result == LOAD_RUN_ON && !background_is_stopping(run->background) &&
           (now_us = clock_monotonic_us()) < run->paused_until_us) {
        int64_t left_ms = (run->paused_until_us - now_us) / 1000;
        waiting_mailbox_run_for(run->background->mailbox, MIN(MAX(left_ms, 1), 100));
        result = save_sometimes(run);
    }
    return result;
}

/* Waits for a batch and advances to its end. */
static enum load_result complete(struct load_run *run, struct load_batch *batch)
{
    double units = 0;
    enum load_result result = LOAD_RUN_ON;
    waiting_mailbox_run(run->background->mailbox, &batch->done);
    for (size_t i = 0; result == LOAD_RUN_ON && i < batch->group_count; i++) {
        struct items_write *group = batch->groups[i];
        result = can_be_redone(group) ? redo_group(run, batch, group, &units)
                                      : take_group(run, batch, group, &units);
    }
    if (result == LOAD_RUN_ON) {
        advance(run, batch);
    }
    reset(batch);
    if (result == LOAD_RUN_ON) {
        result = save_sometimes(run);
    }
    return result == LOAD_RUN_ON ? keep_rate(run, units) : result;
}

static void copy_place(struct load_place *to, const struct load_place *from)
{
    struct buf key = to->key;
    struct buf etag = to->etag;
    set_text(&key, buf_str(&from->key));
    set_text(&etag, buf_str(&from->etag));
    *to = *from;
    to->key = key;
    to->etag = etag;
}

/* Completes the oldest batches until at most `count` are being written. */
static enum load_result complete_to(struct load_run *run, size_t count)
{
    enum load_result result = LOAD_RUN_ON;
    while (result == LOAD_RUN_ON && run->writing > count) {
        size_t oldest = (run->filling + BATCHES - run->writing) % BATCHES;
        run->writing--;
        result = complete(run, &run->batches[oldest]);
    }
    return result;
}

enum load_result load_batch_flush(struct load_run *run)
{
    int64_t start_us = clock_monotonic_us();
    struct load_batch *batch = load_batch_filling(run);
    copy_place(&batch->end, &run->at);
    batch->is_started = true;
    start(run, batch, batch->groups, batch->group_count);
    run->filling = (run->filling + 1) % BATCHES;
    run->writing++;
    /* With a rate nothing is written ahead. */
    enum load_result result = complete_to(run, run->load.units_max > 0 ? 0 : BATCHES - 1);
    if (result != LOAD_RUN_ON) {
        return result;
    }
    background_give_way(run->background, clock_monotonic_us() - start_us);
    bool must_stop = !background_may_go_on(run->background);
    return must_stop ? LOAD_RUN_LATER : LOAD_RUN_ON;
}

enum load_result load_batch_settle(struct load_run *run)
{
    enum load_result result = LOAD_RUN_ON;
    while (run->writing > 0 && (result == LOAD_RUN_ON || result == LOAD_RUN_CANCEL)) {
        result = complete_to(run, run->writing - 1);
    }
    return result == LOAD_RUN_ON || result == LOAD_RUN_CANCEL ? load_report_flush(run) : result;
}

enum load_result load_batch_drain(struct load_run *run)
{
    enum load_result result = load_batch_flush(run);
    if (result == LOAD_RUN_ON) {
        result = complete_to(run, 0);
    }
    return result == LOAD_RUN_ON ? save(run) : result;
}
