/* UpdateTable: changes the settings of a table. index_updates.c changes its indexes, and
 * update_conflicts.c checks which changes one request may combine. Called by dispatch.c on the
 * thread of the call; the engine calls change_table() there too. */
#include "api/tables/table_description.h"
#include "api/tables/table_update.h"
#include "base/clock.h"
#include "base/random.h"
#include "engine/stream.h"
#include "err/messages.h"

static const struct shape shape_consistency = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"EVENTUAL", "STRONG", NULL},
};
static const struct field update_table_fields[] = {
    FIELD(struct update_table_request, table_name, "TableName", shape_table_name),
    FIELD(struct update_table_request, definitions, "AttributeDefinitions", shape_definitions),
    FIELD(struct update_table_request, billing_mode, "BillingMode", shape_billing_mode),
    FIELD(struct update_table_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD(struct update_table_request, index_updates, "GlobalSecondaryIndexUpdates",
          shape_index_updates),
    FIELD(struct update_table_request, stream, "StreamSpecification", shape_stream),
    FIELD(struct update_table_request, sse, "SSESpecification", shape_sse),
    FIELD(struct update_table_request, table_class, "TableClass", shape_table_class),
    FIELD(struct update_table_request, deletion_protection, "DeletionProtectionEnabled",
          shape_bool),
    FIELD(struct update_table_request, on_demand, "OnDemandThroughput", shape_on_demand),
    FIELD(struct update_table_request, warm, "WarmThroughput", shape_warm),
    FIELD(struct update_table_request, replica_updates, "ReplicaUpdates", shape_replica_updates),
    FIELD(struct update_table_request, consistency, "MultiRegionConsistency", shape_consistency),
    FIELD_END,
};
static const struct shape shape_update_table = {
    .kind = SHAPE_STRUCT,
    .fields = update_table_fields,
    .size = sizeof(struct update_table_request),
};

struct update_table {
    struct api_call *call;
    struct update_table_request request;
    struct str name;
    struct table_change engine;
    const struct table *shown; /* the description in the answer */
    struct table_describe describe;
};

static bool refuse(struct table_change *change, const char *text)
{
    return err_set(&change->call.err, ERR_VALIDATION, "%s", text);
}

/* Sets the units, and records the time of an increase and the number of decreases on this UTC
 * day. */
static void set_throughput(struct throughput *throughput, const struct throughput_request *given,
                           int64_t now_ms)
{
    bool up =
        given->read.value > throughput->read_units || given->write.value > throughput->write_units;
    bool down =
        given->read.value < throughput->read_units || given->write.value < throughput->write_units;
    const int64_t day_ms = (int64_t)24 * 60 * 60 * 1000;
    if (up) {
        throughput->last_increase_ms = now_ms;
    }
    if (down) {
        bool same_day = throughput->last_decrease_ms / day_ms == now_ms / day_ms;
        throughput->decreases_today = same_day ? throughput->decreases_today + 1 : 1;
        throughput->last_decrease_ms = now_ms;
    }
    throughput->read_units = given->read.value;
    throughput->write_units = given->write.value;
}

static bool wants_on_demand(const struct update_table_request *request, const struct table *table)
{
    return str_is_null(request->billing_mode.text)
               ? table->billing == BILLING_PAY_PER_REQUEST
               : request->billing_mode.value == WIRE_BILLING_PAY_PER_REQUEST;
}

/* Returns whether the request sets ProvisionedThroughput of the index. */
static bool provisions_index(const struct update_table_request *request, struct str name)
{
    for (size_t i = 0; i < request->index_updates.count; i++) {
        const struct index_request *update = index_update_at(request, i)->update;
        if (update != NULL && update->throughput != NULL && str_eq(update->name, name)) {
            return true;
        }
    }
    return false;
}

/* Checks that a change to PROVISIONED sets ProvisionedThroughput of each global index. */
static bool check_indexes_provisioned(struct table_change *change,
                                      const struct update_table_request *request,
                                      const struct table *table)
{
    struct str missing = STR("");
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        if (index->kind == INDEX_GLOBAL && !provisions_index(request, index->name)) {
            missing = arena_format(change->call.arena, "%.*s%s%.*s", STR_ARG(missing),
                                   missing.len > 0 ? "," : "", STR_ARG(index->name));
        }
    }
    return missing.len == 0 ||
           err_set(&change->call.err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_THROUGHPUT_MISSING,
                   STR_ARG(missing));
}

