/* Encodes and decodes hexadecimal digits. Any thread. */
#include "base/hex.h"

int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

void hex_encode(struct str bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        *out++ = digits[(uint8_t)bytes.data[i] >> 4];
        *out++ = digits[(uint8_t)bytes.data[i] & 15];
    }
}

void hex_encode_c(struct str bytes, char *out)
{
    hex_encode(bytes, out);
    out[2 * bytes.len] = '\0';
}

bool hex_decode(struct str text, char *out)
{
    if (text.len % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_digit(text.data[i]);
        int low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        *out++ = (char)(high * 16 + low);
    }
    return true;
}
