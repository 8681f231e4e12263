/* Encodes and decodes percent-encoding. Any thread. */
#include "base/percent.h"

#include "base/hex.h"

bool percent_is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

struct str percent_encode(struct arena *arena, struct str text, const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = arena_bytes(arena, 3 * text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (percent_is_unreserved((char)c) || (c != '\0' && strchr(kept, c) != NULL)) {
            out[len++] = (char)c;
        } else {
            out[len++] = '%';
            out[len++] = digits[c >> 4];
            out[len++] = digits[c & 15];
        }
    }
    out[len] = '\0';
    return str_make(out, len);
}

struct str percent_decode(struct arena *arena, struct str text, char plus)
{
    char *out = arena_bytes(arena, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool has_digits = text.data[i] == '%' && i + 2 < text.len &&
                          hex_digit(text.data[i + 1]) >= 0 && hex_digit(text.data[i + 2]) >= 0;
        if (has_digits) {
            out[len++] = (char)(hex_digit(text.data[i + 1]) * 16 + hex_digit(text.data[i + 2]));
            i += 2;
        } else {
            out[len++] = text.data[i] == '+' ? plus : text.data[i];
        }
    }
    return str_make(out, len);
}
