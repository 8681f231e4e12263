/* api/table_update.h: what UpdateTable is made of: settings of the table in op_update_table.c, its
 * indexes in index_updates.c, which changes may come together in update_company.c. */
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
    struct wire_list replica_updates; /* of struct replica_update_request pointers */
    struct wire_enum consistency;     /* MultiRegionConsistency; means nothing without replicas */
};

/* One of ReplicaUpdates. */
struct replica_request {
    struct str region;
};
struct replica_update_request {
    struct replica_request *create;
    struct replica_request *update;
    struct replica_request *remove;
};

extern const struct shape shape_index_updates;
extern const struct shape shape_replica_updates;

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

/* update_company.c */
/* The request changes something, and only what may be changed together. */
MUST_USE bool update_company_check(const struct update_table_request *request, struct err *err);
/* ReplicaUpdates. There is one Region, so no replica can come, and none is there to change or go:
 * always false, with the reason in *err. `call` is the operation's, for its Region. */
bool update_company_refuse_replicas(struct api_call *call,
                                    const struct update_table_request *request, struct err *err);

/* op_update_table.c: sets new units, unless they are the same as before. `index` is the name of the
 * index that gets the units; STR_NULL: the table. */
MUST_USE bool table_update_units(const struct table_update *update,
                                 const struct throughput_request *given, struct str index,
                                 struct throughput *throughput);
/* op_update_table.c: sets new limits of OnDemandThroughput. */
MUST_USE bool table_update_ceiling(const struct table_update *update,
                                   const struct pair_request *given, struct unit_pair *ceiling);

#endif
