/* api/tables/insights.h: Contributor Insights of a table or global index, as answers show it. */
#ifndef GRAMME_API_TABLES_INSIGHTS_H
#define GRAMME_API_TABLES_INSIGHTS_H

#include "api/api_internal.h"

/* The Contributor Insights of a table, or of one of its global indexes. */
struct insights_of {
    const struct table *table;
    const struct index *index; /* NULL: the table itself */
    bool is_changing;          /* the request has just enabled or disabled it */
};

/* Returns its settings, which belong to the table. */
const struct insights *insights_settings(struct insights_of of);
/* Whether the status is DISABLED: neither enabled nor DISABLING. */
bool insights_is_disabled(struct api_call *call, struct insights_of of);
/* Writes the members that all answers have: TableName, IndexName, ContributorInsightsStatus and,
 * if it has ever been enabled, ContributorInsightsMode. */
void insights_write_summary(struct api_call *call, struct insights_of of);
/* Writes the member ContributorInsightsRuleList: the names of the rules that the service makes.
 * Nothing if the status is DISABLED. */
void insights_write_rules(struct api_call *call, struct insights_of of);

/* Checks that the table exists and is not being created; the service's message has its name. */
MUST_USE bool insights_check_table(struct api_call *call, struct str name);

#endif
