/* Writes Contributor Insights of tables and global indexes for the answers of its operations.
 * Called on the thread of the call. */
#include "api/tables/insights.h"

#include "err/messages.h"

const struct insights *insights_settings(struct insights_of of)
{
    return of.index == NULL ? &of.table->insights : &of.index->insights;
}

static const char *status_name(struct api_call *call, struct insights_of of)
{
    const struct insights *insights = insights_settings(of);
    if (insights->changed_ms == 0) {
        return "DISABLED";
    }
    bool is_settled = !of.is_changing && catalog_delay_is_over(call->engine, insights->changed_ms);
    if (insights->enabled) {
        return is_settled ? "ENABLED" : "ENABLING";
    }
    return is_settled ? "DISABLED" : "DISABLING";
}

bool insights_is_disabled(struct api_call *call, struct insights_of of)
{
    return str_eq(str_from_c(status_name(call, of)), STR("DISABLED"));
}

void insights_write_summary(struct api_call *call, struct insights_of of)
{
    const struct insights *insights = insights_settings(of);
    api_member(call, STR("TableName"));
    json_write_plain_string(call->out, of.table->name);
    if (of.index != NULL) {
        api_member(call, STR("IndexName"));
        json_write_plain_string(call->out, of.index->name);
    }
    api_member(call, STR("ContributorInsightsStatus"));
    json_write_plain_string(call->out, str_from_c(status_name(call, of)));
    if (insights->changed_ms != 0) {
        api_member(call, STR("ContributorInsightsMode"));
        json_write_plain_string(call->out, insights->mode == INSIGHTS_THROTTLED_KEYS
                                               ? STR("THROTTLED_KEYS")
                                               : STR("ACCESSED_AND_THROTTLED_KEYS"));
    }
}

void insights_write_rules(struct api_call *call, struct insights_of of)
{
    /* Partition and sort keys; of each those that are used much, then those that are throttled. */
    static const char *const kinds[] = {"PKC", "PKT", "SKC", "SKT"};
    const struct insights *insights = insights_settings(of);
    if (insights_is_disabled(call, of)) {
        return;
    }
    const struct key_schema *key = of.index == NULL ? &of.table->key : &of.index->key;
    struct str name = of.index == NULL ? of.table->name : of.index->name;
    size_t kind_count = key->range_count > 0 ? 4 : 2;
    bool throttled_only = insights->mode == INSIGHTS_THROTTLED_KEYS;
    api_member(call, STR("ContributorInsightsRuleList"));
    const char *separator = "[";
    for (size_t i = throttled_only; i < kind_count; i += 1 + throttled_only) {
        buf_format(call->out, "%s\"DynamoDBContributorInsights-%s-%.*s-%lld\"", separator, kinds[i],
                   STR_ARG(name), (long long)insights->rules_ms);
        separator = ",";
    }
    buf_add_char(call->out, ']');
}

bool insights_check_table(struct api_call *call, struct str name)
{
    if (api_table(call, name) != NULL) {
        return true;
    }
    call->err = ERR_INIT(call->arena);
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(name));
}
