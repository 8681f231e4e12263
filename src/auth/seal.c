/* AES-256-GCM with OpenSSL. Called when the directory is loaded, access keys are created, and
 * session tokens are issued and checked; on any thread; keeps no state. */
#include "auth/seal.h"

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/random.h"

enum { VERSION = 1, NONCE_LEN = 12, TAG_LEN = 16, OVERHEAD = 1 + NONCE_LEN + TAG_LEN };

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool parse_hex(struct str text, struct seal_key *out)
{
    if (text.len != (size_t)2 * SEAL_KEY_LEN) {
        return false;
    }
    for (size_t i = 0; i < SEAL_KEY_LEN; i++) {
        int high = hex_digit(text.data[2 * i]);
        int low = hex_digit(text.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out->bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static bool parse_base64(struct str text, struct seal_key *out)
{
    char bytes[BASE64_DECODED_MAX(BASE64_ENCODED_LEN(SEAL_KEY_LEN))];
    size_t len = 0;
    bool fits = text.len == BASE64_ENCODED_LEN(SEAL_KEY_LEN) && base64_decode(text, bytes, &len) &&
                len == SEAL_KEY_LEN;
    if (fits) {
        memcpy(out->bytes, bytes, SEAL_KEY_LEN);
    }
    secret_erase(bytes, sizeof(bytes));
    return fits;
}

bool seal_key_parse(struct str text, struct seal_key *out, struct err *err)
{
    while (text.len > 0 && strchr(" \t\r\n", text.data[0]) != NULL) {
        text = str_skip(text, 1);
    }
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL) {
        text.len--;
    }
    return parse_hex(text, out) || parse_base64(text, out) ||
           err_set(
               err, ERR_VALIDATION,
               "a master key is 32 random bytes, written as 64 hexadecimal digits or as base64");
}

/* Adds purpose and name, each with its length, as additional authenticated data. */
static void add_authenticated_data(EVP_CIPHER_CTX *cipher, bool is_encryption, const char *purpose,
                                   struct str name)
{
    struct str parts[] = {str_from_c(purpose), name};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        uint32_t len = (uint32_t)parts[i].len;
        unsigned char prefix[sizeof(len)];
        put_u32_be(prefix, len);
        int ignored;
        int (*update)(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int) =
            is_encryption ? EVP_EncryptUpdate : EVP_DecryptUpdate;
        int result = update(cipher, NULL, &ignored, prefix, sizeof(prefix)) &&
                     (len == 0 || update(cipher, NULL, &ignored,
                                         (const unsigned char *)parts[i].data, (int)len));
        assert(result == 1);
    }
}

struct str seal_text(const struct seal_key *key, const char *purpose, struct str name,
                     struct str text, struct arena *arena)
{
    unsigned char *sealed = arena_alloc(arena, OVERHEAD + text.len);
    sealed[0] = VERSION;
    random_system(sealed + 1, NONCE_LEN);
    unsigned char *body = sealed + 1 + NONCE_LEN;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int len = 0;
    int rest = 0;
    int good = cipher != NULL &&
               EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key->bytes, sealed + 1);
    assert(good == 1);
    add_authenticated_data(cipher, true, purpose, name);
    good = EVP_EncryptUpdate(cipher, body, &len, (const unsigned char *)text.data, (int)text.len) &&
           EVP_EncryptFinal_ex(cipher, body + len, &rest) &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_LEN, body + text.len);
    assert(good == 1);
    EVP_CIPHER_CTX_free(cipher);
    size_t encoded_len = BASE64_ENCODED_LEN(OVERHEAD + text.len);
    char *encoded = arena_bytes(arena, encoded_len);
    base64_encode(str_make(sealed, OVERHEAD + text.len), encoded);
    return str_make(encoded, encoded_len);
}

static bool decrypt(const struct seal_key *key, const char *purpose, struct str name,
                    unsigned char *sealed, size_t text_len, unsigned char *out)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    unsigned char *body = sealed + 1 + NONCE_LEN;
    int len = 0;
    int rest = 0;
    int good = cipher != NULL &&
               EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key->bytes, sealed + 1);
    assert(good == 1);
    add_authenticated_data(cipher, false, purpose, name);
    good = EVP_DecryptUpdate(cipher, out, &len, body, (int)text_len) &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_LEN, body + text_len) &&
           EVP_DecryptFinal_ex(cipher, out + len, &rest) > 0;
    EVP_CIPHER_CTX_free(cipher);
    return good;
}

struct str seal_open(const struct seal_key *key, const char *purpose, struct str name,
                     struct str sealed, struct secret_arena *secrets)
{
    enum { SEALED_MAX = 1 << 20 };
    if (sealed.len > SEALED_MAX) {
        return STR_NULL;
    }
    size_t len = 0;
    unsigned char *bytes = secret_alloc(secrets, BASE64_DECODED_MAX(sealed.len) + 1);
    if (!base64_decode(sealed, (char *)bytes, &len) || len < OVERHEAD || bytes[0] != VERSION) {
        return STR_NULL;
    }
    size_t text_len = len - OVERHEAD;
    unsigned char *text = secret_alloc(secrets, text_len + 1);
    return decrypt(key, purpose, name, bytes, text_len, text) ? str_make(text, text_len) : STR_NULL;
}
