/* Fills in the condition keys of a request, such as dynamodb:LeadingKeys and dynamodb:Attributes,
 * if a policy of the caller mentions them. Called by authorize.c on the thread of the call; keeps
 * no state. */
#include "api/access/authorize.h"
#include "base/base64.h"

/* Texts ------------------------------------------------------------------------------------- */

void authorize_set(struct question *question, enum context_key_id id, struct str text)
{
    struct str *kept = ARENA_NEW(question->call->arena, struct str);
    *kept = text;
    question->context.keys[id] =
        (struct context_values){.values = kept, .count = 1, .is_present = true};
}

void authorize_set_list(struct question *question, enum context_key_id id,
                        const struct text_list *list)
{
    question->context.keys[id] =
        (struct context_values){.values = list->texts, .count = list->count, .is_present = true};
}

void authorize_add_text(struct question *question, struct text_list *list, struct str text)
{
    if (list->count == list->capacity) {
        size_t capacity = MAX(2 * list->capacity, (size_t)8);
        struct str *texts = ARENA_ARRAY(question->call->arena, struct str, capacity);
        if (list->count > 0) {
            memcpy(texts, list->texts, list->count * sizeof(*texts));
        }
        list->texts = texts;
        list->capacity = capacity;
    }
    list->texts[list->count++] = text;
}

void authorize_add_value(struct question *question, struct text_list *list, struct value value)
{
    struct arena *arena = question->call->arena;
    enum value_type type = value_type(value);
    if (type == VALUE_S) {
        authorize_add_text(question, list, value_bytes(value));
    } else if (type == VALUE_N) {
        char *digits = arena_bytes(arena, NUMBER_TEXT_MAX);
        authorize_add_text(question, list,
                           str_make(digits, number_format(value_bytes(value), digits)));
    } else if (type == VALUE_B) {
        struct str bytes = value_bytes(value);
        char *encoded = arena_bytes(arena, BASE64_ENCODED_LEN(bytes.len));
        base64_encode(bytes, encoded);
        authorize_add_text(question, list, str_make(encoded, BASE64_ENCODED_LEN(bytes.len)));
    }
}

void authorize_visit_path(void *context, const struct expr_path *path)
{
    struct attribute_names *names = context;
    authorize_add_text(names->question, &names->list, path->steps[0].name);
}

/* Keys -------------------------------------------------------------------------------------- */

const struct key_schema *authorize_schema(const struct question *question)
{
    const struct table *table = question->description;
    if (table == NULL || str_is_null(question->index)) {
        return table == NULL ? NULL : &table->key;
    }
    const struct index *index = table_index(table, question->index);
    return index == NULL ? NULL : &index->key;
}

void authorize_add_keys(struct question *question, struct text_list lists[KEY_ATTRIBUTES_MAX],
                        struct value item)
{
    if (value_type(item) != VALUE_M) {
        return;
    }
    const struct key_schema *schema = authorize_schema(question);
    if (schema != NULL) {
        for (size_t i = 0; i < schema->hash_count; i++) {
            authorize_add_value(question, &lists[i], value_map_get(item, schema->hash[i].name));
        }
        return;
    }
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        authorize_add_value(question, &lists[0], value);
    }
}

void authorize_set_keys(struct question *question, const struct text_list lists[KEY_ATTRIBUTES_MAX])
{
    static const enum context_key_id ids[KEY_ATTRIBUTES_MAX] = {
        CONTEXT_DDB_LEADING_KEYS, CONTEXT_DDB_SECOND_KEYS, CONTEXT_DDB_THIRD_KEYS,
        CONTEXT_DDB_FOURTH_KEYS};
    for (size_t i = 0; i < KEY_ATTRIBUTES_MAX; i++) {
        if (lists[i].count > 0) {
            authorize_set_list(question, ids[i], &lists[i]);
        }
    }
}

/* Members ----------------------------------------------------------------------------------- */

static const void *member(const struct question *question, const char *name, enum shape_kind kind)
{
    return authorize_member(question->shape, question->request, name, kind);
}

