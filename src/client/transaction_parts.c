/* The parts of transactions: each is an object of its own inside the request's tree. Called by
 * programs that use the library; a request belongs to one thread at a time. */
#include "client/request_internal.h"

/* Adds {"Put": {"TableName": table}} to TransactItems. */
static struct gramme_request *add_part(struct gramme_request *transaction, const char *operation,
                                       const char *kind, const char *table)
{
    if (transaction == NULL) {
        return NULL;
    }
    if (!request_is(transaction, operation)) {
        tree_complain(transaction->tree, "%s: a part that belongs in %s", transaction->operation,
                      operation);
        return NULL;
    }
    struct gramme_value *parts = value_need(transaction->root, "TransactItems", GRAMME_LIST);
    struct gramme_request *part = ARENA_NEW(&transaction->tree->arena, struct gramme_request);
    part->tree = transaction->tree;
    part->operation = kind;
    part->root = gramme_set_map(gramme_add_map(parts), kind);
    part->is_part = true;
    gramme_set_string(part->root, "TableName", table);
    return part;
}

struct gramme_request *gramme_transact_put(struct gramme_request *transaction, const char *table)
{
    return add_part(transaction, "TransactWriteItems", "Put", table);
}

struct gramme_request *gramme_transact_update(struct gramme_request *transaction, const char *table)
{
    return add_part(transaction, "TransactWriteItems", "Update", table);
}

struct gramme_request *gramme_transact_delete(struct gramme_request *transaction, const char *table)
{
    return add_part(transaction, "TransactWriteItems", "Delete", table);
}

struct gramme_request *gramme_transact_check(struct gramme_request *transaction, const char *table)
{
    return add_part(transaction, "TransactWriteItems", "ConditionCheck", table);
}

struct gramme_request *gramme_transact_get(struct gramme_request *transaction, const char *table)
{
    return add_part(transaction, "TransactGetItems", "Get", table);
}

void gramme_transact_token(struct gramme_request *transaction, const char *token)
{
    request_set_text(transaction, "ClientRequestToken", token);
}
