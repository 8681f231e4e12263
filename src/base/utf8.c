/* Validation and conversion of UTF-8. Any thread. */
#include "base/utf8.h"

/* Returns the length of the well-formed sequence at `at`, or 0. */
static size_t sequence_len(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    if (first < 0x80) {
        return 1;
    }
    size_t len = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || left < len) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F) ||
        (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F)) {
        return 0; /* overlong, surrogate, past U+10FFFF */
    }
    return len;
}

bool utf8_is_valid(struct str s)
{
    const unsigned char *at = (const unsigned char *)s.data;
    size_t left = s.len;
    while (left > 0) {
        uint64_t eight;
        while (left >= sizeof(eight)) { /* 8 ASCII bytes at a time */
            memcpy(&eight, at, sizeof(eight));
            if ((eight & 0x8080808080808080u) != 0) {
                break;
            }
            at += sizeof(eight);
            left -= sizeof(eight);
        }
        if (left == 0) {
            break;
        }
        size_t len = sequence_len(at, left);
        if (len == 0) {
            return false;
        }
        at += len;
        left -= len;
    }
    return true;
}

size_t utf8_utf16_len(struct str s)
{
    size_t units = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        units += (c & 0xC0) != 0x80; /* counts first bytes of sequences */
        units += c >= 0xF0;          /* four bytes need a surrogate pair */
    }
    return units;
}

size_t utf8_decode(struct str s, uint32_t *out)
{
    const unsigned char *at = (const unsigned char *)s.data;
    size_t len = sequence_len(at, s.len);
    assert(len > 0);
    static const unsigned char first_masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    *out = at[0] & first_masks[len];
    for (size_t i = 1; i < len; i++) {
        *out = *out << 6 | (at[i] & 0x3Fu);
    }
    return len;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

struct str utf8_prefix(struct str s, size_t len)
{
    if (len >= s.len) {
        return s;
    }
    while (len > 0 && ((unsigned char)s.data[len] & 0xC0) == 0x80) {
        len--;
    }
    return str_make(s.data, len);
}