/* Calls `add` for each well-formed key and item of the request. */
static void each_item(struct question *question,
                      void (*add)(struct question *question, void *context, struct value item),
                      void *context)
{
    static const char *const single[] = {"Key", "Item"};
    for (size_t i = 0; i < COUNT_OF(single); i++) {
        const struct wire_item *item = member(question, single[i], SHAPE_ITEM);
        if (item != NULL && item->given && item->problem.fault == FAULT_NONE) {
            add(question, context, item->value);
        }
    }
    const struct wire_list *keys = member(question, "Keys", SHAPE_LIST);
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        const struct wire_item *key = &((const struct wire_item *)keys->elements)[i];
        if (key->given && key->problem.fault == FAULT_NONE) {
            add(question, context, key->value);
        }
    }
}

/* As each_item(), for the puts and deletes of BatchWriteItem, each of which has a Key or an
 * Item. */
static void each_written(struct question *question,
                         void (*add)(struct question *question, void *context, struct value item),
                         void *context)
{
    static const char *const kinds[] = {"PutRequest", "DeleteRequest"};
    for (size_t i = 0; i < question->items->count; i++) {
        const void *one = ((void *const *)question->items->elements)[i];
        for (size_t k = 0; one != NULL && k < COUNT_OF(kinds); k++) {
            const struct shape *inner = authorize_shape(question->shape, kinds[k]);
            const void *const *write =
                authorize_member(question->shape, one, kinds[k], SHAPE_STRUCT);
            if (write != NULL && *write != NULL) {
                struct question part = *question;
                part.items = NULL;
                part.shape = inner;
                part.request = *write;
                each_item(&part, add, context);
            }
        }
    }
}

/* Makes a scope of the request's names and values. Returns false if they are invalid; the operation
 * will report the error. */
static bool make_scope(struct question *question, struct expr_scope *scope)
{
    struct api_call *call = question->call;
    struct expression_request request = {
        .names = member(question, "ExpressionAttributeNames", SHAPE_MAP),
        .values = member(question, "ExpressionAttributeValues", SHAPE_MAP),
    };
    for (size_t i = 0; request.names != NULL && i < request.names->count; i++) {
        if (str_is_null(((const struct str *)request.names->values)[i])) {
            return false;
        }
    }
    for (size_t i = 0; request.values != NULL && i < request.values->count; i++) {
        const struct wire_value *value = &((const struct wire_value *)request.values->values)[i];
        if (value_is_absent(value->value) || value->problem.fault != FAULT_NONE) {
            return false;
        }
    }
    struct err kept = call->err;
    bool good = api_scope(call, &request, scope);
    call->err = kept;
    return good;
}

/* Leading keys ------------------------------------------------------------------------------ */

static void add_keys(struct question *question, void *lists, struct value item)
{
    authorize_add_keys(question, lists, item);
}

/* For a table that does not exist: adds all expression values. */
static void add_all_values(struct question *question, struct text_list *list)
{
    const struct wire_map *values = member(question, "ExpressionAttributeValues", SHAPE_MAP);
    for (size_t i = 0; values != NULL && i < values->count; i++) {
        authorize_add_value(question, list, ((const struct wire_value *)values->values)[i].value);
    }
}

static void add_key_expression(struct question *question, struct str text,
                               struct text_list lists[KEY_ATTRIBUTES_MAX])
{
    struct expr_scope scope;
    struct err err = ERR_INIT(question->call->arena);
    const struct key_expression *expression;
    const struct key_schema *schema = authorize_schema(question);
    struct key_condition condition;
    if (schema == NULL) {
        add_all_values(question, &lists[0]);
    } else if (make_scope(question, &scope) &&
               expr_key_condition(&scope, text, &expression, &err) &&
               key_expression_resolve(expression, schema, &condition, &err)) {
        for (size_t i = 0; i < schema->hash_count; i++) {
            authorize_add_value(question, &lists[i], condition.hash[i]);
        }
    }
}

/* Returns the position of an attribute in the partition key, or KEY_ATTRIBUTES_MAX if it is not
 * part of it. Returns 0 if the schema is not known. */
static size_t hash_position(const struct key_schema *schema, struct str name)
{
    if (schema == NULL) {
        return 0;
    }
    for (size_t i = 0; i < schema->hash_count; i++) {
        if (str_eq(schema->hash[i].name, name)) {
            return i;
        }
    }
    return KEY_ATTRIBUTES_MAX;
}

