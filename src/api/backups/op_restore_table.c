/* RestoreTableFromBackup and RestoreTableToPointInTime: make a new table, which the engine then
 * fills. A restore to a point in time pins the instant by an internal backup first; then both do
 * the same. Called by dispatch.c on the thread of the request. */
#include "api/arn.h"
#include "api/backups/backup_request.h"
#include "api/backups/restore_request.h"
#include "api/tables/table_description.h"
#include "base/random.h"
#include "err/messages.h"

struct restore {
    struct api_call *call;
    struct str target;
    const struct restore_overrides *overrides;
    struct table table; /* the new one */
    struct table_create create;
    struct backup_get get;       /* of RestoreTableFromBackup */
    struct recovery_pin pin;     /* of RestoreTableToPointInTime, like the next */
    struct backup_delete cancel; /* deletes the pin */
};

static void finish(struct restore *restore, const struct err *err)
{
    restore->call->err = *err;
    api_finish(restore->call);
}

static void answer(struct restore *restore)
{
    struct api_call *call = restore->call;
    struct table_sizes sizes = {0};
    api_begin(call);
    api_member(call, STR("TableDescription"));
    describe_table(call, &(struct description){
                             .table = restore->create.table,
                             .sizes = &sizes,
                             .status = STATUS_CREATING,
                         });
    api_end(call);
    api_finish(call);
}

/* --- making the table --- */

static void cancel_done(struct engine_call *engine_call)
{
    struct restore *restore = CONTAINER_OF(engine_call, struct restore, cancel.call);
    finish(restore, &restore->create.call.err);
}

/* Deletes the internal backup, if there is one, and fails the call. */
static void fail(struct restore *restore, const struct err *err)
{
    restore->create.call.err = *err;
    if (str_is_null(restore->pin.row_name)) {
        finish(restore, err);
        return;
    }
    restore->cancel = (struct backup_delete){
        .call = api_engine_call(restore->call, cancel_done),
        .row_name = restore->pin.row_name,
        .by_expiry = true,
    };
    engine_delete_backup(&restore->cancel);
}

static void create_done(struct engine_call *engine_call)
{
    struct restore *restore = CONTAINER_OF(engine_call, struct restore, create.call);
    if (engine_call->err.code != ERR_NONE) {
        struct err err = engine_call->err;
        fail(restore, &err);
        return;
    }
    answer(restore);
    table_release(restore->create.table);
}

static bool check_limit(struct api_call *call)
{
    return engine_count_restores(call->engine) < RESTORES_MAX ||
           err_set(&call->err, ERR_LIMIT_EXCEEDED,
                   "Subscriber limit exceeded: Only %d restore operations can be done "
                   "simultaneously",
                   RESTORES_MAX);
}

/* Creates the table, when the source is known. */
static void create_table(struct restore *restore, struct str row_name, const struct backup *backup)
{
    struct api_call *call = restore->call;
    restore->table = backup->table;
    if (!restore_request_apply(call, restore->overrides, &restore->table) || !check_limit(call)) {
        struct err err = call->err;
        fail(restore, &err);
        return;
    }
    restore->table.name = restore->target;
    random_uuid(restore->table.id);
    restore->create = (struct table_create){
        .call = api_engine_call(call, create_done),
        .wanted = &restore->table,
    };
    backup_prepare_restore(&restore->create, &restore->table, row_name, backup);
    engine_create_table(&restore->create);
}

/* --- RestoreTableFromBackup --- */

struct from_backup_request {
    struct str target;
    struct str arn;
    struct restore_overrides overrides;
};

static const struct field from_backup_fields[] = {
    FIELD_REQUIRED(struct from_backup_request, target, "TargetTableName", shape_new_index_name),
    FIELD_REQUIRED(struct from_backup_request, arn, "BackupArn", shape_backup_arn),
    RESTORE_OVERRIDE_FIELDS(struct from_backup_request),
    FIELD_END,
};
static const struct shape shape_from_backup = {
    .kind = SHAPE_STRUCT,
    .fields = from_backup_fields,
    .size = sizeof(struct from_backup_request),
};

static void got_backup(struct engine_call *engine_call)
{
    struct restore *restore = CONTAINER_OF(engine_call, struct restore, get.call);
    struct api_call *call = restore->call;
    const struct backup *backup = &restore->get.backup;
    struct err err = engine_call->err;
    if (err.code == ERR_NONE && backup->kind == BACKUP_INTERNAL) {
        struct str arn = backup_arn(call->engine, call->arena, restore->get.row_name);
        err_set(&err, ERR_BACKUP_NOT_FOUND, MESSAGE_BACKUP_NOT_FOUND, STR_ARG(arn));
    }
    if (err.code != ERR_NONE) {
        finish(restore, &err);
        return;
    }
    create_table(restore, restore->get.row_name, backup);
}

void op_restore_table_from_backup(struct api_call *call)
{
    struct from_backup_request *request = ARENA_NEW(call->arena, struct from_backup_request);
    struct restore *restore = ARENA_NEW(call->arena, struct restore);
    restore->call = call;
    if (!api_decode(call, &shape_from_backup, request) ||
        !wire_validate(&shape_from_backup, request, WORDING_OLDER, &call->err) ||
        !backup_request_row(call, request->arn, &restore->get.row_name)) {
        api_finish(call);
        return;
    }
    restore->target = request->target;
    restore->overrides = &request->overrides;
    restore->get.call = api_engine_call(call, got_backup);
    engine_get_backup(&restore->get);
}

