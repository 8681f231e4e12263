/* Functions that the transaction operations share: cancellation reasons, limits, consumed capacity,
 * reads. Called by op_transact_get_items.c, op_transact_write_items.c and op_execute_transaction.c
 * on the thread of the call; keeps no state. */
#include "api/items/transact.h"

#include "api/items/write_item.h"
#include "base/bytes.h"
#include "base/hash.h"

enum { NOTE_SIZE_LEN = 4, TOKEN_DIGEST_LEN = 16 };

const struct shape shape_request_token = {.kind = SHAPE_STRING, .min = 1, .max = 36};

struct reasons {
    const struct item_write *writes;
    size_t count;
};

static void write_reason(struct buf *out, const struct item_write *write)
{
    bool condition =
        write->err.code == ERR_CONDITIONAL_CHECK_FAILED || write->err.code == ERR_DUPLICATE_ITEM;
    JSON_PUT(out, "{\"Code\":");
    json_write_plain_string(out, str_from_c(api_short_code(write->err.code)));
    if (condition) {
        api_write_failed_item(out, write->old_item);
    }
    if (write->err.code != ERR_NONE) {
        JSON_PUT(out, ",\"Message\":");
        json_write_string(out, write->err.message);
    }
    JSON_PUT(out, "}");
}

static void write_reasons(struct api_call *call)
{
    const struct reasons *reasons = call->state;
    JSON_PUT(call->out, ",\"CancellationReasons\":[");
    for (size_t i = 0; i < reasons->count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        write_reason(call->out, &reasons->writes[i]);
    }
    JSON_PUT(call->out, "]");
}

static void cancel(struct api_call *call, const struct item_write *writes, size_t count)
{
    struct reasons *reasons = ARENA_NEW(call->arena, struct reasons);
    *reasons = (struct reasons){.writes = writes, .count = count};
    struct str codes = STR("");
    for (size_t i = 0; i < count; i++) {
        codes = arena_format(call->arena, "%.*s%s%s", STR_ARG(codes), i > 0 ? ", " : "",
                             api_short_code(writes[i].err.code));
    }
    call->state = reasons;
    call->write_error_members = write_reasons;
    err_set(&call->err, ERR_TRANSACTION_CANCELED,
            "Transaction cancelled, please refer cancellation reasons for specific reasons [%.*s]",
            STR_ARG(codes));
}

void transact_keep_first_reason(struct api_call *call, struct item_write *writes, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (found) {
            writes[i].err = ERR_INIT(call->arena);
            writes[i].empty_index_key = false;
        }
        found = found || writes[i].err.code != ERR_NONE;
    }
}

bool transact_check_reasons(struct api_call *call, const struct item_write *writes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (writes[i].err.code != ERR_NONE) {
            cancel(call, writes, count);
            return false;
        }
    }
    return true;
}

void transact_refuse(struct api_call *call, const struct item_write *writes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (writes[i].empty_index_key) {
            call->err = writes[i].err;
            break;
        }
    }
    if (call->err.code == ERR_NONE) {
        cancel(call, writes, count);
    }
}

struct str transact_digest(struct builder *builder, struct arena *arena)
{
    struct value all = builder_finish(builder);
    char *digest = arena_bytes(arena, TOKEN_DIGEST_LEN);
    hash_128(str_make(all.data, all.len), 0, (uint8_t *)digest);
    return str_make(digest, TOKEN_DIGEST_LEN);
}

bool transact_refuse_duplicate(struct api_call *call)
{
    return err_set(&call->err, ERR_VALIDATION,
                   "Transaction request cannot include multiple operations on one item");
}

bool transact_check_size(struct api_call *call, size_t bytes)
{
    return bytes <= TRANSACTION_BYTES_MAX ||
           err_set(&call->err, ERR_VALIDATION,
                   "Transaction payload size cannot exceed 4MB. Payload Size: %zu", bytes);
}

/* Ends the check of the simulated limits with an item that they refuse: the transaction is
 * cancelled, or fails as a whole with InternalServerError. Returns false. */
static bool refuse_item(struct api_call *call, const struct item_write *writes, size_t count,
                        size_t refused)
{
    if (writes[refused].err.code == ERR_INTERNAL) {
        call->err = writes[refused].err;
    } else {
        cancel(call, writes, count);
    }
    return false;
}

bool transact_admit(struct api_call *call, struct item_write *writes, size_t count)
{
    for (size_t i = 0; simulation_is_on(call->meter) && i < count; i++) {
        struct meter_access access;
        struct throttling ignored;
        write_describe(&access, "", &writes[i]);
        if (!simulation_admit(call->meter, &access, call->arena, &ignored, &writes[i].err)) {
            return refuse_item(call, writes, count, i);
        }
    }
    return true;
}

/* --- capacity --- */

/* A request with a known token consumes read capacity for the items that the first request wrote.
 * This returns their sizes, one little-endian u32 each. */
struct str transact_note_sizes(struct items_write *write)
{
    size_t len = write->write_count * NOTE_SIZE_LEN;
    char *sizes = arena_bytes(write->call.arena, len);
    for (size_t i = 0; i < write->write_count; i++) {
        put_u32_le(sizes + i * NOTE_SIZE_LEN,
                   (uint32_t)MAX(write->writes[i].old_size, write->writes[i].new_size));
    }
    return str_make(sizes, len);
}

