/* The JSON reader. Reads requests in the server (src/wire), responses in the client library, and
 * documents such as policies. Runs on the caller's thread, one reader per text. */
#include "json/reader.h"

#include <stdlib.h>

#include "base/utf8.h"

static bool fail(struct json_reader *reader, const char *mistake)
{
    if (reader->mistake == NULL) {
        reader->mistake = mistake;
    }
    reader->at = reader->end; /* stops all further reading */
    return false;
}

void json_reader_init(struct json_reader *reader, struct arena *arena, struct str source)
{
    const char *start =
        source.data != NULL ? source.data : ""; /* an empty source may have no data */
    *reader = (struct json_reader){
        .arena = arena,
        .start = start,
        .at = start,
        .end = start + source.len,
    };
}

static void skip_space(struct json_reader *reader)
{
    while (reader->at < reader->end) {
        char c = *reader->at;
        if (LIKELY(c > ' ') || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) {
            return;
        }
        reader->at++;
    }
}

/* Consumes `c` if it comes next. */
static bool take(struct json_reader *reader, char c)
{
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == c) {
        reader->at++;
        return true;
    }
    return false;
}

enum json_kind json_peek(struct json_reader *reader)
{
    skip_space(reader);
    if (reader->at == reader->end) {
        return JSON_BAD;
    }
    switch (*reader->at) {
    case 'n':
        return JSON_NULL;
    case 't':
    case 'f':
        return JSON_BOOL;
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_ARRAY;
    case '{':
        return JSON_OBJECT;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return JSON_NUMBER;
    default:
        return JSON_BAD;
    }
}

static bool read_word(struct json_reader *reader, struct str word)
{
    skip_space(reader);
    if (!str_starts_with(str_make(reader->at, (size_t)(reader->end - reader->at)), word)) {
        return fail(reader, "unexpected token");
    }
    reader->at += word.len;
    return true;
}

bool json_read_null(struct json_reader *reader)
{
    return read_word(reader, STR("null"));
}

bool json_read_bool(struct json_reader *reader, bool *out)
{
    skip_space(reader);
    *out = reader->at < reader->end && *reader->at == 't';
    return read_word(reader, *out ? STR("true") : STR("false"));
}

/* Four hex digits at `at`, or -1. */
static int32_t read_hex4(const char *at, const char *end)
{
    if (end - at < 4) {
        return -1;
    }
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Reads what follows "\\u"; a pair of surrogates is one code point. -1: malformed. */
static int32_t read_unicode_escape(const char **at, const char *end)
{
    int32_t unit = read_hex4(*at, end);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) {
        return -1;
    }
    *at += 4;
    if (unit < 0xD800 || unit > 0xDBFF) {
        return unit;
    }
    if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') {
        return -1;
    }
    int32_t low = read_hex4(*at + 2, end);
    if (low < 0xDC00 || low > 0xDFFF) {
        return -1;
    }
    *at += 6;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

/* Reads one escape; *at points behind the backslash. Returns the number of bytes written, 0 if
 * malformed. */
static size_t unescape(const char **at, const char *end, char out[4])
{
    if (*at == end) {
        return 0;
    }
    char c = *(*at)++;
    static const char plain_from[] = "\"\\/bfnrt";
    static const char plain_to[] = "\"\\/\b\f\n\r\t";
    const char *found = c == '\0' ? NULL : strchr(plain_from, c);
    if (found != NULL) {
        out[0] = plain_to[found - plain_from];
        return 1;
    }
    int32_t code_point = c == 'u' ? read_unicode_escape(at, end) : -1;
    return code_point < 0 ? 0 : utf8_encode((uint32_t)code_point, out);
}

/* Reads a string with at least one escape, the first one at `first_escape`. Not inlined, because
 * `decoded` would make every string pay for a stack canary. */
__attribute__((noinline)) static bool read_escaped(struct json_reader *reader,
                                                   const char *first_escape,
                                                   struct json_string *out)
{
    const char *text = reader->at;
    const char *close = first_escape;
    while (close < reader->end && *close != '"') {
        close += *close == '\\' ? 2 : 1;
    }
    if (close >= reader->end) {
        return fail(reader, "unterminated string");
    }
    size_t size = (size_t)(close - text); /* unescaping never makes a text longer */
    char *data = arena_bytes(reader->arena, size);
    size_t len = (size_t)(first_escape - text);
    memcpy(data, text, len);
    bool plain = true;
    for (const char *at = first_escape; at < close;) {
        unsigned char c = (unsigned char)*at++;
        if (c < 0x20) {
            return fail(reader, "control character in string");
        }
        if (c != '\\') {
            data[len++] = (char)c;
            continue;
        }
        char decoded[4];
        size_t count = unescape(&at, close, decoded);
        if (count == 0) {
            return fail(reader, "bad escape");
        }
        memcpy(data + len, decoded, count);
        len += count;
        plain =
            plain && (unsigned char)decoded[0] >= 0x20 && decoded[0] != '"' && decoded[0] != '\\';
    }
    arena_trim(reader->arena, data, size, len);
    reader->at = close + 1;
    *out = (struct json_string){.text = str_make(data, len), .plain = plain};
    return utf8_is_valid(out->text) || fail(reader, "bad UTF-8");
}

