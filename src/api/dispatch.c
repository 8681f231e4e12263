/* Finds the operation of a call and runs it, holds the call's tables, and writes error answers.
 * Called by the server and by the in-process client through api.h, and by the operations through
 * api_internal.h; on the thread of the call. */
#include "api/api_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "err/messages.h"

#define OP(name_, run_, access_, resource_, summary_)                                              \
    {.name = #name_,                                                                               \
     .action = "dynamodb:" #name_,                                                                 \
     .run = run_,                                                                                  \
     .access = access_,                                                                            \
     .resource = resource_,                                                                        \
     .summary = summary_},
static const struct op ops[] = {
#include "wire/ops.def"
};
static const struct op stream_ops[] = {
#include "wire/stream_ops.def"
};
static const struct op gramme_ops[] = {
#include "wire/gramme_ops.def"
};
#undef OP

/* A list of the tables that the call holds. */
struct held_table {
    struct held_table *next;
    const struct table *table;
};

struct api_thread *api_thread_create(struct engine *engine)
{
    struct api_thread *thread = mem_zalloc(sizeof(*thread));
    thread->engine = engine;
    thread->cache = expr_cache_create(1024);
    map_init(&thread->policies);
    return thread;
}

void api_thread_destroy(struct api_thread *thread)
{
    if (thread != NULL) {
        expr_cache_destroy(thread->cache);
        api_forget_policies(thread);
        mem_free(thread);
    }
}

void api_thread_set_meter(struct api_thread *thread, struct meter_thread *meter)
{
    thread->meter = meter;
}

const struct op *api_operations(enum api_family family, size_t *out_count)
{
    static const struct {
        const struct op *ops;
        size_t count;
    } lists[] = {
        [API_DYNAMODB] = {ops, COUNT_OF(ops)},
        [API_STREAMS] = {stream_ops, COUNT_OF(stream_ops)},
        [API_GRAMME] = {gramme_ops, COUNT_OF(gramme_ops)},
    };
    *out_count = lists[family].count;
    return lists[family].ops;
}