/* --- RestoreTableToPointInTime --- */

struct to_time_request {
    struct str source_arn;
    struct str source;
    struct str target;
    struct wire_bool latest;
    struct wire_int time_ms;
    struct restore_overrides overrides;
};

static const struct field to_time_fields[] = {
    FIELD(struct to_time_request, source_arn, "SourceTableArn", shape_string),
    FIELD(struct to_time_request, source, "SourceTableName", shape_new_index_name),
    FIELD_REQUIRED(struct to_time_request, target, "TargetTableName", shape_new_index_name),
    FIELD(struct to_time_request, latest, "UseLatestRestorableTime", shape_bool),
    FIELD(struct to_time_request, time_ms, "RestoreDateTime", shape_timestamp),
    RESTORE_OVERRIDE_FIELDS(struct to_time_request),
    FIELD_END,
};
static const struct shape shape_to_time = {
    .kind = SHAPE_STRUCT,
    .fields = to_time_fields,
    .size = sizeof(struct to_time_request),
};

/* The service restores tables of other Regions, too; those do not exist here. */
static bool check_region(struct api_call *call, const struct arn *arn,
                         const struct restore_overrides *overrides)
{
    if (str_eq(arn->region, engine_region(call->engine)) && str_eq(arn->partition, STR("aws"))) {
        return true;
    }
    return overrides->sse == NULL
               ? err_set(&call->err, ERR_VALIDATION,
                         "Invalid Request: sseSpecificationOverride must be provided for "
                         "cross-region restores")
               : err_set(&call->err, ERR_TABLE_NOT_FOUND, "Table not found");
}

/* Finds the name of the source in the parameter that has it. */
static bool find_source(struct api_call *call, const struct to_time_request *request,
                        struct str *out)
{
    struct err *err = &call->err;
    if (!str_is_null(request->source_arn) && !str_is_null(request->source)) {
        return err_set(err, ERR_VALIDATION,
                       "Must provide exactly one of: sourceTableArn, sourceTableName");
    }
    *out = request->source;
    if (str_is_null(request->source_arn)) {
        return !str_is_null(request->source) ||
               err_set(err, ERR_VALIDATION, MESSAGE_TABLE_NAME_MISSING);
    }
    struct arn arn = arn_parse(request->source_arn);
    if (arn.kind != ARN_TABLE) {
        return err_set(err, ERR_VALIDATION, "sourceTableArn is not a valid ARN");
    }
    if (!str_eq(arn.account, engine_account(call->engine))) {
        return err_set(err, ERR_VALIDATION,
                       "This action is only supported by accounts that match the resource "
                       "owner\xe2\x80\x99s account.");
    }
    *out = arn.table;
    return check_region(call, &arn, &request->overrides);
}

static bool check_times(struct api_call *call, const struct to_time_request *request)
{
    bool latest = request->latest.given && request->latest.value;
    if (latest && request->time_ms.given) {
        return err_set(&call->err, ERR_VALIDATION,
                       "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot "
                       "be set for point-in-time restore request. Please specify only one.");
    }
    return latest || request->time_ms.given ||
           err_set(&call->err, ERR_VALIDATION,
                   "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must "
                   "be specified, but not both");
}

/* Checks that the source exists, and that the overrides match it. */
static bool check_source(struct restore *restore, struct str name, bool is_by_arn)
{
    struct api_call *call = restore->call;
    const struct table *source = api_table(call, name);
    if (source == NULL) {
        call->err = ERR_INIT(call->arena);
        return is_by_arn ? err_set(&call->err, ERR_TABLE_NOT_FOUND, "Table not found")
                         : err_set(&call->err, ERR_TABLE_NOT_FOUND, MESSAGE_BACKUP_TABLE_NOT_FOUND,
                                   STR_ARG(name));
    }
    return true;
}

static void pinned(struct engine_call *engine_call)
{
    struct restore *restore = CONTAINER_OF(engine_call, struct restore, pin.change.call);
    struct err err = engine_call->err;
    table_release(restore->pin.change.table);
    if (err.code != ERR_NONE) {
        restore->pin.row_name = STR_NULL;
        backup_request_word_error(&err, restore->pin.change.name);
        finish(restore, &err);
        return;
    }
    create_table(restore, restore->pin.row_name, &restore->pin.backup);
}

void op_restore_table_to_point_in_time(struct api_call *call)
{
    struct to_time_request *request = ARENA_NEW(call->arena, struct to_time_request);
    struct restore *restore = ARENA_NEW(call->arena, struct restore);
    struct str name;
    restore->call = call;
    if (!api_decode(call, &shape_to_time, request) ||
        !wire_validate(&shape_to_time, request, WORDING_OLDER, &call->err) ||
        !find_source(call, request, &name) || !check_times(call, request) ||
        !check_source(restore, name, !str_is_null(request->source_arn))) {
        api_finish(call);
        return;
    }
    restore->target = request->target;
    restore->overrides = &request->overrides;
    restore->pin = (struct recovery_pin){
        .change = {.call = api_engine_call(call, pinned), .name = name},
        .instant_ms = request->time_ms.given ? request->time_ms.value : -1,
    };
    engine_pin_instant(&restore->pin);
}
