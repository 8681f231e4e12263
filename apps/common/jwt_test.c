/* Tokens that are accepted and refused, with keys made here. */
#include "apps/common/jwt.h"

#include <cjose/cjose.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/testing.h"

static const char CLAIMS[] = "{\"iss\":\"https://login\",\"aud\":\"apps\",\"sub\":\"ana\"}";

static cjose_jwk_t *make_key(bool is_ec, const char *kid)
{
    cjose_err err;
    cjose_jwk_t *key = is_ec ? cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &err)
                             : cjose_jwk_create_RSA_random(2048, NULL, 0, &err);
    assert_non_null(key);
    assert_true(cjose_jwk_set_kid(key, kid, strlen(kid), &err));
    return key;
}

/* A token in compact form, freed with cjose's function; `kid` NULL: it does not name its key. */
static char *make_token(cjose_jwk_t *key, const char *alg, const char *kid, const char *claims)
{
    cjose_err err;
    cjose_header_t *header = cjose_header_new(&err);
    cjose_header_set(header, CJOSE_HDR_ALG, alg, &err);
    if (kid != NULL) {
        cjose_header_set(header, CJOSE_HDR_KID, kid, &err);
    }
    cjose_jws_t *jws = cjose_jws_sign(key, header, (const uint8_t *)claims, strlen(claims), &err);
    assert_non_null(jws);
    const char *text;
    assert_true(cjose_jws_export(jws, &text, &err));
    char *copy = strdup(text);
    cjose_jws_release(jws);
    cjose_header_release(header);
    return copy;
}

/* The public keys as a JWKS document; `more` is added to each. */
static struct jwt_keys *publish(cjose_jwk_t *first, cjose_jwk_t *second, const char *more)
{
    cjose_err err;
    char jwks[8192];
    size_t len = (size_t)snprintf(jwks, sizeof(jwks), "{\"keys\":[");
    cjose_jwk_t *keys[] = {first, second};
    for (size_t i = 0; i < COUNT_OF(keys) && keys[i] != NULL; i++) {
        char *json = cjose_jwk_to_json(keys[i], false, &err);
        json[strlen(json) - 1] = '\0'; /* its last brace */
        len += (size_t)snprintf(jwks + len, sizeof(jwks) - len, "%s%s%s}", i > 0 ? "," : "", json,
                                more);
        cjose_get_dealloc()(json);
    }
    snprintf(jwks + len, sizeof(jwks) - len, "]}");
    struct jwt_keys *made = jwt_keys_create(str_from_c(jwks));
    assert_non_null(made);
    return made;
}

static enum jwt_result verify(const struct jwt_keys *keys, const char *token)
{
    struct gramme_value *claims = NULL;
    enum jwt_result result = jwt_verify(keys, str_from_c(token), &claims);
    if (result == JWT_OK) {
        assert_string_equal(gramme_get_string(claims, "sub"), "ana");
        gramme_value_destroy(claims);
    }
    return result;
}

static void tokens_of_the_provider_are_good(void **state)
{
    (void)state;
    cjose_jwk_t *rsa = make_key(false, "one");
    cjose_jwk_t *ec = make_key(true, "two");
    struct jwt_keys *keys = publish(rsa, ec, "");
    static const struct {
        bool is_ec;
        const char *alg;
        const char *kid;
        enum jwt_result result;
    } rows[] = {
        {false, "RS256", "one", JWT_OK},          {false, "RS512", "one", JWT_OK},
        {false, "PS256", "one", JWT_OK},          {true, "ES256", "two", JWT_OK},
        {false, "RS256", NULL, JWT_OK},           {false, "RS256", "three", JWT_UNKNOWN_KEY},
        {false, "RS256", "two", JWT_UNKNOWN_KEY}, /* that key is of another kind */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *token = make_token(rows[i].is_ec ? ec : rsa, rows[i].alg, rows[i].kid, CLAIMS);
        assert_int_equal(verify(keys, token), rows[i].result);
        cjose_get_dealloc()(token);
    }
    jwt_keys_destroy(keys);
    cjose_jwk_release(rsa);
    cjose_jwk_release(ec);
}

static void tokens_of_others_are_not(void **state)
{
    (void)state;
    cjose_jwk_t *ours = make_key(false, "one");
    cjose_jwk_t *theirs = make_key(false, "one"); /* the same key id */
    struct jwt_keys *keys = publish(ours, NULL, "");
    char *token = make_token(theirs, "RS256", "one", CLAIMS);
    assert_int_equal(verify(keys, token), JWT_BAD);
    cjose_get_dealloc()(token);

    token = make_token(ours, "RS256", "one", "[1]"); /* not a map */
    struct gramme_value *claims = NULL;
    assert_int_equal(jwt_verify(keys, str_from_c(token), &claims), JWT_BAD);
    assert_null(claims);
    cjose_get_dealloc()(token);
    jwt_keys_destroy(keys);

    keys = publish(ours, NULL, ",\"use\":\"enc\""); /* not a key to sign with */
    token = make_token(ours, "RS256", "one", CLAIMS);
    assert_int_equal(verify(keys, token), JWT_UNKNOWN_KEY);
    jwt_keys_destroy(keys);
    keys = publish(ours, NULL, ",\"alg\":\"PS256\""); /* for another algorithm */
    assert_int_equal(verify(keys, token), JWT_UNKNOWN_KEY);
    jwt_keys_destroy(keys);
    cjose_get_dealloc()(token);
    cjose_jwk_release(ours);
    cjose_jwk_release(theirs);
}

