/* The shapes that many requests share, and checks of table names. The shapes are constants; the
 * functions run on the thread of the call. */
#include "api/api_internal.h"
#include "err/messages.h"

#define AWS "com.amazonaws.dynamodb.v20120810."

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '.' || c == '-')) {
            return false;
        }
    }
    return text.len > 0;
}

#define NAME_PATTERN "[a-zA-Z0-9_.-]+"

static bool is_name_or_empty(struct str text)
{
    return text.len == 0 || is_name(text);
}

/* Whether an ARN has the Region and the account of the server. */
static bool is_own_arn(const struct api_call *call, struct str text)
{
    struct arn arn = arn_parse(text);
    return str_eq(arn.region, engine_region(call->engine)) &&
           str_eq(arn.account, engine_account(call->engine));
}

struct str api_table_in_arn(struct str arn)
{
    if (!str_starts_with(arn, STR("arn:"))) {
        return STR_NULL;
    }
    int colons = 0;
    for (size_t i = 0; i < arn.len && colons < 5; i++) {
        colons += arn.data[i] == ':';
        struct str rest = str_skip(arn, i + 1);
        if (colons == 5 && str_starts_with(rest, STR("table/")) && is_name(str_skip(rest, 6))) {
            return str_skip(rest, 6);
        }
    }
    return STR_NULL;
}

bool api_split_backup_arn(struct str arn, struct backup_arn_parts *out)
{
    static const char word[] = "/backup/";
    const char *at = arn.len == 0 ? NULL : memmem(arn.data, arn.len, word, sizeof(word) - 1);
    if (at == NULL) {
        return false;
    }
    out->table_arn = str_make(arn.data, (size_t)(at - arn.data));
    out->id = str_skip(arn, out->table_arn.len + sizeof(word) - 1);
    out->table = api_table_in_arn(out->table_arn);
    return !str_is_null(out->table) && out->id.len > 0;
}

/* Returns the table name in an ARN; `given` itself if it is not an ARN. Notes an ARN of another
 * Region or account in the call, which is `context`, or NULL. */
static struct str name_in_arn(struct str given, void *context)
{
    struct api_call *call = context;
    struct str name = api_table_in_arn(given);
    if (LIKELY(str_is_null(name))) {
        return given;
    }
    if (call != NULL && str_is_null(call->foreign_arn) && !is_own_arn(call, given)) {
        call->foreign_arn = given;
    }
    return name;
}

struct str api_table_of_key(struct api_call *call, struct str key)
{
    return name_in_arn(key, call);
}

/* A name or an ARN. api_check_table_name() checks the characters and the length of the name. */
const struct shape shape_table_name = {
    .kind = SHAPE_STRING,
    .min = 1,
    .max = 1024,
    .terse = true,
    .keep = name_in_arn,
};
const struct shape shape_table_pattern = {
    .kind = SHAPE_STRING,
    .min = 1,
    .max = TABLE_NAME_MAX,
    .matches = is_name_or_empty,
    .pattern = NAME_PATTERN,
    .keep = name_in_arn,
};
const struct shape shape_table_key = {
    .kind = SHAPE_STRING,
    .min = 3,
    .max = TABLE_NAME_MAX,
    .matches = is_name,
    .pattern = NAME_PATTERN,
    .keep = name_in_arn,
};
const struct shape shape_whole_table_name = {
    .kind = SHAPE_STRING,
    .min = 3,
    .max = TABLE_NAME_MAX,
    .matches = is_name,
    .pattern = NAME_PATTERN,
    .length_first = true,
    .keep = name_in_arn,
};
const struct shape shape_string = {.kind = SHAPE_STRING};
const struct shape shape_bool = {.kind = SHAPE_BOOL};
const struct shape shape_item = {.kind = SHAPE_ITEM};
const struct shape shape_key = {.kind = SHAPE_ITEM};
const struct shape shape_value = {.kind = SHAPE_VALUE};
const struct shape shape_attribute_name = {.kind = SHAPE_STRING, .max = ATTRIBUTE_NAME_BYTES_MAX};
const struct shape shape_attribute_names = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<java.lang.String>",
    .min = 1,
    .max = 255,
    .element = &shape_attribute_name,
};
const struct shape shape_name_map = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, java.lang.String>",
    .element = &shape_attribute_name,
};
const struct shape shape_value_map = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, " AWS "AttributeValue>",
    .element = &shape_value,
};
const struct shape shape_return_consumed_capacity = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"INDEXES", "TOTAL", "NONE", NULL},
};
const struct shape shape_return_collection_metrics = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"SIZE", "NONE", NULL},
};
const struct shape shape_return_values = {
    .kind = SHAPE_ENUM,
    .values =
        (const char *const[]){"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW", NULL},
    .terse = true,
    .terse_values =
        "ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE", /* spelled like this by the service */
};
const struct shape shape_return_on_failure = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ALL_OLD", "NONE", NULL},
};
const struct shape shape_conditional_operator = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"OR", "AND", NULL},
};
const struct shape shape_select = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES",
                                    "ALL_PROJECTED_ATTRIBUTES", NULL},
};
const struct shape shape_index_name = {
    .kind = SHAPE_STRING,
    .min = 3,
    .max = 255,
    .matches = is_name,
    .pattern = NAME_PATTERN,
};
const struct shape shape_new_index_name = {
    .kind = SHAPE_STRING,
    .min = 3,
    .max = 255,
    .matches = is_name,
    .pattern = NAME_PATTERN,
    .length_first = true,
};
const struct shape shape_limit = {.kind = SHAPE_INTEGER, .min = 1};

