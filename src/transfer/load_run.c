/* One import or bulk put, from its row to its end. Called by loader.c, on the thread of the load.
 *
 *   1. finds out how much there is to read       -> total_bytes is stored
 *   2. an import makes its table, CREATING       -> the table has the id that is in the row
 *   3. reads and writes                          -> the cursor is stored
 *   4. ends; the table of an import becomes ACTIVE in the same update
 *
 * An import that fails for another reason than bad records has no table: first the reason is
 * stored, then the table is deleted, then the row says FAILED. */
#include "base/clock.h"
#include "base/log.h"
#include "err/messages.h"
#include "expr/expr.h"
#include "transfer/failure_code.h"
#include "transfer/load_run_internal.h"

#define ITEM_ERRORS                                                                                \
    "Some of the items failed validation checks and were not imported. Please check CloudWatch "   \
    "error logs for more details."

static const char *name_of(const struct load_run *run)
{
    return run->load.kind == LOAD_IMPORT ? "import" : "bulk put";
}

/* --- failures --- */

enum load_result load_fail(struct load_run *run, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    run->load.failure_code = arena_copy(&run->arena, str_from_c(code));
    run->load.failure_message = arena_vformat(&run->arena, format, args);
    va_end(args);
    return LOAD_RUN_FAIL;
}

enum load_result load_fail_without_table(struct load_run *run)
{
    return load_fail(run, "TableNotFound", "The table does not exist");
}

enum load_result load_fail_objects(struct load_run *run, const struct object_error *error)
{
    if (object_error_is(error, "Stopped")) {
        return LOAD_RUN_LATER;
    }
    struct str code = failure_code(&run->arena, error);
    return load_fail(run, code.data, "%s", error->message);
}

/* --- what there is to read --- */

static enum load_result survey(struct load_run *run)
{
    struct arena arena;
    struct str after = STR("");
    int64_t bytes = 0;
    size_t count = 0;
    bool more = true;
    enum load_result result = LOAD_RUN_ON;
    arena_init(&arena);
    while (more && result == LOAD_RUN_ON) {
        struct object_list list = {.prefix = run->load.prefix, .after = after};
        struct object_error error;
        if (!object_list(run->objects, &arena, run->load.bucket, &list, &error)) {
            result = load_fail_objects(run, &error);
            break;
        }
        for (size_t i = 0; i < list.count; i++) {
            bytes += (int64_t)list.entries[i].info.size_bytes;
        }
        count += list.count;
        more = list.more;
        if (more) {
            struct str last = arena_copy(&run->scratch, list.entries[list.count - 1].key);
            arena_reset(&arena);
            after = arena_copy(&arena, last);
        }
        if (count > OBJECTS_MAX) {
            result = load_fail(run, "TooManyObjects", "The prefix matches more than %d objects",
                               OBJECTS_MAX);
        }
    }
    arena_finish(&arena);
    run->load.total_bytes = bytes;
    return result;
}

/* --- the table --- */

static enum load_result find_table(struct load_run *run)
{
    const struct table *table = table_acquire(run->engine, run->load.table_name);
    bool is_there = table != NULL;
    bool is_its = is_there && str_eq(str_make(table->id, sizeof(table->id)), run->load.table_id);
    table_release(table);
    if (is_its) {
        return LOAD_RUN_ON;
    }
    if (run->load.kind == LOAD_BULK_PUT) {
        return load_fail_without_table(run);
    }
    struct err err = ERR_INIT(&run->scratch);
    if (!is_there && load_create_table(run->background, &run->scratch, &run->load, &err)) {
        return LOAD_RUN_ON;
    }
    if (is_there || err.code == ERR_RESOURCE_IN_USE) {
        run->load.table = NULL; /* it has no table to delete */
        return load_fail(run, "TableAlreadyExists", MESSAGE_TABLE_EXISTS,
                         STR_ARG(run->load.table_name));
    }
    return LOAD_RUN_LATER;
}

