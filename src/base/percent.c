/* Decodes percent-encoding. Any thread. */
#include "base/percent.h"

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

struct str percent_decode(struct arena *arena, struct str text, char plus)
{
    char *out = arena_bytes(arena, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool has_digits = text.data[i] == '%' && i + 2 < text.len &&
                          hex_value(text.data[i + 1]) >= 0 && hex_value(text.data[i + 2]) >= 0;
        if (has_digits) {
            out[len++] = (char)(hex_value(text.data[i + 1]) * 16 + hex_value(text.data[i + 2]));
            i += 2;
        } else {
            out[len++] = text.data[i] == '+' ? plus : text.data[i];
        }
    }
    return str_make(out, len);
}