/* Returns the size of write `i` that the first request with this token stored. */
static size_t replayed_size(const struct items_write *engine, size_t i)
{
    return (i + 1) * NOTE_SIZE_LEN <= engine->replay_note.len
               ? get_u32_le(engine->replay_note.data + i * NOTE_SIZE_LEN)
               : 0;
}

void transact_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                              const struct items_write *engine)
{
    struct capacity_list list = {0};
    for (size_t i = 0; i < engine->write_count; i++) {
        const struct item_write *write = &engine->writes[i];
        struct capacity *sum =
            capacity_list_at(&list, call->arena, write->table, engine->write_count);
        if (!engine->replayed) {
            capacity_add(sum, &write->capacity, 2);
            continue;
        }
        sum->table += 2 * capacity_read_units(replayed_size(engine, i), true);
    }
    api_member_capacities(call, wanted, &list, true,
                          engine->replayed ? CAPACITY_READ : CAPACITY_WRITE);
}

/* --- metering --- */

/* Records one write. A request with a known token counts as reads; a cancelled transaction consumes
 * nothing. */
static void meter_write(struct api_call *call, const char *const operations[4],
                        const struct items_write *engine, size_t i)
{
    const struct item_write *write = &engine->writes[i];
    struct meter_access *access = arena_alloc(call->arena, sizeof(*access));
    write_describe(access, operations[write->kind], write);
    access->err = write->err.code;
    if (engine->replayed) {
        access->operation = "Replay of a transaction";
        access->flags = METER_BY_KEY;
        access->condition = NULL;
        access->update = NULL;
        access->table_units = 2 * capacity_read_units(replayed_size(engine, i), true);
    } else if (call->err.code == ERR_NONE) {
        write_describe_outcome(access, write);
        access->table_units *= 2;
    }
    api_meter(call, access);
}

void transact_meter(struct api_call *call, const char *const operations[4],
                    const struct items_write *engine)
{
    for (size_t i = 0; api_is_metered(call) && i < engine->write_count; i++) {
        meter_write(call, operations, engine, i);
    }
}

/* --- reads --- */

static void meter_item(struct transact_read *read, size_t i)
{
    if (!api_is_metered(read->call)) {
        return;
    }
    const struct row *row = &read->get.rows[i];
    struct meter_access *access = ARENA_NEW(read->call->arena, struct meter_access);
    read->describe(read, i, access);
    access->partition = read->keys[i].hash;
    access->table_units = 2 * capacity_read_units(row->size, true);
    access->items_read = access->items_returned = !value_is_absent(row->item);
    access->bytes_read = access->item_bytes = row->size;
    api_meter(read->call, access);
}

static void write_item(struct transact_read *read, size_t i, struct capacity_list *capacities)
{
    struct api_call *call = read->call;
    const struct row *row = &read->get.rows[i];
    meter_item(read, i);
    capacity_list_at(capacities, call->arena, read->tables[i], read->count)->table +=
        2 * capacity_read_units(row->size, true);
    struct value item =
        value_is_absent(row->item) ? VALUE_ABSENT : read->project(read, i, row->item);
    JSON_PUT(call->out, "{");
    if (!value_is_absent(item)) {
        JSON_PUT(call->out, "\"Item\":");
        value_json_write_item(call->out, item);
    }
    JSON_PUT(call->out, "}");
}

/* The items that a transaction reads have the same limit as what it sends. */
static bool check_read_size(struct transact_read *read)
{
    size_t bytes = 0;
    for (size_t i = 0; i < read->count; i++) {
        bytes += read->get.rows[i].size;
    }
    return transact_check_size(read->call, bytes);
}

static void read_done(struct engine_call *engine_call)
{
    struct transact_read *read = CONTAINER_OF(engine_call, struct transact_read, get.call);
    struct api_call *call = read->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && check_read_size(read)) {
        struct capacity_list capacities = {0};
        JSON_PUT(call->out, "{\"Responses\":[");
        for (size_t i = 0; i < read->count && !api_is_over_budget(call); i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            write_item(read, i, &capacities);
        }
        JSON_PUT(call->out, "]");
        api_member_capacities(call, read->return_consumed_capacity, &capacities, true,
                              CAPACITY_READ);
        api_end(call);
    }
    api_finish(call);
}

/* Checks the simulated limits for each item that is read. */
static bool admit_read(struct transact_read *read)
{
    struct api_call *call = read->call;
    if (LIKELY(!simulation_is_on(call->meter))) {
        return true;
    }
    struct item_write *reasons = ARENA_ARRAY(call->arena, struct item_write, read->count);
    for (size_t i = 0; i < read->count; i++) {
        reasons[i] = (struct item_write){.err = ERR_INIT(call->arena)};
    }
    for (size_t i = 0; i < read->count; i++) {
        struct throttling ignored;
        struct meter_access access = {.operation = "TransactGetItems",
                                      .table = read->tables[i],
                                      .partition = read->keys[i].hash};
        if (!simulation_admit(call->meter, &access, call->arena, &ignored, &reasons[i].err)) {
            return refuse_item(call, reasons, read->count, i);
        }
    }
    return true;
}

void transact_read_start(struct transact_read *read)
{
    if (!admit_read(read)) {
        api_finish(read->call);
        return;
    }
    read->get = (struct items_get){
        .call = api_engine_call(read->call, read_done),
        .keys = read->keys,
        .key_count = read->count,
        .snapshot = true,
    };
    engine_get_items(&read->get);
}
