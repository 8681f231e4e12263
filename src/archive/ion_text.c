/* Reads an Ion struct as a value: one function per rule of the grammar. Called by read_ion.c.
 *
 *   struct     = "{" [ field { "," field } [ "," ] ] "}"
 *   field      = name ":" value
 *   name       = identifier | quoted symbol | string
 *   value      = { annotation "::" } ( null | bool | number | string | blob | list | struct )
 *   annotation = identifier | quoted symbol */
#include "archive/ion_text.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "err/messages.h"
#include "model/builder.h"
#include "model/limits.h"
#include "wire/value_json.h"

struct ion_reader {
    struct arena *arena;
    struct builder builder;
    const char *at;
    const char *end;
    struct err *err;
};

/* What a list with an annotation is. */
static const struct {
    const char *annotation;
    enum value_type set;
    enum value_type element;
} sets[] = {
    {"$dynamodb_SS", VALUE_SS, VALUE_S},
    {"$dynamodb_NS", VALUE_NS, VALUE_N},
    {"$dynamodb_BS", VALUE_BS, VALUE_B},
};

static bool read_value(struct ion_reader *reader, int level, enum value_type wanted);

/* --- tokens --- */

/* The text is not Ion. */
static bool refuse(struct ion_reader *reader, const char *what)
{
    return err_set(reader->err, ERR_SERIALIZATION, MESSAGE_BAD_RECORD "%s", what);
}

/* It is Ion, but not an item. */
static bool refuse_value(struct ion_reader *reader, const char *what)
{
    return err_set(reader->err, ERR_VALIDATION, "The record is not an item: %s", what);
}

static struct str rest(const struct ion_reader *reader)
{
    return str_make(reader->at, (size_t)(reader->end - reader->at));
}

static void skip_blanks(struct ion_reader *reader)
{
    size_t len = 0;
    if (ion_scan_blanks(rest(reader), true, &len) == ION_SCAN_FOUND) {
        reader->at += len;
    }
}

/* Takes `word` if it is next, after blanks. */
static bool take(struct ion_reader *reader, const char *word)
{
    skip_blanks(reader);
    if (!str_starts_with(rest(reader), str_from_c(word))) {
        return false;
    }
    reader->at += strlen(word);
    return true;
}

static bool peek(struct ion_reader *reader, const char *word)
{
    skip_blanks(reader);
    return str_starts_with(rest(reader), str_from_c(word));
}

static bool is_identifier_part(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

/* Takes an identifier; empty: there is none. */
static struct str take_identifier(struct ion_reader *reader)
{
    const char *start = reader->at;
    if (reader->at < reader->end && !(*reader->at >= '0' && *reader->at <= '9')) {
        while (reader->at < reader->end && is_identifier_part(*reader->at)) {
            reader->at++;
        }
    }
    return str_make(start, (size_t)(reader->at - start));
}

/* --- text --- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Takes `count` hexadecimal digits. */
static bool take_hex(struct ion_reader *reader, int count, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < count; i++) {
        int digit = reader->at < reader->end ? hex_digit(*reader->at) : -1;
        if (digit < 0) {
            return refuse(reader, "an escape in a text is not valid");
        }
        *out = *out << 4 | (uint32_t)digit;
        reader->at++;
    }
    return true;
}

/* The code point of \x, \u or \U; the second half of a pair of surrogates is taken, too. */
static bool take_code_point(struct ion_reader *reader, char kind, uint32_t *out)
{
    if (!take_hex(reader, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, out)) {
        return false;
    }
    if (*out >= 0xD800 && *out < 0xDC00 && str_starts_with(rest(reader), STR("\\u"))) {
        uint32_t low;
        reader->at += 2;
        if (!take_hex(reader, 4, &low)) {
            return false;
        }
        *out = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00)
                                             : UINT32_MAX;
    }
    bool is_valid = *out <= 0x10FFFF && (*out < 0xD800 || *out >= 0xE000);
    return is_valid || refuse(reader, "an escape in a text is not valid");
}

/* Reads an escape; `at` is behind its backslash. Appends the character to *to. */
static bool take_escape(struct ion_reader *reader, char **to)
{
    static const char names[] = "0abtnfrv\"'?\\/";
    static const char values[] = "\0\a\b\t\n\f\r\v\"'?\\/";
    char c = reader->at < reader->end ? *reader->at++ : 0;
    if (c == 'x' || c == 'u' || c == 'U') {
        uint32_t code_point;
        if (!take_code_point(reader, c, &code_point)) {
            return false;
        }
        *to += utf8_encode(code_point, *to);
        return true;
    }
    if (c == '\n' || c == '\r') { /* the line continues */
        reader->at += c == '\r' && reader->at < reader->end && *reader->at == '\n';
        return true;
    }
    const char *found = c == 0 ? NULL : strchr(names, c);
    if (found == NULL) {
        return refuse(reader, "an escape in a text is not valid");
    }
    *(*to)++ = values[found - names];
    return true;
}

