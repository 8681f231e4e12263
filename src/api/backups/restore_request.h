/* api/backups/restore_request.h: the overrides of both restores: which indexes and which capacity
 * the new table gets. */
#ifndef GRAMME_API_BACKUPS_RESTORE_REQUEST_H
#define GRAMME_API_BACKUPS_RESTORE_REQUEST_H

#include "api/tables/table_request.h"

struct restore_overrides {
    struct wire_enum billing_mode;
    struct wire_list global_indexes;
    struct wire_list local_indexes;
    struct throughput_request *throughput;
    struct pair_request *on_demand;
    struct sse_request *sse;
};

/* The fields of the overrides in a request of type `type`, which has them as `overrides`. */
#define RESTORE_OVERRIDE_FIELDS(type)                                                              \
    FIELD(type, overrides.billing_mode, "BillingModeOverride", shape_billing_mode),                \
        FIELD(type, overrides.global_indexes, "GlobalSecondaryIndexOverride",                      \
              shape_global_indexes),                                                               \
        FIELD(type, overrides.local_indexes, "LocalSecondaryIndexOverride", shape_local_indexes),  \
        FIELD(type, overrides.throughput, "ProvisionedThroughputOverride", shape_throughput),      \
        FIELD(type, overrides.on_demand, "OnDemandThroughputOverride", shape_on_demand),           \
        FIELD(type, overrides.sse, "SSESpecificationOverride", shape_sse)

/* Applies the overrides to *table, a copy of the source's description. False: call->err. */
MUST_USE bool restore_request_apply(struct api_call *call,
                                    const struct restore_overrides *overrides, struct table *table);

#endif
