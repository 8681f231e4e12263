/* Fuzzes the JSON reader and writer of the client library. Input: a letter that chooses the form,
 * and JSON. Properties: a value that was read can be written, and reading and writing that gives
 * the same text; copies are written the same. */
#include "client/value_tree_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(struct str json, enum gramme_form form)
{
    struct gramme_value *again = gramme_value_from_json(json.data, json.len, form, NULL);
    assert(again != NULL);
    struct gramme_value *copy = gramme_value_copy(again);
    size_t len;
    char *text = gramme_value_to_json(copy, form, &len);
    assert(text != NULL && str_eq(str_make(text, len), json));
    gramme_free(text);
    gramme_value_destroy(copy);
    gramme_value_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum gramme_form forms[] = {GRAMME_PLAIN, GRAMME_TYPED, GRAMME_WIRE};
    if (size == 0) {
        return 0;
    }
    enum gramme_form form = forms[data[0] % COUNT_OF(forms)];
    struct gramme_value *value =
        gramme_value_from_json((const char *)data + 1, size - 1, form, NULL);
    size_t len;
    char *json = gramme_value_to_json(value, form, &len);
    if (json != NULL) { /* NULL: refused, or too deep to be written */
        check_again(str_make(json, len), form);
    }
    gramme_free(json);
    gramme_value_destroy(value);
    return 0;
}