/* The bytes that a bulk put writes to each index are counted by the names of the indexes. */
static void prepare_index_bytes(struct load_run *run)
{
    struct load *load = &run->load;
    const struct table *table = table_acquire(run->engine, load->table_name);
    size_t count = load->kind == LOAD_BULK_PUT && table != NULL ? table->index_count : 0;
    run->index_bytes = ARENA_ARRAY(&run->arena, int64_t, MAX(count, load->index_count) + 1);
    if (load->index_count > 0) { /* of an earlier run */
        memcpy(run->index_bytes, load->index_bytes, load->index_count * sizeof(*run->index_bytes));
    } else {
        struct str *names = ARENA_ARRAY(&run->arena, struct str, count + 1);
        for (size_t i = 0; i < count; i++) {
            names[i] = arena_copy(&run->arena, table->indexes[i].name);
        }
        load->index_names = names;
        load->index_count = count;
    }
    load->index_bytes = run->index_bytes;
    table_release(table);
}

/* --- the end --- */

static enum load_result result_of(enum load_saved saved)
{
    return saved == LOAD_NOT_SAVED ? LOAD_RUN_LATER : LOAD_RUN_ENDED;
}

static void log_end(const struct load_run *run)
{
    const struct load *load = &run->load;
    double seconds = (double)(load->end_ms - load->start_ms) / 1000;
    bool is_good = load->state == LOAD_COMPLETED;
    log_write(is_good ? LOG_INFO : LOG_WARN, name_of(run),
              "table %.*s: %s: %lld records, %lld written, %lld errors, %.1f s%s%.*s",
              STR_ARG(load->table_name),
              is_good                         ? "completed"
              : load->state == LOAD_CANCELLED ? "cancelled"
              : load->state == LOAD_FAILED    ? "failed"
                                              : "completed with errors",
              (long long)load->items, (long long)load->written, (long long)load->errors, seconds,
              str_is_null(load->failure_message) ? "" : ": ", STR_ARG(load->failure_message));
}

static enum load_result save_end(struct load_run *run, enum load_state state)
{
    run->load.state = state;
    run->load.end_ms = clock_wall_ms();
    arena_reset(&run->scratch);
    enum load_result result =
        result_of(load_save(run->background, &run->scratch, run->row_name, &run->load));
    if (result == LOAD_RUN_ENDED) {
        log_end(run);
    }
    return result;
}

static enum load_result complete_import(struct load_run *run)
{
    struct load *load = &run->load;
    load->state = load->errors == 0 ? LOAD_COMPLETED : LOAD_FAILED;
    if (load->errors > 0) {
        load->failure_code = STR("ItemValidationError");
        load->failure_message = STR(ITEM_ERRORS);
    }
    load->end_ms = clock_wall_ms();
    arena_reset(&run->scratch);
    enum load_result result =
        result_of(load_finish_import(run->background, &run->scratch, run->row_name, load));
    if (result == LOAD_RUN_ENDED) {
        log_end(run);
    }
    return result;
}

static enum load_result complete_load(struct load_run *run)
{
    if (run->load.kind == LOAD_IMPORT) {
        return complete_import(run);
    }
    return save_end(run, run->load.errors == 0 ? LOAD_COMPLETED : LOAD_COMPLETED_WITH_ERRORS);
}

/* Counts and reports what a bulk put has written before it fails; a further failure does not
 * matter. */
static enum load_result settle_failed(struct load_run *run)
{
    struct str code = run->load.failure_code;
    struct str message = run->load.failure_message;
    enum load_result result = load_batch_settle(run);
    if (result != LOAD_RUN_LATER) {
        result = load_report_flush(run);
    }
    run->load.failure_code = code;
    run->load.failure_message = message;
    return result;
}

/* Ends a load that cannot continue; `failure_code` is the reason. */
static enum load_result end_failed(struct load_run *run)
{
    struct err err = ERR_INIT(&run->scratch);
    if (run->load.kind == LOAD_BULK_PUT && settle_failed(run) == LOAD_RUN_LATER) {
        return LOAD_RUN_LATER;
    }
    if (run->load.kind == LOAD_IMPORT && run->load.table != NULL) {
        arena_reset(&run->scratch);
        enum load_saved saved =
            load_save(run->background, &run->scratch, run->row_name, &run->load);
        if (saved == LOAD_GONE || saved == LOAD_NOT_SAVED) {
            return result_of(saved);
        }
        err = ERR_INIT(&run->scratch);
        if (!load_drop_table(run->background, &run->scratch, &run->load, &err)) {
            return LOAD_RUN_LATER;
        }
    }
    return save_end(run, LOAD_FAILED);
}

