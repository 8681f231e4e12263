/* Fuzzes the canonical request of sigv4_check.h. Input: the names of the signed headers on the
 * first line, the request target on the second, and one header on each other line. This file builds
 * the canonical request a second time, byte by byte from the rules, and signs it. Properties: the
 * check accepts that signature, so both canonical requests are equal; it refuses the signature with
 * one bit changed, with another body and with another method; it refuses lists that name a header
 * twice or in upper case. */
#include "signed_head.h"

enum { INPUT_MAX = 4096, NAMES_MAX = INPUT_MAX };

/* The canonical request, from the rules ----------------------------------------------------- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static void add_encoded(struct buf *out, unsigned char byte)
{
    bool is_plain = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                    (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
                    byte == '~';
    if (is_plain) {
        buf_add_char(out, (char)byte);
    } else {
        buf_add_char(out, '%');
        buf_add_char(out, "0123456789ABCDEF"[byte / 16]);
        buf_add_char(out, "0123456789ABCDEF"[byte % 16]);
    }
}

/* Percent-encodes what a part of the query string stands for. */
static void add_query_part(struct buf *out, struct str part)
{
    for (size_t i = 0; i < part.len; i++) {
        bool is_escape = part.data[i] == '%' && i + 2 < part.len &&
                         hex_value(part.data[i + 1]) >= 0 && hex_value(part.data[i + 2]) >= 0;
        if (is_escape) {
            add_encoded(out, (unsigned char)(hex_value(part.data[i + 1]) * 16 +
                                             hex_value(part.data[i + 2])));
            i += 2;
        } else {
            add_encoded(out, (unsigned char)part.data[i]);
        }
    }
}

struct pair {
    struct buf name;
    struct buf value;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a;
    const struct pair *right = b;
    int order = str_cmp(buf_str(&left->name), buf_str(&right->name));
    return order != 0 ? order : str_cmp(buf_str(&left->value), buf_str(&right->value));
}

static void add_query(struct buf *out, struct str query)
{
    static struct pair pairs[INPUT_MAX];
    size_t count = 0;
    while (query.len > 0) {
        struct str value = take_until(&query, '&');
        if (value.len == 0) {
            continue;
        }
        struct str name = take_until(&value, '=');
        pairs[count] = (struct pair){0};
        add_query_part(&pairs[count].name, name);
        add_query_part(&pairs[count].value, value);
        count++;
    }
    qsort(pairs, count, sizeof(pairs[0]), compare_pairs);
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(buf_str(&pairs[i].name), STR("X-Amz-Signature"))) {
            if (!is_first) {
                buf_add_char(out, '&');
            }
            is_first = false;
            buf_add(out, buf_str(&pairs[i].name));
            buf_add_char(out, '=');
            buf_add(out, buf_str(&pairs[i].value));
        }
        buf_finish(&pairs[i].name);
        buf_finish(&pairs[i].value);
    }
}

static void add_target(struct buf *out, struct str target)
{
    struct str path = take_until(&target, '?');
    if (path.len == 0) {
        buf_add_char(out, '/');
    }
    for (size_t i = 0; i < path.len; i++) {
        if (path.data[i] == '/') {
            buf_add_char(out, '/');
        } else {
            add_encoded(out, (unsigned char)path.data[i]);
        }
    }
    buf_add_char(out, '\n');
    add_query(out, target);
}

static bool is_same_name(struct str a, struct str lower)
{
    bool is_same = a.len == lower.len;
    for (size_t i = 0; is_same && i < a.len; i++) {
        char c = a.data[i];
        char low = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        is_same = low == lower.data[i];
    }
    return is_same;
}

/* Appends a value without spaces at its ends and with single spaces inside. */
static void add_value(struct buf *out, struct str value)
{
    while (value.len > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value = str_skip(value, 1);
    }
    while (value.len > 0 &&
           (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t')) {
        value.len--;
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] != ' ' || value.data[i - 1] != ' ') {
            buf_add_char(out, value.data[i]);
        }
    }
}

