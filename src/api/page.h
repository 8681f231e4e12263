/* api/page.h: what Query and Scan share: one page of items of a table or index. */
#ifndef GRAMME_API_PAGE_H
#define GRAMME_API_PAGE_H

#include "api/api_internal.h"
#include "engine/range.h"

struct page_request {
    struct str table_name;
    struct str index_name;
    struct wire_enum select;
    struct wire_list attributes_to_get;
    struct wire_int limit;
    struct wire_bool consistent_read;
    struct wire_map filter; /* QueryFilter or ScanFilter */
    struct wire_enum conditional_operator;
    struct wire_item exclusive_start_key;
    struct wire_enum return_consumed_capacity;
    struct str projection_expression;
    struct str filter_expression;
    struct wire_map names;
    struct wire_map values;
};

/* In the order in which errors come out; the operations' own stand before or between. */
#define PAGE_SELECT_FIELDS(struct_)                                                                \
    FIELD(struct_, common.select, "Select", shape_select),                                         \
        FIELD(struct_, common.index_name, "IndexName", shape_index_name)
#define PAGE_TABLE_FIELDS(struct_)                                                                 \
    FIELD_REQUIRED(struct_, common.table_name, "TableName", shape_table_name),                     \
        FIELD(struct_, common.conditional_operator, "ConditionalOperator",                         \
              shape_conditional_operator)
#define PAGE_REQUEST_FIELDS(struct_)                                                               \
    FIELD(struct_, common.attributes_to_get, "AttributesToGet", shape_attribute_names),            \
        FIELD(struct_, common.exclusive_start_key, "ExclusiveStartKey", shape_key),                \
        FIELD(struct_, common.consistent_read, "ConsistentRead", shape_bool),                      \
        FIELD(struct_, common.projection_expression, "ProjectionExpression", shape_string),        \
        FIELD(struct_, common.filter_expression, "FilterExpression", shape_string),                \
        FIELD(struct_, common.names, "ExpressionAttributeNames", shape_name_map),                  \
        FIELD(struct_, common.values, "ExpressionAttributeValues", shape_value_map)

struct page {
    struct api_call *call;
    const struct page_request *request;
    bool is_query;
    const struct table *table;
    const struct index *index;
    const struct condition *filter;
    const struct projection *projection;
    bool count_only;
    struct str
        start_row; /* where ExclusiveStartKey is in the table or index; STR_NULL: not given */
    /* Says why a start key that fits the schema is not in the range: sets call->err. */
    void (*refuse_start)(struct page *page, struct str row);
    struct items_read read;
    struct meter_access access;
    struct capacity capacity; /* consumed, once it is read */
};

/* Checks Select and the parameters that it excludes. Like the three functions below it needs no
 * table. */
MUST_USE bool page_check_select(struct page *page);
/* Checks the legacy parameters. */
MUST_USE bool page_check_legacy(struct page *page);
/* Checks the value of ExclusiveStartKey. */
MUST_USE bool page_check_start_key(struct page *page);
/* Binds the filter and the projection. */
MUST_USE bool page_check_expressions(struct page *page, struct expr_scope *scope);
/* Finds table and index, and the row of ExclusiveStartKey, which must fit their keys. */
MUST_USE bool page_find(struct page *page);
/* Whether it is a Query of a table without sort key: it finds one item at most, so there is no
 * second page. Table and index are known. */
MUST_USE bool page_has_one_row(const struct page *page);
/* Checks that the requested attributes can be read from the table or index. */
MUST_USE bool page_check_attributes(struct page *page);
/* Cuts the range at ExclusiveStartKey and reads. On error the call has ended. */
void page_run(struct page *page, struct key_range range);

#endif