/* The rest of a text whose opening quote has been taken, appended to *to. An escape is never
 * shorter than the character that it stands for. */
static bool take_text(struct ion_reader *reader, const char *quote, char **to)
{
    bool is_long = strlen(quote) == 3;
    while (reader->at < reader->end) {
        if (str_starts_with(rest(reader), str_from_c(quote))) {
            reader->at += strlen(quote);
            return true;
        }
        char c = *reader->at++;
        if (c == '\\') {
            if (!take_escape(reader, to)) {
                return false;
            }
        } else if ((c == '\n' || c == '\r') && !is_long) {
            return refuse(reader, "a text is not closed");
        } else if (c == '\r') { /* line ends are read as line feeds */
            reader->at += reader->at < reader->end && *reader->at == '\n';
            *(*to)++ = '\n';
        } else {
            *(*to)++ = c;
        }
    }
    return refuse(reader, "a text is not closed");
}

/* A string, long strings that are concatenated, or a quoted symbol: `quote` is next. */
static bool read_text(struct ion_reader *reader, const char *quote, struct str *out)
{
    size_t max = rest(reader).len;
    char *room = arena_bytes(reader->arena, max);
    char *to = room;
    do {
        reader->at += strlen(quote);
        if (!take_text(reader, quote, &to)) {
            return false;
        }
    } while (strlen(quote) == 3 && peek(reader, quote));
    arena_trim(reader->arena, room, max, (size_t)(to - room));
    *out = str_make(room, (size_t)(to - room));
    return utf8_is_valid(*out) || refuse(reader, "a text is not valid UTF-8");
}

/* --- numbers --- */

static bool is_number_part(char c)
{
    return is_identifier_part(c) || c == '.' || c == '-' || c == '+' || c == ':';
}

/* Four digits of a year, then "-" or "T"; 123d-12 and 1.5e-7 are numbers. */
static bool is_timestamp(struct str token)
{
    for (size_t i = 0; i < 4; i++) {
        if (i >= token.len || token.data[i] < '0' || token.data[i] > '9') {
            return false;
        }
    }
    return token.len > 4 && (token.data[4] == '-' || token.data[4] == 'T');
}

/* Whether underscores stand between digits only. */
static bool are_underscores_good(struct str token)
{
    for (size_t i = 0; i < token.len; i++) {
        bool is_good = token.data[i] != '_' ||
                       (i > 0 && i + 1 < token.len && hex_digit(token.data[i - 1]) >= 0 &&
                        hex_digit(token.data[i + 1]) >= 0);
        if (!is_good) {
            return false;
        }
    }
    return true;
}

/* An integer in hexadecimal or binary digits, `digits`, as decimal text. */
static bool convert_digits(struct ion_reader *reader, struct str digits, int bits, bool is_negative,
                           struct str *out)
{
    unsigned __int128 number = 0;
    char text[48];
    size_t at = sizeof(text);
    for (size_t i = 0; i < digits.len; i++) {
        int digit = digits.data[i] == '_' ? 0 : hex_digit(digits.data[i]);
        if (digit < 0 || digit >= 1 << bits || number >> (127 - bits) != 0) {
            return refuse(reader, "a number is not valid");
        }
        number = digits.data[i] == '_' ? number : number << bits | (unsigned)digit;
    }
    do {
        text[--at] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number > 0);
    if (is_negative) {
        text[--at] = '-';
    }
    *out = arena_copy(reader->arena, str_make(text + at, sizeof(text) - at));
    return digits.len > 0 || refuse(reader, "a number is not valid");
}

/* Decimal text as number_parse() wants it: no underscores, "e" for "d". */
static bool convert_decimal(struct ion_reader *reader, struct str token, struct str *out)
{
    char *copy = arena_bytes(reader->arena, token.len);
    size_t len = 0;
    for (size_t i = 0; i < token.len; i++) {
        char c = token.data[i];
        if (c != '_') {
            copy[len++] = (char)(c == 'd' || c == 'D' ? 'e' : c);
        }
    }
    *out = str_make(copy, len);
    size_t first = len > 0 && copy[0] == '-';
    bool has_digit = len > first && copy[first] >= '0' && copy[first] <= '9';
    bool has_zero =
        len > first + 1 && copy[first] == '0' && copy[first + 1] >= '0' && copy[first + 1] <= '9';
    return (has_digit && !has_zero) || refuse(reader, "a number is not valid");
}

