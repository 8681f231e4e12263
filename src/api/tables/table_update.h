/* api/tables/table_update.h: shared by the files of UpdateTable: op_update_table.c changes settings
 * of the table, index_updates.c its indexes, and update_conflicts.c checks which changes one
 * request may combine. */
#ifndef GRAMME_API_TABLES_TABLE_UPDATE_H
#define GRAMME_API_TABLES_TABLE_UPDATE_H

#include "api/tables/table_request.h"

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
    struct wire_list index_updates; /* elements are struct index_update_request pointers */
    struct stream_request *stream;
    struct sse_request *sse;
    struct wire_enum table_class;
    struct wire_bool deletion_protection;
    struct pair_request *on_demand;
    struct pair_request *warm;
    struct wire_list replica_updates; /* elements are struct replica_update_request pointers */
    struct wire_enum consistency;     /* MultiRegionConsistency; no effect without replicas */
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

/* An UpdateTable that is being processed. */
struct table_update {
    struct table_change *change; /* errors are set in change->call.err */
    const struct update_table_request *request;
    const struct table *before;
    struct table *table;   /* the new description */
    struct index *indexes; /* the indexes of `table`, before any is created or deleted */
    int64_t now_ms;
};

/* index_updates.c: returns entry `i` of GlobalSecondaryIndexUpdates. */
const struct index_update_request *index_update_at(const struct update_table_request *request,
                                                   size_t i);
/* index_updates.c: checks the index updates of a request before the table is looked up. */
MUST_USE bool index_updates_check(const struct update_table_request *request, struct err *err);
/* index_updates.c: checks that the states of the table and its indexes allow the request. */
MUST_USE bool index_updates_check_states(const struct table_update *update);
/* index_updates.c: changes settings of indexes, then creates and deletes indexes in
 * update->table. */
MUST_USE bool index_updates_change(struct table_update *update);

/* update_conflicts.c: checks that the request changes something, and that one request may combine
 * its changes. */
MUST_USE bool update_conflicts_check(const struct update_table_request *request, struct err *err);
/* update_conflicts.c: refuses ReplicaUpdates. There is only one Region, so there are no replicas:
 * always returns false, with the service's error in *err. `call` supplies the Region. */
bool update_conflicts_refuse_replicas(struct api_call *call,
                                      const struct update_table_request *request, struct err *err);

/* op_update_table.c: changes the provisioned units of the table, or of the index named `index` if
 * it is not STR_NULL. Fails if the units are the same as before. */
MUST_USE bool table_update_units(const struct table_update *update,
                                 const struct throughput_request *given, struct str index,
                                 struct throughput *throughput);
/* op_update_table.c: changes the maximums of OnDemandThroughput. */
MUST_USE bool table_update_ceiling(const struct table_update *update,
                                   const struct pair_request *given, struct unit_pair *ceiling);

#endif
