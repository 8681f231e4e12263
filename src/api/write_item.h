/* api/write_item.h: what PutItem, UpdateItem and DeleteItem share: one write, its condition, and
 * the answer. */
#ifndef GRAMME_API_WRITE_ITEM_H
#define GRAMME_API_WRITE_ITEM_H

#include "api/api_internal.h"

/* Request members that all three have; each operation's own struct starts with it. */
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

/* Their fields, for the operation's table. First those whose errors come first; the operation's own
 * and WRITE_REQUEST_EXPRESSIONS stand behind them. */
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

/* One such operation under way. */
struct write_item {
    struct api_call *call;
    const struct write_request *request;
    struct expression_request expressions;
    struct expr_scope scope;
    struct item_write write;
    struct items_write engine;
    struct meter_access access;
};

/* ReturnValues as given, RETURN_NONE if not. */
int write_item_returns(const struct write_request *request);

/* Decodes the request into `decoded`, which op->request and `subject` (its Item or Key) point into,
 * and checks what makes the other checks pointless: no table name, no item, a bad name. */
MUST_USE bool write_item_decode(struct write_item *op, const struct shape *shape, void *decoded,
                                const struct wire_item *subject);
/* The expressions that PutItem and DeleteItem have, into op->expressions. */
void write_item_list_expressions(struct write_item *op);
/* PutItem and DeleteItem give nothing else back. */
MUST_USE bool write_item_check_returns(struct write_item *op);
/* Expected or ConditionExpression, into op->write.condition. The scope is ready. */
MUST_USE bool write_item_condition(struct write_item *op);

/* Refuses an update that changes a key attribute, or goes inside one. */
MUST_USE bool update_check_keys(const struct item_write *write, struct err *err);

/* Describes a write for the meter, before it is started; and adds what came of it. `operation` is a
 * literal. */
void write_describe(struct meter_access *access, const char *operation,
                    const struct item_write *write);
void write_describe_outcome(struct meter_access *access, const struct item_write *write);

/* Sends the write to the engine; the answer is made from its outcome. */
void write_item_run(struct write_item *op, const char *operation);

#endif