/* Bytes of the word that are '"', '\\', below 0x20 or above 0x7F have their high bit set. */
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t high = 0x8080808080808080u;
    uint64_t quote = word ^ (ones * '"');
    uint64_t slash = word ^ (ones * '\\');
    uint64_t found =
        ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
    return (found | word) & high;
}

bool json_read_string(struct json_reader *reader, struct json_string *out)
{
    if (!take(reader, '"')) {
        return fail(reader, "string expected");
    }
    const char *at = reader->at;
    bool ascii = true;
    for (;;) {
        uint64_t word;
        while (reader->end - at >= (ptrdiff_t)sizeof(word)) {
            memcpy(&word, at, sizeof(word));
            uint64_t found = special_bytes(word);
            if (found != 0) {
                at += __builtin_ctzll(found) / 8;
                break;
            }
            at += sizeof(word);
        }
        if (at == reader->end) {
            return fail(reader, "unterminated string");
        }
        unsigned char c = (unsigned char)*at;
        if (c == '"') {
            break;
        }
        if (c == '\\') {
            return read_escaped(reader, at, out);
        }
        if (c < 0x20) {
            return fail(reader, "control character in string");
        }
        ascii = ascii && c < 0x80;
        at++;
    }
    *out = (struct json_string){.text = str_make(reader->at, (size_t)(at - reader->at)),
                                .plain = true};
    reader->at = at + 1;
    return ascii || utf8_is_valid(out->text) || fail(reader, "bad UTF-8");
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* number = [ "-" ] ( "0" | digit1-9 { digit } ) [ "." digits ] [ ( "e" | "E" ) [ sign ] digits ] */
bool json_read_number(struct json_reader *reader, struct str *out)
{
    skip_space(reader);
    const char *end = reader->end;
    const char *at = reader->at;
    if (at < end && *at == '-') {
        at++;
    }
    const char *digits = at;
    at = skip_digits(at, end);
    bool good = at > digits && (*digits != '0' || at == digits + 1);
    if (good && at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        good = at > digits;
    }
    if (good && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) {
            at++;
        }
        digits = at;
        at = skip_digits(at, end);
        good = at > digits;
    }
    if (!good) {
        return fail(reader, "bad number");
    }
    *out = str_make(reader->at, (size_t)(at - reader->at));
    reader->at = at;
    return true;
}

bool json_read_amount(struct json_reader *reader, double max, double *out)
{
    struct str text;
    char digits[64];
    if (!json_read_number(reader, &text) || text.len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    *out = strtod(digits, NULL);
    return *out >= 0 && *out <= max;
}

static bool enter(struct json_reader *reader, char open)
{
    if (!take(reader, open)) {
        return fail(reader, "unexpected token");
    }
    if (++reader->depth > JSON_DEPTH_MAX) {
        return fail(reader, "nested too deeply");
    }
    reader->first = true;
    return true;
}

/* Whether one more entry follows. Consumes the comma before it, or the closing bracket. */
static bool next(struct json_reader *reader, char close)
{
    if (reader->mistake != NULL) {
        return false;
    }
    if (take(reader, close)) {
        reader->depth--;
        reader->first = false;
        return false;
    }
    if (!reader->first && !take(reader, ',')) {
        return fail(reader, "comma or closing bracket expected");
    }
    reader->first = false;
    return true;
}

bool json_enter_object(struct json_reader *reader)
{
    return enter(reader, '{');
}

bool json_next_member(struct json_reader *reader, struct json_string *out_name)
{
    return next(reader, '}') && json_read_string(reader, out_name) &&
           (take(reader, ':') || fail(reader, "colon expected"));
}

bool json_enter_array(struct json_reader *reader)
{
    return enter(reader, '[');
}

bool json_next_element(struct json_reader *reader)
{
    return next(reader, ']');
}

bool json_skip(struct json_reader *reader)
{
    struct json_string string;
    struct str number;
    bool boolean;
    switch (json_peek(reader)) {
    case JSON_NULL:
        return json_read_null(reader);
    case JSON_BOOL:
        return json_read_bool(reader, &boolean);
    case JSON_NUMBER:
        return json_read_number(reader, &number);
    case JSON_STRING:
        return json_read_string(reader, &string);
    case JSON_ARRAY:
        if (json_enter_array(reader)) {
            while (json_next_element(reader)) {
                json_skip(reader);
            }
        }
        return reader->mistake == NULL;
    case JSON_OBJECT:
        if (json_enter_object(reader)) {
            while (json_next_member(reader, &string)) {
                json_skip(reader);
            }
        }
        return reader->mistake == NULL;
    case JSON_BAD:
        break;
    }
    return fail(reader, "unexpected token");
}

bool json_read_raw(struct json_reader *reader, struct str *out)
{
    skip_space(reader);
    const char *start = reader->at;
    if (!json_skip(reader)) {
        return false;
    }
    *out = str_make(start, (size_t)(reader->at - start));
    return true;
}

bool json_at_end(struct json_reader *reader)
{
    skip_space(reader);
    return reader->mistake == NULL && reader->at == reader->end;
}