static void add_key_conditions(struct question *question, const struct wire_map *conditions,
                               struct text_list lists[KEY_ATTRIBUTES_MAX])
{
    const struct key_schema *schema = authorize_schema(question);
    for (size_t i = 0; i < conditions->count; i++) {
        const struct condition_request *condition = api_condition(conditions, i);
        size_t number = hash_position(schema, conditions->names[i]);
        if (condition == NULL || number == KEY_ATTRIBUTES_MAX) {
            continue;
        }
        for (size_t k = 0; k < condition->values.count; k++) {
            const struct wire_value *value =
                &((const struct wire_value *)condition->values.elements)[k];
            if (value->problem.fault == FAULT_NONE) {
                authorize_add_value(question, &lists[number], value->value);
            }
        }
    }
}

static void fill_leading_keys(struct question *question)
{
    struct text_list lists[KEY_ATTRIBUTES_MAX] = {0};
    if (question->items != NULL) {
        each_written(question, add_keys, lists);
    } else {
        const struct str *text = member(question, "KeyConditionExpression", SHAPE_STRING);
        const struct wire_map *conditions = member(question, "KeyConditions", SHAPE_MAP);
        each_item(question, add_keys, lists);
        if (text != NULL && !str_is_null(*text)) {
            add_key_expression(question, *text, lists);
        } else if (conditions != NULL) {
            add_key_conditions(question, conditions, lists);
        }
    }
    authorize_set_keys(question, lists);
}

/* Attributes -------------------------------------------------------------------------------- */

static void add_names(struct question *question, void *context, struct value item)
{
    struct attribute_names *names = context;
    if (value_type(item) != VALUE_M) {
        return;
    }
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        authorize_add_text(question, &names->list, name.text);
    }
}

static void add_legacy_names(struct question *question, struct attribute_names *names)
{
    static const char *const maps[] = {"AttributeUpdates", "Expected", "KeyConditions",
                                       "QueryFilter", "ScanFilter"};
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        const struct wire_map *map = member(question, maps[i], SHAPE_MAP);
        for (size_t k = 0; map != NULL && k < map->count; k++) {
            authorize_add_text(question, &names->list, map->names[k]);
        }
    }
    const struct wire_list *wanted = member(question, "AttributesToGet", SHAPE_LIST);
    for (size_t i = 0; wanted != NULL && i < wanted->count; i++) {
        struct str name = ((const struct str *)wanted->elements)[i];
        if (!str_is_null(name)) {
            authorize_add_text(question, &names->list, name);
        }
    }
}

static struct str expression(const struct question *question, const char *name)
{
    const struct str *text = member(question, name, SHAPE_STRING);
    return text == NULL ? STR_NULL : *text;
}

/* Adds the names in a condition. An invalid expression adds nothing: the operation will report the
 * error. */
static void add_condition(struct question *question, struct expr_scope *scope, const char *name,
                          struct attribute_names *names)
{
    struct err err = ERR_INIT(question->call->arena);
    const struct condition *condition;
    struct str text = expression(question, name);
    if (!str_is_null(text) && expr_condition(scope, text, name, &condition, &err)) {
        condition_visit_paths(condition, authorize_visit_path, names);
    }
}

static void add_update(struct question *question, struct expr_scope *scope,
                       struct attribute_names *names)
{
    struct err err = ERR_INIT(question->call->arena);
    const struct update *update;
    struct str text = expression(question, "UpdateExpression");
    if (!str_is_null(text) && expr_update(scope, text, &update, &err)) {
        update_visit_paths(update, authorize_visit_path, names);
        update_visit_operands(update, authorize_visit_path, names);
    }
}

static void add_projection(struct question *question, struct expr_scope *scope,
                           struct attribute_names *names)
{
    struct err err = ERR_INIT(question->call->arena);
    const struct projection *projection;
    struct str text = expression(question, "ProjectionExpression");
    if (!str_is_null(text) && expr_projection(scope, text, &projection, &err)) {
        projection_visit_paths(projection, authorize_visit_path, names);
    }
}