/* "none", and the public key as a shared secret: anybody can make such tokens. */
static void algorithms_that_anybody_can_use_are_refused(void **state)
{
    (void)state;
    cjose_err err;
    cjose_jwk_t *rsa = make_key(false, "one");
    struct jwt_keys *keys = publish(rsa, NULL, "");
    /* {"alg":"none"} and {"iss":"x"} */
    assert_int_equal(verify(keys, "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."), JWT_BAD);
    cjose_jwk_t *secret = cjose_jwk_create_oct_spec((const uint8_t *)"public", 6, &err);
    assert_non_null(secret);
    char *token = make_token(secret, "HS256", "one", CLAIMS);
    assert_int_equal(verify(keys, token), JWT_BAD);
    cjose_get_dealloc()(token);
    cjose_jwk_release(secret);
    static const char *const malformed[] = {"", ".", "..", "a.b.c", "a.b", "a.b.c.d.e", "{}"};
    for (size_t i = 0; i < COUNT_OF(malformed); i++) {
        assert_int_equal(verify(keys, malformed[i]), JWT_BAD);
    }
    jwt_keys_destroy(keys);
    cjose_jwk_release(rsa);
}

static void documents_that_hold_no_keys(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "[]", "{}", "{\"keys\":{}}", "{\"keys\":\"x\"}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_null(jwt_keys_create(str_from_c(bad[i])));
    }
    struct jwt_keys *keys = jwt_keys_create(
        STR("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"},{\"kty\":\"RSA\"},7,{}]}"));
    assert_non_null(keys); /* none of them is usable */
    assert_int_equal(verify(keys, "eyJhbGciOiJSUzI1NiJ9.e30.AAAA"), JWT_UNKNOWN_KEY);
    jwt_keys_destroy(keys);
    jwt_keys_destroy(NULL);
}

static void claims_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *claims;
        const char *complaint; /* NULL: they are as expected */
    } rows[] = {
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1000,\"nonce\":\"n\"}", NULL},
        {"{\"iss\":\"i\",\"aud\":[\"b\",\"a\"],\"exp\":1000,\"nonce\":\"n\"}", NULL},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":940.5,\"nonce\":\"n\"}", NULL}, /* clocks differ */
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1000,\"nbf\":1059,\"nonce\":\"n\"}", NULL},
        {"{\"iss\":\"j\",\"aud\":\"a\",\"exp\":1000,\"nonce\":\"n\"}", "another issuer"},
        {"{\"aud\":\"a\",\"exp\":1000,\"nonce\":\"n\"}", "another issuer"},
        {"{\"iss\":\"i\",\"aud\":\"b\",\"exp\":1000,\"nonce\":\"n\"}", "made for another audience"},
        {"{\"iss\":\"i\",\"aud\":[],\"exp\":1000,\"nonce\":\"n\"}", "made for another audience"},
        {"{\"iss\":\"i\",\"exp\":1000,\"nonce\":\"n\"}", "made for another audience"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":900,\"nonce\":\"n\"}", "expired"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"nonce\":\"n\"}", "expired"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":\"1000\",\"nonce\":\"n\"}", "expired"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":2000,\"nbf\":1061,\"nonce\":\"n\"}",
         "not valid yet"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1000,\"nonce\":\"m\"}", "another nonce"},
        {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1000}", "another nonce"},
    };
    struct jwt_expected expected = {.issuer = "i", .audience = "a", .nonce = "n", .now_s = 1000};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_value *claims =
            gramme_value_from_json(rows[i].claims, strlen(rows[i].claims), GRAMME_PLAIN, NULL);
        const char *complaint = jwt_check_claims(claims, &expected);
        CHECK_STR_EQ(rows[i].claims, str_from_c(complaint == NULL ? "" : complaint),
                     str_from_c(rows[i].complaint == NULL ? "" : rows[i].complaint));
        gramme_value_destroy(claims);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_the_provider_are_good),
        cmocka_unit_test(tokens_of_others_are_not),
        cmocka_unit_test(algorithms_that_anybody_can_use_are_refused),
        cmocka_unit_test(documents_that_hold_no_keys),
        cmocka_unit_test(claims_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
