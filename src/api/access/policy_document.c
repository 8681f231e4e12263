/* Resource policies as JSON. Works on slices of the document: an object becomes a list of member
 * names and values as text. Called by resource_policy.c and op_resource_policy.c on the thread of
 * the call; keeps no state. */
#include "api/access/policy_document.h"

#include "base/buf.h"
#include "json/reader.h"
#include "json/writer.h"

/* A member of an object, or an element of an array, which has no name. */
struct member {
    struct str name;
    struct str value; /* JSON text */
};

struct members {
    struct member *list;
    size_t count;
};

/* Reading ----------------------------------------------------------------------------------- */

static void add_member(struct arena *arena, struct members *members, struct member member)
{
    if ((members->count & (members->count - 1)) == 0) { /* full: 0, 1, 2, 4, ... */
        struct member *more = ARENA_ARRAY(arena, struct member, members->count * 2 + 1);
        if (members->count > 0) {
            memcpy(more, members->list, members->count * sizeof(*more));
        }
        members->list = more;
    }
    members->list[members->count++] = member;
}

static enum json_kind kind_of(struct arena *arena, struct str text)
{
    struct json_reader reader;
    json_reader_init(&reader, arena, text);
    return json_peek(&reader);
}

/* The members of an object; none for another value. The text is valid JSON, here and below. */
static struct members members_of(struct arena *arena, struct str text)
{
    struct members members = {0};
    struct json_reader reader;
    struct json_string name;
    struct str value;
    json_reader_init(&reader, arena, text);
    if (json_peek(&reader) != JSON_OBJECT || !json_enter_object(&reader)) {
        return members;
    }
    while (json_next_member(&reader, &name) && json_read_raw(&reader, &value)) {
        add_member(arena, &members, (struct member){.name = name.text, .value = value});
    }
    return members;
}

/* The elements of an array; another value is an array of itself. */
static struct members values_of(struct arena *arena, struct str text)
{
    struct members values = {0};
    struct json_reader reader;
    struct str value;
    json_reader_init(&reader, arena, text);
    if (json_peek(&reader) != JSON_ARRAY || !json_enter_array(&reader)) {
        add_member(arena, &values, (struct member){.value = text});
        return values;
    }
    while (json_next_element(&reader) && json_read_raw(&reader, &value)) {
        add_member(arena, &values, (struct member){.value = value});
    }
    return values;
}

/* The value of a member; STR_NULL: there is none. */
static struct str find(const struct members *members, const char *name)
{
    for (size_t i = 0; i < members->count; i++) {
        if (str_eq(members->list[i].name, str_from_c(name))) {
            return members->list[i].value;
        }
    }
    return STR_NULL;
}

/* The characters of a string; STR_NULL: the value is not a string. */
static struct str string_of(struct arena *arena, struct str value)
{
    struct json_reader reader;
    struct json_string string;
    json_reader_init(&reader, arena, value);
    return json_peek(&reader) == JSON_STRING && json_read_string(&reader, &string) ? string.text
                                                                                   : STR_NULL;
}

/* The elements of a statement: names that exclude each other. In the order of the canonical form.
 */
enum { SID, EFFECT, PRINCIPAL, ACTION, RESOURCE, CONDITION, ELEMENT_COUNT };
static const struct {
    const char *name;
    const char *opposite;
    bool is_required;
} elements[ELEMENT_COUNT] = {
    [SID] = {"Sid", "Sid", false},
    [EFFECT] = {"Effect", "Effect", true},
    [PRINCIPAL] = {"Principal", "NotPrincipal", true},
    [ACTION] = {"Action", "NotAction", true},
    [RESOURCE] = {"Resource", "NotResource", true},
    [CONDITION] = {"Condition", "Condition", false},
};

/* The value of an element of a statement, and its name; STR_NULL: the statement lacks it. */
static struct str find_element(const struct members *statement, int element, const char **out_name)
{
    struct str value = find(statement, elements[element].name);
    *out_name = elements[element].name;
    if (str_is_null(value)) {
        value = find(statement, elements[element].opposite);
        *out_name = elements[element].opposite;
    }
    return value;
}

/* Checks ------------------------------------------------------------------------------------ */

static bool refuse(struct err *err, const char *text)
{
    return err_set(err, ERR_VALIDATION, POLICY_DOCUMENT_INVALID "%s", text);
}

