/* Makes text harmless for terminals and measures its width. Called by everything that prints. */
#include "base/terminal.h"

#include <wchar.h>

#include "base/utf8.h"

/* Characters that change how the text around them is shown, or cannot be seen. */
static bool is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe007f);
}

/* Reads one character. Returns its length; 0: the bytes are not UTF-8. */
static size_t next_char(struct str text, uint32_t *out)
{
    static const size_t lengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4};
    size_t len = lengths[(unsigned char)text.data[0] >> 4];
    if (len == 0 || len > text.len || !utf8_is_valid(str_make(text.data, len))) {
        return 0;
    }
    return utf8_decode(text, out);
}

static void add_escape(struct buf *out, uint32_t c)
{
    if (c == '\n' || c == '\t' || c == '\r') {
        buf_format(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    } else if (c < 0x100) {
        buf_format(out, "\\x%02x", c);
    } else {
        buf_format(out, "\\u{%x}", c);
    }
}

void terminal_add_text(struct buf *out, struct str text)
{
    while (text.len > 0) {
        uint32_t c = 0;
        size_t len = next_char(text, &c);
        if (len == 0) {
            buf_format(out, "\\x%02x", (unsigned)(unsigned char)text.data[0]);
            len = 1;
        } else if (is_hidden(c)) {
            add_escape(out, c);
        } else {
            buf_add(out, str_make(text.data, len));
        }
        text = str_skip(text, len);
    }
}

struct str terminal_text(struct arena *arena, struct str text)
{
    struct buf safe = {0};
    terminal_add_text(&safe, text);
    struct str copy = arena_copy_c(arena, buf_str(&safe));
    buf_finish(&safe);
    return copy;
}

void terminal_add_json(struct buf *out, struct str json)
{
    while (json.len > 0) {
        uint32_t c = 0;
        size_t len = next_char(json, &c);
        bool is_layout = c == '\n' || c == '\t' || c == '\r';
        if (len == 0) {
            buf_add(out, STR("\\ufffd"));
            len = 1;
        } else if (!is_hidden(c) || is_layout) {
            buf_add(out, str_make(json.data, len));
        } else if (c < 0x10000) {
            buf_format(out, "\\u%04x", c);
        } else {
            c -= 0x10000;
            buf_format(out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
        }
        json = str_skip(json, len);
    }
}

static size_t char_width(uint32_t c)
{
    int width = wcwidth((wchar_t)c);
    return width < 0 ? 1 : (size_t)width;
}

size_t terminal_width(struct str text)
{
    size_t width = 0;
    while (text.len > 0) {
        uint32_t c = 0;
        size_t len = next_char(text, &c);
        width += len == 0 ? 1 : char_width(c);
        text = str_skip(text, MAX(len, (size_t)1));
    }
    return width;
}

/* Returns the longest start of the text that fits; *out_width: its columns. */
static struct str fit(struct str text, size_t width, size_t *out_width)
{
    size_t used = 0;
    size_t at = 0;
    while (at < text.len) {
        uint32_t c = 0;
        size_t len = next_char(str_skip(text, at), &c);
        size_t columns = len == 0 ? 1 : char_width(c);
        if (used + columns > width) {
            break;
        }
        used += columns;
        at += MAX(len, (size_t)1);
    }
    *out_width = used;
    return str_make(text.data, at);
}

static void add_spaces(struct buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_char(out, ' ');
    }
}

void terminal_add_cell(struct buf *out, struct str text, size_t width, bool right)
{
    size_t used;
    struct str whole = fit(text, width, &used);
    if (whole.len == text.len) {
        add_spaces(out, right ? width - used : 0);
        buf_add(out, whole);
        add_spaces(out, right ? 0 : width - used);
        return;
    }
    struct str start = fit(text, width > 0 ? width - 1 : 0, &used);
    buf_add(out, start);
    if (width > 0) {
        buf_add(out, STR("\xe2\x80\xa6")); /* an ellipsis, one column */
        add_spaces(out, width - 1 - used);
    }
}
