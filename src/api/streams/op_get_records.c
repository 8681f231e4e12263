/* GetRecords: reads stream records from a shard iterator on. Called by dispatch.c on the thread of
 * the call. */
#include "api/streams/stream_request.h"
#include "api/tables/table_description.h"
#include "base/clock.h"
#include "base/hash.h"
#include "engine/stream_iterator.h"
#include "err/messages.h"

struct get_records_request {
    struct str iterator;
    struct wire_int limit;
};

static const struct shape shape_iterator = {.kind = SHAPE_STRING, .min = 1, .max = 2048};
static const struct field get_records_fields[] = {
    FIELD_REQUIRED(struct get_records_request, iterator, "ShardIterator", shape_iterator),
    FIELD(struct get_records_request, limit, "Limit", shape_limit),
    FIELD_END,
};
static const struct shape shape_get_records = {
    .kind = SHAPE_STRUCT,
    .fields = get_records_fields,
    .size = sizeof(struct get_records_request),
};

enum { RECORDS_MAX = 1000 };

struct get_records {
    struct api_call *call;
    struct get_records_request request;
    struct stream_iterator iterator;
    struct stream_shard shard;
    struct stream_describe describe;
    struct stream_read read;
    struct meter_access access;
};

static const struct stream *stream_of(const struct get_records *op)
{
    return op->describe.stream;
}

/* Writes the eventID of a record: a hash of stream and sequence number, so it is unique and the
 * same in every read. */
static void write_event_id(struct buf *out, struct arena *arena, const struct stream *stream,
                           uint32_t slot, struct str sequence)
{
    uint8_t hash[16];
    hash_128(arena_format(arena, "%.*s|%u|%.*s", STR_ARG(stream->path), (unsigned)slot,
                          STR_ARG(sequence)),
             0, hash);
    JSON_PUT(out, "{\"eventID\":\"");
    for (size_t i = 0; i < sizeof(hash); i++) {
        buf_format(out, "%02x", hash[i]);
    }
    JSON_PUT(out, "\"");
}

static void write_image(struct buf *out, const char *name, struct value image)
{
    if (!value_is_absent(image)) {
        buf_format(out, ",\"%s\":", name);
        value_json_write_item(out, image);
    }
}

/* The developer guide spells the members in lower case, the API model that SDKs use in upper case,
 * so the record has both. */
#define SERVICE_IDENTITY                                                                           \
    ",\"userIdentity\":{\"principalId\":\"dynamodb.amazonaws.com\",\"type\":\"Service\","          \
    "\"PrincipalId\":\"dynamodb.amazonaws.com\",\"Type\":\"Service\"}"

static void write_record(struct stream_read *read, uint64_t stamp,
                         const struct stream_record *record)
{
    static const char *const events[] = {
        [STREAM_INSERT] = "INSERT",
        [STREAM_MODIFY] = "MODIFY",
        [STREAM_REMOVE] = "REMOVE",
    };
    struct get_records *op = CONTAINER_OF(read, struct get_records, read);
    struct api_call *call = op->call;
    struct buf *out = call->out;
    struct arena_mark mark = arena_mark(call->arena);
    struct str sequence = stream_sequence(call->arena, op->shard.epoch, stamp);
    struct str region = engine_region(call->engine);
    buf_add(out, read->count > 0 ? STR(",") : STR(""));
    write_event_id(out, call->arena, stream_of(op), op->shard.slot, sequence);
    buf_format(out,
               ",\"eventName\":\"%s\",\"eventVersion\":\"1.1\",\"eventSource\":\"aws:dynamodb\","
               "\"awsRegion\":\"%.*s\",\"dynamodb\":{\"ApproximateCreationDateTime\":%lld.0,"
               "\"Keys\":",
               events[record->event], STR_ARG(region), (long long)(record->time_ms / 1000));
    value_json_write_item(out, record->keys);
    write_image(out, "NewImage", record->new_image);
    write_image(out, "OldImage", record->old_image);
    buf_format(out, ",\"SequenceNumber\":\"%.*s\",\"SizeBytes\":%zu,\"StreamViewType\":\"%s\"}",
               STR_ARG(sequence), record->size, describe_stream_view(stream_of(op)->view));
    if (record->by_expiry) {
        JSON_PUT(out, SERVICE_IDENTITY);
    }
    JSON_PUT(out, "}");
    arena_rewind(call->arena, mark);
}

