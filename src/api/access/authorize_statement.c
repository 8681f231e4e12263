/* Fills in the condition keys of a PartiQL statement. Called by authorize.c on the thread of the
 * call; keeps no state. */
#include "api/access/authorize.h"

/* The partition key values that the WHERE clause fixes. Operands of AND are searched for them,
 * those of OR and NOT are not. */
struct fixed_keys {
    struct question *question;
    const struct key_schema *schema;
    struct text_list lists[KEY_ATTRIBUTES_MAX];
    bool is_fixed; /* the first partition key attribute is fixed by = or IN */
};

static void add_test(struct fixed_keys *keys, const struct where *test)
{
    if (str_is_null(test->attribute) || test->op != KEY_EQ) {
        return;
    }
    size_t number = 0;
    if (keys->schema != NULL) {
        while (number < keys->schema->hash_count &&
               !str_eq(keys->schema->hash[number].name, test->attribute)) {
            number++;
        }
        if (number == keys->schema->hash_count) {
            return;
        }
        keys->is_fixed = keys->is_fixed || number == 0;
    }
    for (size_t i = 0; i < test->value_count; i++) {
        authorize_add_value(keys->question, &keys->lists[number], test->values[i]);
    }
}

static void add_where(struct fixed_keys *keys, const struct where *where)
{
    while (where != NULL && where->kind == WHERE_AND) {
        add_where(keys, where->right);
        where = where->left;
    }
    if (where != NULL && where->kind == WHERE_TEST) {
        add_test(keys, where);
    }
}

static void fill_attributes(struct question *question, const struct statement *statement)
{
    struct attribute_names names = {.question = question};
    for (size_t i = 0; i < statement->column_count; i++) {
        authorize_visit_path(&names, &statement->columns[i].path);
    }
    for (size_t i = 0; i < statement->order_count; i++) {
        authorize_add_text(question, &names.list, statement->order[i].attribute);
    }
    if (statement->where != NULL) {
        condition_visit_paths(statement->where->condition, authorize_visit_path, &names);
    }
    if (statement->update != NULL) {
        update_visit_paths(statement->update, authorize_visit_path, &names);
        update_visit_operands(statement->update, authorize_visit_path, &names);
    }
    if (value_type(statement->item) == VALUE_M) {
        struct value_iter iter = value_iter(statement->item);
        struct value_name name;
        struct value value;
        while (value_next_entry(&iter, &name, &value)) {
            authorize_add_text(question, &names.list, name.text);
        }
    }
    authorize_set_list(question, CONTEXT_DDB_ATTRIBUTES, &names.list);
}

/* dynamodb:ReturnConsumedCapacity is no key of the actions of PartiQL. */
static void fill_parameters(struct question *question, const struct statement *statement)
{
    static const char *const returned[] = {
        [RETURNING_NONE] = "NONE",
        [RETURNING_ALL_OLD] = "ALL_OLD",
        [RETURNING_ALL_NEW] = "ALL_NEW",
        [RETURNING_MODIFIED_OLD] = "UPDATED_OLD",
        [RETURNING_MODIFIED_NEW] = "UPDATED_NEW",
    };
    bool shows_old = str_eq(question->statement->return_on_failure.text, STR("ALL_OLD"));
    if (statement->kind == STATEMENT_SELECT || statement->kind == STATEMENT_EXISTS) {
        bool shows_all = statement->kind == STATEMENT_EXISTS && shows_old; /* if it fails */
        authorize_set(question, CONTEXT_DDB_SELECT,
                      statement->columns != NULL && !shows_all ? STR("SPECIFIC_ATTRIBUTES")
                      : str_is_null(statement->index)          ? STR("ALL_ATTRIBUTES")
                                                               : STR("ALL_PROJECTED_ATTRIBUTES"));
    } else {
        question->shows_old_on_failure = shows_old;
    }
    bool returns = statement->kind == STATEMENT_UPDATE || statement->kind == STATEMENT_DELETE;
    if (returns) {
        authorize_set(question, CONTEXT_DDB_RETURN_VALUES,
                      str_from_c(returned[statement->returning]));
    }
    if (question->enclosing != NULL) {
        authorize_set(question, CONTEXT_DDB_ENCLOSING_OPERATION, str_from_c(question->enclosing));
    }
}

void authorize_fill_statement(struct question *question, uint64_t mentions)
{
    const struct statement *statement = question->statement->statement;
    struct fixed_keys keys = {.question = question, .schema = authorize_schema(question)};
    add_where(&keys, statement->where);
    authorize_add_keys(question, keys.lists, statement->item);
    authorize_set_keys(question, keys.lists);
    if (statement->kind == STATEMENT_SELECT || statement->kind == STATEMENT_EXISTS) {
        authorize_set(question, CONTEXT_DDB_FULL_TABLE_SCAN,
                      keys.is_fixed ? STR("false") : STR("true"));
    }
    if ((mentions & CONTEXT_BIT(CONTEXT_DDB_ATTRIBUTES)) != 0) {
        fill_attributes(question, statement);
    }
    fill_parameters(question, statement);
}
