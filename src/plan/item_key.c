/* Finds the primary key in a WHERE clause that must name one item. Called by src/api for writes of
 * PartiQL, and for reads in batches and transactions; any thread. */
#include "err/messages.h"
#include "plan/plan_internal.h"

/* What equalities joined by AND say of the table's primary key. */
struct key_search {
    const struct plan_request *request;
    bool allow_in; /* an IN of one value is an equality */
    struct value hash;
    struct value sort;
    struct str conflict; /* an attribute with two values; STR_NULL: none */
    bool has_more;       /* the clause says more than the key */
};

static void set_key_value(struct key_search *search, struct value *slot, const struct where *w)
{
    if (value_is_absent(*slot)) {
        *slot = w->values[0];
    } else if (!value_eq(*slot, w->values[0])) {
        search->conflict = w->attribute;
        search->has_more = true;
    }
}

static void search_key(struct key_search *search, const struct where *w)
{
    const struct key_schema *keys = &search->request->table->key;
    if (w->kind == WHERE_AND) {
        search_key(search, w->left);
        search_key(search, w->right);
        return;
    }
    bool is_equality = w->kind == WHERE_TEST && w->op == KEY_EQ &&
                       (!w->in || (search->allow_in && w->value_count == 1));
    if (is_equality && where_compares(w, &keys->hash[0])) {
        set_key_value(search, &search->hash, w);
    } else if (is_equality && keys->range_count > 0 && where_compares(w, &keys->range[0])) {
        set_key_value(search, &search->sort, w);
    } else {
        search->has_more = true;
    }
}

static bool is_complete(const struct key_search *search)
{
    return !value_is_absent(search->hash) &&
           (search->request->table->key.range_count == 0 || !value_is_absent(search->sort));
}

struct value make_primary_key(const struct plan_request *request, struct value hash,
                              struct value sort)
{
    const struct key_schema *keys = &request->table->key;
    struct builder builder;
    builder_init(&builder, request->arena, hash.len + sort.len + 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, keys->hash[0].name);
    builder_add_value(&builder, hash);
    if (keys->range_count > 0) {
        builder_add_key(&builder, keys->range[0].name);
        builder_add_value(&builder, sort);
    }
    builder_close_map(&builder, open, (uint32_t)(1 + keys->range_count));
    return builder_finish(&builder);
}

struct value plan_select_key(const struct plan_request *request)
{
    struct key_search search = {.request = request, .allow_in = true};
    if (request->where == NULL || request->index != NULL) {
        return VALUE_ABSENT;
    }
    search_key(&search, request->where);
    return search.has_more || !is_complete(&search)
               ? VALUE_ABSENT
               : make_primary_key(request, search.hash, search.sort);
}

static bool check_write_key(const struct key_search *search, bool is_exists, struct err *err)
{
    const struct key_schema *keys = &search->request->table->key;
    if (!is_complete(search)) {
        return err_set(err, ERR_VALIDATION,
                       "Where clause does not contain a mandatory equality on all key attributes");
    }
    if (!str_is_null(search->conflict) && !is_exists) {
        return err_set(err, ERR_VALIDATION,
                       "Multiple conditions on same key %.*s. Only single item "
                       "Update/Insert/Delete are supported",
                       STR_ARG(search->conflict));
    }
    return check_key_value(&keys->hash[0], search->hash, err) &&
           (keys->range_count == 0 || check_key_value(&keys->range[0], search->sort, err));
}

bool plan_write_key(const struct plan_request *request, struct plan_write write, struct value *out,
                    bool *out_has_more, struct err *err)
{
    struct key_search search = {.request = request};
    struct err problem = ERR_INIT(request->arena);
    if (request->where != NULL) {
        search_key(&search, request->where);
    }
    if (!check_write_key(&search, write.is_exists, &problem)) {
        return err_set_str(err, ERR_VALIDATION,
                           write.in_transaction ? STR(MESSAGE_KEY_MISMATCH) : problem.message);
    }
    *out = make_primary_key(request, search.hash, search.sort);
    *out_has_more = search.has_more;
    return true;
}
