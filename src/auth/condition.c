/* Conditions of policy statements: compiles their values by type, and evaluates them against the
 * keys of a request. Called on any thread; keeps no state. */
#include "auth/condition_internal.h"

#include <arpa/inet.h>
#include <time.h>

#include "base/base64.h"

/* Operators -------------------------------------------------------------------------------- */

#define CONDITION_OP(name_, type_, comparison_, negated_)                                          \
    {.name = (name_),                                                                              \
     .op = {.type = CONDITION_##type_,                                                             \
            .comparison = COMPARE_##comparison_,                                                   \
            .is_negated = (negated_)}},
static const struct {
    const char *name;
    struct condition_operator op;
} operators[] = {
#include "auth/condition_ops.def"
};
#undef CONDITION_OP

static bool take_prefix(struct str *text, struct str prefix)
{
    if (!str_starts_with(*text, prefix)) {
        return false;
    }
    *text = str_skip(*text, prefix.len);
    return true;
}

static bool take_suffix(struct str *text, struct str suffix)
{
    if (text->len < suffix.len || !str_eq(str_skip(*text, text->len - suffix.len), suffix)) {
        return false;
    }
    text->len -= suffix.len;
    return true;
}

bool policy_condition_operator_parse(struct str name, struct condition_operator *out)
{
    enum condition_quantifier quantifier = take_prefix(&name, STR("ForAllValues:")) ? QUANTIFIER_ALL
                                           : take_prefix(&name, STR("ForAnyValue:"))
                                               ? QUANTIFIER_ANY
                                               : QUANTIFIER_NONE;
    bool is_if_exists = take_suffix(&name, STR("IfExists"));
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (str_eq(name, str_from_c(operators[i].name))) {
            *out = operators[i].op;
            out->quantifier = quantifier;
            out->is_if_exists = is_if_exists;
            bool is_plain = quantifier == QUANTIFIER_NONE && !is_if_exists;
            return out->type != CONDITION_NULL || is_plain;
        }
    }
    return false;
}