static bool read_number(struct ion_reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && is_number_part(*reader->at)) {
        reader->at++;
    }
    struct str token = str_make(start, (size_t)(reader->at - start));
    bool is_negative = token.len > 0 && token.data[0] == '-';
    struct str digits = str_skip(token, is_negative);
    struct str text;
    if (is_timestamp(token)) {
        return refuse_value(reader, "items have no timestamps");
    }
    char radix = (char)(digits.len > 1 && digits.data[0] == '0' ? digits.data[1] | 0x20 : 0);
    bool ok = are_underscores_good(token) || refuse(reader, "a number is not valid");
    ok = ok &&
         (radix == 'x' || radix == 'b' ? convert_digits(reader, str_skip(digits, 2),
                                                        radix == 'x' ? 4 : 1, is_negative, &text)
                                       : convert_decimal(reader, token, &text));
    if (!ok) {
        return false;
    }
    struct number number;
    if (number_parse(text, &number) != NUMBER_OK) {
        struct value_problem problem = {.fault = FAULT_NUMBER, .type = VALUE_N, .text = text};
        return err_set_str(reader->err, ERR_VALIDATION,
                           value_problem_text(&problem, WORDING_OLDER, reader->arena));
    }
    builder_add_number(&reader->builder, number_str(&number));
    return true;
}

/* --- blobs --- */

/* Reads the text of a blob up to its end, without blanks. */
static bool read_base64(struct ion_reader *reader, struct str *out)
{
    /* Allocates for the length of this blob, not of the rest of the record, which may have many
     * blobs. */
    struct str left = rest(reader);
    const char *close = left.len == 0 ? NULL : memchr(left.data, '}', left.len);
    char *text = arena_bytes(reader->arena, close == NULL ? left.len : (size_t)(close - left.data));
    size_t len = 0;
    for (; reader->at < reader->end && *reader->at != '}'; reader->at++) {
        char c = *reader->at;
        if (c == '"' || c == '\'') {
            return refuse_value(reader, "items have no clobs");
        }
        if (c != ' ' && !(c >= '\t' && c <= '\r')) {
            text[len++] = c;
        }
    }
    *out = str_make(text, len);
    return true;
}

static bool read_blob(struct ion_reader *reader)
{
    reader->at += 2;
    struct str text;
    if (!read_base64(reader, &text)) {
        return false;
    }
    if (!str_starts_with(rest(reader), STR("}}"))) {
        return refuse(reader, "a blob is not closed");
    }
    reader->at += 2;
    char *bytes = arena_bytes(reader->arena, BASE64_DECODED_MAX(text.len) + 1);
    size_t count;
    if (!base64_decode(text, bytes, &count)) {
        return refuse(reader, "a blob is not base64");
    }
    builder_add_binary(&reader->builder, str_make(bytes, count));
    return true;
}

/* --- lists and sets --- */

static bool read_list(struct ion_reader *reader, int level)
{
    size_t open = builder_open(&reader->builder, VALUE_L);
    uint32_t count = 0;
    reader->at++;
    while (!take(reader, "]")) {
        if (!read_value(reader, level + 1, VALUE_NONE)) {
            return false;
        }
        count++;
        if (!take(reader, ",") && !peek(reader, "]")) {
            return refuse(reader, "a list is not closed");
        }
    }
    builder_close_list(&reader->builder, open, count);
    return true;
}

static bool read_set(struct ion_reader *reader, int level, size_t kind)
{
    size_t open = builder_open(&reader->builder, sets[kind].set);
    struct value_problem problem = {.type = sets[kind].set};
    const char *start = reader->at;
    uint32_t count = 0;
    if (!take(reader, "[")) {
        return refuse(reader, "a set is not a list");
    }
    while (!take(reader, "]")) {
        if (!read_value(reader, level + 1, sets[kind].element)) {
            return false;
        }
        count++;
        if (!take(reader, ",") && !peek(reader, "]")) {
            return refuse(reader, "a set is not closed");
        }
    }
    if (count == 0) {
        problem.fault = FAULT_EMPTY_SET;
        return err_set_str(reader->err, ERR_VALIDATION,
                           value_problem_text(&problem, WORDING_OLDER, reader->arena));
    }
    if (!builder_close_set(&reader->builder, open, count)) {
        struct str text = utf8_prefix(str_make(start, (size_t)(reader->at - start)), 256);
        return err_set(reader->err, ERR_VALIDATION,
                       "One or more parameter values were invalid: Input collection %.*s contains "
                       "duplicates.",
                       STR_ARG(text));
    }
    return true;
}

/* --- structs --- */

static bool read_name(struct ion_reader *reader, struct str *out)
{
    skip_blanks(reader);
    const char *const quotes[] = {"'''", "'", "\""};
    bool is_quoted = false;
    for (size_t i = 0; !is_quoted && i < COUNT_OF(quotes); i++) {
        is_quoted = str_starts_with(rest(reader), str_from_c(quotes[i]));
        if (is_quoted && !read_text(reader, quotes[i], out)) {
            return false;
        }
    }
    if (!is_quoted) {
        *out = take_identifier(reader);
    }
    if (out->len == 0 || out->len > ATTRIBUTE_NAME_BYTES_MAX) {
        return refuse(reader, "the name of a field is not valid");
    }
    return take(reader, ":") || refuse(reader, "a field has no value");
}