static enum load_result end_cancelled(struct load_run *run)
{
    enum load_result result = load_batch_settle(run);
    if (result == LOAD_RUN_LATER) {
        return result;
    }
    run->load.failure_code = STR("Cancelled");
    run->load.failure_message = STR("The operation was cancelled by a request");
    return save_end(run, LOAD_CANCELLED);
}

/* --- the run --- */

static enum load_result begin(struct load_run *run)
{
    bool is_resumed = run->load.total_bytes >= 0;
    if (run->load.state == LOAD_CANCELLING) {
        return LOAD_RUN_CANCEL;
    }
    if (!str_is_null(run->load.failure_code)) {
        return LOAD_RUN_FAIL;
    }
    if (run->objects == NULL) {
        return load_fail(run, "S3NoSuchBucket",
                         "There is no place for objects: start the server with --s3-directory or "
                         "--s3-endpoint");
    }
    if (is_resumed) {
        run->replay_items = run->load.items + SAVE_ITEMS + (BATCHES + 1) * (int64_t)BATCH_RECORDS;
        log_write(LOG_INFO, name_of(run), "table %.*s: resumes after %lld records",
                  STR_ARG(run->load.table_name), (long long)run->load.items);
    } else {
        enum load_result result = survey(run);
        if (result != LOAD_RUN_ON) {
            return result;
        }
    }
    enum load_result result = find_table(run);
    prepare_index_bytes(run);
    if (result != LOAD_RUN_ON || is_resumed) {
        return result;
    }
    arena_reset(&run->scratch);
    enum load_saved saved = load_save(run->background, &run->scratch, run->row_name, &run->load);
    return saved == LOAD_SAVED           ? LOAD_RUN_ON
           : saved == LOAD_CANCEL_WANTED ? LOAD_RUN_CANCEL
                                         : result_of(saved);
}

/* Waits for writes that are under way, so that nothing refers to the run any more. */
static void finish(struct load_run *run)
{
    for (size_t i = 0; i < COUNT_OF(run->batches); i++) {
        if (run->batches[i].is_started) {
            waiting_mailbox_run(run->background->mailbox, &run->batches[i].done);
        }
        load_batch_finish(&run->batches[i]);
    }
    for (size_t i = 0; i < REPORT_KINDS; i++) {
        buf_finish(&run->reports[i]);
    }
    buf_finish(&run->key);
    buf_finish(&run->etag);
    buf_finish(&run->at.key);
    buf_finish(&run->at.etag);
    expr_cache_destroy(run->cache);
    arena_finish(&run->scratch);
    arena_finish(&run->arena);
}

enum load_result load_run(struct background *background, struct objects *objects,
                          struct str row_name, const struct load *load)
{
    struct load_run run = {
        .background = background,
        .engine = background->engine,
        .objects = objects,
        .row_name = row_name,
        .load = *load,
        .saved_items = load->items,
        .saved_us = clock_monotonic_us(),
        .cache = expr_cache_create(64),
    };
    arena_init(&run.arena);
    arena_init(&run.scratch);
    for (size_t i = 0; i < COUNT_OF(run.batches); i++) {
        arena_init(&run.batches[i].arena);
    }
    run.arn = load_arn(run.engine, &run.arena, load->kind, row_name);
    run.report_folder = load_report_folder(&run);
    enum load_result result = begin(&run);
    if (result == LOAD_RUN_ON) {
        result = load_read_objects(&run);
    }
    if (!engine_leads_transfers(run.engine)) { /* another server continues it, and will end it */
        result = LOAD_RUN_LATER;
    }
    if (result == LOAD_RUN_ON) {
        result = complete_load(&run);
    } else if (result == LOAD_RUN_FAIL) {
        result = end_failed(&run);
    } else if (result == LOAD_RUN_CANCEL) {
        result = end_cancelled(&run);
    }
    finish(&run);
    return result;
}
