/* Checks which changes one UpdateTable may combine, and refuses ReplicaUpdates. The service allows
 * one change per request, with a few exceptions; messages and their precedence are as measured in
 * October 2026. Called by op_update_table.c on the thread of the call; keeps no state. */
#include "api/tables/table_update.h"
#include "err/messages.h"

static const struct field replica_fields[] = {
    FIELD_REQUIRED(struct replica_request, region, "RegionName", shape_string),
    FIELD_END,
};
static const struct shape shape_replica_creation = {
    .kind = SHAPE_STRUCT,
    .java = "CreateReplicationGroupMemberAction",
    .fields = replica_fields,
    .size = sizeof(struct replica_request),
};
static const struct shape shape_replica_change = {
    .kind = SHAPE_STRUCT,
    .java = "UpdateReplicationGroupMemberAction",
    .fields = replica_fields,
    .size = sizeof(struct replica_request),
};
static const struct shape shape_replica_removal = {
    .kind = SHAPE_STRUCT,
    .java = "DeleteReplicationGroupMemberAction",
    .fields = replica_fields,
    .size = sizeof(struct replica_request),
};
static const struct field replica_update_fields[] = {
    FIELD(struct replica_update_request, create, "Create", shape_replica_creation),
    FIELD(struct replica_update_request, update, "Update", shape_replica_change),
    FIELD(struct replica_update_request, remove, "Delete", shape_replica_removal),
    FIELD_END,
};
static const struct shape shape_replica_update = {
    .kind = SHAPE_STRUCT,
    .java = "ReplicationGroupUpdate",
    .fields = replica_update_fields,
    .size = sizeof(struct replica_update_request),
};
const struct shape shape_replica_updates = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.ReplicationGroupUpdate>",
    .min = 1,
    .element = &shape_replica_update,
};

/* --- combinations --- */

static bool refuse(struct err *err, const char *text)
{
    return err_set(err, ERR_VALIDATION, MESSAGE_INVALID "%s", text);
}

static bool changes_anything(const struct update_table_request *request)
{
    return !str_is_null(request->billing_mode.text) || request->throughput != NULL ||
           request->index_updates.given || request->stream != NULL || request->sse != NULL ||
           !str_is_null(request->table_class.text) || request->deletion_protection.given ||
           request->on_demand != NULL || request->warm != NULL || request->replica_updates.given;
}

/* Counts the changes in the request; BillingMode and ProvisionedThroughput count as one. */
static int count_changes(const struct update_table_request *request)
{
    bool capacity = !str_is_null(request->billing_mode.text) || request->throughput != NULL;
    return capacity + (request->index_updates.count > 0) + (request->stream != NULL) +
           (request->sse != NULL) + !str_is_null(request->table_class.text) +
           request->deletion_protection.given + (request->on_demand != NULL) +
           (request->warm != NULL) + request->replica_updates.given;
}

/* Checks the changes that cannot be combined with any other. The error names the first in this
 * list. */
static bool check_alone(const struct update_table_request *request, struct err *err)
{
    const struct {
        bool given;
        const char *text;
    } exclusive[] = {
        {request->replica_updates.given,
         "Replica modification must be the only operation in the request"},
        {request->sse != NULL,
         "Server-Side Encryption modification must be the only operation in the request"},
        {!str_is_null(request->table_class.text),
         "TableClass modification must be the only operation in the request"},
        {request->deletion_protection.given,
         "DeletionProtection modification must be the only operation in the request"},
    };
    for (size_t i = 0; i < COUNT_OF(exclusive); i++) {
        if (exclusive[i].given && count_changes(request) > 1) {
            return refuse(err, exclusive[i].text);
        }
    }
    return true;
}

static bool creates_or_deletes_index(const struct update_table_request *request)
{
    for (size_t i = 0; i < request->index_updates.count; i++) {
        if (index_update_at(request, i)->update == NULL) {
            return true;
        }
    }
    return false;
}

/* Checks that creating or deleting an index is combined only with settings of other indexes and
 * with BillingMode. */