static void add_header(struct buf *out, const struct sigv4_head *head, struct str name)
{
    buf_add(out, name);
    buf_add_char(out, ':');
    bool is_first = true;
    for (size_t i = 0; i < head->header_count; i++) {
        if (is_same_name(head->headers[i].name, name)) {
            if (!is_first) {
                buf_add_char(out, ',');
            }
            is_first = false;
            add_value(out, head->headers[i].value);
        }
    }
    buf_add_char(out, '\n');
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Splits and sorts the names. Returns false if the check must refuse the list. */
static bool read_names(struct str list, struct str names[NAMES_MAX], size_t *out_count)
{
    bool is_good = true;
    for (size_t i = 0; i < list.len; i++) {
        is_good = is_good && !(list.data[i] >= 'A' && list.data[i] <= 'Z');
    }
    size_t count = 0;
    while (list.len > 0) {
        names[count++] = take_until(&list, ';');
    }
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 1; i < count; i++) {
        is_good = is_good && !str_eq(names[i], names[i - 1]);
    }
    *out_count = count;
    return is_good;
}

static void add_canonical(struct buf *out, const struct sigv4_head *head, const struct str *names,
                          size_t count)
{
    buf_add(out, head->method);
    buf_add_char(out, '\n');
    add_target(out, head->target);
    buf_add_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        add_header(out, head, names[i]);
    }
    buf_add_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_add_char(out, ';');
        }
        buf_add(out, names[i]);
    }
    buf_add_char(out, '\n');
}

/* Properties ------------------------------------------------------------------------------- */

static const unsigned char key[SIGV4_HASH_LEN] = "the signing key of this fuzzing";

static bool verify(struct arena *arena, const struct sigv4_head *head, struct sigv4_claim claim,
                   const char signature[SIGV4_HEX_LEN], const char hash[SIGV4_HEX_LEN])
{
    claim.signature = str_make(signature, SIGV4_HEX_LEN);
    return sigv4_claim_verify(arena, head, &claim, key, str_make(hash, SIGV4_HEX_LEN));
}

static void run(struct arena *arena, struct sigv4_head *head, const struct sigv4_claim *claim,
                size_t salt)
{
    char hash[SIGV4_HEX_LEN];
    char other_hash[SIGV4_HEX_LEN];
    char signature[SIGV4_HEX_LEN];
    sigv4_hash(STR("{}"), hash);
    sigv4_hash(STR("[]"), other_hash);
    static struct str names[NAMES_MAX];
    size_t count = 0;
    bool is_list_good = read_names(claim->signed_headers, names, &count);
    struct buf canonical = {0};
    add_canonical(&canonical, head, names, is_list_good ? count : 0);
    buf_add(&canonical, str_make(hash, sizeof(hash)));
    sigv4_make_signature(key, claim->time, claim->scope, buf_str(&canonical), signature);
    buf_finish(&canonical);
    check(verify(arena, head, *claim, signature, hash) == is_list_good);
    check(!verify(arena, head, *claim, signature, other_hash));
    head->method = STR("PUT");
    check(!verify(arena, head, *claim, signature, hash));
    head->method = STR("POST");
    signature[salt % SIGV4_HEX_LEN] ^= (char)(1 << (salt / SIGV4_HEX_LEN % 8));
    check(!verify(arena, head, *claim, signature, hash));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    struct arena arena;
    arena_init(&arena);
    struct str rest = str_make(data, size);
    struct sigv4_claim claim = {
        .time = STR("20260115T101112Z"),
        .scope = STR("20260115/us-east-1/dynamodb/aws4_request"),
        .signed_headers = take_until(&rest, '\n'),
    };
    struct sigv4_header headers[HEADERS_MAX];
    struct sigv4_head head = {
        .method = STR("POST"), .target = take_until(&rest, '\n'), .headers = headers};
    head.header_count = read_headers(rest, headers);
    run(&arena, &head, &claim, size);
    arena_finish(&arena);
    return 0;
}
