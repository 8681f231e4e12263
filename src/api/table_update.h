/* api/table_update.h: what UpdateTable is made of: settings of the table in op_update_table.c, its
 * indexes in index_updates.c. */
#ifndef GRAMME_API_TABLE_UPDATE_H
#define GRAMME_API_TABLE_UPDATE_H

#include "api/table_request.h"

/* One of GlobalSecondaryIndexUpdates. */
struct index_update_request {
    struct index_request *update;
    struct index_request *create;
    struct index_request *remove;
};

struct update_table_request {
    struct str table_name;
    struct wire_list definitions;
    struct wire_enum billing_mode;
    struct throughput_request *throughput;
    struct wire_list index_updates; /* of struct index_update_request pointers */
    struct stream_request *stream;
    struct sse_request *sse;
    struct wire_enum table_class;
    struct wire_bool deletion_protection;
    struct pair_request *on_demand;
    struct pair_request *warm;
};

extern const struct shape shape_index_updates;

/* A change under way. */
struct table_update {
    struct table_change *change; /* refusals go to change->call.err */
    const struct update_table_request *request;
    const struct table *before;
    struct table *table;   /* the new description */
    struct index *indexes; /* its indexes; none has come or gone yet */
    int64_t now_ms;
};

/* index_updates.c */
const struct index_update_request *index_update_at(const struct update_table_request *request,
                                                   size_t i);
/* What can be said of the updates before the table is known. */
MUST_USE bool index_updates_check(const struct update_table_request *request, struct err *err);
/* Whether the table and its indexes are in a state to be changed like this. */
MUST_USE bool index_updates_check_states(const struct table_update *update);
/* Settings of indexes, then indexes that come or go. */
MUST_USE bool index_updates_change(struct table_update *update);

/* op_update_table.c: new units, unless they are the same as before; a new ceiling. */
MUST_USE bool table_update_units(const struct table_update *update,
                                 const struct throughput_request *given,
                                 struct throughput *throughput);
MUST_USE bool table_update_ceiling(const struct table_update *update,
                                   const struct pair_request *given, struct unit_pair *ceiling);

#endif
