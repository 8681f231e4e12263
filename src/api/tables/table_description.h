/* api/tables/table_description.h: writes descriptions of tables as JSON, for the answers of the
 * table operations. All functions append to call->out. */
#ifndef GRAMME_API_TABLES_TABLE_DESCRIPTION_H
#define GRAMME_API_TABLES_TABLE_DESCRIPTION_H

#include "api/api_internal.h"

/* The contents of a TableDescription. */
struct description {
    const struct table *table;
    const struct table_sizes *sizes;
    enum resource_status status; /* of the table */
    bool is_new;          /* CreateTable: WarmThroughput is shown only if the request had it */
    bool sse_is_updating; /* UpdateTable: the request has changed the encryption */
    /* UpdateTable: the request has changed WarmThroughput. */
    bool warm_is_updating;
};
/* Writes a TableDescription as an object. */
void describe_table(struct api_call *call, const struct description *description);
/* Writes the TableDescription of DeleteTable's answer, which has neither keys nor indexes nor the
 * creation date. */
void describe_deleted_table(struct api_call *call, const struct table *table);

/* Writes the member KeySchema. Also for descriptions of streams, like the functions below. */
void describe_key_schema(struct api_call *call, const struct key_schema *key);
/* Writes the member Projection of an index. */
void describe_index_projection(struct api_call *call, const struct index *index);
/* Writes the member OnDemandThroughput, if it is set. */
void describe_on_demand(struct api_call *call, const struct unit_pair *pair);
/* Writes the member SSEDescription, if there is something to describe. */
void describe_sse(struct api_call *call, const struct table *table, bool is_updating);
/* Writes a member whose value is a date, in seconds with a fraction. */
void describe_date(struct api_call *call, struct str name, int64_t ms);
/* Returns the name of a StreamViewType. */
const char *describe_stream_view(enum stream_view view);

#endif
