/* api/items/write_item.h: one write of an item, for PutItem, UpdateItem and DeleteItem: request
 * members, condition, answer. All functions run on the thread of the call; one that returns false
 * has set call->err, or *err if it has that parameter. */
#ifndef GRAMME_API_ITEMS_WRITE_ITEM_H
#define GRAMME_API_ITEMS_WRITE_ITEM_H

#include "api/api_internal.h"

/* The request members that the three operations share; each operation's own struct has it as
 * `common`, first. */
struct write_request {
    struct str table_name;
    struct wire_map expected;
    struct wire_enum conditional_operator;
    struct wire_enum return_values;
    struct wire_enum return_consumed_capacity;
    struct wire_enum return_collection_metrics;
    struct wire_enum return_on_failure;
    struct str condition_expression;
    struct wire_map names;
    struct wire_map values;
};

/* Their fields, for the operation's table of fields. The order of the table is the order of errors:
 * first these, then the operation's own fields and WRITE_REQUEST_EXPRESSIONS. */
#define WRITE_REQUEST_FIELDS(struct_)                                                              \
    FIELD(struct_, common.return_consumed_capacity, "ReturnConsumedCapacity",                      \
          shape_return_consumed_capacity),                                                         \
        FIELD_REQUIRED(struct_, common.table_name, "TableName", shape_table_name),                 \
        FIELD(struct_, common.return_values, "ReturnValues", shape_return_values),                 \
        FIELD(struct_, common.return_collection_metrics, "ReturnItemCollectionMetrics",            \
              shape_return_collection_metrics),                                                    \
        FIELD(struct_, common.return_on_failure, "ReturnValuesOnConditionCheckFailure",            \
              shape_return_on_failure),                                                            \
        FIELD(struct_, common.conditional_operator, "ConditionalOperator",                         \
              shape_conditional_operator)

#define WRITE_REQUEST_EXPRESSIONS(struct_)                                                         \
    FIELD(struct_, common.expected, "Expected", shape_expected),                                   \
        FIELD(struct_, common.condition_expression, "ConditionExpression", shape_string),          \
        FIELD(struct_, common.names, "ExpressionAttributeNames", shape_name_map),                  \
        FIELD(struct_, common.values, "ExpressionAttributeValues", shape_value_map)

/* A PutItem, UpdateItem or DeleteItem that is being processed. */
struct write_item {
    struct api_call *call;
    const struct write_request *request;
    struct expression_request expressions;
    struct expr_scope scope;
    struct item_write write;
    struct items_write engine;
    struct meter_access access;
};

/* Returns the value of ReturnValues, or RETURN_NONE if it is not given. */
int write_item_returns(const struct write_request *request);

/* Decodes the request into `decoded`; op->request and `subject` (its Item or Key) point into it.
 * Checks first what the service reports alone: a missing or invalid table name, a missing Item or
 * Key. */
MUST_USE bool write_item_decode(struct write_item *op, const struct shape *shape, void *decoded,
                                const struct wire_item *subject);
/* Checks the model's constraints; the member `first` is reported alone (NULL: none). Requests that
 * are nested more deeply than the current layer takes get the older wording. */
MUST_USE bool write_item_validate(struct write_item *op, const struct shape *shape,
                                  const void *decoded, const char *first);
/* Fills in op->expressions for PutItem and DeleteItem. */
void write_item_list_expressions(struct write_item *op);
/* Checks that ReturnValues is NONE or ALL_OLD, for PutItem and DeleteItem. */
MUST_USE bool write_item_check_returns(struct write_item *op);
/* Sets op->write.condition from Expected or ConditionExpression. op->scope must be set. */
MUST_USE bool write_item_condition(struct write_item *op);

/* Checks that an update neither changes a key attribute nor has a path into one. */
MUST_USE bool update_check_keys(const struct item_write *write, struct err *err);

/* Fills in *access with a write for the meter, before the write is started. `operation` is a string
 * literal. */
void write_describe(struct meter_access *access, const char *operation,
                    const struct item_write *write);
/* Adds the result of the write to *access. */
void write_describe_outcome(struct meter_access *access, const struct item_write *write);

/* Sends the write to the engine; when it is done, writes the answer and ends the call.
 * `operation` is the meter's name, a string literal. */
void write_item_run(struct write_item *op, const char *operation);

#endif