static void clear_throughput(struct table *table, struct index *indexes)
{
    table->throughput = (struct throughput){0};
    for (size_t i = 0; i < table->index_count; i++) {
        indexes[i].throughput = (struct throughput){0};
    }
}

static bool change_billing(struct table_change *change, const struct update_table_request *request,
                           struct table *table, struct index *indexes, int64_t now_ms)
{
    bool was_on_demand = table->billing == BILLING_PAY_PER_REQUEST;
    bool on_demand = wants_on_demand(request, table);
    if (on_demand && request->throughput != NULL) {
        return refuse(change, MESSAGE_UNITS_NOT_ALLOWED);
    }
    if (on_demand && !was_on_demand) {
        table->on_demand_since_ms = now_ms;
        clear_throughput(table, indexes);
    }
    if (!on_demand && was_on_demand) {
        table->on_demand = (struct unit_pair){0};
        for (size_t i = 0; i < table->index_count; i++) {
            indexes[i].on_demand = (struct unit_pair){0};
        }
        if (!check_indexes_provisioned(change, request, table)) {
            return false;
        }
    }
    table->billing = on_demand ? BILLING_PAY_PER_REQUEST : BILLING_PROVISIONED;
    table->was_on_demand = table->was_on_demand || on_demand;
    return true;
}

bool table_update_units(const struct table_update *update, const struct throughput_request *given,
                        struct str index, struct throughput *throughput)
{
    const char *what = str_is_null(index) ? "table" : "index";
    long long read = throughput->read_units;
    long long write = throughput->write_units;
    if (read != given->read.value || write != given->write.value) {
        set_throughput(throughput, given, update->now_ms);
        return true;
    }
    return err_set(
        &update->change->call.err, ERR_VALIDATION,
        "The provisioned throughput for the %s%s%.*s will not change. The requested value equals "
        "the current value. Current ReadCapacityUnits provisioned for the %s: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for the %s: %lld. "
        "Requested WriteCapacityUnits: %lld. Refer to the Amazon DynamoDB Developer Guide for "
        "current limits and how to request higher limits.",
        what, str_is_null(index) ? "" : " ", STR_ARG(index), what, read, read, what, write, write);
}

/* -1 removes a maximum; an absent member keeps it. */
bool table_update_ceiling(const struct table_update *update, const struct pair_request *given,
                          struct unit_pair *ceiling)
{
    struct err *err = &update->change->call.err;
    if (given == NULL || (!given->read.given && !given->write.given)) {
        return true;
    }
    if (update->table->billing == BILLING_PROVISIONED) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "%s for OnDemandThroughput cannot be specified when the table "
                       "BillingMode is PROVISIONED",
                       given->read.given ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    bool bad_read = given->read.given && given->read.value < 1 && given->read.value != -1;
    bool bad_write = given->write.given && given->write.value < 1 && given->write.value != -1;
    if (bad_read || bad_write) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Requested %s for OnDemandThroughput for table is outside of valid range",
                       bad_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    if (given->read.given) {
        ceiling->read = MAX(given->read.value, 0);
    }
    if (given->write.given) {
        ceiling->write = MAX(given->write.value, 0);
    }
    return true;
}

static bool change_stream(struct table_change *change, const struct stream_request *stream,
                          struct table *table)
{
    if (stream == NULL) {
        return true;
    }
    bool is_on = table->stream != STREAM_NONE;
    if (stream->enabled.value == is_on) {
        return err_set(&change->call.err, ERR_VALIDATION, "Table %s: TableName: %.*s",
                       is_on ? "already has an enabled stream" : "has no stream to disable",
                       STR_ARG(table->name));
    }
    table_change_stream(change, table, table_request_stream(stream));
    return true;
}

static bool change_sse(struct update_table *op, const struct sse_request *sse, struct table *table)
{
    struct err *err = &op->engine.call.err;
    if (sse == NULL) {
        return true;
    }
    if (!sse->enabled.value && !table->sse_kms) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "Table is already encrypted by default");
    }
    if (table->sse_kms && str_eq(sse->key, table->sse_key_arn)) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "Table is already encrypted with given KMSMasterKeyId. Use "
                                       "KMSMasterKeyId parameter if you want to change Master Key");
    }
    table_request_set_sse(op->call, sse, table);
    return true;
}

