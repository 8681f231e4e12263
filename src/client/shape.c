#include "client/shape_internal.h"

/* What the members of requests and answers hold. Those that are not here are SHAPE_WIRE again. A
 * table, index or attribute may have any of these names, hence the plain ones. */
static const struct named_shape {
    const char *name;
    enum shape shape;
} named_shapes[] = {
    {"Attributes", SHAPE_ITEM},
    {"ConsumedCapacity", SHAPE_PLAIN},
    {"ExclusiveStartKey", SHAPE_ITEM},
    {"ExpressionAttributeNames", SHAPE_PLAIN},
    {"ExpressionAttributeValues", SHAPE_ITEM},
    {"Item", SHAPE_ITEM},
    {"ItemCollectionKey", SHAPE_ITEM},
    {"ItemCollectionMetrics", SHAPE_METRICS},
    {"Items", SHAPE_ITEM},
    {"Key", SHAPE_ITEM},
    {"Keys", SHAPE_ITEM},
    {"LastEvaluatedKey", SHAPE_ITEM},
    {"NewImage", SHAPE_ITEM},
    {"OldImage", SHAPE_ITEM},
    {"Parameters", SHAPE_VALUES},
    {"RequestItems", SHAPE_TABLES},
    {"Responses", SHAPE_RESPONSES},
    {"Table", SHAPE_PLAIN},
    {"TableDescription", SHAPE_PLAIN},
    {"Tags", SHAPE_PLAIN},
    {"UnprocessedItems", SHAPE_TABLES},
    {"UnprocessedKeys", SHAPE_TABLES},
};

enum shape shape_of_form(enum gramme_form form)
{
    switch (form) {
    case GRAMME_TYPED:
        return SHAPE_ITEM;
    case GRAMME_WIRE:
        return SHAPE_WIRE;
    case GRAMME_PLAIN:
        break;
    }
    return SHAPE_PLAIN;
}

static enum shape shape_of_name(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(named_shapes); i++) {
        if (str_eq(name, str_from_c(named_shapes[i].name))) {
            return named_shapes[i].shape;
        }
    }
    return SHAPE_WIRE;
}

enum shape shape_of_member(enum shape shape, struct str name, bool is_list)
{
    switch (shape) {
    case SHAPE_WIRE:
        return shape_of_name(name);
    case SHAPE_ITEM:
        return SHAPE_VALUE;
    case SHAPE_TABLES:
        return SHAPE_WIRE;
    case SHAPE_RESPONSES:
        return SHAPE_ITEM;
    case SHAPE_METRICS:
        return !is_list && str_eq(name, STR("ItemCollectionKey")) ? SHAPE_ITEM : SHAPE_METRICS;
    case SHAPE_PLAIN:
    case SHAPE_VALUE:
    case SHAPE_VALUES:
        break;
    }
    return SHAPE_PLAIN;
}

enum shape shape_of_element(enum shape shape)
{
    switch (shape) {
    case SHAPE_TABLES:
    case SHAPE_RESPONSES:
        return SHAPE_WIRE;
    case SHAPE_VALUES:
        return SHAPE_VALUE;
    default:
        return shape;
    }
}
