/* Base64 encoding and decoding, used for binary values and tokens. Any thread. */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct str in, char *out)
{
    const unsigned char *at = (const unsigned char *)in.data;
    size_t left = in.len;
    for (; left >= 3; left -= 3, at += 3, out += 4) {
        uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = alphabet[bits >> 6 & 63];
        out[3] = alphabet[bits & 63];
    }
    if (left > 0) {
        uint32_t bits = (uint32_t)at[0] << 16 | (left == 2 ? (uint32_t)at[1] << 8 : 0);
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = left == 2 ? alphabet[bits >> 6 & 63] : '=';
        out[3] = '=';
    }
}

/* Returns the value of a digit, 0 to 63, or 64 if it is not in the alphabet. */
static unsigned value_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26u;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52u;
    }
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

bool base64_decode(struct str in, char *out, size_t *out_len)
{
    if (in.len % 4 != 0) {
        return false;
    }
    char *start = out;
    for (size_t i = 0; i < in.len; i += 4) {
        const unsigned char *at = (const unsigned char *)in.data + i;
        bool last = i + 4 == in.len;
        size_t padding = last && at[3] == '=' ? (at[2] == '=' ? 2 : 1) : 0;
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            unsigned value = k >= 4 - padding ? 0 : value_of(at[k]);
            if (value == 64) {
                return false;
            }
            bits = bits << 6 | value;
        }
        if ((padding == 1 && (bits & 0xFF) != 0) || (padding == 2 && (bits & 0xFFFF) != 0)) {
            return false; /* unused bits that must be zero */
        }
        *out++ = (char)(bits >> 16);
        if (padding < 2) {
            *out++ = (char)(bits >> 8 & 0xFF);
        }
        if (padding < 1) {
            *out++ = (char)(bits & 0xFF);
        }
    }
    *out_len = (size_t)(out - start);
    return true;
}
