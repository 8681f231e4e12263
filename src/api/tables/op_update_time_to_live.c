/* UpdateTimeToLive: sets the attribute by which items expire, or disables expiry. Called by
 * dispatch.c on the thread of the call. */
#include "api/tables/table_request.h"
#include "base/clock.h"
#include "engine/expiry.h"
#include "err/messages.h"

struct ttl_request {
    struct wire_bool enabled;
    struct str attribute;
};

struct update_ttl_request {
    struct str table_name;
    struct ttl_request *ttl;
};

static const struct shape shape_ttl_attribute = {.kind = SHAPE_STRING, .min = 1, .max = 255};
static const struct field ttl_fields[] = {
    FIELD_REQUIRED(struct ttl_request, enabled, "Enabled", shape_bool),
    FIELD_REQUIRED(struct ttl_request, attribute, "AttributeName", shape_ttl_attribute),
    FIELD_END,
};
static const struct shape shape_ttl = {
    .kind = SHAPE_STRUCT,
    .java = "TimeToLiveSpecification",
    .fields = ttl_fields,
    .size = sizeof(struct ttl_request),
};
static const struct field update_ttl_fields[] = {
    FIELD(struct update_ttl_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct update_ttl_request, ttl, "TimeToLiveSpecification", shape_ttl),
    FIELD_END,
};
static const struct shape shape_update_ttl = {
    .kind = SHAPE_STRUCT,
    .fields = update_ttl_fields,
    .size = sizeof(struct update_ttl_request),
};

struct update_ttl {
    struct api_call *call;
    struct update_ttl_request request;
    struct table_change engine;
};

/* The minimum time between two changes: measured on the service as more than 1,811 s and less than
 * 1,872 s. */
#define INTERVAL_MS ((int64_t)31 * 60 * 1000)

/* Checks a change: first its contents, then the time since the previous change. */
static bool check_change(const struct ttl_request *ttl, const struct table *table, struct err *err)
{
    bool is_on = table->ttl == TTL_ENABLED || table->ttl == TTL_ENABLING;
    if (is_on && !str_eq(table->ttl_attribute, ttl->attribute)) {
        return err_set(err, ERR_VALIDATION,
                       "TimeToLive is active on a different AttributeName: current AttributeName "
                       "is %.*s",
                       STR_ARG(table->ttl_attribute));
    }
    if (is_on == ttl->enabled.value) {
        return err_set(err, ERR_VALIDATION, "TimeToLive is already %s",
                       is_on ? "enabled" : "disabled");
    }
    int64_t since_ms = clock_wall_ms() - table->ttl_changed_ms;
    if (table->ttl_changed_ms != 0 && since_ms >= 0 && since_ms < INTERVAL_MS) {
        return err_set(err, ERR_VALIDATION,
                       "Time to live has been modified multiple times within a fixed interval");
    }
    return true;
}

static const struct table *change_ttl(struct table_change *change, const struct table *table)
{
    const struct ttl_request *ttl = CONTAINER_OF(change, struct update_ttl, engine)->request.ttl;
    if (!check_change(ttl, table, &change->call.err)) {
        return NULL;
    }
    struct table *made = ARENA_NEW(change->call.arena, struct table);
    *made = *table;
    if (ttl->enabled.value) {
        expiry_enable(change, made, ttl->attribute);
    } else {
        expiry_disable(change, made);
    }
    return made;
}

/* The text of this operation for a table that is being made differs from that of others. */
static void word_creating(struct api_call *call, struct str name)
{
    if (call->err.code == ERR_RESOURCE_IN_USE) {
        call->err = ERR_INIT(call->arena);
        err_set(&call->err, ERR_RESOURCE_IN_USE, MESSAGE_IN_USE "Table %.*s is being created",
                STR_ARG(name));
    }
}

static void update_ttl_done(struct engine_call *engine_call)
{
    struct update_ttl *op = CONTAINER_OF(engine_call, struct update_ttl, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    word_creating(call, op->request.table_name);
    if (call->err.code == ERR_NONE) {
        expiry_wake(call->engine);
        api_begin(call);
        api_member(call, STR("TimeToLiveSpecification"));
        JSON_PUT(call->out, "{\"Enabled\":");
        json_write_bool(call->out, op->request.ttl->enabled.value);
        JSON_PUT(call->out, ",\"AttributeName\":");
        json_write_string(call->out, op->request.ttl->attribute);
        JSON_PUT(call->out, "}");
        api_end(call);
    }
    table_release(op->engine.table);
    api_finish(call);
}

void op_update_time_to_live(struct api_call *call)
{
    struct update_ttl *op = ARENA_NEW(call->arena, struct update_ttl);
    op->call = call;
    struct update_ttl_request *request = &op->request;
    if (!api_decode(call, &shape_update_ttl, request) ||
        !table_request_check_name(call, &shape_update_ttl, request, request->table_name) ||
        !wire_validate(&shape_update_ttl, request, WORDING_OLDER, &call->err)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_change){
        .call = api_engine_call(call, update_ttl_done),
        .name = request->table_name,
        .change = change_ttl,
    };
    engine_change_table(&op->engine);
}
