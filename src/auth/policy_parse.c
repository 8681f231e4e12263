/* Compiles the JSON text of a policy in two passes: the first finds the Version, which decides
 * whether `${...}` is a variable; the second compiles the statements. Called when a policy is
 * stored or loaded, on any thread; keeps no state. */
#include <stdio.h>

#include "auth/policy_internal.h"
#include "base/mem.h"
#include "json/reader.h"

/* Appends an element to a list in the policy's arena. The capacity doubles when the count is a
 * power of two. */
#define LIST_ADD(arena_, list_, count_)                                                            \
    ((list_) = list_room((arena_), (list_), (count_), sizeof(*(list_))), &(list_)[(count_)++])

static void *list_room(struct arena *arena, void *list, size_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0) {
        return list; /* there is room for one more */
    }
    void *grown = arena_zalloc(arena, MAX(count * 2, (size_t)1) * size);
    if (count > 0) {
        memcpy(grown, list, count * size);
    }
    return grown;
}

struct parser {
    struct json_reader reader;
    struct policy *policy;
    struct arena *arena; /* the policy's */
    struct err *err;
    bool has_variables; /* Version 2012-10-17 */
    char place[96];     /* "Statement[0].Condition", for messages */
};

static bool fail(struct parser *parser, const char *why)
{
    return err_set(parser->err, ERR_VALIDATION, "%s: %s", parser->place, why);
}

static bool fail_name(struct parser *parser, const char *why, struct str name)
{
    return err_set(parser->err, ERR_VALIDATION, "%s: %s \"%.*s\"", parser->place, why,
                   STR_ARG(name));
}

/* Reports a syntax error of the JSON, or a value of the wrong type. Returns false. */
static bool fail_json(struct parser *parser)
{
    return parser->reader.mistake != NULL ? fail(parser, parser->reader.mistake)
                                          : fail(parser, "this kind of value is not allowed here");
}

/* Reports an error of an inner function, with the place in front of it. Returns false. */
static bool fail_inner(struct parser *parser, const struct err *inner)
{
    return err_set(parser->err, ERR_VALIDATION, "%s: %.*s", parser->place, STR_ARG(inner->message));
}

/* Values ----------------------------------------------------------------------------------- */

/* value = string | number | true | false, as text */
static bool read_value(struct parser *parser, struct str *out)
{
    struct json_string string;
    bool boolean;
    switch (json_peek(&parser->reader)) {
    case JSON_STRING:
        if (!json_read_string(&parser->reader, &string)) {
            return fail_json(parser);
        }
        *out = string.text;
        return true;
    case JSON_NUMBER:
        return json_read_number(&parser->reader, out) || fail_json(parser);
    case JSON_BOOL:
        if (!json_read_bool(&parser->reader, &boolean)) {
            return fail_json(parser);
        }
        *out = boolean ? STR("true") : STR("false");
        return true;
    default:
        return fail_json(parser);
    }
}

