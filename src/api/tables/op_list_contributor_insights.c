/* ListContributorInsights: the tables and global indexes whose Contributor Insights is not
 * DISABLED, by table name; each table before its indexes. Called by dispatch.c on the thread of the
 * call. */
#include "api/tables/insights.h"
#include "base/base64.h"
#include "err/messages.h"

enum { RESULTS_MAX = 100 };

struct list_insights_request {
    struct str table_name;
    struct str next_token;
    struct wire_int limit;
};

static const struct shape shape_insights_limit = {.kind = SHAPE_INTEGER, .max = RESULTS_MAX};
static const struct field list_insights_fields[] = {
    FIELD(struct list_insights_request, table_name, "TableName", shape_table_name),
    FIELD(struct list_insights_request, next_token, "NextToken", shape_string),
    FIELD(struct list_insights_request, limit, "MaxResults", shape_insights_limit),
    FIELD_END,
};
static const struct shape shape_list_insights = {
    .kind = SHAPE_STRUCT,
    .fields = list_insights_fields,
    .size = sizeof(struct list_insights_request),
};

/* --- the token: base64 of TABLE "/" NUMBER, the last entry of the page before. The number is that
 * of the index, counted from 1; 0 is the table itself. --- */

struct position {
    struct str table; /* STR_NULL: before all */
    int64_t number;
};

static void write_token(struct api_call *call, struct position last)
{
    struct str text =
        arena_format(call->arena, "%.*s/%lld", STR_ARG(last.table), (long long)last.number);
    char *token = arena_bytes(call->arena, BASE64_ENCODED_LEN(text.len));
    base64_encode(text, token);
    api_member(call, STR("NextToken"));
    json_write_plain_string(call->out, str_make(token, BASE64_ENCODED_LEN(text.len)));
}

static bool read_token(struct api_call *call, struct str token, struct position *out)
{
    *out = (struct position){.table = STR_NULL};
    if (str_is_null(token)) {
        return true;
    }
    char *text = arena_bytes(call->arena, BASE64_DECODED_MAX(token.len) + 1);
    size_t len;
    const char *slash = base64_decode(token, text, &len) ? memchr(text, '/', len) : NULL;
    if (slash != NULL &&
        str_to_int64(str_skip(str_make(text, len), (size_t)(slash - text) + 1), &out->number)) {
        out->table = str_make(text, (size_t)(slash - text));
        return true;
    }
    return err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_NEXT_TOKEN);
}

/* --- the list --- */

struct listing {
    struct api_call *call;
    struct position after;
    struct position last; /* that was written */
    size_t limit;
    size_t count;
    bool more;
};

static void add_entry(struct listing *list, struct insights_of of, struct position position)
{
    struct api_call *call = list->call;
    bool is_passed = !str_is_null(list->after.table) && str_eq(position.table, list->after.table) &&
                     position.number <= list->after.number;
    if (is_passed || insights_is_disabled(call, of)) {
        return;
    }
    if (list->count == list->limit) {
        list->more = true;
        return;
    }
    if (list->count++ > 0) {
        buf_add_char(call->out, ',');
    }
    api_begin(call);
    insights_write_summary(call, of);
    api_end(call);
    list->last = position;
}

static void add_table(struct listing *list, struct str name)
{
    const struct table *table = table_acquire(list->call->engine, name);
    if (table == NULL) {
        return; /* deleted since the names were listed */
    }
    add_entry(list, (struct insights_of){.table = table}, (struct position){name, 0});
    for (size_t i = 0; i < table->index_count && !list->more; i++) {
        add_entry(list, (struct insights_of){.table = table, .index = &table->indexes[i]},
                  (struct position){name, (int64_t)i + 1});
    }
    table_release(table);
}

/* Whether the table may have entries behind the token. */
static bool is_wanted(const struct listing *list, struct str name)
{
    return str_is_null(list->after.table) || str_cmp(name, list->after.table) >= 0;
}

static void write_list(struct listing *list, struct str table_name)
{
    struct api_call *call = list->call;
    struct table_names names = {.names = &table_name, .count = 1};
    if (str_is_null(table_name)) {
        engine_list_tables(call->engine, call->arena, STR_NULL, SIZE_MAX, &names);
    }
    api_begin(call);
    api_member(call, STR("ContributorInsightsSummaries"));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < names.count && !list->more; i++) {
        if (is_wanted(list, names.names[i])) {
            add_table(list, names.names[i]);
        }
    }
    buf_add_char(call->out, ']');
    if (list->more) {
        write_token(call, list->last);
    }
    api_end(call);
}

void op_list_contributor_insights(struct api_call *call)
{
    struct list_insights_request request;
    struct listing list = {.call = call};
    if (api_decode(call, &shape_list_insights, &request) &&
        wire_validate(&shape_list_insights, &request, WORDING_OLDER, &call->err) &&
        (str_is_null(request.table_name) || (api_check_table_name(call, request.table_name) &&
                                             insights_check_table(call, request.table_name))) &&
        read_token(call, request.next_token, &list.after)) {
        list.limit = request.limit.value > 0 ? (size_t)request.limit.value : RESULTS_MAX;
        write_list(&list, request.table_name);
    }
    api_finish(call);
}
