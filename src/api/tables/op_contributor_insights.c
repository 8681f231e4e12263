/* DescribeContributorInsights and UpdateContributorInsights. The settings are part of the table's
 * description in the catalog. Keys are counted for all tables, whether it is enabled or not
 * (src/meter/heat.c). Called by dispatch.c on the thread of the call. */
#include "api/tables/insights.h"
#include "api/tables/table_description.h"
#include "api/tables/table_request.h"
#include "base/clock.h"
#include "err/messages.h"

enum { INDEX_NAME_MIN = 3, INDEX_NAME_MAX = 255 };

struct insights_request {
    struct str table_name;
    struct str index_name;
    struct wire_enum action; /* UpdateContributorInsights only, like the next */
    struct wire_enum mode;
};

enum { ACTION_ENABLE, ACTION_DISABLE };
static const struct shape shape_insights_action = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ENABLE", "DISABLE", NULL},
};
/* In the order of enum insights_mode. */
static const struct shape shape_insights_mode = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS", NULL},
};

/* The shapes do not check the length of IndexName: the service has a special message for it. */
static const struct field describe_insights_fields[] = {
    FIELD(struct insights_request, table_name, "TableName", shape_table_name),
    FIELD(struct insights_request, index_name, "IndexName", shape_string),
    FIELD_END,
};
static const struct shape shape_describe_insights = {
    .kind = SHAPE_STRUCT,
    .fields = describe_insights_fields,
    .size = sizeof(struct insights_request),
};
static const struct field update_insights_fields[] = {
    FIELD(struct insights_request, table_name, "TableName", shape_table_name),
    FIELD(struct insights_request, index_name, "IndexName", shape_string),
    FIELD_REQUIRED(struct insights_request, action, "ContributorInsightsAction",
                   shape_insights_action),
    FIELD(struct insights_request, mode, "ContributorInsightsMode", shape_insights_mode),
    FIELD_END,
};
static const struct shape shape_update_insights = {
    .kind = SHAPE_STRUCT,
    .fields = update_insights_fields,
    .size = sizeof(struct insights_request),
};

static bool check_request(struct api_call *call, const struct shape *shape,
                          struct insights_request *request)
{
    if (!api_decode(call, shape, request) ||
        !table_request_check_name(call, shape, request, request->table_name) ||
        !wire_validate(shape, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    size_t len = request->index_name.len;
    return str_is_null(request->index_name) || (len >= INDEX_NAME_MIN && len <= INDEX_NAME_MAX) ||
           err_set(&call->err, ERR_VALIDATION,
                   "IndexName must be at least %d characters long and at most %d characters long",
                   INDEX_NAME_MIN, INDEX_NAME_MAX);
}

/* Sets *out to the table or, if the request names one, its index. Local indexes have no insights.
 */
static bool find(const struct insights_request *request, const struct table *table,
                 struct insights_of *out, struct err *err)
{
    *out = (struct insights_of){.table = table};
    if (str_is_null(request->index_name)) {
        return true;
    }
    out->index = table_index(table, request->index_name);
    return (out->index != NULL && out->index->kind == INDEX_GLOBAL) ||
           err_set(err, ERR_RESOURCE_NOT_FOUND,
                   "Requested resource not found: Index: %.*s not found for table: %.*s",
                   STR_ARG(request->index_name), STR_ARG(table->name));
}

/* --- DescribeContributorInsights --- */

void op_describe_contributor_insights(struct api_call *call)
{
    struct insights_request request;
    struct insights_of of;
    if (check_request(call, &shape_describe_insights, &request) &&
        insights_check_table(call, request.table_name) &&
        find(&request, api_table(call, request.table_name), &of, &call->err)) {
        api_begin(call);
        insights_write_summary(call, of);
        insights_write_rules(call, of);
        if (insights_settings(of)->changed_ms != 0) {
            describe_date(call, STR("LastUpdateDateTime"), insights_settings(of)->changed_ms);
        }
        api_end(call);
    }
    api_finish(call);
}

/* --- UpdateContributorInsights --- */

struct update_insights {
    struct api_call *call;
    struct insights_request request;
    bool is_changing; /* the request changed something */
    struct table_change engine;
};

/* Checks that the table and the index are not being created. */
static bool check_status(const struct table_change *change, struct insights_of of, struct err *err)
{
    const char *problem = NULL;
    if (of.table->restore.space != 0) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND,
                       STR_ARG(of.table->name));
    }
    if (table_status(change->call.engine, of.table) == STATUS_CREATING) {
        problem = "TableStatus";
    } else if (of.index != NULL && of.index->status == STATUS_CREATING) {
        problem = "IndexStatus";
    }
    return problem == NULL ||
           err_set(err, ERR_VALIDATION,
                   "Table or Index is not in a valid state to update Key Access Insights: %s must "
                   "be ACTIVE to enable ContributorInsights.",
                   problem);
}

/* Returns the settings after the action. An action that changes nothing keeps them as they are. */
static struct insights apply_action(struct insights insights,
                                    const struct insights_request *request)
{
    int64_t now_ms = clock_wall_ms();
    enum insights_mode mode = (enum insights_mode)request->mode.value; /* 0 if not given */
    if (request->action.value == ACTION_DISABLE) {
        if (insights.enabled) {
            insights.enabled = false;
            insights.changed_ms = now_ms;
        }
        return insights;
    }
    if (!insights.enabled || insights.mode != mode) {
        insights.rules_ms = insights.enabled ? insights.rules_ms : now_ms;
        insights.enabled = true;
        insights.mode = mode;
        insights.changed_ms = now_ms;
    }
    return insights;
}

static const struct table *change_insights(struct table_change *change, const struct table *table)
{
    struct update_insights *op = CONTAINER_OF(change, struct update_insights, engine);
    const struct insights_request *request = &op->request;
    struct arena *arena = change->call.arena;
    struct insights_of of;
    if (!find(request, table, &of, &change->call.err) ||
        !check_status(change, of, &change->call.err)) {
        return NULL;
    }
    struct table *made = ARENA_NEW(arena, struct table);
    *made = *table;
    const struct insights *before = insights_settings(of);
    struct insights insights = apply_action(*before, request);
    op->is_changing = insights.enabled != before->enabled || insights.mode != before->mode;
    if (of.index == NULL) {
        made->insights = insights;
        return made;
    }
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count);
    memcpy(indexes, table->indexes, table->index_count * sizeof(*indexes));
    indexes[of.index - table->indexes].insights = insights;
    made->indexes = indexes;
    return made;
}

static void update_done(struct engine_call *engine_call)
{
    struct update_insights *op = CONTAINER_OF(engine_call, struct update_insights, engine.call);
    struct api_call *call = op->call;
    struct insights_of of;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && find(&op->request, op->engine.table, &of, &call->err)) {
        of.is_changing = op->is_changing;
        api_begin(call);
        insights_write_summary(call, of);
        api_end(call);
    }
    table_release(op->engine.table);
    api_finish(call);
}

void op_update_contributor_insights(struct api_call *call)
{
    struct update_insights *op = ARENA_NEW(call->arena, struct update_insights);
    op->call = call;
    if (!check_request(call, &shape_update_insights, &op->request)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_change){
        .call = api_engine_call(call, update_done),
        .name = op->request.table_name,
        .change = change_insights,
        .may_be_creating = true,
    };
    engine_change_table(&op->engine);
}