static void finish(struct get_records *op)
{
    stream_release(stream_of(op));
    api_finish(op->call);
}

/* Ends the answer. op->describe was fetched before the read, so a shard that was closed then has
 * no records after those read. */
static void read_done(struct engine_call *engine_call)
{
    struct get_records *op = CONTAINER_OF(engine_call, struct get_records, read.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    op->access.items_read = op->access.items_returned = op->read.count;
    if (call->err.code == ERR_NONE) {
        JSON_PUT(call->out, "]");
        if (!op->read.ended || !stream_request_is_closed(&op->describe, op->shard)) {
            JSON_PUT(call->out, ",\"NextShardIterator\":");
            json_write_plain_string(
                call->out,
                stream_request_iterator(call, stream_of(op), op->shard, op->read.next_position));
        }
        JSON_PUT(call->out, "}");
    }
    finish(op);
}

/* Checks that the shard of the iterator still exists; it did when the iterator was created. */
static bool check_shard(struct get_records *op)
{
    const struct stream_describe *describe = &op->describe;
    op->shard = (struct stream_shard){op->iterator.epoch, op->iterator.slot};
    if (op->shard.slot >= describe->stream->shard_count) {
        return err_set(&op->call->err, ERR_RESOURCE_NOT_FOUND, "Invalid ShardId in ShardIterator");
    }
    if (op->shard.epoch < describe->first_epoch) {
        return err_set(&op->call->err, ERR_TRIMMED_DATA_ACCESS, MESSAGE_TRIMMED);
    }
    return true;
}

/* Describes the read for the meter. The stream may outlive its table; then there is no table to
 * record. */
static void meter_read(struct get_records *op)
{
    struct api_call *call = op->call;
    op->access = (struct meter_access){
        .operation = "GetRecords",
        .flags = METER_STREAM,
        .table = api_table(call, stream_of(op)->table_name),
    };
    call->err = ERR_INIT(call->arena);
    api_meter(call, &op->access);
}

static void describe_done(struct engine_call *engine_call)
{
    struct get_records *op = CONTAINER_OF(engine_call, struct get_records, describe.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code != ERR_NONE || !check_shard(op)) {
        finish(op);
        return;
    }
    meter_read(op);
    JSON_PUT(call->out, "{\"Records\":[");
    op->read = (struct stream_read){
        .call = api_engine_call(call, read_done),
        .stream = stream_of(op),
        .shard = op->shard,
        .position = op->iterator.position,
        .limit = op->request.limit.given ? (size_t)op->request.limit.value : RECORDS_MAX,
        .emit = write_record,
    };
    engine_read_stream(&op->read);
}

static bool check_request(struct get_records *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_get_records, &op->request) ||
        !wire_validate(&shape_get_records, &op->request, WORDING_OLDER, &call->err)) {
        return false;
    }
    if (op->request.limit.given && op->request.limit.value > RECORDS_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       MESSAGE_INVALID "Limit should be less than or equal to %d", RECORDS_MAX);
    }
    if (!stream_iterator_read(op->request.iterator, engine_seed(call->engine), call->arena,
                              &op->iterator)) {
        return err_set(&call->err, ERR_VALIDATION, "Invalid ShardIterator");
    }
    if (clock_wall_ms() - op->iterator.made_ms >= STREAM_ITERATOR_LIFETIME_MS) {
        return err_set(&call->err, ERR_EXPIRED_ITERATOR,
                       "The shard iterator has expired and can no longer be used to retrieve "
                       "stream records. A shard iterator expires 15 minutes after it is retrieved "
                       "using the GetShardIterator action.");
    }
    return true;
}

void op_get_records(struct api_call *call)
{
    struct get_records *op = ARENA_NEW(call->arena, struct get_records);
    op->call = call;
    if (!check_request(op) ||
        !stream_request_describe(call, op->iterator.arn, &op->describe, describe_done)) {
        api_finish(call);
    }
}