static bool check_index_company(const struct update_table_request *request, struct err *err)
{
    if (!creates_or_deletes_index(request)) {
        return true;
    }
    if (request->throughput != NULL) {
        return refuse(err, "You cannot create or delete index while updating table IOPS");
    }
    if (request->stream != NULL) {
        return refuse(err, "You cannot create or delete index while changing stream status");
    }
    if (request->on_demand != NULL) {
        return refuse(err, "OnDemandThroughput can only be combined with BillingMode in an "
                           "UpdateTable request");
    }
    return request->warm == NULL ||
           refuse(err, "Create global secondary index cannot be specified when updating "
                       "WarmThroughput");
}

/* Checks the combinations of throughput, stream, OnDemandThroughput and WarmThroughput. */
static bool check_capacity_company(const struct update_table_request *request, struct err *err)
{
    bool has_mode = !str_is_null(request->billing_mode.text);
    bool provisions = request->throughput != NULL ||
                      (has_mode && request->billing_mode.value == WIRE_BILLING_PROVISIONED);
    if (request->on_demand != NULL && (request->stream != NULL || request->warm != NULL)) {
        return refuse(err, "OnDemandThroughput can only be combined with BillingMode in an "
                           "UpdateTable request");
    }
    if (request->warm != NULL && (request->stream != NULL || has_mode || provisions)) {
        return refuse(err, "WarmThroughput must be the only operation in the request");
    }
    return request->stream == NULL || !provisions ||
           refuse(err, "You cannot modify stream status while updating table IOPS");
}

bool update_conflicts_check(const struct update_table_request *request, struct err *err)
{
    if (!changes_anything(request)) {
        return err_set(err, ERR_VALIDATION,
                       "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
                       "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, "
                       "MultiAccountReplicaReady, ReplicaTransitRoleArn, %s"
                       "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or "
                       "TableClass is required",
                       str_is_null(request->consistency.text) ? "MultiRegionConsistency, " : "");
    }
    return check_alone(request, err) && check_index_company(request, err) &&
           check_capacity_company(request, err);
}

/* --- replicas --- */

static const struct replica_update_request *replica_at(const struct update_table_request *request,
                                                       size_t i)
{
    return ((struct replica_update_request *const *)request->replica_updates.elements)[i];
}

bool update_conflicts_refuse_replicas(struct api_call *call,
                                      const struct update_table_request *request, struct err *err)
{
    struct str here = engine_region(call->engine);
    const struct replica_update_request *first = replica_at(request, 0);
    int kinds = (first->create != NULL) + (first->update != NULL) + (first->remove != NULL);
    if (kinds == 0) {
        return err_set(err, ERR_VALIDATION,
                       "There are no actions specified in the Replica Update Action of the "
                       "request.");
    }
    if (kinds > 1) {
        return err_set(err, ERR_VALIDATION,
                       "Update table operation with more than one type of replica actions not "
                       "allowed.");
    }
    if (request->replica_updates.count > 1) {
        return err_set(err, ERR_VALIDATION,
                       "Update table operation with more than one create or delete replica "
                       "actions not allowed");
    }
    struct str region = first->create != NULL   ? first->create->region
                        : first->remove != NULL ? first->remove->region
                                                : first->update->region;
    if (first->update == NULL && str_eq(region, here)) {
        return err_set(err, ERR_VALIDATION,
                       "Cannot add or delete the local region through ReplicaUpdates. Use "
                       "CreateTable, DeleteTable, or UpdateTable as required.");
    }
    if (first->create != NULL) {
        return err_set(err, ERR_VALIDATION,
                       "Region %.*s is not supported. The latest version of global tables are "
                       "only supported in the following regions: [%.*s]",
                       STR_ARG(region), STR_ARG(here));
    }
    return err_set(err, ERR_VALIDATION,
                   "Update global table operation failed because one or more replicas were not "
                   "part of the global table. Please retry the request without these replicas: "
                   "[%.*s].",
                   STR_ARG(region));
}