/* Stores the current WarmThroughput in the new description, because it must not decrease when the
 * billing mode or the units change. */
static void store_current_warm(const struct table *before, struct table *table,
                               struct index *indexes)
{
    table->warm = table_warm(before, NULL);
    for (size_t i = 0; i < before->index_count; i++) {
        if (indexes[i].kind == INDEX_GLOBAL) {
            indexes[i].warm = table_warm(before, &before->indexes[i]);
        }
    }
}

/* The answer has the units as they were before the change. */
static void show_units(struct throughput *shown, const struct throughput *before)
{
    shown->read_units = before->read_units;
    shown->write_units = before->write_units;
}

/* The answer has -1 for a maximum that the request removes. */
static void show_ceiling(struct unit_pair *shown, const struct pair_request *given)
{
    if (given != NULL && given->read.given && given->read.value == -1) {
        shown->read = -1;
    }
    if (given != NULL && given->write.given && given->write.value == -1) {
        shown->write = -1;
    }
}

/* Returns the description for the answer: as the service describes a table while a change is in
 * progress. */
static const struct table *description_during_update(struct arena *arena,
                                                     const struct update_table_request *request,
                                                     const struct table *before,
                                                     const struct table *after)
{
    struct table *shown = ARENA_NEW(arena, struct table);
    *shown = *after;
    struct index *indexes = ARENA_ARRAY(arena, struct index, after->index_count + 1);
    memcpy(indexes, after->indexes, after->index_count * sizeof(*indexes));
    shown->indexes = indexes;
    shown->on_demand_since_ms = before->on_demand_since_ms;
    bool stays_provisioned =
        before->billing == BILLING_PROVISIONED && after->billing == BILLING_PROVISIONED;
    if (stays_provisioned) {
        show_units(&shown->throughput, &before->throughput);
    }
    shown->warm = before->warm;
    shown->sse_kms = before->sse_kms;
    shown->sse_key_arn = before->sse_key_arn;
    show_ceiling(&shown->on_demand, request->on_demand);
    for (size_t i = 0; i < request->index_updates.count; i++) {
        const struct index_request *given = index_update_at(request, i)->update;
        if (given != NULL) {
            const struct index *index = table_index(shown, given->name);
            show_ceiling(&indexes[index - shown->indexes].on_demand, given->on_demand);
        }
    }
    for (size_t i = 0; i < after->index_count; i++) {
        const struct index *old = table_index(before, indexes[i].name);
        struct throughput *new = &indexes[i].throughput;
        if (old == NULL) {
            continue;
        }
        bool changes = old->throughput.read_units != new->read_units ||
                       old->throughput.write_units != new->write_units;
        if (changes && old->status == STATUS_ACTIVE) {
            indexes[i].status = STATUS_UPDATING;
        }
        if (stays_provisioned) {
            show_units(new, &old->throughput);
        }
    }
    return shown;
}

static const struct table *change_table(struct table_change *change, const struct table *before)
{
    struct update_table *op = CONTAINER_OF(change, struct update_table, engine);
    const struct update_table_request *request = &op->request;
    if (request->replica_updates.given) {
        update_conflicts_refuse_replicas(op->call, request, &change->call.err);
        return NULL;
    }
    int64_t now_ms = clock_wall_ms();
    struct table *table = ARENA_NEW(op->call->arena, struct table);
    *table = *before;
    struct index *indexes = ARENA_ARRAY(op->call->arena, struct index, table->index_count + 1);
    memcpy(indexes, before->indexes, table->index_count * sizeof(*indexes));
    table->indexes = indexes;
    struct table_update update = {
        .change = change,
        .request = request,
        .before = before,
        .table = table,
        .indexes = indexes,
        .now_ms = now_ms,
    };
    store_current_warm(before, table, indexes);
    if (!index_updates_check_states(&update) ||
        !change_billing(change, request, table, indexes, now_ms) ||
        (request->throughput != NULL &&
         !table_update_units(&update, request->throughput, STR_NULL, &table->throughput)) ||
        !table_update_ceiling(&update, request->on_demand, &table->on_demand) ||
        !change_stream(change, request->stream, table) || !change_sse(op, request->sse, table) ||
        !table_request_raise_warm(request->warm, table, NULL, &change->call.err) ||
        !index_updates_change(&update)) {
        return NULL;
    }
    if (!str_is_null(request->table_class.text)) {
        table->class_given = true;
        table->class = table_request_class(&request->table_class);
        table->class_changed_ms = now_ms;
    }
    if (request->deletion_protection.given) {
        table->deletion_protection = request->deletion_protection.value;
    }
    op->shown = description_during_update(op->call->arena, request, before, table);
    return table;
}