/* Adds the names in all expressions. A key condition has the syntax of a condition. */
static void add_expressions(struct question *question, struct attribute_names *names)
{
    struct expr_scope scope;
    if (make_scope(question, &scope)) {
        add_condition(question, &scope, "ConditionExpression", names);
        add_condition(question, &scope, "FilterExpression", names);
        add_condition(question, &scope, "KeyConditionExpression", names);
        add_update(question, &scope, names);
        add_projection(question, &scope, names);
    }
}

static void fill_attributes(struct question *question)
{
    struct attribute_names names = {.question = question};
    if (question->items != NULL) {
        each_written(question, add_names, &names);
    } else {
        each_item(question, add_names, &names);
        add_legacy_names(question, &names);
        add_expressions(question, &names);
    }
    authorize_set_list(question, CONTEXT_DDB_ATTRIBUTES, &names.list);
}

/* Parameters -------------------------------------------------------------------------------- */

#define KEY_BITS                                                                                   \
    (CONTEXT_BIT(CONTEXT_DDB_LEADING_KEYS) | CONTEXT_BIT(CONTEXT_DDB_SECOND_KEYS) |                \
     CONTEXT_BIT(CONTEXT_DDB_THIRD_KEYS) | CONTEXT_BIT(CONTEXT_DDB_FOURTH_KEYS))
#define CAPACITY_BIT  CONTEXT_BIT(CONTEXT_DDB_RETURN_CONSUMED_CAPACITY)
#define ENCLOSING_BIT CONTEXT_BIT(CONTEXT_DDB_ENCLOSING_OPERATION)
#define RETURN_BIT    CONTEXT_BIT(CONTEXT_DDB_RETURN_VALUES)
#define SELECT_BIT    CONTEXT_BIT(CONTEXT_DDB_SELECT)
#define ITEM_BITS     (KEY_BITS | CONTEXT_BIT(CONTEXT_DDB_ATTRIBUTES) | CAPACITY_BIT)
#define WRITE_BITS    (ITEM_BITS | RETURN_BIT | ENCLOSING_BIT)
#define ALL_BITS      (WRITE_BITS | SELECT_BIT)

static struct str select_of(const struct question *question)
{
    const struct wire_enum *given = member(question, "Select", SHAPE_ENUM);
    const struct wire_list *wanted = member(question, "AttributesToGet", SHAPE_LIST);
    if (given != NULL && !str_is_null(given->text)) {
        return given->text;
    }
    if ((wanted != NULL && wanted->given) ||
        !str_is_null(expression(question, "ProjectionExpression"))) {
        return STR("SPECIFIC_ATTRIBUTES");
    }
    return str_is_null(question->index) ? STR("ALL_ATTRIBUTES") : STR("ALL_PROJECTED_ATTRIBUTES");
}

static void fill_return_values(struct question *question)
{
    const struct wire_enum *returned = member(question, "ReturnValues", SHAPE_ENUM);
    const struct wire_enum *on_failure =
        member(question, "ReturnValuesOnConditionCheckFailure", SHAPE_ENUM);
    bool is_given = returned != NULL && !str_is_null(returned->text);
    authorize_set(question, CONTEXT_DDB_RETURN_VALUES, is_given ? returned->text : STR("NONE"));
    question->shows_old_on_failure = on_failure != NULL && str_eq(on_failure->text, STR("ALL_OLD"));
}

/* `keys`: CONTEXT_BITs of the condition keys to fill in. */
static void fill_parameters(struct question *question, uint64_t keys)
{
    if ((keys & SELECT_BIT) != 0) {
        authorize_set(question, CONTEXT_DDB_SELECT, select_of(question));
    }
    if ((keys & RETURN_BIT) != 0) {
        fill_return_values(question);
    }
    if ((keys & CAPACITY_BIT) != 0) {
        authorize_set(question, CONTEXT_DDB_RETURN_CONSUMED_CAPACITY,
                      str_is_null(question->capacity.text) ? STR("NONE") : question->capacity.text);
    }
    if (question->enclosing != NULL && (keys & ENCLOSING_BIT) != 0) {
        authorize_set(question, CONTEXT_DDB_ENCLOSING_OPERATION, str_from_c(question->enclosing));
    }
}

/* Tags of the request ----------------------------------------------------------------------- */

