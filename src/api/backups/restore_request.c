/* Applies the overrides of a restore to the description of the new table. Called by
 * op_restore_table.c, on the thread of the request. */
#include "api/backups/restore_request.h"

#include "err/messages.h"

struct restorer {
    struct api_call *call;
    const struct restore_overrides *overrides;
    const struct table *source;
    struct table *table;
    bool is_overridden; /* BillingModeOverride is given */
    bool *taken;        /* of each index of the source: an override has it */
};

/* --- capacity --- */

static bool check_throughput(const struct restorer *restorer)
{
    const struct restore_overrides *overrides = restorer->overrides;
    struct err *err = &restorer->call->err;
    bool on_demand = restorer->table->billing == BILLING_PAY_PER_REQUEST;
    bool given = overrides->throughput != NULL;
    if (restorer->is_overridden && on_demand && given) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "Cannot override ProvisionedThroughput if BillingMode is "
                       "overridden to PAY_PER_REQUEST");
    }
    if (restorer->is_overridden && !on_demand && !given) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "Must override ProvisionedThroughput if BillingMode is "
                       "overridden to PROVISIONED");
    }
    return !given || !on_demand ||
           err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID_REQUEST
                   "Cannot override ProvisionedThroughput unless BillingMode is "
                   "PROVISIONED");
}

static bool apply_on_demand(const struct restorer *restorer)
{
    const struct pair_request *given = restorer->overrides->on_demand;
    struct err *err = &restorer->call->err;
    if (given == NULL || (!given->read.given && !given->write.given)) {
        return true;
    }
    bool is_read = given->read.given;
    if (!restorer->is_overridden || restorer->table->billing != BILLING_PAY_PER_REQUEST) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST "Cannot override %s for OnDemandThroughput unless "
                                               "BillingModeOverride is PAY_PER_REQUEST",
                       is_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    bool bad_read = is_read && given->read.value < 1;
    if (bad_read || (given->write.given && given->write.value < 1)) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "Requested %s for OnDemandThroughput is outside of valid "
                       "range",
                       bad_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    restorer->table->on_demand = (struct unit_pair){given->read.value, given->write.value};
    return true;
}

static bool apply_billing(struct restorer *restorer)
{
    const struct restore_overrides *overrides = restorer->overrides;
    struct table *table = restorer->table;
    restorer->is_overridden = !str_is_null(overrides->billing_mode.text);
    if (restorer->is_overridden) {
        bool on_demand = overrides->billing_mode.value == WIRE_BILLING_PAY_PER_REQUEST;
        table->billing = on_demand ? BILLING_PAY_PER_REQUEST : BILLING_PROVISIONED;
        table->was_on_demand = table->was_on_demand || on_demand;
    }
    if (!check_throughput(restorer)) {
        return false;
    }
    if (table->billing == BILLING_PAY_PER_REQUEST) {
        table->throughput = (struct throughput){0};
    } else {
        table->on_demand = (struct unit_pair){0};
        table->throughput.last_increase_ms = 0;
        table->throughput.last_decrease_ms = 0;
        table->throughput.decreases_today = 0;
    }
    return (overrides->throughput == NULL ||
            table_request_throughput(overrides->throughput, &table->throughput,
                                     &restorer->call->err)) &&
           apply_on_demand(restorer);
}

/* --- indexes --- */

static bool has_schema(const struct index *index, const struct wire_list *schema)
{
    const struct key_schema *key = &index->key;
    size_t hash = 0;
    size_t range = 0;
    bool same = schema->count == key->hash_count + key->range_count;
    for (size_t i = 0; same && i < schema->count; i++) {
        const struct key_element_request *element =
            ((struct key_element_request *const *)schema->elements)[i];
        bool is_hash = str_eq(element->type.text, STR("HASH"));
        same = is_hash ? hash < key->hash_count && str_eq(key->hash[hash].name, element->name)
                       : range < key->range_count && str_eq(key->range[range].name, element->name);
        hash += is_hash;
        range += !is_hash;
    }
    return same;
}

static bool has_projection(const struct index *index, const struct projection_request *given)
{
    static const char *const types[] = {
        [PROJECTION_ALL] = "ALL",
        [PROJECTION_KEYS_ONLY] = "KEYS_ONLY",
        [PROJECTION_INCLUDE] = "INCLUDE",
    };
    bool same = str_eq(given->type.text, str_from_c(types[index->projection])) &&
                given->non_key.count == index->non_key_count;
    for (size_t i = 0; same && i < index->non_key_count; i++) {
        const struct str *names = given->non_key.elements;
        size_t k = 0;
        while (k < given->non_key.count && !str_eq(names[k], index->non_key_names[i])) {
            k++;
        }
        same = k < given->non_key.count;
    }
    return same;
}

/* Finds the index of the source that an override describes; of several the one with its name. Each
 * index can be restored once. NULL: there is none; call->err is set. */
