/* Computes signatures: an HMAC of the time, the scope and a hash of the canonical request, with a
 * key derived from secret, day, region and service. Called by the client library and by
 * sigv4_check.c, on any thread. The only state is OpenSSL's algorithms, which are looked up once:
 * looking them up by name for each request takes longer than computing the hashes. */
#include "auth/sigv4.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/hex.h"

/* Never freed: all threads use them until the process ends. */
static pthread_once_t algorithms_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static EVP_MAC_CTX *hmac_sha256; /* without a key; copied for each use */

static void find_algorithms(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    hmac_sha256 = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    char name[] = "SHA256";
    OSSL_PARAM digest[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    int done = hmac_sha256 == NULL ? 0 : EVP_MAC_CTX_set_params(hmac_sha256, digest);
    assert(sha256 != NULL && done == 1);
}

void sigv4_hash(struct str text, char out[SIGV4_HEX_LEN])
{
    pthread_once(&algorithms_once, find_algorithms);
    unsigned char hash[SIGV4_HASH_LEN];
    int done = EVP_Digest(text.data, text.len, hash, NULL, sha256, NULL);
    assert(done == 1);
    hex_encode(str_make(hash, SIGV4_HASH_LEN), out);
}

static void hmac(struct str key, struct str text, unsigned char out[SIGV4_HASH_LEN])
{
    pthread_once(&algorithms_once, find_algorithms);
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(hmac_sha256);
    size_t len = 0;
    int done = context != NULL &&
               EVP_MAC_init(context, (const unsigned char *)key.data, key.len, NULL) == 1 &&
               EVP_MAC_update(context, (const unsigned char *)text.data, text.len) == 1 &&
               EVP_MAC_final(context, out, &len, SIGV4_HASH_LEN) == 1;
    assert(done && len == SIGV4_HASH_LEN);
    EVP_MAC_CTX_free(context);
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
    char *to = buf_reserve(out, text.len);
    for (size_t i = 0; i < text.len; i++) {
        to[i] = lower(text.data[i]);
    }
    buf_added(out, text.len);
}

/* Appends `text` without leading and trailing spaces, and with each run of spaces replaced by
 * one. */
static void add_trimmed(struct buf *out, struct str text)
{
    char *start = buf_reserve(out, text.len + 1);
    char *to = start;
    bool space = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ') {
            space = to > start;
            continue;
        }
        if (space) {
            *to++ = ' ';
        }
        *to++ = text.data[i];
        space = false;
    }
    buf_added(out, (size_t)(to - start));
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

void sigv4_add_canonical_request(struct buf *out, const struct sigv4_request *request,
                                 const struct sigv4_header *headers, struct str body_hash)
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
    buf_add(out, body_hash);
}

void sigv4_derive_key(struct str secret, struct str day, struct str region, struct str service,
                      unsigned char out[SIGV4_HASH_LEN])
{
    struct buf first = {0};
    buf_format(&first, "AWS4%.*s", STR_ARG(secret));
    hmac(buf_str(&first), day, out);
    OPENSSL_cleanse(first.data, first.len);
    buf_finish(&first);
    hmac(str_make(out, SIGV4_HASH_LEN), region, out);
    hmac(str_make(out, SIGV4_HASH_LEN), service, out);
    hmac(str_make(out, SIGV4_HASH_LEN), STR("aws4_request"), out);
}

void sigv4_make_signature(const unsigned char key[SIGV4_HASH_LEN], struct str time,
                          struct str scope, struct str canonical, char out[SIGV4_HEX_LEN])
{
    char hash[SIGV4_HEX_LEN];
    sigv4_hash(canonical, hash);
    struct buf text = {0};
    buf_format(&text, "AWS4-HMAC-SHA256\n%.*s\n%.*s\n", STR_ARG(time), STR_ARG(scope));
    buf_add(&text, str_make(hash, sizeof(hash)));
    unsigned char signature[SIGV4_HASH_LEN];
    hmac(str_make(key, SIGV4_HASH_LEN), buf_str(&text), signature);
    buf_finish(&text);
    hex_encode(str_make(signature, SIGV4_HASH_LEN), out);
}

static void add_scope(struct buf *out, const struct sigv4_scope *scope)
{
    buf_format(out, "%.*s/%.*s/%.*s/aws4_request", SIGV4_DAY_LEN, scope->time.data,
               STR_ARG(scope->region), STR_ARG(scope->service));
}

/* Writes the signature of a request, made with the secret key of `scope`, to `out`. */
static void sign(const struct sigv4_request *request, const struct sigv4_header *headers,
                 const struct sigv4_scope *scope, char out[SIGV4_HEX_LEN])
{
    char body_hash[SIGV4_HEX_LEN];
    sigv4_hash(request->body, body_hash);
    struct buf canonical = {0};
    sigv4_add_canonical_request(&canonical, request, headers, str_make(body_hash, SIGV4_HEX_LEN));
    unsigned char key[SIGV4_HASH_LEN];
    sigv4_derive_key(scope->secret_access_key, str_make(scope->time.data, SIGV4_DAY_LEN),
                     scope->region, scope->service, key);
    struct buf scope_text = {0};
    add_scope(&scope_text, scope);
    sigv4_make_signature(key, scope->time, buf_str(&scope_text), buf_str(&canonical), out);
    OPENSSL_cleanse(key, sizeof(key));
    buf_finish(&scope_text);
    buf_finish(&canonical);
}

void sigv4_sign(const struct sigv4_request *request, const struct sigv4_scope *scope,
                struct buf *out)
{
    assert(request->header_count <= SIGV4_HEADERS_MAX);
    assert(scope->time.len == SIGV4_TIME_SIZE - 1);
    struct sigv4_header headers[SIGV4_HEADERS_MAX];
    memcpy(headers, request->headers, request->header_count * sizeof(headers[0]));
    qsort(headers, request->header_count, sizeof(headers[0]), compare_names);
    char signature[SIGV4_HEX_LEN];
    sign(request, headers, scope, signature);
    buf_format(out, "AWS4-HMAC-SHA256 Credential=%.*s/", STR_ARG(scope->access_key_id));
    add_scope(out, scope);
    buf_add(out, STR(", SignedHeaders="));
    add_names(out, headers, request->header_count);
    buf_add(out, STR(", Signature="));
    buf_add(out, str_make(signature, sizeof(signature)));
}

void sigv4_format_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(out, SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &parts);
}