const struct op *api_find_operation(enum api_family family, struct str name)
{
    size_t low = 0;
    size_t high;
    const struct op *list = api_operations(family, &high);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(name, str_from_c(list[middle].name));
        if (order == 0) {
            return &list[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

/* Called before another thread continues to write the answer. Unless call->out_is_exclusive, the
 * connection's thread may be sending earlier answers from call->out, so the answer so far is copied
 * to a buffer of the call. */
static void leave_thread(void *owner)
{
    struct api_call *call = owner;
    if (!call->out_is_exclusive && call->home_out == NULL) {
        call->away_out.budget = call->out->budget;
        buf_add(&call->away_out,
                str_make(call->out->data + call->out_start, call->out->len - call->out_start));
        call->home_out = call->out;
        call->out = &call->away_out;
    }
}

/* Returns the budget that the call has exceeded, or NULL. */
static const struct budget *exceeded_budget(const struct api_call *call)
{
    if (arena_is_over_budget(call->arena)) {
        return call->arena->budget;
    }
    return budget_state(call->out->budget) == BUDGET_FITS ? NULL : call->out->budget;
}

/* Replaces the answer by an error if the call has exceeded its memory budget. Only for reads: a
 * write has been executed, and its answer is small. */
static void check_budget(struct api_call *call)
{
    const struct budget *budget = exceeded_budget(call);
    if (call->only_reads && call->err.code == ERR_NONE && budget != NULL) {
        err_set_over_budget(&call->err, budget);
        call->out->len = call->home_out == NULL ? call->out_start : 0;
        buf_shrink(call->out, BUDGET_SMALL_BYTES);
    }
}

static void return_to_thread(struct api_call *call)
{
    if (UNLIKELY(call->home_out != NULL)) {
        call->out = call->home_out;
        call->out->len = call->out_start;
        buf_add(call->out, buf_str(&call->away_out));
        buf_finish(&call->away_out);
        call->home_out = NULL;
    }
}

/* Fails if this server has lost its lease, because its descriptions of tables may be outdated. */
static bool check_lease(struct api_call *call)
{
    return LIKELY(engine_may_serve(call->engine)) ||
           err_set(&call->err, ERR_INTERNAL, MESSAGE_INTERNAL);
}

bool api_is_administrative(const struct op *op)
{
    return op != NULL && op->access == ACCESS_ADMIN;
}

void api_run(struct api_call *call)
{
    call->engine = call->thread->engine;
    call->err = ERR_INIT(call->arena);
    call->out_start = call->out->len;
    call->home_out = NULL;
    call->tables = NULL;
    call->foreign_arn = STR_NULL;
    call->accesses = NULL;
    call->throttling = (struct throttling){0};
    call->denied.count = 0; /* it may have run before, with other policies */
    call->denial_count = 0;
    call->write_error_members = NULL;
    call->status = 200;
    call->only_reads = false;
    call->meter = call->is_from_console ? NULL : call->thread->meter;
    if (call->meter != NULL && call->start_ns == 0) {
        call->start_ns = clock_monotonic_ns();
    }
    if (call->op == NULL) {
        call->op = api_find_operation(call->family, call->operation);
    }
    if (call->op == NULL) {
        err_set(&call->err, ERR_UNKNOWN_OPERATION, "%s", "");
        api_finish(call);
        return;
    }
    call->only_reads = call->op->access == ACCESS_READ;
    call->is_authorized = false;
    if (check_lease(call)) {
        call->op->run(call);
    } else {
        api_finish(call);
    }
}

/* Error messages are cut at this length: they quote the request, which may have megabytes. */
enum { MESSAGE_BYTES_MAX = 64 * 1024 };

static void write_message(struct buf *out, struct str message)
{
    struct str written = utf8_prefix(message, MESSAGE_BYTES_MAX);
    json_write_string(out, written);
    if (written.len < message.len) {
        out->len--; /* removes the closing quote */
        JSON_PUT(out, "...\"");
    }
}

/* Writes why a simulated limit refused the call. The two exceptions spell the member's name
 * differently. */
static void write_throttling(struct api_call *call)
{
    buf_add(call->out, call->err.code == ERR_THROTTLING
                           ? STR(",\"throttlingReasons\":[{\"reason\":")
                           : STR(",\"ThrottlingReasons\":[{\"reason\":"));
    json_write_plain_string(call->out, call->throttling.reason);
    JSON_PUT(call->out, ",\"resource\":");
    json_write_plain_string(call->out, call->throttling.resource);
    JSON_PUT(call->out, "}]");
}

/* Writes an error answer. Some errors have the member "Message" instead of "message"; an empty
 * message is left out. */
static void write_error(struct api_call *call)
{
    const struct err *err = &call->err;
    call->out->len = call->out_start;
    call->status = err_http_status(err->code);
    JSON_PUT(call->out, "{\"__type\":");
    json_write_plain_string(call->out, str_from_c(err_wire_type(err->code)));
    if (err->message.len > 0) {
        buf_add(call->out, err->code == ERR_SERIALIZATION ||
                                   err->code == ERR_TRANSACTION_CANCELED ||
                                   err->code == ERR_ACCESS_DENIED
                               ? STR(",\"Message\":")
                               : STR(",\"message\":"));
        write_message(call->out, err->message);
    }
    if (!str_is_null(call->throttling.reason)) {
        write_throttling(call);
    }
    if (call->write_error_members != NULL) {
        call->write_error_members(call);
    }
    JSON_PUT(call->out, "}");
}

/* Returns whether the call may access data. False means that the operation has not called
 * api_decode(), a programming error. */
static bool is_permitted(const struct api_call *call)
{
    return LIKELY(call->guard == NULL) || call->is_authorized;
}

/* Passes an ended call to the meter, while the tables are still held. A call that will run again is
 * recorded when that run ends. */
static void record(struct api_call *call)
{
    bool runs_again = call->err.code == ERR_TABLE_CHANGED || call->err.code == ERR_TOO_MUCH_HERE;
    if (UNLIKELY(call->is_from_console) && call->thread->meter != NULL && !runs_again) {
        meter_count_console(call->thread->meter);
    }
    if (call->meter == NULL || runs_again) {
        return;
    }
    struct meter_access refused = {0}; /* for a call that failed before it described an access */
    if (call->accesses == NULL && call->tables != NULL) {
        refused.table = call->tables->table;
    }
    meter_record(call->meter,
                 &(struct meter_call){
                     .operation = call->operation,
                     .body = call->body,
                     .start_ns = call->start_ns,
                     .answer_bytes = call->out->len - call->out_start,
                     .err = call->err.code,
                 },
                 call->accesses != NULL ? call->accesses : &refused);
}

static void finish_later(struct task *task)
{
    struct api_call *call = CONTAINER_OF(task, struct api_call, later);
    call->done(call);
}

/* Returns how long the simulation delays the answer. Calls that run again are not delayed. */
static int64_t simulated_delay_us(struct api_call *call)
{
    bool runs_again = call->err.code == ERR_TABLE_CHANGED || call->err.code == ERR_TOO_MUCH_HERE;
    if (LIKELY(!simulation_is_on(call->meter)) || runs_again || call->tables == NULL) {
        return 0;
    }
    return simulation_delay_us(call->meter, call->tables->table);
}

void api_finish(struct api_call *call)
{
    check_budget(call);
    return_to_thread(call);
    record(call);
    int64_t delay_us = simulated_delay_us(call);
    for (struct held_table *held = call->tables; held != NULL; held = held->next) {
        table_release(held->table);
    }
    if (call->err.code ==
        ERR_TABLE_CHANGED) { /* since api_table(); nothing was written, so the call can run again */
        call->out->len = call->out_start;
        api_run(call);
        return;
    }
    if (call->err.code == ERR_TOO_MUCH_HERE) {
        call->out->len = call->out_start;
        call->move(call);
        return;
    }
    if (call->err.code != ERR_NONE) {
        check_lease(call); /* without a lease the error may come from outdated tables */
        write_error(call);
    }
    assert(call->err.code != ERR_NONE || is_permitted(call));
    if (UNLIKELY(delay_us > 0)) {
        call->later.run = finish_later;
        simulation_post_later(call->meter, call->home, &call->later, delay_us);
        return;
    }
    call->done(call);
}

/* A call that reads more bytes moves to another thread. Encoding this much takes less than 1 ms. */
enum { BYTES_HERE_MAX = 256 * 1024 };

struct engine_call api_engine_call(struct api_call *call, void (*done)(struct engine_call *))
{
    assert(is_permitted(call));
    return (struct engine_call){
        .engine = call->engine,
        .arena = call->arena,
        .home = call->home,
        .err = ERR_INIT(call->arena),
        .done = done,
        .before_thread_change = leave_thread,
        .owner = call,
        .bytes_max = call->move != NULL ? BYTES_HERE_MAX : 0,
    };
}

const struct table *api_table(struct api_call *call, struct str name)
{
    assert(is_permitted(call));
    for (struct held_table *held = call->tables; held != NULL; held = held->next) {
        if (str_eq(held->table->name, name)) {
            return held->table;
        }
    }
    const struct table *table = table_acquire(call->engine, name);
    if (table == NULL || table_status(call->engine, table) == STATUS_CREATING) {
        table_release(table);
        err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_RESOURCE_NOT_FOUND);
        return NULL;
    }
    struct held_table *held = ARENA_NEW(call->arena, struct held_table);
    *held = (struct held_table){.next = call->tables, .table = table};
    call->tables = held;
    return table;
}

bool api_check_readable(const struct index *index, struct err *err)
{
    return index->status != STATUS_CREATING ||
           err_set(err, ERR_VALIDATION, "Cannot read from backfilling global secondary index: %.*s",
                   STR_ARG(index->name));
}

void api_begin(struct api_call *call)
{
    buf_add_char(call->out, '{');
}

void api_member(struct api_call *call, struct str name)
{
    if (call->out->data[call->out->len - 1] != '{') {
        buf_add_char(call->out, ',');
    }
    json_write_plain_string(call->out, name);
    buf_add_char(call->out, ':');
}

void api_end(struct api_call *call)
{
    buf_add_char(call->out, '}');
}
