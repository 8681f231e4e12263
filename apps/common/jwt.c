/* Checks tokens with cjose, which does everything that concerns JOSE. Called on any thread; keys do
 * not change. */
#include "apps/common/jwt.h"

#include <cjose/cjose.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"

enum { KEYS_MAX = 32, LEEWAY_S = 60 };

struct jwt_keys {
    cjose_jwk_t *keys[KEYS_MAX];
    char *algs[KEYS_MAX]; /* algorithm of the key; NULL: any of its kind */
    size_t count;
};

/* Returns whether the key is a public key for signatures. */
static bool is_usable(const struct gramme_value *key)
{
    const char *kind = gramme_get_string(key, "kty");
    const char *use = gramme_get_string(key, "use");
    return kind != NULL && (strcmp(kind, "RSA") == 0 || strcmp(kind, "EC") == 0) &&
           (use == NULL || strcmp(use, "sig") == 0);
}

static void add_key(struct jwt_keys *keys, const struct gramme_value *key)
{
    size_t len;
    char *json = gramme_value_to_json(key, GRAMME_PLAIN, &len);
    cjose_err err;
    cjose_jwk_t *jwk = cjose_jwk_import(json, len, &err);
    gramme_free(json);
    if (jwk != NULL) {
        const char *alg = gramme_get_string(key, "alg");
        keys->algs[keys->count] = alg == NULL ? NULL : mem_strdup(alg);
        keys->keys[keys->count++] = jwk;
    }
}

struct jwt_keys *jwt_keys_create(struct str jwks)
{
    struct gramme_value *root = gramme_value_from_json(jwks.data, jwks.len, GRAMME_PLAIN, NULL);
    const struct gramme_value *list = gramme_get(root, "keys");
    struct jwt_keys *keys = NULL;
    if (gramme_value_type(list) == GRAMME_LIST) {
        keys = mem_zalloc(sizeof(*keys));
        for (size_t i = 0; i < gramme_value_count(list) && keys->count < KEYS_MAX; i++) {
            if (is_usable(gramme_value_at(list, i))) {
                add_key(keys, gramme_value_at(list, i));
            }
        }
    }
    gramme_value_destroy(root);
    return keys;
}

void jwt_keys_destroy(struct jwt_keys *keys)
{
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        cjose_jwk_release(keys->keys[i]);
        mem_free(keys->algs[i]);
    }
    mem_free(keys);
}

/* Only algorithms with a public key are allowed: with "none", or with the public key as a shared
 * secret, anybody could sign. */
static bool alg_is_allowed(const char *alg)
{
    static const char *const allowed[] = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                          "PS512", "ES256", "ES384", "ES512"};
    for (size_t i = 0; alg != NULL && i < COUNT_OF(allowed); i++) {
        if (strcmp(alg, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool key_fits(const struct jwt_keys *keys, size_t index, const char *kid, const char *alg)
{
    cjose_err err;
    const char *key_id = cjose_jwk_get_kid(keys->keys[index], &err);
    bool is_ec = cjose_jwk_get_kty(keys->keys[index], &err) == CJOSE_JWK_KTY_EC;
    return is_ec == (alg[0] == 'E') &&
           (keys->algs[index] == NULL || strcmp(keys->algs[index], alg) == 0) &&
           (kid == NULL || (key_id != NULL && strcmp(kid, key_id) == 0));
}

/* Tries every key that fits, because a token may not name its key. */
static enum jwt_result verify(const struct jwt_keys *keys, cjose_jws_t *jws)
{
    cjose_err err;
    cjose_header_t *header = cjose_jws_get_protected(jws);
    const char *alg = cjose_header_get(header, CJOSE_HDR_ALG, &err);
    const char *kid = cjose_header_get(header, CJOSE_HDR_KID, &err);
    if (!alg_is_allowed(alg)) {
        return JWT_BAD;
    }
    enum jwt_result result = JWT_UNKNOWN_KEY;
    for (size_t i = 0; result != JWT_OK && i < keys->count; i++) {
        if (key_fits(keys, i, kid, alg)) {
            result = cjose_jws_verify(jws, keys->keys[i], &err) ? JWT_OK : JWT_BAD;
        }
    }
    return result;
}

/* Returns the payload as a map that the caller destroys; NULL: it is not a map. */
static struct gramme_value *claims_of(cjose_jws_t *jws)
{
    cjose_err err;
    uint8_t *text = NULL;
    size_t len = 0;
    if (!cjose_jws_get_plaintext(jws, &text, &len, &err)) {
        return NULL;
    }
    struct gramme_value *claims =
        gramme_value_from_json((const char *)text, len, GRAMME_PLAIN, NULL);
    if (gramme_value_type(claims) == GRAMME_MAP) {
        return claims;
    }
    gramme_value_destroy(claims);
    return NULL;
}

enum jwt_result jwt_verify(const struct jwt_keys *keys, struct str token,
                           struct gramme_value **out_claims)
{
    cjose_err err;
    cjose_jws_t *jws = cjose_jws_import(token.data, token.len, &err);
    if (jws == NULL) {
        return JWT_BAD;
    }
    enum jwt_result result = verify(keys, jws);
    if (result == JWT_OK) {
        *out_claims = claims_of(jws);
        result = *out_claims == NULL ? JWT_BAD : JWT_OK;
    }
    cjose_jws_release(jws);
    return result;
}

static bool audience_has(const struct gramme_value *value, const char *audience)
{
    const char *one = gramme_value_string(value);
    if (one != NULL) {
        return strcmp(one, audience) == 0;
    }
    for (size_t i = 0; i < gramme_value_count(value); i++) {
        const char *each = gramme_value_string(gramme_value_at(value, i));
        if (each != NULL && strcmp(each, audience) == 0) {
            return true;
        }
    }
    return false;
}

static bool text_is(const struct gramme_value *claims, const char *name, const char *wanted)
{
    const char *text = gramme_get_string(claims, name);
    return text != NULL && strcmp(text, wanted) == 0;
}

const char *jwt_check_claims(const struct gramme_value *claims, const struct jwt_expected *expected)
{
    const struct gramme_value *audience = gramme_get(claims, "aud");
    double now = (double)expected->now_s;
    if (!text_is(claims, "iss", expected->issuer)) {
        return "another issuer";
    }
    if (!audience_has(audience, expected->audience)) {
        return "made for another audience";
    }
    if (gramme_get_double(claims, "exp", 0) + LEEWAY_S < now) {
        return "expired";
    }
    if (gramme_get_double(claims, "nbf", 0) > now + LEEWAY_S) {
        return "not valid yet";
    }
    if (expected->nonce != NULL && !text_is(claims, "nonce", expected->nonce)) {
        return "another nonce";
    }
    return NULL;
}
