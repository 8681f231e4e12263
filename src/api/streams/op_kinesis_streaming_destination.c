/* EnableKinesisStreamingDestination, DisableKinesisStreamingDestination,
 * UpdateKinesisStreamingDestination and DescribeKinesisStreamingDestination: the Kinesis stream
 * that gets the changes of a table. Destinations are part of the table's description; the engine
 * records the changes (engine/feed.h), and src/kinesis checks the stream and delivers them. Called
 * by dispatch.c on the thread of the call. */
#include "api/tables/table_request.h"
#include "base/clock.h"
#include "engine/feed.h"
#include "err/messages.h"

struct configuration_request {
    struct wire_enum precision;
};

struct destination_request {
    struct str table_name;
    struct str stream_arn;
    struct configuration_request *configuration;
};

/* In the order of enum time_precision, without PRECISION_NOT_SET. */
static const struct shape shape_precision = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"MILLISECOND", "MICROSECOND", NULL},
};
static const struct field configuration_fields[] = {
    FIELD(struct configuration_request, precision, "ApproximateCreationDateTimePrecision",
          shape_precision),
    FIELD_END,
};
static const struct shape shape_enable_configuration = {
    .kind = SHAPE_STRUCT,
    .java = "EnableKinesisStreamingConfiguration",
    .fields = configuration_fields,
    .size = sizeof(struct configuration_request),
};
static const struct shape shape_update_configuration = {
    .kind = SHAPE_STRUCT,
    .java = "UpdateKinesisStreamingConfiguration",
    .fields = configuration_fields,
    .size = sizeof(struct configuration_request),
};
static const struct shape shape_stream_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};

