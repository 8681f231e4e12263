/* DescribeContinuousBackups and UpdateContinuousBackups: point-in-time recovery of a table. Called
 * by dispatch.c on the thread of the request. */
#include "api/backups/backup_request.h"
#include "api/tables/table_description.h"
#include "api/tables/table_request.h"
#include "err/messages.h"

static void write_description(struct api_call *call, const struct table *table)
{
    JSON_PUT(call->out,
             "{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"ENABLED\","
             "\"PointInTimeRecoveryDescription\":");
    api_begin(call);
    api_member(call, STR("PointInTimeRecoveryStatus"));
    json_write_plain_string(call->out, table->recovery ? STR("ENABLED") : STR("DISABLED"));
    if (table->recovery) {
        struct recovery_window window =
            recovery_window(call->engine, table, engine_trusted_ms(call->engine));
        api_member(call, STR("RecoveryPeriodInDays"));
        buf_add_int64(call->out, table->recovery_days);
        describe_date(call, STR("EarliestRestorableDateTime"), window.earliest_ms);
        describe_date(call, STR("LatestRestorableDateTime"), window.latest_ms);
    }
    api_end(call);
    JSON_PUT(call->out, "}}");
}

/* --- DescribeContinuousBackups --- */

struct describe_backups_request {
    struct str table_name;
};

static const struct field describe_backups_fields[] = {
    FIELD(struct describe_backups_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};
static const struct shape shape_describe_backups = {
    .kind = SHAPE_STRUCT,
    .fields = describe_backups_fields,
    .size = sizeof(struct describe_backups_request),
};

static void describe(struct api_call *call, struct str name)
{
    const struct table *table = api_table(call, name);
    if (table == NULL) {
        call->err = ERR_INIT(call->arena);
        err_set(&call->err, ERR_TABLE_NOT_FOUND, MESSAGE_BACKUP_TABLE_NOT_FOUND, STR_ARG(name));
        return;
    }
    write_description(call, table);
}

void op_describe_continuous_backups(struct api_call *call)
{
    struct describe_backups_request request;
    if (api_decode(call, &shape_describe_backups, &request) &&
        table_request_check_name(call, &shape_describe_backups, &request, request.table_name)) {
        describe(call, request.table_name);
    }
    api_finish(call);
}

/* --- UpdateContinuousBackups --- */

struct recovery_request {
    struct wire_bool enabled;
    struct wire_int days;
};

struct update_backups_request {
    struct str table_name;
    struct recovery_request *recovery;
};

static const struct shape shape_recovery_days = {
    .kind = SHAPE_INTEGER, .min = 1, .max = RECOVERY_DAYS_MAX};
static const struct field recovery_fields[] = {
    FIELD_REQUIRED(struct recovery_request, enabled, "PointInTimeRecoveryEnabled", shape_bool),
    FIELD(struct recovery_request, days, "RecoveryPeriodInDays", shape_recovery_days),
    FIELD_END,
};
static const struct shape shape_recovery = {
    .kind = SHAPE_STRUCT,
    .java = "PointInTimeRecoverySpecification",
    .fields = recovery_fields,
    .size = sizeof(struct recovery_request),
};
static const struct field update_backups_fields[] = {
    FIELD(struct update_backups_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct update_backups_request, recovery, "PointInTimeRecoverySpecification",
                   shape_recovery),
    FIELD_END,
};
static const struct shape shape_update_backups = {
    .kind = SHAPE_STRUCT,
    .fields = update_backups_fields,
    .size = sizeof(struct update_backups_request),
};

struct update_backups {
    struct api_call *call;
    struct update_backups_request request;
    struct table_change engine;
};

static const struct table *change_recovery(struct table_change *change, const struct table *table)
{
    const struct recovery_request *recovery =
        CONTAINER_OF(change, struct update_backups, engine)->request.recovery;
    struct table *made = ARENA_NEW(change->call.arena, struct table);
    *made = *table;
    if (recovery->enabled.value) {
        recovery_enable(change, made, recovery->days.given ? (uint32_t)recovery->days.value : 0);
    } else {
        recovery_disable(change, made);
    }
    return made;
}

static void update_done(struct engine_call *engine_call)
{
    struct update_backups *op = CONTAINER_OF(engine_call, struct update_backups, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        write_description(call, op->engine.table);
    } else {
        backup_request_word_error(&call->err, op->request.table_name);
    }
    table_release(op->engine.table);
    api_finish(call);
}

static bool check_request(struct api_call *call, const struct update_backups_request *request)
{
    if (!request->recovery->enabled.value && request->recovery->days.given) {
        return err_set(&call->err, ERR_VALIDATION,
                       "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling "
                       "point-in-time recovery.");
    }
    return backup_request_check_table(call, request->table_name);
}

void op_update_continuous_backups(struct api_call *call)
{
    struct update_backups *op = ARENA_NEW(call->arena, struct update_backups);
    struct update_backups_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_update_backups, request) ||
        !table_request_check_name(call, &shape_update_backups, request, request->table_name) ||
        !wire_validate(&shape_update_backups, request, WORDING_OLDER, &call->err) ||
        !check_request(call, request)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_change){
        .call = api_engine_call(call, update_done),
        .name = request->table_name,
        .change = change_recovery,
    };
    engine_change_table(&op->engine);
}
