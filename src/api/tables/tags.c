/* Checks tags and the ARNs of tagged tables, and changes a table's tags. Lengths, characters and
 * messages are as measured on the service; keys and values must match AWS's pattern for tags,
 * ^([\p{L}\p{Z}\p{N}_.:/=+\-@]*)$. Called by CreateTable and the tag operations on the thread of
 * the call; keeps no state. */
#include "api/tables/tags.h"

#include "api/arn.h"
#include "base/utf8.h"
#include "err/messages.h"

#define AWS "com.amazonaws.dynamodb.v20120810."
enum { TAG_KEY_MAX = 128, TAG_VALUE_MAX = 256 };

static const struct field tag_fields[] = {
    FIELD(struct tag_request, key, "Key", shape_string),
    FIELD(struct tag_request, value, "Value", shape_string),
    FIELD_END,
};
static const struct shape shape_tag = {
    .kind = SHAPE_STRUCT,
    .java = "Tag",
    .fields = tag_fields,
    .size = sizeof(struct tag_request),
};
const struct shape shape_tags = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "Tag>",
    .element = &shape_tag,
};

/* --- letters --- */

static bool is_ascii_tag_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(" _.:/=+-@", c) != NULL);
}

/* Returns whether the code point is in a Unicode block of symbols. All other code points count as
 * letters, digits or spaces. */
static bool is_symbol(uint32_t code_point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } blocks[] = {
        {0x0080, 0x009F}, {0x00A1, 0x00A9},   {0x00AB, 0x00B1},    {0x00B4, 0x00B4},
        {0x00B6, 0x00B8}, {0x00BB, 0x00BB},   {0x00BF, 0x00BF},    {0x00D7, 0x00D7},
        {0x00F7, 0x00F7}, {0x2010, 0x2027},   {0x202A, 0x202E},    {0x2030, 0x205E},
        {0x2060, 0x206F}, {0x20A0, 0x20FF},   {0x2190, 0x245F},    {0x2500, 0x2BFF},
        {0x3001, 0x3004}, {0x3008, 0x3020},   {0xD800, 0xF8FF},    {0xFE00, 0xFE6F},
        {0xFFE0, 0xFFFF}, {0x1F000, 0x1FBFF}, {0xE0000, 0x10FFFF},
    };
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        if (code_point >= blocks[i].first && code_point <= blocks[i].last) {
            return true;
        }
    }
    return false;
}

static bool has_tag_letters(struct str text)
{
    for (size_t i = 0; i < text.len;) {
        if ((uint8_t)text.data[i] < 0x80) {
            if (!is_ascii_tag_char(text.data[i++])) {
                return false;
            }
            continue;
        }
        uint32_t code_point;
        i += utf8_decode(str_skip(text, i), &code_point);
        if (is_symbol(code_point)) {
            return false;
        }
    }
    return true;
}

/* --- checks --- */

static bool fits(struct str text, size_t min, size_t max)
{
    size_t len = utf8_utf16_len(text);
    return !str_is_null(text) && len >= min && len <= max && has_tag_letters(text);
}

static bool check_key(struct str key, struct err *err)
{
    if (!fits(key, 1, TAG_KEY_MAX)) {
        struct str shown = str_is_null(key) ? STR("null") : key;
        return err_set(err, ERR_VALIDATION, "The Tag Key provided is invalid, Key: %.*s",
                       STR_ARG(shown));
    }
    if (key.len >= 4 && strncasecmp(key.data, "aws:", 4) == 0) {
        return err_set(err, ERR_VALIDATION, "Tag Key cannot be prefixed with aws:, Key: %.*s",
                       STR_ARG(key));
    }
    return true;
}

static bool check_value(struct str value, struct err *err)
{
    if (fits(value, 0, TAG_VALUE_MAX)) {
        return true;
    }
    struct str shown = str_is_null(value) ? STR("null") : value;
    return err_set(err, ERR_VALIDATION, "The Tag Value provided is invalid, Value: %.*s",
                   STR_ARG(shown));
}

bool tags_refuse_count(struct err *err)
{
    return err_set(err, ERR_VALIDATION,
                   "Number of Tags exceed the current limit for the provided ResourceArn");
}

bool tags_check(const struct wire_list *tags, struct err *err)
{
    if (tags->count > TAGS_MAX) {
        return tags_refuse_count(err);
    }
    for (size_t i = 0; i < tags->count; i++) {
        struct str key = tags_at(tags, i)->key;
        if (!check_key(key, err) || !check_value(tags_at(tags, i)->value, err)) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(tags_at(tags, k)->key, key)) {
                return err_set(err, ERR_VALIDATION,
                               "Duplicate Tag Keys provided as input: Duplicate Tag Key found "
                               "%.*s",
                               STR_ARG(key));
            }
        }
    }
    return true;
}

bool tags_check_keys(const struct wire_list *keys, struct err *err)
{
    if (keys->count > TAGS_MAX) {
        return tags_refuse_count(err);
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (!check_key(((const struct str *)keys->elements)[i], err)) {
            return false;
        }
    }
    return true;
}

/* --- ARNs --- */

bool tags_table_name(struct api_call *call, struct str text, struct str *out)
{
    if (text.len == 0) {
        return err_set(&call->err, ERR_VALIDATION, "Invalid TableArn");
    }
    struct arn arn = arn_parse(text);
    bool is_name = arn.table.len >= TABLE_NAME_MIN && arn.table.len <= TABLE_NAME_MAX;
    bool names_table = arn.kind == ARN_TABLE || arn.kind == ARN_STREAM;
    if (!api_check_resource_arn(call, text, names_table && !is_name ? ARN_OTHER : arn.kind)) {
        return false;
    }
    if (!str_eq(arn.region, engine_region(call->engine)) || !str_eq(arn.partition, STR("aws"))) {
        return err_set(&call->err, ERR_VALIDATION,
                       "Invalid TableArn: Invalid ResourceArn provided as input %.*s",
                       STR_ARG(text));
    }
    if (!str_eq(arn.account, engine_account(call->engine))) {
        return err_set(&call->err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
    }
    *out = arn.table;
    if (arn.kind == ARN_STREAM) { /* streams cannot have tags */
        tags_refuse_missing(call, text);
        return false;
    }
    return true;
}

void tags_refuse_missing(struct api_call *call, struct str arn)
{
    call->err = ERR_INIT(call->arena);
    err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_ARN_NOT_FOUND, STR_ARG(arn));
}

/* --- changes --- */

static void change_done(struct engine_call *engine_call)
{
    struct tags_change *op = CONTAINER_OF(engine_call, struct tags_change, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_RESOURCE_NOT_FOUND) {
        tags_refuse_missing(call, op->arn);
    }
    table_release(op->engine.table);
    api_finish(call);
}

void tags_start_change(struct tags_change *op, struct str table_name,
                       const struct table *(*change)(struct table_change *change,
                                                     const struct table *table))
{
    op->engine = (struct table_change){
        .call = api_engine_call(op->call, change_done),
        .name = table_name,
        .change = change,
    };
    engine_change_table(&op->engine);
}
