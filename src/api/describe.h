/* api/describe.h: a table's description as JSON, as five operations answer it. */
#ifndef GRAMME_API_DESCRIBE_H
#define GRAMME_API_DESCRIBE_H

#include "api/api_internal.h"

/* A TableDescription to be written. */
struct description {
    const struct table *table;
    const struct table_sizes *sizes;
    enum resource_status status; /* of the table */
    bool is_new;                 /* CreateTable: WarmThroughput is shown only if it was asked for */
    bool sse_is_updating;        /* UpdateTable: encryption, WarmThroughput has just been changed */
    bool warm_is_updating;
};
/* Writes the members of a TableDescription. */
void describe_table(struct api_call *call, const struct description *description);
/* What DeleteTable answers with: neither keys nor indexes nor the date of creation. */
void describe_deleted_table(struct api_call *call, const struct table *table);

/* Writes the member KeySchema. Like the functions below, also for descriptions of streams. */
void describe_key_schema(struct api_call *call, const struct key_schema *key);
/* Writes a member with a date: seconds with milliseconds. */
void describe_date(struct api_call *call, struct str name, int64_t ms);
/* Returns the name of a StreamViewType. */
const char *describe_stream_view(enum stream_view view);

#endif
