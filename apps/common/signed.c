/* Signed tokens, keys and their encodings; any thread. */
#include "apps/common/signed.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/random.h"

void signing_key_random(struct signing_key *key)
{
    random_system(key->bytes, sizeof(key->bytes));
}

/* Creates the file with a random key; it must not exist. */
static bool create_key(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST; /* another process was faster */
    }
    struct signing_key key;
    signing_key_random(&key);
    bool ok = write(fd, key.bytes, sizeof(key.bytes)) == (ssize_t)sizeof(key.bytes);
    return close(fd) == 0 && ok;
}

bool signing_key_load(struct signing_key *key, const char *path)
{
    char bytes[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && create_key(path)) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (len < SIGNED_KEY_LEN) {
        fprintf(stderr, "gramme-apps: %s: %s\n", path,
                len < 0 ? strerror(errno) : "a key needs at least 32 bytes");
    } else {
        signed_sha256(str_make(bytes, (size_t)len), key->bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    return len >= SIGNED_KEY_LEN;
}

void signed_hmac(const void *key, size_t key_len, struct str text,
                 unsigned char out[SIGNED_HASH_LEN])
{
    unsigned len = 0;
    const unsigned char *made = HMAC(EVP_sha256(), key, (int)key_len,
                                     (const unsigned char *)text.data, text.len, out, &len);
    assert(made != NULL && len == SIGNED_HASH_LEN);
}

void signed_sha256(struct str text, unsigned char out[SIGNED_HASH_LEN])
{
    unsigned len = 0;
    int ok = EVP_Digest(text.data, text.len, out, &len, EVP_sha256(), NULL);
    assert(ok == 1 && len == SIGNED_HASH_LEN);
}

const char *base64url_encode(struct arena *arena, struct str bytes)
{
    size_t len = BASE64_ENCODED_LEN(bytes.len);
    char *out = arena_bytes(arena, len + 1);
    base64_encode(bytes, out);
    while (len > 0 && out[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    }
    out[len] = '\0';
    return out;
}

struct str base64url_decode(struct arena *arena, struct str text)
{
    size_t len = (text.len + 3) / 4 * 4;
    char *padded = arena_bytes(arena, len + 1);
    for (size_t i = 0; i < len; i++) {
        char c = i < text.len ? text.data[i] : '=';
        if (c == '+' || c == '/' || (c == '=' && i < text.len)) {
            return STR_NULL;
        }
        padded[i] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    char *out = arena_bytes(arena, BASE64_DECODED_MAX(len) + 1);
    size_t out_len;
    if (!base64_decode(str_make(padded, len), out, &out_len)) {
        return STR_NULL;
    }
    return str_make(out, out_len);
}

static void sign(const struct signing_key *key, const char *purpose, struct str payload,
                 unsigned char out[SIGNED_HASH_LEN])
{
    struct buf text = {0};
    buf_add(&text, str_from_c(purpose));
    buf_add_char(&text, ':');
    buf_add(&text, payload);
    signed_hmac(key->bytes, sizeof(key->bytes), buf_str(&text), out);
    buf_finish(&text);
}

const char *signed_make(const struct signing_key *key, struct arena *arena, const char *purpose,
                        struct str payload)
{
    unsigned char mac[SIGNED_HASH_LEN];
    sign(key, purpose, payload, mac);
    return arena_format(arena, "%s.%s", base64url_encode(arena, payload),
                        base64url_encode(arena, str_make(mac, sizeof(mac))))
        .data;
}

struct str signed_read(const struct signing_key *key, struct arena *arena, const char *purpose,
                       struct str token)
{
    const char *dot = token.len == 0 ? NULL : memchr(token.data, '.', token.len);
    if (dot == NULL) {
        return STR_NULL;
    }
    size_t len = (size_t)(dot - token.data);
    struct str payload = base64url_decode(arena, str_make(token.data, len));
    struct str mac = base64url_decode(arena, str_skip(token, len + 1));
    unsigned char wanted[SIGNED_HASH_LEN];
    if (str_is_null(payload) || mac.len != sizeof(wanted)) {
        return STR_NULL;
    }
    sign(key, purpose, payload, wanted);
    return CRYPTO_memcmp(mac.data, wanted, sizeof(wanted)) == 0 ? payload : STR_NULL;
}
