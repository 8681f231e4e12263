/* Writes pieces of JSON. Called by src/wire and src/api for answers, on the thread of the
 * request, and by commands. Keeps no state. */
#include "json/writer.h"

#include <stdio.h>

#include "base/base64.h"

static void write_escape(struct buf *buf, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (found != NULL) {
        buf_add_char(buf, '\\');
        buf_add_char(buf, to[found - from]);
    } else {
        static const char digits[] = "0123456789abcdef";
        char *at = buf_reserve(buf, 6);
        memcpy(at, "\\u00", 4);
        at[4] = digits[c >> 4];
        at[5] = digits[c & 15];
        buf_added(buf, 6);
    }
}

void json_write_string(struct buf *buf, struct str text)
{
    buf_reserve(buf, text.len + 2);
    buf_add_char(buf, '"');
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (UNLIKELY(c < 0x20 || c == '"' || c == '\\')) {
            buf_add(buf, str_make(text.data + from, i - from));
            write_escape(buf, c);
            from = i + 1;
        }
    }
    buf_add(buf, str_make(text.data + from, text.len - from));
    buf_add_char(buf, '"');
}

void json_write_plain_string(struct buf *buf, struct str text)
{
    char *at = buf_reserve(buf, text.len + 2);
    at[0] = '"';
    memcpy(at + 1, text.data, text.len);
    at[text.len + 1] = '"';
    buf_added(buf, text.len + 2);
}

void json_write_bool(struct buf *buf, bool value)
{
    buf_add(buf, value ? STR("true") : STR("false"));
}

void json_write_base64(struct buf *buf, struct str bytes)
{
    size_t len = BASE64_ENCODED_LEN(bytes.len);
    char *at = buf_reserve(buf, len + 2);
    at[0] = '"';
    base64_encode(bytes, at + 1);
    at[len + 1] = '"';
    buf_added(buf, len + 2);
}

void json_write_double(struct buf *buf, double value)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "%.6f", value);
    while (text[len - 1] == '0' && text[len - 2] != '.') {
        len--;
    }
    buf_add(buf, str_make(text, (size_t)len));
}