/* Sets aws:RequestTag and aws:TagKeys for TagResource and CreateTable; a tag has Key and Value. */
static void fill_request_tags(struct question *question, const struct wire_list *given)
{
    const struct shape *shape = authorize_shape(question->shape, "Tags")->element;
    struct context_tag *tags =
        ARENA_ARRAY(question->call->arena, struct context_tag, given->count + 1);
    struct text_list keys = {0};
    size_t count = 0;
    for (size_t i = 0; i < given->count; i++) {
        const void *tag = ((void *const *)given->elements)[i];
        const struct str *key =
            tag == NULL ? NULL : authorize_member(shape, tag, "Key", SHAPE_STRING);
        const struct str *value =
            tag == NULL ? NULL : authorize_member(shape, tag, "Value", SHAPE_STRING);
        if (key != NULL && value != NULL && !str_is_null(*key) && !str_is_null(*value)) {
            tags[count++] = (struct context_tag){.name = *key, .value = *value};
            authorize_add_text(question, &keys, *key);
        }
    }
    question->context.tags[CONTEXT_REQUEST_TAG - CONTEXT_KEY_COUNT] =
        (struct context_tags){.tags = tags, .count = count};
    authorize_set_list(question, CONTEXT_AWS_TAG_KEYS, &keys);
}

static void fill_tags(struct question *question)
{
    const struct wire_list *tags = member(question, "Tags", SHAPE_LIST);
    const struct wire_list *keys = member(question, "TagKeys", SHAPE_LIST);
    if (tags != NULL && tags->given) {
        fill_request_tags(question, tags);
    } else if (keys != NULL && keys->given) {
        struct text_list list = {0};
        for (size_t i = 0; i < keys->count; i++) {
            struct str key = ((const struct str *)keys->elements)[i];
            if (!str_is_null(key)) {
                authorize_add_text(question, &list, key);
            }
        }
        authorize_set_list(question, CONTEXT_AWS_TAG_KEYS, &list);
    }
}

#define TAG_BITS (CONTEXT_BIT(CONTEXT_AWS_TAG_KEYS) | CONTEXT_BIT(CONTEXT_REQUEST_TAG))

/* The keys of the actions on items, as the service authorization reference lists them; other
 * actions have none of these keys. It differs in two places: it lists ReturnValues for Query and
 * Scan, whose requests have no such parameter; and no EnclosingOperation for ConditionCheckItem,
 * with which the developer guide ("Using IAM with DynamoDB transactions") restricts it. */
static const struct {
    const char *action;
    uint64_t keys;
} action_keys[] = {
    {"dynamodb:BatchGetItem", ITEM_BITS | SELECT_BIT},
    {"dynamodb:BatchWriteItem", ITEM_BITS},
    {"dynamodb:ConditionCheckItem", WRITE_BITS},
    {"dynamodb:DeleteItem", WRITE_BITS},
    {"dynamodb:GetItem", ITEM_BITS | SELECT_BIT | ENCLOSING_BIT},
    {"dynamodb:PutItem", WRITE_BITS},
    {"dynamodb:Query", ITEM_BITS | SELECT_BIT},
    {"dynamodb:Scan", (ITEM_BITS & ~KEY_BITS) | SELECT_BIT},
    {"dynamodb:UpdateItem", WRITE_BITS},
};

/* Returns the keys of the question's action. That of an operation on tables has none, even if it
 * asks for an action on items, as restores do. */
static uint64_t keys_of_action(const struct question *question)
{
    if (question->call->op->access == ACCESS_ADMIN ||
        (question->shape == NULL && question->items == NULL)) {
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(action_keys); i++) {
        if (strcmp(question->action, action_keys[i].action) == 0) {
            return action_keys[i].keys;
        }
    }
    return 0;
}

static void fill_item_keys(struct question *question, uint64_t keys)
{
    if ((keys & KEY_BITS) != 0) {
        fill_leading_keys(question);
    }
    if ((keys & CONTEXT_BIT(CONTEXT_DDB_ATTRIBUTES)) != 0) {
        fill_attributes(question);
    }
    fill_parameters(question, keys);
}

void authorize_fill_keys(struct question *question, uint64_t mentions)
{
    if ((mentions & ALL_BITS) != 0) {
        fill_item_keys(question, mentions & keys_of_action(question));
    }
    if ((mentions & TAG_BITS) != 0 && question->shape != NULL) {
        fill_tags(question);
    }
}
