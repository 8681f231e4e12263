/* api/items/page.h: reads one page of items of a table or index, for Query and Scan. All functions
 * run on the thread of the call; one that returns false has set call->err. */
#ifndef GRAMME_API_ITEMS_PAGE_H
#define GRAMME_API_ITEMS_PAGE_H

#include "api/api_internal.h"
#include "engine/range.h"

/* The request members that Query and Scan share; the operation's own struct has it as `common`. */
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

/* Their fields, for the operation's table of fields. The order of the table is the order of errors,
 * so the operations put their own fields before or between these groups. */
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

/* A Query or Scan that is being processed. */
struct page {
    struct api_call *call;
    const struct page_request *request;
    bool is_query;
    const struct table *table;
    const struct index *index;
    const struct condition *filter;
    const struct projection *projection;
    bool count_only;
    struct str start_row; /* encoded row key of ExclusiveStartKey in the table or index; STR_NULL:
                             not given */
    /* Sets call->err for a start key that matches the key schema but is outside of the range. */
    void (*refuse_start)(struct page *page, struct str row);
    struct items_read read;
    struct meter_access access;
    struct capacity capacity; /* consumed; set after the read */
};

/* Checks Select and the parameters that it excludes. Called, like the three functions below, before
 * the table is looked up. */
MUST_USE bool page_check_select(struct page *page);
/* Checks the legacy parameters and converts them to page->filter and page->projection. */
MUST_USE bool page_check_legacy(struct page *page);
/* Checks that the values in ExclusiveStartKey are well formed. */
MUST_USE bool page_check_start_key(struct page *page);
/* Parses and binds the filter and projection expressions. */
MUST_USE bool page_check_expressions(struct page *page, struct expr_scope *scope);
/* Looks up the table and the index, and encodes ExclusiveStartKey, which must match their keys. */
MUST_USE bool page_find(struct page *page);
/* Returns whether the page is a Query of a table without a sort key: it finds at most one item, so
 * there is no second page. Call it after page_find(). */
MUST_USE bool page_has_one_row(const struct page *page);
/* Checks that the table or index has the attributes that the request projects or filters by. */
MUST_USE bool page_check_attributes(struct page *page);
/* Starts the read of `range`, from ExclusiveStartKey on, and ends the call when it is done or
 * fails. */
void page_run(struct page *page, struct key_range range);

#endif
