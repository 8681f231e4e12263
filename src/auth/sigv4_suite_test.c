/* AWS's published test suite for Signature Version 4 (aws-sig-v4-test-suite), as the server
 * receives its requests: every one is accepted, and refused when a digit of its signature is
 * another. Left out are the cases that normalize paths, because requests to DynamoDB have none, and
 * header lines that are folded, which the HTTP server refuses. */
#include "auth/sigv4_check.h"
#include "base/testing.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define SCOPE  "20150830/us-east-1/service/aws4_request"
#define NOW_MS INT64_C(1440938160000) /* 20150830T123600Z */

enum { HEADERS_MAX = 8 };

/* Headers are lines "Name:value". */
static const struct {
    const char *name;
    const char *method;
    const char *target;
    const char *headers;
    const char *body;
    const char *signed_headers;
    const char *signature;
} vectors[] = {
    {"get-header-key-duplicate", "GET", "/",
     "host:example.amazonaws.com\n"
     "My-Header1:value2\n"
     "My-Header1:value2\n"
     "My-Header1:value1\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;x-amz-date",
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {"get-header-value-multiline", "GET", "/",
     "host:example.amazonaws.com\n"
     "my-header1:value1,value2,value3\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;x-amz-date",
     "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790"},
    {"get-header-value-order", "GET", "/",
     "host:example.amazonaws.com\n"
     "My-Header1:value4\n"
     "My-Header1:value1\n"
     "My-Header1:value3\n"
     "My-Header1:value2\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;x-amz-date",
     "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
    {"get-header-value-trim", "GET", "/",
     "host:example.amazonaws.com\n"
     "My-Header1: value1\n"
     "My-Header2: \"a   b   c\"\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;my-header2;x-amz-date",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"get-unreserved", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8", "GET", "/\xE1\x88\xB4",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-vanilla", "GET", "/",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-empty-query-key", "GET", "/?Param1=value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query", "GET", "/",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key", "GET", "/?Param1=value2&Param1=Value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
    {"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-order-value", "GET", "/?Param1=value2&Param1=value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
    {"get-vanilla-query-unreserved", "GET",
     "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~"
     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query", "GET", "/?%E1%88%B4=bar",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"post-header-key-case", "POST", "/",
     "hOST:example.amazonaws.com\n"
     "X-AMZ-DATE:20150830T123600Z\n",
     "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-header-key-sort", "POST", "/",
     "host:example.amazonaws.com\n"
     "my-header1:value1\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;x-amz-date",
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
    {"post-header-value-case", "POST", "/",
     "host:example.amazonaws.com\n"
     "my-header1:VALUE1\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;my-header1;x-amz-date",
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"post-sts-header-after", "POST", "/",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-sts-header-before", "POST", "/",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n"
     "x-amz-security-token:AQoDYXdzEPT//////////"
     "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA"
     "x7mSEI/qkPpKPi/"
     "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHN"
     "VXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
     "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==\n",
     "", "host;x-amz-date;x-amz-security-token",
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
    {"post-vanilla", "POST", "/",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-vanilla-empty-query-value", "POST", "/?Param1=value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-vanilla-query", "POST", "/?Param1=value1",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-vanilla-query-nonunreserved", "POST",
     "/?%40%23%24%25%5E=&%2B=%2F%2C%3F%3E%3C%60%22%3B%3A%5C%7C%5D%5B%7B%7D",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "66c82657c86e26fb25238d0e69f011edc4c6df5ae71119d7cb98ed9b87393c1e"},
    {"post-vanilla-query-space", "POST", "/?p=",
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "", "host;x-amz-date", "e71688addb58a26418614085fb730ba3faa623b461c17f48f2fbdb9361b94a9b"},
    {"post-x-www-form-urlencoded", "POST", "/",
     "content-type:application/x-www-form-urlencoded\n"
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "Param1=value1", "content-type;host;x-amz-date",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {"post-x-www-form-urlencoded-parameters", "POST", "/",
     "content-type:application/x-www-form-urlencoded; charset=utf8\n"
     "host:example.amazonaws.com\n"
     "x-amz-date:20150830T123600Z\n",
     "Param1=value1", "content-type;host;x-amz-date",
     "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
};

/* Splits the lines; returns how many. */
static size_t read_headers(struct str text, struct sigv4_header out[HEADERS_MAX])
{
    size_t count = 0;
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        const char *colon = memchr(text.data, ':', text.len);
        assert_true(end != NULL && colon != NULL && colon < end && count < HEADERS_MAX);
        out[count++] = (struct sigv4_header){
            str_make(text.data, (size_t)(colon - text.data)),
            str_make(colon + 1, (size_t)(end - colon) - 1),
        };
        text = str_skip(text, (size_t)(end - text.data) + 1);
    }
    return count;
}

/* "ok", "differs", or the error's message. */
static struct str verify(struct arena *arena, const struct sigv4_head *head, struct str body)
{
    struct sigv4_expected wanted = {.region = STR("us-east-1"),
                                    .service = STR("service"),
                                    .now_ms = NOW_MS,
                                    .skew_ms = 15 * 60 * 1000};
    struct err err = ERR_INIT(arena);
    struct sigv4_claim claim;
    unsigned char key[SIGV4_HASH_LEN];
    char hash[SIGV4_HEX_LEN];
    if (!sigv4_claim_read(arena, head, &wanted, &claim, &err)) {
        return err.message;
    }
    sigv4_derive_key(STR(SECRET), claim.day, claim.region, STR("service"), key);
    sigv4_hash(body, hash);
    bool good = sigv4_claim_verify(arena, head, &claim, key, str_make(hash, sizeof(hash)));
    return good ? STR("ok") : STR("differs");
}

static void test_suite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sigv4_header headers[HEADERS_MAX + 1];
        size_t count = read_headers(str_from_c(vectors[i].headers), headers);
        struct str authorization = arena_format(&arena,
                                                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" SCOPE
                                                ", SignedHeaders=%s, Signature=%s",
                                                vectors[i].signed_headers, vectors[i].signature);
        headers[count++] = (struct sigv4_header){STR("Authorization"), authorization};
        struct sigv4_head head = {.method = str_from_c(vectors[i].method),
                                  .target = str_from_c(vectors[i].target),
                                  .headers = headers,
                                  .header_count = count};
        struct str body = str_from_c(vectors[i].body);
        CHECK_STR_EQ(vectors[i].name, verify(&arena, &head, body), STR("ok"));
        char *digit = (char *)authorization.data + authorization.len - 1;
        *digit = *digit == '0' ? '1' : '0';
        CHECK_STR_EQ(vectors[i].name, verify(&arena, &head, body), STR("differs"));
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_suite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
