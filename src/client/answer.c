/* Reads answers: items, counts, capacity. Called by users of the library, on any thread. */
#include "base/mem.h"
#include "client/client_internal.h"

void gramme_answer_destroy(struct gramme_answer *answer)
{
    if (answer != NULL) {
        tree_destroy(answer->tree);
        buf_finish(&answer->json);
        mem_free(answer);
    }
}

const struct gramme_value *gramme_answer_root(const struct gramme_answer *answer)
{
    return answer == NULL ? NULL : answer->tree->root;
}

const char *gramme_answer_json(const struct gramme_answer *answer, size_t *len)
{
    if (answer == NULL) {
        return NULL;
    }
    if (len != NULL) {
        *len = answer->json.len;
    }
    return answer->json.data;
}

const struct gramme_value *gramme_answer_item(const struct gramme_answer *answer)
{
    return gramme_get(gramme_answer_root(answer), "Item");
}

const struct gramme_value *gramme_answer_attributes(const struct gramme_answer *answer)
{
    return gramme_get(gramme_answer_root(answer), "Attributes");
}

const struct gramme_value *gramme_answer_items(const struct gramme_answer *answer)
{
    return gramme_get(gramme_answer_root(answer), "Items");
}

const struct gramme_value *gramme_answer_response(const struct gramme_answer *answer, size_t index)
{
    const struct gramme_value *responses = gramme_get(gramme_answer_root(answer), "Responses");
    return gramme_get(gramme_value_at(responses, index), "Item");
}

const struct gramme_value *gramme_answer_table_items(const struct gramme_answer *answer,
                                                     const char *table)
{
    return gramme_get(gramme_get(gramme_answer_root(answer), "Responses"), table);
}

/* ConsumedCapacity is an object for one table, or a list for several. */
double gramme_answer_units(const struct gramme_answer *answer)
{
    const struct gramme_value *capacity =
        gramme_get(gramme_answer_root(answer), "ConsumedCapacity");
    if (gramme_value_type(capacity) != GRAMME_LIST) {
        return gramme_get_double(capacity, "CapacityUnits", 0);
    }
    double units = 0;
    for (size_t i = 0; i < gramme_value_count(capacity); i++) {
        units += gramme_get_double(gramme_value_at(capacity, i), "CapacityUnits", 0);
    }
    return units;
}