/* Values ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies `text` to `out`, followed by a NUL. Returns false if it is too long or contains a NUL. */
static bool copy_as_c_string(struct str text, char *out, size_t size)
{
    if (text.len >= size || (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)) {
        return false;
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

/* Removes the first digits from *text, at most `digits_max`. False: there is none. */
static bool take_number(struct str *text, size_t digits_max, int *out)
{
    size_t len = 0;
    for (*out = 0; len < MIN(digits_max, text->len) && is_digit(text->data[len]); len++) {
        *out = *out * 10 + (text->data[len] - '0');
    }
    *text = str_skip(*text, len);
    return len > 0;
}

/* fraction = "." digits, as many as there are */
static bool take_fraction(struct str *text, double *out)
{
    size_t len = 1;
    struct decimal decimal;
    while (len < text->len && is_digit(text->data[len])) {
        len++;
    }
    if (!decimal_parse(str_make(text->data, len), &decimal)) {
        return false;
    }
    *out = decimal_to_double(&decimal);
    *text = str_skip(*text, len);
    return true;
}

/* zone = "Z" | ("+" | "-") hh ":" mm | nothing, which is UTC */
static bool parse_zone(struct str text, int *out_minutes)
{
    int hours;
    int minutes;
    *out_minutes = 0;
    if (text.len == 0 || str_eq(text, STR("Z"))) {
        return true;
    }
    bool is_negative = take_prefix(&text, STR("-"));
    if ((!is_negative && !take_prefix(&text, STR("+"))) || !take_number(&text, 2, &hours) ||
        !take_prefix(&text, STR(":")) || !take_number(&text, 2, &minutes)) {
        return false;
    }
    *out_minutes = (is_negative ? -1 : 1) * (hours * 60 + minutes);
    return text.len == 0;
}

/* time = "T" hh ":" mm [ ":" ss [ fraction ] ] [ zone ] */
static bool parse_time(struct str text, struct tm *parts, double *out_fraction, int *out_zone)
{
    if (!take_prefix(&text, STR("T")) || !take_number(&text, 2, &parts->tm_hour) ||
        !take_prefix(&text, STR(":")) || !take_number(&text, 2, &parts->tm_min)) {
        return false;
    }
    if (take_prefix(&text, STR(":"))) {
        bool is_good = take_number(&text, 2, &parts->tm_sec) &&
                       (!str_starts_with(text, STR(".")) || take_fraction(&text, out_fraction));
        if (!is_good) {
            return false;
        }
    }
    return parse_zone(text, out_zone);
}

static bool parse_seconds(struct str text, double *out)
{
    struct decimal decimal;
    if (!decimal_parse(text, &decimal)) {
        return false;
    }
    *out = decimal_to_double(&decimal);
    return true;
}

/* Removes yyyy "-" mm "-" dd from *text. */
static bool take_day(struct str *text, struct tm *parts)
{
    struct str rest = *text;
    bool is_day = take_number(&rest, 4, &parts->tm_year) && take_prefix(&rest, STR("-")) &&
                  take_number(&rest, 2, &parts->tm_mon) && take_prefix(&rest, STR("-")) &&
                  take_number(&rest, 2, &parts->tm_mday) &&
                  text->len - rest.len == STR("yyyy-mm-dd").len;
    *text = rest;
    return is_day;
}

/* ISO 8601 (date, or date and time) of any length, or seconds since 1970. */
static bool parse_date(struct str text, double *out)
{
    struct tm parts = {0};
    struct str rest = text;
    double fraction = 0;
    int zone_minutes = 0;
    if (!take_day(&rest, &parts)) {
        return parse_seconds(text, out);
    }
    if (rest.len > 0 && !parse_time(rest, &parts, &fraction, &zone_minutes)) {
        return false;
    }
    bool is_valid = parts.tm_mon >= 1 && parts.tm_mon <= 12 && parts.tm_mday >= 1 &&
                    parts.tm_mday <= 31 && parts.tm_hour <= 24 && parts.tm_min <= 59 &&
                    parts.tm_sec <= 60;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *out = (double)timegm(&parts) + fraction - zone_minutes * 60.0;
    return is_valid;
}

static bool parse_bool(struct str text, bool *out)
{
    *out = str_eq_nocase(text, STR("true"));
    return *out || str_eq_nocase(text, STR("false"));
}

static bool parse_address(struct str text, uint8_t out[16], bool *out_is_v4)
{
    char copy[INET6_ADDRSTRLEN];
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (!copy_as_c_string(text, copy, sizeof(copy))) {
        return false;
    }
    memcpy(out, mapped, sizeof(mapped));
    *out_is_v4 = inet_pton(AF_INET, copy, out + sizeof(mapped)) == 1;
    return *out_is_v4 || inet_pton(AF_INET6, copy, out) == 1;
}

/* network = address [ "/" bits ] */
static bool parse_network(struct str text, struct condition_network *out)
{
    const char *slash = text.len > 0 ? memchr(text.data, '/', text.len) : NULL;
    struct str address = slash != NULL ? str_make(text.data, (size_t)(slash - text.data)) : text;
    bool is_v4;
    if (!parse_address(address, out->address, &is_v4)) {
        return false;
    }
    int64_t bits_max = is_v4 ? 32 : 128;
    int64_t bits = bits_max;
    if (slash != NULL &&
        (!str_to_int64(str_skip(text, address.len + 1), &bits) || bits < 0 || bits > bits_max)) {
        return false;
    }
    out->prefix_len = (int)(bits + 128 - bits_max);
    return true;
}

static bool parse_binary(struct arena *arena, struct str text, struct str *out)
{
    char *bytes = arena_bytes(arena, BASE64_DECODED_MAX(text.len) + 1);
    size_t len;
    if (!base64_decode(text, bytes, &len)) {
        return false;
    }
    *out = str_make(bytes, len);
    return true;
}

static bool parse_pattern(struct arena *arena, const struct condition_operator *op, struct str text,
                          bool has_variables, struct pattern *out, struct err *err)
{
    unsigned syntax = (op->comparison == COMPARE_LIKE ? PATTERN_WILDCARDS : 0) |
                      (has_variables ? PATTERN_VARIABLES : 0);
    return pattern_compile(arena, text, syntax, out, err);
}

bool policy_condition_value_parse(struct arena *arena, const struct condition_operator *op,
                                  struct str text, bool has_variables, union condition_value *out,
                                  struct err *err)
{
    bool good = false;
    switch (op->type) {
    case CONDITION_STRING:
        return parse_pattern(arena, op, text, has_variables, &out->string, err);
    case CONDITION_ARN:
        return arn_pattern_compile(arena, text, has_variables ? 0 : ARN_PARTS, &out->arn, err);
    case CONDITION_BINARY:
        good = parse_binary(arena, text, &out->binary);
        break;
    case CONDITION_BOOL:
    case CONDITION_NULL:
        good = parse_bool(text, &out->boolean);
        break;
    case CONDITION_DATE:
        good = parse_date(text, &out->seconds);
        break;
    case CONDITION_NUMBER:
        good = decimal_parse(text, &out->number);
        break;
    case CONDITION_IP:
        good = parse_network(text, &out->network);
        break;
    }
    return good ||
           err_set(err, ERR_VALIDATION, "\"%.*s\" is not a value for this operator", STR_ARG(text));
}

/* Evaluating ------------------------------------------------------------------------------- */

/* `order` is that of a value of the request and one of the policy: below, equal to or above 0. */
static bool order_matches(enum condition_comparison comparison, int order)
{
    switch (comparison) {
    case COMPARE_GREATER:
        return order > 0;
    case COMPARE_GREATER_EQUALS:
        return order >= 0;
    case COMPARE_LESS:
        return order < 0;
    case COMPARE_LESS_EQUALS:
        return order <= 0;
    default:
        return order == 0;
    }
}

static bool number_matches(enum condition_comparison comparison, const struct decimal *value,
                           struct str text)
{
    struct decimal number;
    return decimal_parse(text, &number) &&
           order_matches(comparison, decimal_compare(&number, value));
}

static bool date_matches(enum condition_comparison comparison, double value, struct str text)
{
    double seconds;
    return parse_date(text, &seconds) &&
           order_matches(comparison, (seconds > value) - (seconds < value));
}

static bool network_contains(const struct condition_network *network, struct str text)
{
    uint8_t address[16];
    bool is_v4;
    if (!parse_address(text, address, &is_v4)) {
        return false;
    }
    int whole = network->prefix_len / 8;
    int bits = network->prefix_len % 8;
    uint8_t mask = (uint8_t)(0xFF00 >> bits);
    return memcmp(address, network->address, (size_t)whole) == 0 &&
           (bits == 0 || ((address[whole] ^ network->address[whole]) & mask) == 0);
}

static bool binary_equals(struct str value, struct str text, struct arena *arena)
{
    struct str decoded;
    return parse_binary(arena, text, &decoded) && str_eq(decoded, value);
}

/* Whether `text` of the request matches one value of the policy. */
static bool value_matches(const struct condition_operator *op, const union condition_value *value,
                          struct str text, const struct pattern_input *input)
{
    bool boolean;
    switch (op->type) {
    case CONDITION_STRING:
        return op->comparison == COMPARE_EQUALS_NOCASE
                   ? pattern_matches_nocase(&value->string, text, input)
                   : pattern_matches(&value->string, text, input);
    case CONDITION_ARN:
        return arn_pattern_matches(&value->arn, text, input);
    case CONDITION_BINARY:
        return binary_equals(value->binary, text, input->arena);
    case CONDITION_BOOL:
        return parse_bool(text, &boolean) && boolean == value->boolean;
    case CONDITION_DATE:
        return date_matches(op->comparison, value->seconds, text);
    case CONDITION_NUMBER:
        return number_matches(op->comparison, &value->number, text);
    case CONDITION_IP:
        return network_contains(&value->network, text);
    case CONDITION_NULL:
        break;
    }
    return false;
}

/* Whether one value of the request passes: it matches a value of the policy, or none if the
 * operator is negated. */
static bool text_passes(const struct condition *condition, struct str text,
                        const struct pattern_input *input)
{
    for (size_t i = 0; i < condition->value_count; i++) {
        if (value_matches(&condition->op, &condition->values[i], text, input)) {
            return !condition->op.is_negated;
        }
    }
    return condition->op.is_negated;
}

static bool all_pass(const struct condition *condition, struct context_values found,
                     const struct pattern_input *input)
{
    for (size_t i = 0; i < found.count; i++) {
        if (!text_passes(condition, found.values[i], input)) {
            return false;
        }
    }
    return true;
}

static bool any_passes(const struct condition *condition, struct context_values found,
                       const struct pattern_input *input)
{
    for (size_t i = 0; i < found.count; i++) {
        if (text_passes(condition, found.values[i], input)) {
            return true;
        }
    }
    return false;
}

/* Evaluates the operator Null: true means that the key is absent. */
static bool null_holds(const struct condition *condition, bool is_empty)
{
    for (size_t i = 0; i < condition->value_count; i++) {
        if (condition->values[i].boolean == is_empty) {
            return true;
        }
    }
    return false;
}

/* Returns whether a condition holds for a request that has no value for its key. */
static bool holds_without_value(const struct condition_operator *op)
{
    return op->is_if_exists || op->quantifier == QUANTIFIER_ALL ||
           (op->quantifier == QUANTIFIER_NONE && op->is_negated);
}

bool policy_condition_holds(const struct condition *condition, const struct pattern_input *input)
{
    const struct condition_operator *op = &condition->op;
    struct context_values found = context_find(input->context, condition->key);
    bool is_empty = !found.is_present || found.count == 0;
    if (op->type == CONDITION_NULL) {
        return null_holds(condition, is_empty);
    }
    if (is_empty) {
        return holds_without_value(op);
    }
    if (op->quantifier == QUANTIFIER_ALL) {
        return all_pass(condition, found, input);
    }
    /* Without a quantifier a key of several values never matches, negated or not. */
    return (op->quantifier == QUANTIFIER_ANY || !context_key_is_multivalued(condition->key.id)) &&
           any_passes(condition, found, input);
}

void policy_condition_add_keys(const struct condition *condition, uint64_t *set)
{
    *set |= CONTEXT_BIT(condition->key.id);
    for (size_t i = 0; i < condition->value_count; i++) {
        if (condition->op.type == CONDITION_STRING) {
            pattern_add_keys(&condition->values[i].string, set);
        } else if (condition->op.type == CONDITION_ARN) {
            arn_pattern_add_keys(&condition->values[i].arn, set);
        }
    }
}
