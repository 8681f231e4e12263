/* Writes values as Amazon Ion text, as the service's exports have them: S string, N decimal, B
 * blob, BOOL bool, NULL null, L list, M struct, sets lists with the annotation $dynamodb_SS,
 * $dynamodb_NS or $dynamodb_BS. Decimals are written as Amazon's Ion libraries write them. Called
 * by write_records.c. */
#include "archive/write_records.h"
#include "base/base64.h"

/* --- texts --- */

/* Appends a character that Ion wants escaped; false: it needs none. */
static bool add_escape(struct buf *out, unsigned char c, char quote)
{
    static const char letters[] = {['\0'] = '0', ['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't',
                                   ['\n'] = 'n', ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r'};
    if (c == (unsigned char)quote || c == '\\') {
        buf_add_char(out, '\\');
        buf_add_char(out, (char)c);
    } else if (c < sizeof(letters) && letters[c] != '\0') {
        buf_add_char(out, '\\');
        buf_add_char(out, letters[c]);
    } else if (c < 0x20 || c == 0x7f) {
        buf_format(out, "\\x%02x", c);
    } else {
        return false;
    }
    return true;
}

static void write_quoted(struct buf *out, struct str text, char quote)
{
    buf_add_char(out, quote);
    for (size_t i = 0; i < text.len; i++) {
        if (!add_escape(out, (unsigned char)text.data[i], quote)) {
            buf_add_char(out, text.data[i]);
        }
    }
    buf_add_char(out, quote);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether the name needs no quotes: no keyword, and not $12, which names a symbol by number. */
static bool is_identifier(struct str name)
{
    if (name.len == 0 || !is_letter(name.data[0]) || str_eq(name, STR("null")) ||
        str_eq(name, STR("true")) || str_eq(name, STR("false")) || str_eq(name, STR("nan"))) {
        return false;
    }
    bool is_number = name.data[0] == '$' && name.len > 1;
    for (size_t i = 1; i < name.len; i++) {
        if (!is_letter(name.data[i]) && !is_digit(name.data[i])) {
            return false;
        }
        is_number = is_number && is_digit(name.data[i]);
    }
    return !is_number;
}

void archive_write_ion_symbol(struct buf *out, struct str name)
{
    if (is_identifier(name)) {
        buf_add(out, name);
    } else {
        write_quoted(out, name, '\'');
    }
}

/* --- numbers --- */

/* A number as an integer of few digits, and a power of ten. */
struct decimal {
    bool is_negative;
    char digits[NUMBER_TEXT_MAX];
    int digit_count;
    int exponent;
};

/* Splits plain decimal text: "-0.050" is -5 and an exponent of -2; "600" is 6 and 2. */
static void split_number(struct str text, struct decimal *out)
{
    *out = (struct decimal){.is_negative = text.data[0] == '-'};
    bool is_fraction = false;
    for (size_t i = out->is_negative; i < text.len; i++) {
        if (text.data[i] == '.') {
            is_fraction = true;
            continue;
        }
        out->exponent -= is_fraction;
        if (out->digit_count > 0 || text.data[i] != '0') {
            out->digits[out->digit_count++] = text.data[i];
        }
    }
    while (out->digit_count > 0 && out->digits[out->digit_count - 1] == '0') {
        out->digit_count--;
        out->exponent++;
    }
    if (out->digit_count == 0) {
        out->digits[out->digit_count++] = '0';
        out->exponent = 0;
    }
}

static void write_number(struct buf *out, struct str bytes)
{
    enum { LEADING_ZEROS_MAX = 6 };
    char text[NUMBER_TEXT_MAX];
    struct decimal number;
    split_number(str_make(text, number_format(bytes, text)), &number);
    int whole = number.digit_count + number.exponent; /* digits before the point */
    buf_add(out, number.is_negative ? STR("-") : STR(""));
    if (number.exponent == 0) {
        buf_format(out, "%.*s.", number.digit_count, number.digits);
    } else if (number.exponent > 0 || whole - 1 < -LEADING_ZEROS_MAX) {
        buf_format(out, "%.*sd%d", number.digit_count, number.digits, number.exponent);
    } else if (whole > 0) {
        buf_format(out, "%.*s.%.*s", whole, number.digits, -number.exponent, number.digits + whole);
    } else {
        buf_add(out, STR("0."));
        for (int i = whole; i < 0; i++) {
            buf_add_char(out, '0');
        }
        buf_add(out, str_make(number.digits, (size_t)number.digit_count));
    }
}

/* --- values --- */

static void write_blob(struct buf *out, struct str bytes)
{
    size_t len = BASE64_ENCODED_LEN(bytes.len);
    buf_add(out, STR("{{"));
    base64_encode(bytes, buf_reserve(out, len));
    buf_added(out, len);
    buf_add(out, STR("}}"));
}

static void write_list(struct buf *out, struct value list)
{
    struct value_iter iter = value_iter(list);
    struct value value;
    const char *comma = "";
    buf_add_char(out, '[');
    while (value_next(&iter, &value)) {
        buf_add(out, str_from_c(comma));
        archive_write_ion_value(out, value);
        comma = ",";
    }
    buf_add_char(out, ']');
}

static void write_struct(struct buf *out, struct value map)
{
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    const char *comma = "";
    buf_add_char(out, '{');
    while (value_next_entry(&iter, &name, &value)) {
        buf_add(out, str_from_c(comma));
        archive_write_ion_symbol(out, name.text);
        buf_add_char(out, ':');
        archive_write_ion_value(out, value);
        comma = ",";
    }
    buf_add_char(out, '}');
}

void archive_write_ion_value(struct buf *out, struct value value)
{
    enum value_type type = value_type(value);
    switch (type) {
    case VALUE_S:
        write_quoted(out, value_bytes(value), '"');
        break;
    case VALUE_N:
        write_number(out, value_bytes(value));
        break;
    case VALUE_B:
        write_blob(out, value_bytes(value));
        break;
    case VALUE_BOOL:
        buf_add(out, value_flag(value) ? STR("true") : STR("false"));
        break;
    case VALUE_M:
        write_struct(out, value);
        break;
    case VALUE_L:
        write_list(out, value);
        break;
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
        buf_format(out, "$dynamodb_%s::", value_type_name(type));
        write_list(out, value);
        break;
    default:
        buf_add(out, STR("null"));
        break;
    }
}