static const struct index *find_source(const struct restorer *restorer, enum index_kind kind,
                                       const struct index_request *given)
{
    const struct table *source = restorer->source;
    const struct index *found = NULL;
    for (size_t i = 0; i < source->index_count; i++) {
        const struct index *index = &source->indexes[i];
        bool is_same = index->kind == kind && has_schema(index, &given->key_schema) &&
                       has_projection(index, given->projection);
        if (is_same && !restorer->taken[i] && (found == NULL || str_eq(index->name, given->name))) {
            found = index;
        }
    }
    if (found != NULL) {
        restorer->taken[found - source->indexes] = true;
        return found;
    }
    err_set(&restorer->call->err, ERR_VALIDATION,
            MESSAGE_INVALID_REQUEST
            "Index %.*s does not match a secondary index that existed in the source "
            "table and cannot be created during the restore operation",
            STR_ARG(given->name));
    return NULL;
}

/* The capacity of a global index; `given` is NULL if it is taken over. */
static bool apply_index_throughput(const struct restorer *restorer,
                                   const struct index_request *given, struct index *index)
{
    struct err *err = &restorer->call->err;
    bool on_demand = restorer->table->billing == BILLING_PAY_PER_REQUEST;
    bool has_own = given != NULL && given->throughput != NULL;
    if (on_demand && has_own) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "Cannot override ProvisionedThroughput if BillingMode is "
                       "overridden to PAY_PER_REQUEST for index %.*s",
                       STR_ARG(index->name));
    }
    if (on_demand) {
        index->throughput = (struct throughput){0};
        return true;
    }
    index->on_demand = (struct unit_pair){0};
    if (has_own) {
        return table_request_throughput(given->throughput, &index->throughput, err);
    }
    return index->throughput.read_units != 0 ||
           err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID_REQUEST "Must specify provisioned throughput for index %.*s",
                   STR_ARG(index->name));
}

static bool add_override(const struct restorer *restorer, enum index_kind kind,
                         const struct index_request *given, struct index *out)
{
    const struct index *source = find_source(restorer, kind, given);
    if (source == NULL) {
        return false;
    }
    if (given->warm != NULL) {
        return err_set(&restorer->call->err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST "Cannot override WarmThroughput for index %.*s",
                       STR_ARG(given->name));
    }
    *out = *source;
    out->name = given->name;
    return kind == INDEX_LOCAL || apply_index_throughput(restorer, given, out);
}

/* Adds the indexes of one kind to `out`: those of the list, or all of the source. */
static bool add_indexes(const struct restorer *restorer, enum index_kind kind,
                        const struct wire_list *list, struct index *out, size_t *count)
{
    const struct table *source = restorer->source;
    for (size_t i = 0; list->given && i < list->count; i++) {
        const struct index_request *given = ((struct index_request *const *)list->elements)[i];
        if (!add_override(restorer, kind, given, &out[(*count)++])) {
            return false;
        }
    }
    for (size_t i = 0; !list->given && i < source->index_count; i++) {
        if (source->indexes[i].kind != kind) {
            continue;
        }
        out[*count] = source->indexes[i];
        if (kind == INDEX_GLOBAL && !apply_index_throughput(restorer, NULL, &out[*count])) {
            return false;
        }
        (*count)++;
    }
    return true;
}

/* Checks that no name occurs twice. */
static bool check_distinct(const struct restorer *restorer)
{
    const struct table *table = restorer->table;
    for (size_t i = 0; i < table->index_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(table->indexes[i].name, table->indexes[k].name)) {
                return err_set(&restorer->call->err, ERR_VALIDATION,
                               "One or more parameter values were invalid: Duplicate index name: "
                               "%.*s",
                               STR_ARG(table->indexes[i].name));
            }
        }
    }
    return true;
}

static bool apply_indexes(struct restorer *restorer)
{
    const struct restore_overrides *overrides = restorer->overrides;
    struct table *table = restorer->table;
    size_t count = 0;
    struct index *indexes =
        ARENA_ARRAY(restorer->call->arena, struct index,
                    restorer->source->index_count + overrides->global_indexes.count +
                        overrides->local_indexes.count + 1);
    restorer->taken = ARENA_ARRAY(restorer->call->arena, bool, restorer->source->index_count + 1);
    if (!add_indexes(restorer, INDEX_GLOBAL, &overrides->global_indexes, indexes, &count)) {
        return false;
    }
    size_t global_count = count;
    if (!add_indexes(restorer, INDEX_LOCAL, &overrides->local_indexes, indexes, &count)) {
        return false;
    }
    table->indexes = indexes;
    table->index_count = count;
    table->local_count = count - global_count;
    return check_distinct(restorer);
}

/* --- all of it --- */

static bool apply_sse(const struct restorer *restorer)
{
    const struct sse_request *sse = restorer->overrides->sse;
    if (sse == NULL) {
        return true;
    }
    if (!table_request_check_sse(sse, &restorer->call->err)) {
        return false;
    }
    table_request_set_sse(restorer->call, sse, restorer->table);
    return true;
}

bool restore_request_apply(struct api_call *call, const struct restore_overrides *overrides,
                           struct table *table)
{
    struct table source = *table;
    struct restorer restorer = {
        .call = call, .overrides = overrides, .source = &source, .table = table};
    return apply_billing(&restorer) && apply_indexes(&restorer) && apply_sse(&restorer);
}
