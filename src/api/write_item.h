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

/* Their fields, for the operation's table; TableName stands elsewhere. */
#define WRITE_REQUEST_FIELDS(struct_)                                                              \
    FIELD(struct_, common.return_consumed_capacity, "ReturnConsumedCapacity",                      \
          shape_return_consumed_capacity),                                                         \
        FIELD(struct_, common.return_values, "ReturnValues", shape_return_values),                 \
        FIELD(struct_, common.return_collection_metrics, "ReturnItemCollectionMetrics",            \
              shape_return_collection_metrics),                                                    \
        FIELD(struct_, common.return_on_failure, "ReturnValuesOnConditionCheckFailure",            \
              shape_return_on_failure),                                                            \
        FIELD(struct_, common.conditional_operator, "ConditionalOperator",                         \
              shape_conditional_operator),                                                         \
        FIELD(struct_, common.expected, "Expected", shape_expected),                               \
        FIELD(struct_, common.condition_expression, "ConditionExpression", shape_string),          \
        FIELD(struct_, common.names, "ExpressionAttributeNames", shape_name_map),                  \
        FIELD(struct_, common.values, "ExpressionAttributeValues", shape_value_map)

/* One such operation under way. */
struct write_item {
    struct api_call *call;
    const struct write_request *request;
    struct item_write write;
    struct items_write engine;
};

/* ReturnValues as given, RETURN_NONE if not. */
int write_item_returns(const struct write_request *request);

/* Expected or ConditionExpression, into op->write.condition. */
MUST_USE bool write_item_condition(struct write_item *op, struct expr_scope *scope);

/* Refuses an update that changes a key attribute. */
MUST_USE bool update_check_keys(struct item_write *write, struct err *err);

/* Sends the write to the engine; the answer is made from its outcome. */
void write_item_run(struct write_item *op);

#endif