static bool read_fields(struct ion_reader *reader, int level)
{
    size_t open = builder_open(&reader->builder, VALUE_M);
    uint32_t count = 0;
    reader->at++;
    while (!take(reader, "}")) {
        struct str name;
        if (!read_name(reader, &name)) {
            return false;
        }
        builder_add_key(&reader->builder, name);
        if (!read_value(reader, level + 1, VALUE_NONE)) {
            return false;
        }
        count++;
        if (!take(reader, ",") && !peek(reader, "}")) {
            return refuse(reader, "a struct is not closed");
        }
    }
    builder_close_map(&reader->builder, open, count);
    return true;
}

/* --- values --- */

/* Takes annotations; *out is the number in `sets` of the one that makes a set, or SIZE_MAX. */
static bool take_annotations(struct ion_reader *reader, size_t *out)
{
    *out = SIZE_MAX;
    for (;;) {
        struct str name;
        skip_blanks(reader);
        const char *start = reader->at;
        if (str_starts_with(rest(reader), STR("'")) && !str_starts_with(rest(reader), STR("'''"))) {
            if (!read_text(reader, "'", &name)) {
                return false;
            }
        } else {
            name = take_identifier(reader);
        }
        if (reader->at == start || !take(reader, "::")) {
            reader->at = start;
            return true;
        }
        for (size_t i = 0; i < COUNT_OF(sets); i++) {
            *out = str_eq(name, str_from_c(sets[i].annotation)) ? i : *out;
        }
    }
}

/* null, null.string, true, false. */
static bool read_word(struct ion_reader *reader)
{
    struct str word = take_identifier(reader);
    if (str_eq(word, STR("null"))) {
        if (reader->at < reader->end && *reader->at == '.') {
            reader->at++;
            if (take_identifier(reader).len == 0) {
                return refuse(reader, "a null has no type");
            }
        }
        builder_add_null(&reader->builder);
        return true;
    }
    bool is_true = str_eq(word, STR("true"));
    if (is_true || str_eq(word, STR("false"))) {
        builder_add_bool(&reader->builder, is_true);
        return true;
    }
    return word.len == 0 ? refuse(reader, "a value is missing")
                         : refuse_value(reader, "items have no symbols");
}

static bool read_string(struct ion_reader *reader, const char *quote)
{
    struct str text;
    if (!read_text(reader, quote, &text)) {
        return false;
    }
    builder_add_string(&reader->builder, text);
    return true;
}

static bool read_scalar(struct ion_reader *reader)
{
    char c = reader->at < reader->end ? *reader->at : 0;
    if (c == '"') {
        return read_string(reader, "\"");
    }
    if (str_starts_with(rest(reader), STR("'''"))) {
        return read_string(reader, "'''");
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return read_number(reader);
    }
    return read_word(reader);
}

/* Reads a value; `wanted` is the type that it must have, VALUE_NONE: any. */
static bool read_value(struct ion_reader *reader, int level, enum value_type wanted)
{
    size_t set;
    size_t start = reader->builder.len;
    if (level > VALUE_LEVELS_MAX) {
        return err_set(reader->err, ERR_VALIDATION, MESSAGE_NESTING);
    }
    if (!take_annotations(reader, &set)) {
        return false;
    }
    bool ok;
    if (set != SIZE_MAX) {
        ok = read_set(reader, level, set);
    } else if (str_starts_with(rest(reader), STR("{{"))) {
        ok = read_blob(reader);
    } else if (str_starts_with(rest(reader), STR("{"))) {
        ok = read_fields(reader, level);
    } else if (str_starts_with(rest(reader), STR("["))) {
        ok = read_list(reader, level);
    } else {
        ok = read_scalar(reader);
    }
    if (!ok || wanted == VALUE_NONE) {
        return ok;
    }
    struct value value = {reader->builder.data + start, reader->builder.len - start};
    return value_type(value) == wanted ||
           refuse_value(reader, "a member of a set has another type");
}

bool ion_read_struct(struct arena *arena, struct str text, struct value *out, struct err *err)
{
    struct ion_reader reader = {
        .arena = arena, .at = text.data, .end = text.data + text.len, .err = err};
    assert(text.len > 0 && text.data[0] == '{');
    builder_init(&reader.builder, arena, text.len);
    if (!read_fields(&reader, -1)) { /* the record and its Item do not count as levels of nesting */
        return false;
    }
    *out = builder_finish(&reader.builder);
    return true;
}