/* The document ends where a Statement is expected. */
static bool refuse_end(struct str document, struct err *err)
{
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < document.len; i++) {
        bool is_end = document.data[i] == '\n';
        line += is_end ? 1 : 0;
        column = is_end ? 1 : column + 1;
    }
    return err_set(err, ERR_VALIDATION,
                   POLICY_DOCUMENT_INVALID "Syntax error at position (%zu,%zu)", line, column);
}

static bool is_account(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
    }
    return text.len == 12;
}

static bool is_principal(struct str text)
{
    return str_eq(text, STR("*")) || is_account(text) ||
           (str_starts_with(text, STR("arn:")) && memchr(text.data, '*', text.len) == NULL);
}

/* principal = "*" | {"AWS": values, ...} */
static bool check_principal(struct arena *arena, struct str value, struct err *err)
{
    struct members kinds = members_of(arena, value);
    struct str aws = find(&kinds, "AWS");
    bool good = kinds.count > 0 || str_eq(string_of(arena, value), STR("*"));
    struct members values = str_is_null(aws) ? (struct members){0} : values_of(arena, aws);
    for (size_t i = 0; good && i < values.count; i++) {
        good = is_principal(string_of(arena, values.list[i].value));
    }
    return good || err_set(err, ERR_VALIDATION,
                           "One or more parameter values were invalid: Invalid principal in policy "
                           "document.");
}

/* Checks the last part of an ARN of DynamoDB: table/..., or a pattern that can match it. */
static bool check_relative_id(struct str arn, struct err *err)
{
    static const char *const starts[] = {"table/", "*", "?", "$"};
    if (!str_starts_with(arn, STR("arn:aws:dynamodb:"))) {
        return true;
    }
    struct str rest = str_skip(arn, STR("arn:aws:dynamodb:").len);
    for (int colons = 0; colons < 2; colons++) {
        const char *colon = rest.len == 0 ? NULL : memchr(rest.data, ':', rest.len);
        if (colon == NULL) {
            return true; /* policy_parse() refuses it, or it ends in `*` */
        }
        rest = str_skip(rest, (size_t)(colon - rest.data) + 1);
    }
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (str_starts_with(rest, str_from_c(starts[i])) && !str_eq(rest, STR("table/"))) {
            return true;
        }
    }
    return err_set(err, ERR_VALIDATION,
                   POLICY_DOCUMENT_INVALID "The relative-id \"%.*s\" is invalid for ARN \"%.*s\"",
                   STR_ARG(rest), STR_ARG(arn));
}

static bool check_resources(struct arena *arena, struct str value, struct err *err)
{
    struct members values = values_of(arena, value);
    for (size_t i = 0; i < values.count; i++) {
        if (!check_relative_id(string_of(arena, values.list[i].value), err)) {
            return false;
        }
    }
    return true;
}

static bool check_statement(struct arena *arena, const struct members *statement, struct err *err)
{
    const char *name;
    for (int i = 0; i < ELEMENT_COUNT; i++) {
        if (elements[i].is_required && str_is_null(find_element(statement, i, &name))) {
            return err_set(err, ERR_VALIDATION, POLICY_DOCUMENT_INVALID "Missing required field %s",
                           elements[i].name);
        }
    }
    return check_principal(arena, find_element(statement, PRINCIPAL, &name), err) &&
           check_resources(arena, find_element(statement, RESOURCE, &name), err);
}

static bool check_statements(struct arena *arena, const struct members *statements, struct err *err)
{
    struct members seen = {0}; /* by Sid */
    for (size_t i = 0; i < statements->count; i++) {
        struct members statement = members_of(arena, statements->list[i].value);
        if (!check_statement(arena, &statement, err)) {
            return false;
        }
        struct str sid = find(&statement, "Sid");
        if (str_is_null(sid)) {
            continue;
        }
        sid = string_of(arena, sid);
        for (size_t j = 0; j < seen.count; j++) {
            if (str_eq(seen.list[j].name, sid)) {
                return refuse(err, "The Statement Ids in the policy are not unique");
            }
        }
        add_member(arena, &seen, (struct member){.name = sid});
    }
    return true;
}

bool policy_document_check(struct arena *arena, struct str document, struct err *err)
{
    struct json_reader reader;
    json_reader_init(&reader, arena, document);
    if (!json_skip(&reader) || !json_at_end(&reader)) {
        return refuse(err, "This policy contains invalid Json");
    }
    if (kind_of(arena, document) != JSON_OBJECT) {
        return refuse(err, "This text appears not to be a policy");
    }
    struct members outline = members_of(arena, document);
    struct str statement = find(&outline, "Statement");
    if (str_is_null(statement)) {
        return refuse_end(document, err);
    }
    struct members statements = values_of(arena, statement);
    if (statements.count == 0) {
        return refuse(err, "Could not parse the policy: Statement is empty!");
    }
    return check_statements(arena, &statements, err);
}

