/* Knows which members of requests and responses are attribute values. Called by json_read.c and
 * json_write.c. */
#include "client/json_part_internal.h"

/* The members with attribute values inside; others are PART_WIRE. A table, index or attribute may
 * have any of these names, hence PART_PLAIN. */
static const struct named_part {
    const char *name;
    enum json_part part;
} named_shapes[] = {
    {"Attributes", PART_ITEM},
    {"ConsumedCapacity", PART_PLAIN},
    {"ExclusiveStartKey", PART_ITEM},
    {"ExpressionAttributeNames", PART_PLAIN},
    {"ExpressionAttributeValues", PART_ITEM},
    {"Item", PART_ITEM},
    {"ItemCollectionKey", PART_ITEM},
    {"ItemCollectionMetrics", PART_METRICS},
    {"Items", PART_ITEM},
    {"Key", PART_ITEM},
    {"Keys", PART_ITEM},
    {"LastEvaluatedKey", PART_ITEM},
    {"NewImage", PART_ITEM},
    {"OldImage", PART_ITEM},
    {"Parameters", PART_VALUES},
    {"RequestItems", PART_TABLES},
    {"Responses", PART_RESPONSES},
    {"Table", PART_PLAIN},
    {"TableDescription", PART_PLAIN},
    {"Tags", PART_PLAIN},
    {"UnprocessedItems", PART_TABLES},
    {"UnprocessedKeys", PART_TABLES},
};

enum json_part part_of_form(enum gramme_form form)
{
    switch (form) {
    case GRAMME_TYPED:
        return PART_ITEM;
    case GRAMME_WIRE:
        return PART_WIRE;
    case GRAMME_PLAIN:
        break;
    }
    return PART_PLAIN;
}

static enum json_part part_of_name(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(named_shapes); i++) {
        if (str_eq(name, str_from_c(named_shapes[i].name))) {
            return named_shapes[i].part;
        }
    }
    return PART_WIRE;
}

enum json_part part_of_member(enum json_part part, struct str name, bool is_list)
{
    switch (part) {
    case PART_WIRE:
        return part_of_name(name);
    case PART_ITEM:
        return PART_VALUE;
    case PART_TABLES:
        return PART_WIRE;
    case PART_RESPONSES:
        return PART_ITEM;
    case PART_METRICS:
        return !is_list && str_eq(name, STR("ItemCollectionKey")) ? PART_ITEM : PART_METRICS;
    case PART_PLAIN:
    case PART_VALUE:
    case PART_VALUES:
        break;
    }
    return PART_PLAIN;
}

enum json_part part_of_element(enum json_part part)
{
    switch (part) {
    case PART_TABLES:
    case PART_RESPONSES:
        return PART_WIRE;
    case PART_VALUES:
        return PART_VALUE;
    default:
        return part;
    }
}