/* Returns whether the request has only changes during which the table stays ACTIVE. */
static bool stays_active(const struct update_table_request *request)
{
    bool alone = str_is_null(request->billing_mode.text) && request->throughput == NULL &&
                 request->index_updates.count == 0 && request->stream == NULL;
    return alone && (request->sse != NULL || request->deletion_protection.given ||
                     request->on_demand != NULL || request->warm != NULL);
}

/* Writes the answer after the change, when the engine has read the table's sizes. */
static void describe_done(struct engine_call *engine_call)
{
    struct update_table *op = CONTAINER_OF(engine_call, struct update_table, describe.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("TableDescription"));
        describe_table(call,
                       &(struct description){
                           .table = op->shown,
                           .sizes = &op->describe.sizes,
                           .status = stays_active(&op->request) ? STATUS_ACTIVE : STATUS_UPDATING,
                           .sse_is_updating = op->request.sse != NULL,
                           .warm_is_updating = op->request.warm != NULL,
                       });
        api_end(call);
    }
    table_release(op->describe.table);
    api_finish(call);
}

static void change_done(struct engine_call *engine_call)
{
    struct update_table *op = CONTAINER_OF(engine_call, struct update_table, engine.call);
    op->call->err = engine_call->err;
    if (engine_call->err.code != ERR_NONE) {
        api_finish(op->call);
        return;
    }
    table_release(op->engine.table);
    op->describe = (struct table_describe){
        .call = api_engine_call(op->call, describe_done),
        .name = op->name,
    };
    engine_describe_table(&op->describe);
}

static bool check_throughput(const struct update_table_request *request, struct err *err)
{
    struct throughput checked;
    bool provisioned = !str_is_null(request->billing_mode.text) &&
                       request->billing_mode.value == WIRE_BILLING_PROVISIONED;
    if (provisioned && request->throughput == NULL) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "ProvisionedThroughput must be specified when BillingMode is "
                       "PROVISIONED");
    }
    return request->throughput == NULL ||
           table_request_throughput(request->throughput, &checked, err);
}

/* Checks that a view type is given if and only if the stream is enabled. */
static bool check_stream(const struct stream_request *stream, struct err *err)
{
    bool has_view = stream != NULL && !str_is_null(stream->view.text);
    if (stream == NULL || stream->enabled.value == has_view) {
        return true;
    }
    return err_set(err, ERR_VALIDATION, MESSAGE_INVALID "%s",
                   has_view ? "If stream is being disabled, then UpdateViewType must not be "
                              "specified"
                            : "If stream is being enabled then UpdateViewType is required");
}

static bool check_request(struct update_table *op)
{
    struct api_call *call = op->call;
    struct update_table_request *request = &op->request;
    if (!api_decode(call, &shape_update_table, request) ||
        !table_request_check_name(call, &shape_update_table, request, request->table_name) ||
        !wire_validate(&shape_update_table, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    op->name = request->table_name;
    return index_updates_check(request, &call->err) &&
           update_conflicts_check(request, &call->err) && check_throughput(request, &call->err) &&
           check_stream(request->stream, &call->err) &&
           table_request_check_sse(request->sse, &call->err);
}

void op_update_table(struct api_call *call)
{
    struct update_table *op = ARENA_NEW(call->arena, struct update_table);
    op->call = call;
    if (!check_request(op)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_change){
        .call = api_engine_call(call, change_done),
        .name = op->name,
        .change = change_table,
    };
    engine_change_table(&op->engine);
}