/* The canonical form ------------------------------------------------------------------------ */

typedef void write_value(struct arena *arena, struct str value, struct buf *out);

/* A string, number or boolean. */
static void write_scalar(struct arena *arena, struct str value, struct buf *out)
{
    struct str text = string_of(arena, value);
    if (str_is_null(text)) {
        buf_add(out, value);
    } else {
        json_write_string(out, text);
    }
}

static void write_list(struct arena *arena, struct str value, write_value *write, struct buf *out)
{
    struct members values = values_of(arena, value);
    if (values.count == 1) {
        write(arena, values.list[0].value, out);
        return;
    }
    buf_add_char(out, '[');
    for (size_t i = 0; i < values.count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write(arena, values.list[i].value, out);
    }
    buf_add_char(out, ']');
}

static void write_values(struct arena *arena, struct str value, struct buf *out)
{
    write_list(arena, value, write_scalar, out);
}

static void sort_members(struct members *members)
{
    for (size_t i = 1; i < members->count; i++) {
        struct member moved = members->list[i];
        size_t at = i;
        while (at > 0 && str_cmp(members->list[at - 1].name, moved.name) > 0) {
            members->list[at] = members->list[at - 1];
            at--;
        }
        members->list[at] = moved;
    }
}

/* An object, its members by name. */
static void write_object(struct arena *arena, struct str value, write_value *write, struct buf *out)
{
    struct members members = members_of(arena, value);
    sort_members(&members);
    buf_add_char(out, '{');
    for (size_t i = 0; i < members.count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, members.list[i].name);
        buf_add_char(out, ':');
        write(arena, members.list[i].value, out);
    }
    buf_add_char(out, '}');
}

static void write_account(struct arena *arena, struct str value, struct buf *out)
{
    struct str text = string_of(arena, value);
    if (is_account(text)) {
        text = arena_format(arena, "arn:aws:iam::%.*s:root", STR_ARG(text));
    }
    json_write_string(out, text);
}

static void write_accounts(struct arena *arena, struct str value, struct buf *out)
{
    write_list(arena, value, write_account, out);
}

static void write_principal(struct arena *arena, struct str value, struct buf *out)
{
    if (kind_of(arena, value) == JSON_STRING) {
        write_scalar(arena, value, out);
    } else {
        write_object(arena, value, write_accounts, out);
    }
}

static void write_condition_keys(struct arena *arena, struct str value, struct buf *out)
{
    write_object(arena, value, write_values, out);
}

static void write_condition(struct arena *arena, struct str value, struct buf *out)
{
    write_object(arena, value, write_condition_keys, out);
}

static void write_statement(struct arena *arena, struct str value, struct buf *out)
{
    static write_value *const writers[ELEMENT_COUNT] = {
        [SID] = write_scalar,    [EFFECT] = write_scalar,   [PRINCIPAL] = write_principal,
        [ACTION] = write_values, [RESOURCE] = write_values, [CONDITION] = write_condition,
    };
    struct members statement = members_of(arena, value);
    const char *separator = "{";
    for (int i = 0; i < ELEMENT_COUNT; i++) {
        const char *name;
        struct str element = find_element(&statement, i, &name);
        if (!str_is_null(element)) {
            buf_format(out, "%s\"%s\":", separator, name);
            writers[i](arena, element, out);
            separator = ",";
        }
    }
    buf_add_char(out, '}');
}

struct str policy_document_canonical(struct arena *arena, struct str document)
{
    struct members outline = members_of(arena, document);
    struct str version = find(&outline, "Version");
    struct str id = find(&outline, "Id");
    struct members statements = values_of(arena, find(&outline, "Statement"));
    struct buf out = {0};
    buf_add(&out, STR("{\"Version\":"));
    write_scalar(arena, str_is_null(version) ? STR("\"2008-10-17\"") : version, &out);
    if (!str_is_null(id)) {
        buf_add(&out, STR(",\"Id\":"));
        write_scalar(arena, id, &out);
    }
    for (size_t i = 0; i < statements.count; i++) {
        buf_add(&out, i == 0 ? STR(",\"Statement\":[") : STR(","));
        write_statement(arena, statements.list[i].value, &out);
    }
    buf_add(&out, STR("]}"));
    struct str kept = arena_copy(arena, buf_str(&out));
    buf_finish(&out);
    return kept;
}
