/* Computes signatures: an HMAC of the time, the scope and a hash of the canonical request, with a
 * key derived from secret, day, region and service. Called by the client library and by
 * sigv4_check.c, on any thread. OpenSSL's algorithm is looked up once, and each thread keeps one
 * context: finding the algorithm by name, or allocating contexts, for each request takes longer
 * than computing the hashes. The HMAC is computed here (RFC 2104), because OpenSSL's allocates
 * three contexts for each. */
#include "auth/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/hex.h"

enum { BLOCK_LEN = 64 }; /* of SHA-256 */

/* Never freed: all threads use them until the process ends. */
static pthread_once_t algorithm_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static pthread_key_t thread_context; /* an EVP_MD_CTX, which the thread frees when it ends */

static void free_context(void *context)
{
    EVP_MD_CTX_free(context);
}

static void find_algorithm(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    int result = pthread_key_create(&thread_context, free_context);
    assert(sha256 != NULL && result == 0);
}

/* Returns the context of this thread, to be used until the next call. */
static EVP_MD_CTX *begin_hash(void)
{
    pthread_once(&algorithm_once, find_algorithm);
    EVP_MD_CTX *context = pthread_getspecific(thread_context);
    if (UNLIKELY(context == NULL)) {
        context = EVP_MD_CTX_new();
        int result = pthread_setspecific(thread_context, context);
        assert(context != NULL && result == 0);
    }
    int done = EVP_DigestInit_ex(context, sha256, NULL);
    assert(done == 1);
    return context;
}

static void add_to_hash(EVP_MD_CTX *context, struct str text)
{
    int done = EVP_DigestUpdate(context, text.data, text.len);
    assert(done == 1);
}

static void end_hash(EVP_MD_CTX *context, unsigned char out[SIGV4_HASH_LEN])
{
    int done = EVP_DigestFinal_ex(context, out, NULL);
    assert(done == 1);
}

void sigv4_hash(struct str text, char out[SIGV4_HEX_LEN])
{
    unsigned char hash[SIGV4_HASH_LEN];
    EVP_MD_CTX *context = begin_hash();
    add_to_hash(context, text);
    end_hash(context, hash);
    hex_encode(str_make(hash, SIGV4_HASH_LEN), out);
}

/* Sets `block` to the key, padded with zeros; a key that is longer than a block is hashed. */
static void pad_key(struct str key, unsigned char block[BLOCK_LEN])
{
    memset(block, 0, BLOCK_LEN);
    if (key.len <= BLOCK_LEN) {
        memcpy(block, key.data, key.len);
        return;
    }
    EVP_MD_CTX *context = begin_hash();
    add_to_hash(context, key);
    end_hash(context, block);
}

/* Writes the hash of the key XOR `mask`, followed by `text`. */
static void hash_with_key(const unsigned char key[BLOCK_LEN], unsigned char mask, struct str text,
                          unsigned char out[SIGV4_HASH_LEN])
{
    unsigned char block[BLOCK_LEN];
    for (size_t i = 0; i < BLOCK_LEN; i++) {
        block[i] = key[i] ^ mask;
    }
    EVP_MD_CTX *context = begin_hash();
    add_to_hash(context, str_make(block, BLOCK_LEN));
    add_to_hash(context, text);
    end_hash(context, out);
    OPENSSL_cleanse(block, sizeof(block));
}

static void hmac(struct str key, struct str text, unsigned char out[SIGV4_HASH_LEN])
{
    unsigned char block[BLOCK_LEN];
    unsigned char inner[SIGV4_HASH_LEN];
    pad_key(key, block);
    hash_with_key(block, 0x36, text, inner);
    hash_with_key(block, 0x5c, str_make(inner, SIGV4_HASH_LEN), out);
    OPENSSL_cleanse(block, sizeof(block));
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

static void add_line(struct buf *out, struct str text)
{
    buf_add(out, text);
    buf_add_char(out, '\n');
}

void sigv4_add_canonical_request(struct buf *out, const struct sigv4_request *request,
                                 const struct sigv4_header *headers, struct str body_hash)
{
    add_line(out, request->method);
    add_line(out, request->path);
    add_line(out, request->query);
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
    add_line(&text, STR("AWS4-HMAC-SHA256"));
    add_line(&text, time);
    add_line(&text, scope);
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

/* Returns a size that the canonical form of a request does not exceed. */
static size_t canonical_bytes_max(const struct sigv4_request *request)
{
    size_t size = request->method.len + request->path.len + request->query.len + SIGV4_HEX_LEN + 8;
    for (size_t i = 0; i < request->header_count; i++) {
        size += 2 * request->headers[i].name.len + request->headers[i].value.len + 4;
    }
    return size;
}

/* Writes the signature of a request, made with the secret key of `scope`, to `out`. The canonical
 * request contains the session token: its buffer is overwritten, and does not grow, which would
 * leave copies in freed memory. */
static void sign(const struct sigv4_request *request, const struct sigv4_header *headers,
                 const struct sigv4_scope *scope, char out[SIGV4_HEX_LEN])
{
    char body_hash[SIGV4_HEX_LEN];
    sigv4_hash(request->body, body_hash);
    struct buf canonical = {0};
    (void)buf_reserve(&canonical, canonical_bytes_max(request));
    sigv4_add_canonical_request(&canonical, request, headers, str_make(body_hash, SIGV4_HEX_LEN));
    unsigned char key[SIGV4_HASH_LEN];
    sigv4_derive_key(scope->secret_access_key, str_make(scope->time.data, SIGV4_DAY_LEN),
                     scope->region, scope->service, key);
    struct buf scope_text = {0};
    add_scope(&scope_text, scope);
    sigv4_make_signature(key, scope->time, buf_str(&scope_text), buf_str(&canonical), out);
    OPENSSL_cleanse(key, sizeof(key));
    buf_finish(&scope_text);
    buf_erase(&canonical);
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