/* In the order in which the service lists them in error messages. */
static const struct shape shape_comparison = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT",
                                    "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS", NULL},
};
static const struct shape shape_values = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "AttributeValue>",
    .element = &shape_value,
};
static const struct field condition_fields[] = {
    FIELD_REQUIRED(struct condition_request, comparison, "ComparisonOperator", shape_comparison),
    FIELD(struct condition_request, values, "AttributeValueList", shape_values),
    FIELD_END,
};
static const struct shape shape_condition = {
    .kind = SHAPE_STRUCT,
    .java = "Condition",
    .fields = condition_fields,
    .size = sizeof(struct condition_request),
};
const struct shape shape_conditions = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, " AWS "Condition>",
    .key = &shape_attribute_name,
    .element = &shape_condition,
};
static const struct field expected_fields[] = {
    FIELD(struct condition_request, comparison, "ComparisonOperator", shape_comparison),
    FIELD(struct condition_request, values, "AttributeValueList", shape_values),
    FIELD(struct condition_request, value, "Value", shape_value),
    FIELD(struct condition_request, exists, "Exists", shape_bool),
    FIELD_END,
};
static const struct shape shape_expected_value = {
    .kind = SHAPE_STRUCT,
    .java = "ExpectedAttributeValue",
    .fields = expected_fields,
    .size = sizeof(struct condition_request),
};
const struct shape shape_expected = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, " AWS "ExpectedAttributeValue>",
    .key = &shape_attribute_name,
    .element = &shape_expected_value,
};

static bool refuse_name(struct api_call *call, struct str name, const char *constraint)
{
    return err_set(&call->err, ERR_VALIDATION,
                   "1 validation error detected: Value '%.*s' at 'tableName' failed to satisfy "
                   "constraint: %s",
                   STR_ARG(name), constraint);
}

bool api_check_table_arns(struct api_call *call)
{
    struct str arn = call->foreign_arn;
    if (LIKELY(str_is_null(arn))) {
        return true;
    }
    if (!str_eq(arn_parse(arn).region, engine_region(call->engine))) {
        return err_set(&call->err, ERR_VALIDATION,
                       "1 validation error detected: Invalid AWS region in '%.*s'", STR_ARG(arn));
    }
    return err_set(&call->err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
}

bool api_check_table_name(struct api_call *call, struct str name)
{
    if (!api_check_table_arns(call)) {
        return false;
    }
    if (name.len > TABLE_NAME_MAX) {
        return refuse_name(call, name, "Member must have length less than or equal to 255");
    }
    if (!is_name(name)) {
        return refuse_name(call, name,
                           "Member must satisfy regular expression pattern: " NAME_PATTERN);
    }
    return true;
}

bool api_check_resource_arn(struct api_call *call, struct str text, enum arn_kind kind)
{
    const char *problem = NULL;
    switch (kind) {
    case ARN_NONE:
        problem = "ARNs must start with 'arn:'";
        break;
    case ARN_OTHER:
        problem = "Provided Arn is not a DynamoDB resource arn";
        break;
    case ARN_INDEX:
        problem = "Invalid resource arn provided, only table or stream is accepted. Provided "
                  "resource arn";
        break;
    case ARN_TABLE:
    case ARN_STREAM:
        return true;
    }
    return err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID "%s: %.*s", problem, STR_ARG(text));
}