/* values = value | "[" { value } "]"; each goes to add(parser, target, value). */
static bool read_values(struct parser *parser,
                        bool (*add)(struct parser *parser, void *target, struct str value),
                        void *target)
{
    struct str value;
    if (json_peek(&parser->reader) != JSON_ARRAY) {
        return read_value(parser, &value) && add(parser, target, value);
    }
    if (!json_enter_array(&parser->reader)) {
        return fail_json(parser);
    }
    while (json_next_element(&parser->reader)) {
        if (!read_value(parser, &value) || !add(parser, target, value)) {
            return false;
        }
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

/* Action, Resource, Principal -------------------------------------------------------------- */

/* action = "*" | service ":" name; wildcards in the name only */
static bool is_action(struct str text)
{
    const char *colon = text.len > 0 ? memchr(text.data, ':', text.len) : NULL;
    if (colon == NULL) {
        return str_eq(text, STR("*"));
    }
    struct str service = str_make(text.data, (size_t)(colon - text.data));
    return service.len > 0 && service.len + 1 < text.len &&
           memchr(service.data, '*', service.len) == NULL &&
           memchr(service.data, '?', service.len) == NULL;
}

static bool add_action(struct parser *parser, void *target, struct str text)
{
    struct statement *statement = target;
    if (!is_action(text)) {
        return fail_name(parser, "not an action:", text);
    }
    size_t count = statement->action_count;
    *LIST_ADD(parser->arena, statement->action_texts, count) = text;
    struct pattern *action = LIST_ADD(parser->arena, statement->actions, statement->action_count);
    return pattern_compile(parser->arena, text, PATTERN_WILDCARDS, action, parser->err);
}

static bool add_resource(struct parser *parser, void *target, struct str text)
{
    struct statement *statement = target;
    struct err inner = ERR_INIT(parser->arena);
    struct arn_pattern *resource =
        LIST_ADD(parser->arena, statement->resources, statement->resource_count);
    int variables_from = parser->has_variables ? ARN_PARTS - 1 : ARN_PARTS;
    if (!arn_pattern_compile(parser->arena, text, variables_from, resource, &inner)) {
        return fail_inner(parser, &inner);
    }
    arn_pattern_add_keys(resource, &parser->policy->mentions);
    return true;
}

static bool is_account(struct str text)
{
    bool good = text.len == 12;
    for (size_t i = 0; good && i < text.len; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
    }
    return good;
}

/* Returns the account in arn:aws:iam::ACCOUNT:root, or STR_NULL for another ARN. */
static struct str account_of_root(struct str arn)
{
    static const char head[] = "arn:aws:iam::";
    if (!str_starts_with(arn, STR(head)) || arn.len != sizeof(head) - 1 + 12 + 5 ||
        !str_eq(str_skip(arn, arn.len - 5), STR(":root"))) {
        return STR_NULL;
    }
    struct str account = str_make(arn.data + sizeof(head) - 1, 12);
    return is_account(account) ? account : STR_NULL;
}

static bool add_aws_principal(struct parser *parser, void *target, struct str text)
{
    struct statement *statement = target;
    struct principal principal = {.kind = PRINCIPAL_IS_ARN, .text = text};
    struct str root = account_of_root(text);
    if (str_eq(text, STR("*"))) {
        principal.kind = PRINCIPAL_IS_ANYONE;
    } else if (is_account(text) || !str_is_null(root)) {
        principal.kind = PRINCIPAL_IS_ACCOUNT;
        principal.text = str_is_null(root) ? text : root;
    } else if (!str_starts_with(text, STR("arn:")) || memchr(text.data, '*', text.len) != NULL) {
        return fail_name(parser, "not a principal:", text);
    }
    *LIST_ADD(parser->arena, statement->principals, statement->principal_count) = principal;
    return true;
}

static bool add_other_principal(struct parser *parser, void *target, struct str text)
{
    struct statement *statement = target;
    *LIST_ADD(parser->arena, statement->principals, statement->principal_count) =
        (struct principal){.kind = PRINCIPAL_IS_OTHER, .text = text};
    return true;
}

/* principal = "*" | "{" { ("AWS" | "Service" | "Federated" | "CanonicalUser") ":" values } "}" */
static bool read_principal(struct parser *parser, struct statement *statement)
{
    struct str text;
    if (json_peek(&parser->reader) == JSON_STRING) {
        return read_value(parser, &text) &&
               (str_eq(text, STR("*")) ? add_aws_principal(parser, statement, text)
                                       : fail_name(parser, "not a principal:", text));
    }
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    struct json_string name;
    while (json_next_member(&parser->reader, &name)) {
        bool is_aws = str_eq(name.text, STR("AWS"));
        if (!is_aws && !str_eq(name.text, STR("Service")) && !str_eq(name.text, STR("Federated")) &&
            !str_eq(name.text, STR("CanonicalUser"))) {
            return fail_name(parser, "unknown kind of principal", name.text);
        }
        if (!read_values(parser, is_aws ? add_aws_principal : add_other_principal, statement)) {
            return false;
        }
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

/* Condition -------------------------------------------------------------------------------- */

static bool add_condition_value(struct parser *parser, void *target, struct str text)
{
    struct condition *condition = target;
    struct err inner = ERR_INIT(parser->arena);
    union condition_value *value =
        LIST_ADD(parser->arena, condition->values, condition->value_count);
    return policy_condition_value_parse(parser->arena, &condition->op, text, parser->has_variables,
                                        value, &inner) ||
           fail_inner(parser, &inner);
}

/* Returns whether the operator whose conditions start at index `first` has this key already. */
static bool has_condition(const struct statement *statement, size_t first, struct context_key key)
{
    for (size_t i = first; key.id != CONTEXT_UNKNOWN && i < statement->condition_count; i++) {
        struct context_key other = statement->conditions[i].key;
        if (other.id == key.id && str_eq_nocase(other.tag, key.tag)) {
            return true;
        }
    }
    return false;
}

/* keys = "{" { key ":" values } "}" */
static bool read_condition_keys(struct parser *parser, struct statement *statement,
                                const struct condition_operator *op)
{
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    size_t first = statement->condition_count;
    struct json_string name;
    while (json_next_member(&parser->reader, &name)) {
        struct context_key key = context_key_from_name(name.text);
        if (memchr(name.text.data, ':', name.text.len) == NULL) {
            return fail_name(parser, "not a condition key:", name.text);
        }
        if (has_condition(statement, first, key)) {
            return fail_name(parser, "this condition key is given twice:", name.text);
        }
        struct condition *condition =
            LIST_ADD(parser->arena, statement->conditions, statement->condition_count);
        *condition = (struct condition){.op = *op, .key = key};
        if (!read_values(parser, add_condition_value, condition)) {
            return false;
        }
        policy_condition_add_keys(condition, &parser->policy->mentions);
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

/* condition = "{" { operator ":" keys } "}" */
static bool read_condition(struct parser *parser, struct statement *statement)
{
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    struct json_string name;
    while (json_next_member(&parser->reader, &name)) {
        struct condition_operator op;
        if (!policy_condition_operator_parse(name.text, &op)) {
            return fail_name(parser, "unknown condition operator", name.text);
        }
        if (!read_condition_keys(parser, statement, &op)) {
            return false;
        }
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

/* Statements ------------------------------------------------------------------------------- */

enum element {
    ELEMENT_ACTION,
    ELEMENT_CONDITION,
    ELEMENT_EFFECT,
    ELEMENT_NOT_ACTION,
    ELEMENT_NOT_PRINCIPAL,
    ELEMENT_NOT_RESOURCE,
    ELEMENT_PRINCIPAL,
    ELEMENT_RESOURCE,
    ELEMENT_SID,
    ELEMENT_COUNT,
};

static const char *const element_names[ELEMENT_COUNT] = {
    "Action",      "Condition", "Effect",   "NotAction", "NotPrincipal",
    "NotResource", "Principal", "Resource", "Sid",
};

#define ELEMENT_BIT(element_) (1U << (element_))

static bool read_effect(struct parser *parser, struct statement *statement)
{
    struct str text;
    if (!read_value(parser, &text)) {
        return false;
    }
    statement->is_deny = str_eq(text, STR("Deny"));
    return statement->is_deny || str_eq(text, STR("Allow")) ||
           fail_name(parser, "neither Allow nor Deny:", text);
}

static bool read_element(struct parser *parser, struct statement *statement, enum element element)
{
    switch (element) {
    case ELEMENT_ACTION:
    case ELEMENT_NOT_ACTION:
        statement->is_not_action = element == ELEMENT_NOT_ACTION;
        return read_values(parser, add_action, statement);
    case ELEMENT_RESOURCE:
    case ELEMENT_NOT_RESOURCE:
        statement->is_not_resource = element == ELEMENT_NOT_RESOURCE;
        return read_values(parser, add_resource, statement);
    case ELEMENT_PRINCIPAL:
    case ELEMENT_NOT_PRINCIPAL:
        statement->is_not_principal = element == ELEMENT_NOT_PRINCIPAL;
        return read_principal(parser, statement);
    case ELEMENT_CONDITION:
        return read_condition(parser, statement);
    case ELEMENT_EFFECT:
        return read_effect(parser, statement);
    case ELEMENT_SID:
        return read_value(parser, &statement->sid);
    case ELEMENT_COUNT:
        break;
    }
    return false;
}

static bool has_both(unsigned seen, enum element a, enum element b)
{
    return (seen & ELEMENT_BIT(a)) != 0 && (seen & ELEMENT_BIT(b)) != 0;
}

static bool has_either(unsigned seen, enum element a, enum element b)
{
    return (seen & (ELEMENT_BIT(a) | ELEMENT_BIT(b))) != 0;
}

/* Checks that the statement has the required elements and none that exclude each other. */
static bool check_elements(struct parser *parser, unsigned seen)
{
    enum policy_kind kind = parser->policy->kind;
    bool has_principal = has_either(seen, ELEMENT_PRINCIPAL, ELEMENT_NOT_PRINCIPAL);
    bool has_resource = has_either(seen, ELEMENT_RESOURCE, ELEMENT_NOT_RESOURCE);
    if ((seen & ELEMENT_BIT(ELEMENT_EFFECT)) == 0) {
        return fail(parser, "Effect is missing");
    }
    if (!has_either(seen, ELEMENT_ACTION, ELEMENT_NOT_ACTION) ||
        has_both(seen, ELEMENT_ACTION, ELEMENT_NOT_ACTION)) {
        return fail(parser, "one of Action and NotAction is required");
    }
    if (has_resource != (kind != POLICY_TRUST) ||
        has_both(seen, ELEMENT_RESOURCE, ELEMENT_NOT_RESOURCE)) {
        return fail(parser, kind == POLICY_TRUST ? "Resource is not allowed in a trust policy"
                                                 : "one of Resource and NotResource is required");
    }
    if (has_principal != (kind != POLICY_IDENTITY) ||
        has_both(seen, ELEMENT_PRINCIPAL, ELEMENT_NOT_PRINCIPAL)) {
        return fail(parser, kind == POLICY_IDENTITY
                                ? "Principal is not allowed in an identity-based policy"
                                : "one of Principal and NotPrincipal is required");
    }
    return true;
}

static enum element find_element(struct str name)
{
    int i = 0;
    while (i < ELEMENT_COUNT && !str_eq(name, str_from_c(element_names[i]))) {
        i++;
    }
    return (enum element)i;
}

static bool read_statement(struct parser *parser)
{
    struct policy *policy = parser->policy;
    size_t number = policy->statement_count;
    struct statement *statement =
        LIST_ADD(parser->arena, policy->statements, policy->statement_count);
    snprintf(parser->place, sizeof(parser->place), "Statement[%zu]", number);
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    unsigned seen = 0;
    struct json_string name;
    while (json_next_member(&parser->reader, &name)) {
        enum element element = find_element(name.text);
        if (element == ELEMENT_COUNT || (seen & ELEMENT_BIT(element)) != 0) {
            return fail_name(parser, "unknown or repeated element", name.text);
        }
        seen |= ELEMENT_BIT(element);
        snprintf(parser->place, sizeof(parser->place), "Statement[%zu].%s", number,
                 element_names[element]);
        if (!read_element(parser, statement, element)) {
            return false;
        }
        snprintf(parser->place, sizeof(parser->place), "Statement[%zu]", number);
    }
    return parser->reader.mistake == NULL ? check_elements(parser, seen) : fail_json(parser);
}

/* statements = statement | "[" { statement } "]" */
static bool read_statements(struct parser *parser)
{
    if (json_peek(&parser->reader) != JSON_ARRAY) {
        return read_statement(parser);
    }
    if (!json_enter_array(&parser->reader)) {
        return fail_json(parser);
    }
    while (json_next_element(&parser->reader)) {
        if (!read_statement(parser)) {
            return false;
        }
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

/* The document ----------------------------------------------------------------------------- */

static bool read_version(struct parser *parser)
{
    struct str text;
    if (!read_value(parser, &text)) {
        return false;
    }
    parser->has_variables = str_eq(text, STR("2012-10-17"));
    return parser->has_variables || str_eq(text, STR("2008-10-17")) ||
           fail_name(parser, "unknown Version", text);
}

/* First pass: checks the member names and reads the Version. */
static bool read_outline(struct parser *parser)
{
    enum { VERSION = 1, ID = 2, STATEMENT = 4 };
    unsigned seen = 0;
    struct json_string name;
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    while (json_next_member(&parser->reader, &name)) {
        unsigned bit = str_eq(name.text, STR("Version"))     ? VERSION
                       : str_eq(name.text, STR("Id"))        ? ID
                       : str_eq(name.text, STR("Statement")) ? STATEMENT
                                                             : 0;
        if (bit == 0 || (seen & bit) != 0) {
            return fail_name(parser, "unknown or repeated element", name.text);
        }
        seen |= bit;
        struct str ignored;
        /* An Id that nests would make a record that contains the policy nest too deeply. */
        if (bit == VERSION ? !read_version(parser)
            : bit == ID    ? !read_value(parser, &ignored)
                           : !json_skip(&parser->reader)) {
            return fail_json(parser);
        }
    }
    if (parser->reader.mistake != NULL || !json_at_end(&parser->reader)) {
        return fail_json(parser);
    }
    return (seen & STATEMENT) != 0 || fail(parser, "Statement is missing");
}

/* Second pass: compiles the statements. The member names have been checked. */
static bool read_body(struct parser *parser)
{
    struct json_string name;
    if (!json_enter_object(&parser->reader)) {
        return fail_json(parser);
    }
    while (json_next_member(&parser->reader, &name)) {
        if (str_eq(name.text, STR("Statement")) ? !read_statements(parser)
                                                : !json_skip(&parser->reader)) {
            return fail_json(parser);
        }
    }
    return parser->reader.mistake == NULL || fail_json(parser);
}

bool policy_parse(struct str document, enum policy_kind kind, struct policy **out, struct err *err)
{
    struct policy *policy = mem_zalloc(sizeof(*policy));
    arena_init(&policy->arena);
    policy->kind = kind;
    struct str copy = arena_copy(&policy->arena, document);
    struct parser parser = {
        .policy = policy, .arena = &policy->arena, .err = err, .place = "the policy"};
    json_reader_init(&parser.reader, &policy->arena, copy);
    bool good = read_outline(&parser);
    if (good) {
        json_reader_init(&parser.reader, &policy->arena, copy);
        good = read_body(&parser);
    }
    if (!good) {
        policy_destroy(policy);
        return false;
    }
    *out = policy;
    return true;
}

size_t policy_document_size(struct str document)
{
    size_t size = 0;
    for (size_t i = 0; i < document.len; i++) {
        size += memchr(" \t\r\n", document.data[i], 4) == NULL ? 1 : 0;
    }
    return size;
}

void policy_destroy(struct policy *policy)
{
    if (policy != NULL) {
        arena_finish(&policy->arena);
        mem_free(policy);
    }
}

uint64_t policy_mentions(const struct policy *policy)
{
    return policy->mentions;
}

bool policy_each_action(const struct policy *policy,
                        bool (*visit)(void *context, struct str action), void *context)
{
    for (size_t i = 0; i < policy->statement_count; i++) {
        const struct statement *statement = &policy->statements[i];
        for (size_t j = 0; j < statement->action_count; j++) {
            if (!visit(context, statement->action_texts[j])) {
                return false;
            }
        }
    }
    return true;
}
