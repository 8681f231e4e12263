/* The signature is an HMAC of the time, the scope and a hash of the request in one canonical form,
 * with a key made from the secret, day, region and service. */
#include "auth/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <time.h>

#define HASH_LEN 32
#define DAY_LEN  8 /* of the time: "20150830" */

static void add_hex(struct buf *out, const unsigned char hash[HASH_LEN])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < HASH_LEN; i++) {
        buf_add_char(out, digits[hash[i] >> 4]);
        buf_add_char(out, digits[hash[i] & 15]);
    }
}

static void add_sha256(struct buf *out, struct str text)
{
    unsigned char hash[HASH_LEN];
    int done = EVP_Digest(text.data, text.len, hash, NULL, EVP_sha256(), NULL);
    assert(done == 1);
    add_hex(out, hash);
}

static void hmac(struct str key, struct str text, unsigned char out[HASH_LEN])
{
    const unsigned char *done = HMAC(EVP_sha256(), key.data, (int)key.len,
                                     (const unsigned char *)text.data, text.len, out, NULL);
    assert(done != NULL);
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int compare_names(const void *a, const void *b)
{
    struct str left = ((const struct sigv4_header *)a)->name;
    struct str right = ((const struct sigv4_header *)b)->name;
    for (size_t i = 0; i < left.len && i < right.len; i++) {
        int order = lower(left.data[i]) - lower(right.data[i]);
        if (order != 0) {
            return order;
        }
    }
    return left.len < right.len ? -1 : left.len > right.len;
}

static void add_lower(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        buf_add_char(out, lower(text.data[i]));
    }
}

/* Without spaces at both ends, and one for each run of them. */
static void add_trimmed(struct buf *out, struct str text)
{
    bool space = false;
    bool any = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ') {
            space = any;
            continue;
        }
        if (space) {
            buf_add_char(out, ' ');
        }
        buf_add_char(out, text.data[i]);
        space = false;
        any = true;
    }
}

static void add_names(struct buf *out, const struct sigv4_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_add_char(out, ';');
        }
        add_lower(out, headers[i].name);
    }
}

static void add_canonical_request(struct buf *out, const struct sigv4_request *request,
                                  const struct sigv4_header *headers)
{
    buf_format(out, "%.*s\n%.*s\n%.*s\n", STR_ARG(request->method), STR_ARG(request->path),
               STR_ARG(request->query));
    for (size_t i = 0; i < request->header_count; i++) {
        add_lower(out, headers[i].name);
        buf_add_char(out, ':');
        add_trimmed(out, headers[i].value);
        buf_add_char(out, '\n');
    }
    buf_add_char(out, '\n');
    add_names(out, headers, request->header_count);
    buf_add_char(out, '\n');
    add_sha256(out, request->body);
}

/* The key of one day, region and service. */
static void make_key(const struct sigv4_scope *scope, unsigned char key[HASH_LEN])
{
    struct buf secret = {0};
    buf_format(&secret, "AWS4%.*s", STR_ARG(scope->secret_access_key));
    hmac(buf_str(&secret), str_make(scope->time.data, DAY_LEN), key);
    buf_finish(&secret);
    hmac(str_make(key, HASH_LEN), scope->region, key);
    hmac(str_make(key, HASH_LEN), scope->service, key);
    hmac(str_make(key, HASH_LEN), STR("aws4_request"), key);
}

static void add_scope(struct buf *out, const struct sigv4_scope *scope)
{
    buf_format(out, "%.*s/%.*s/%.*s/aws4_request", DAY_LEN, scope->time.data,
               STR_ARG(scope->region), STR_ARG(scope->service));
}

static void make_signature(const struct sigv4_scope *scope, struct str canonical,
                           unsigned char out[HASH_LEN])
{
    struct buf text = {0};
    buf_format(&text, "AWS4-HMAC-SHA256\n%.*s\n", STR_ARG(scope->time));
    add_scope(&text, scope);
    buf_add_char(&text, '\n');
    add_sha256(&text, canonical);
    unsigned char key[HASH_LEN];
    make_key(scope, key);
    hmac(str_make(key, HASH_LEN), buf_str(&text), out);
    buf_finish(&text);
}

void sigv4_sign(const struct sigv4_request *request, const struct sigv4_scope *scope,
                struct buf *out)
{
    assert(request->header_count <= SIGV4_HEADERS_MAX);
    assert(scope->time.len == SIGV4_TIME_SIZE - 1);
    struct sigv4_header headers[SIGV4_HEADERS_MAX];
    memcpy(headers, request->headers, request->header_count * sizeof(headers[0]));
    qsort(headers, request->header_count, sizeof(headers[0]), compare_names);
    struct buf canonical = {0};
    add_canonical_request(&canonical, request, headers);
    unsigned char signature[HASH_LEN];
    make_signature(scope, buf_str(&canonical), signature);
    buf_finish(&canonical);
    buf_format(out, "AWS4-HMAC-SHA256 Credential=%.*s/", STR_ARG(scope->access_key_id));
    add_scope(out, scope);
    buf_add(out, STR(", SignedHeaders="));
    add_names(out, headers, request->header_count);
    buf_add(out, STR(", Signature="));
    add_hex(out, signature);
}

void sigv4_format_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(out, SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &parts);
}