static const struct field switch_fields[] = {
    FIELD(struct destination_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct destination_request, stream_arn, "StreamArn", shape_stream_arn),
    FIELD(struct destination_request, configuration, "EnableKinesisStreamingConfiguration",
          shape_enable_configuration),
    FIELD_END,
};
static const struct field update_fields[] = {
    FIELD(struct destination_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct destination_request, stream_arn, "StreamArn", shape_stream_arn),
    FIELD(struct destination_request, configuration, "UpdateKinesisStreamingConfiguration",
          shape_update_configuration),
    FIELD_END,
};
static const struct field describe_fields[] = {
    FIELD(struct destination_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};

#define DESTINATION_SHAPE(fields_)                                                                 \
    {                                                                                              \
        .kind = SHAPE_STRUCT, .fields = (fields_), .size = sizeof(struct destination_request)      \
    }
static const struct shape shape_switch = DESTINATION_SHAPE(switch_fields);
static const struct shape shape_update = DESTINATION_SHAPE(update_fields);
static const struct shape shape_describe = DESTINATION_SHAPE(describe_fields);

static bool check_request(struct api_call *call, const struct shape *shape,
                          struct destination_request *request)
{
    if (!api_decode(call, shape, request) ||
        !table_request_check_name(call, shape, request, request->table_name) ||
        !wire_validate(shape, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    if (api_table(call, request->table_name) != NULL) {
        return true;
    }
    call->err = ERR_INIT(call->arena);
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND,
                   STR_ARG(request->table_name));
}

static enum time_precision precision_of(const struct destination_request *request)
{
    const struct configuration_request *configuration = request->configuration;
    if (configuration == NULL || str_is_null(configuration->precision.text)) {
        return PRECISION_NOT_SET;
    }
    return (enum time_precision)(configuration->precision.value + PRECISION_MILLISECOND);
}

/* --- DescribeKinesisStreamingDestination --- */

static const char *state_name(struct api_call *call, const struct kinesis_destination *destination)
{
    static const char *const names[] = {
        [DESTINATION_ENABLING] = "ENABLING",           [DESTINATION_ACTIVE] = "ACTIVE",
        [DESTINATION_DISABLING] = "DISABLING",         [DESTINATION_DISABLED] = "DISABLED",
        [DESTINATION_ENABLE_FAILED] = "ENABLE_FAILED",
    };
    bool is_updating = destination->state == DESTINATION_ACTIVE && destination->updated_ms != 0 &&
                       !catalog_delay_is_over(call->engine, destination->updated_ms);
    return is_updating ? "UPDATING" : names[destination->state];
}

static void write_precision(struct api_call *call, enum time_precision precision)
{
    api_member(call, STR("ApproximateCreationDateTimePrecision"));
    json_write_plain_string(call->out, precision == PRECISION_MICROSECOND ? STR("MICROSECOND")
                                                                          : STR("MILLISECOND"));
}

static void write_destination(struct api_call *call, const struct kinesis_destination *destination)
{
    api_begin(call);
    api_member(call, STR("StreamArn"));
    json_write_string(call->out, destination->stream_arn);
    api_member(call, STR("DestinationStatus"));
    json_write_plain_string(call->out, str_from_c(state_name(call, destination)));
    if (!str_is_null(destination->problem)) {
        api_member(call, STR("DestinationStatusDescription"));
        json_write_string(call->out, destination->problem);
    }
    if (destination->precision != PRECISION_NOT_SET) {
        write_precision(call, destination->precision);
    }
    api_end(call);
}

void op_describe_kinesis_streaming_destination(struct api_call *call)
{
    struct destination_request request;
    if (check_request(call, &shape_describe, &request)) {
        const struct table *table = api_table(call, request.table_name);
        api_begin(call);
        api_member(call, STR("TableName"));
        json_write_plain_string(call->out, table->name);
        api_member(call, STR("KinesisDataStreamDestinations"));
        buf_add_char(call->out, '[');
        for (size_t i = 0; i < table->destination_count; i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            write_destination(call, &table->destinations[i]);
        }
        buf_add_char(call->out, ']');
        api_end(call);
    }
    api_finish(call);
}

/* --- changes --- */

#define NOT_VALID "Table is not in a valid state to enable Kinesis Streaming Destination: "

struct destination_change {
    struct api_call *call;
    struct destination_request request;
    const char *status;        /* DestinationStatus of the answer */
    const char *configuration; /* the member of the answer with the configuration */
    struct table_change engine;
};

static struct destination_change *change_of(struct table_change *change)
{
    return CONTAINER_OF(change, struct destination_change, engine);
}

/* The number of the request's stream among the destinations; SIZE_MAX: it is none of them. */
static size_t find(const struct destination_change *op, const struct table *table)
{
    for (size_t i = 0; i < table->destination_count; i++) {
        if (str_eq(table->destinations[i].stream_arn, op->request.stream_arn)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Returns a copy of the table whose destinations can be changed; there is room for one more. */
static struct table *copy_table(struct table_change *change, const struct table *table,
                                struct kinesis_destination **out)
{
    struct arena *arena = change->call.arena;
    struct table *made = ARENA_NEW(arena, struct table);
    *made = *table;
    *out = ARENA_ARRAY(arena, struct kinesis_destination, table->destination_count + 1);
    if (table->destination_count > 0) {
        memcpy(*out, table->destinations, table->destination_count * sizeof(**out));
    }
    made->destinations = *out;
    return made;
}

static const struct table *refuse_state(struct table_change *change, const char *problem)
{
    err_set(&change->call.err, ERR_VALIDATION, NOT_VALID "%s", problem);
    return NULL;
}

static void change_done(struct engine_call *engine_call)
{
    struct destination_change *op =
        CONTAINER_OF(engine_call, struct destination_change, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("TableName"));
        json_write_plain_string(call->out, op->engine.table->name);
        api_member(call, STR("StreamArn"));
        json_write_string(call->out, op->request.stream_arn);
        api_member(call, STR("DestinationStatus"));
        json_write_plain_string(call->out, str_from_c(op->status));
        if (precision_of(&op->request) != PRECISION_NOT_SET) {
            api_member(call, str_from_c(op->configuration));
            api_begin(call);
            write_precision(call, precision_of(&op->request));
            api_end(call);
        }
        api_end(call);
    }
    table_release(op->engine.table);
    api_finish(call);
}

static void start_change(struct destination_change *op,
                         const struct table *(*change)(struct table_change *, const struct table *))
{
    op->engine = (struct table_change){
        .call = api_engine_call(op->call, change_done),
        .name = op->request.table_name,
        .change = change,
    };
    engine_change_table(&op->engine);
}

/* --- EnableKinesisStreamingDestination --- */

/* Destinations that a table remembers; the service's limit is not known. */
enum { DESTINATIONS_MAX = 32 };

static const struct table *enable(struct table_change *change, const struct table *table)
{
    struct destination_change *op = change_of(change);
    if (table_live_destination(table) != SIZE_MAX) {
        return refuse_state(change, "EnableKinesisStreamingDestination must be DISABLED or "
                                    "ENABLE_FAILED to perform ENABLE operation.");
    }
    struct kinesis_destination *destinations;
    struct table *made = copy_table(change, table, &destinations);
    size_t number = find(op, table);
    if (number == SIZE_MAX && table->destination_count == DESTINATIONS_MAX) {
        number = table->destination_count - 1; /* forgets the oldest: none is live */
        memmove(destinations, destinations + 1, number * sizeof(*destinations));
    } else if (number == SIZE_MAX) {
        number = made->destination_count++;
    }
    destinations[number] = (struct kinesis_destination){
        .stream_arn = op->request.stream_arn,
        .state = DESTINATION_ENABLING,
        .precision = precision_of(&op->request),
        .changed_ms = clock_wall_ms(),
        .problem = STR_NULL,
    };
    feed_begin(change, made, number);
    return made;
}

/* ARNs appear in log lines and metrics, so only characters are allowed that can be written there.
 */
static bool check_arn(struct api_call *call, struct str arn)
{
    for (size_t i = 0; i < arn.len; i++) {
        char c = arn.data[i];
        if (c <= ' ' || c > '~' || c == '"' || c == '\\') {
            return err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID "Invalid StreamArn");
        }
    }
    return true;
}

void op_enable_kinesis_streaming_destination(struct api_call *call)
{
    struct destination_change *op = ARENA_NEW(call->arena, struct destination_change);
    op->call = call;
    op->status = "ENABLING";
    op->configuration = "EnableKinesisStreamingConfiguration";
    if (!check_request(call, &shape_switch, &op->request) ||
        !check_arn(call, op->request.stream_arn)) {
        api_finish(call);
        return;
    }
    start_change(op, enable);
}

/* --- DisableKinesisStreamingDestination --- */

static const struct table *disable(struct table_change *change, const struct table *table)
{
    size_t number = find(change_of(change), table);
    enum destination_state state =
        number == SIZE_MAX ? DESTINATION_DISABLED : table->destinations[number].state;
    if (state == DESTINATION_DISABLING) {
        return table; /* a repeated request succeeds */
    }
    if (state != DESTINATION_ACTIVE) {
        return refuse_state(
            change, "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.");
    }
    struct kinesis_destination *destinations;
    struct table *made = copy_table(change, table, &destinations);
    destinations[number].state = DESTINATION_DISABLING;
    destinations[number].changed_ms = clock_wall_ms();
    feed_end(change, made, number);
    return made;
}

void op_disable_kinesis_streaming_destination(struct api_call *call)
{
    struct destination_change *op = ARENA_NEW(call->arena, struct destination_change);
    op->call = call;
    op->status = "DISABLING";
    if (!check_request(call, &shape_switch, &op->request)) {
        api_finish(call);
        return;
    }
    if (op->request.configuration != NULL) {
        err_set(&call->err, ERR_VALIDATION,
                "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters");
        api_finish(call);
        return;
    }
    start_change(op, disable);
}

/* --- UpdateKinesisStreamingDestination --- */

static const struct table *update(struct table_change *change, const struct table *table)
{
    struct destination_change *op = change_of(change);
    struct err *err = &change->call.err;
    struct str arn = op->request.stream_arn;
    enum time_precision precision = precision_of(&op->request);
    size_t number = find(op, table);
    if (number == SIZE_MAX) {
        err_set(err, ERR_VALIDATION,
                NOT_VALID
                "No streaming destination with streamArn: %.*s found for table with tableName: "
                "%.*s",
                STR_ARG(arn), STR_ARG(table->name));
        return NULL;
    }
    const struct kinesis_destination *before = &table->destinations[number];
    if (!str_eq(str_from_c(state_name(op->call, before)), STR("ACTIVE"))) {
        err_set(err, ERR_VALIDATION,
                NOT_VALID "Kinesis streaming is not in ACTIVE state. Updates are only allowed in "
                          "ACTIVE state. TableName: %.*s, kdsArn: %.*s",
                STR_ARG(table->name), STR_ARG(arn));
        return NULL;
    }
    if (MAX(before->precision, PRECISION_MILLISECOND) == precision) {
        err_set(err, ERR_VALIDATION,
                "Invalid Request: Precision is already set to the desired value of %.*s for "
                "tableId: %.*s, kdsArn: %.*s",
                STR_ARG(op->request.configuration->precision.text), (int)sizeof(table->id),
                table->id, STR_ARG(arn));
        return NULL;
    }
    struct kinesis_destination *destinations;
    struct table *made = copy_table(change, table, &destinations);
    destinations[number].precision = precision;
    destinations[number].updated_ms = clock_wall_ms();
    feed_update(change, made, number);
    return made;
}

void op_update_kinesis_streaming_destination(struct api_call *call)
{
    struct destination_change *op = ARENA_NEW(call->arena, struct destination_change);
    op->call = call;
    op->status = "UPDATING";
    op->configuration = "UpdateKinesisStreamingConfiguration";
    if (!check_request(call, &shape_update, &op->request)) {
        api_finish(call);
        return;
    }
    if (precision_of(&op->request) == PRECISION_NOT_SET) {
        err_set(&call->err, ERR_VALIDATION,
                "Streaming destination cannot be updated with given parameters: "
                "UpdateKinesisStreamingConfiguration cannot be null or contain only null values");
        api_finish(call);
        return;
    }
    start_change(op, update);
}
