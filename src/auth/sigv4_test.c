/* Requests of AWS's published test suite for Signature Version 4 (aws-sig-v4-test-suite), and the
 * worked example of its documentation. */
#include "auth/sigv4.h"
#include "base/testing.h"

#define HOST                                                                                       \
    {                                                                                              \
        STR_INIT("Host"), STR_INIT("example.amazonaws.com")                                        \
    }
#define DATE                                                                                       \
    {                                                                                              \
        STR_INIT("X-Amz-Date"), STR_INIT("20150830T123600Z")                                       \
    }
/* STR() for initialisers of static data. */
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

struct vector {
    const char *name;
    const char *method;
    const char *query;
    struct sigv4_header headers[8];
    const char *body;
    const char *signed_headers;
    const char *signature;
};

static const struct vector vectors[] = {
    {"get-vanilla",
     "GET",
     "",
     {HOST, DATE},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"post-vanilla",
     "POST",
     "",
     {HOST, DATE},
     "",
     "host;x-amz-date",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-vanilla-query",
     "POST",
     "Param1=value1",
     {HOST, DATE},
     "",
     "host;x-amz-date",
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"get-vanilla-query-order-key-case",
     "GET",
     "Param1=value1&Param2=value2",
     {HOST, DATE},
     "",
     "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"post-header-key-sort",
     "POST",
     "",
     {HOST, {STR_INIT("My-Header1"), STR_INIT("value1")}, DATE},
     "",
     "host;my-header1;x-amz-date",
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
    {"post-header-value-case",
     "POST",
     "",
     {HOST, {STR_INIT("My-Header1"), STR_INIT("VALUE1")}, DATE},
     "",
     "host;my-header1;x-amz-date",
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"get-header-value-trim",
     "GET",
     "",
     {HOST,
      {STR_INIT("My-Header1"), STR_INIT(" value1")},
      {STR_INIT("My-Header2"), STR_INIT(" \"a   b   c\"")},
      DATE},
     "",
     "host;my-header1;my-header2;x-amz-date",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"post-x-www-form-urlencoded",
     "POST",
     "",
     {{STR_INIT("Content-Type"), STR_INIT("application/x-www-form-urlencoded")}, HOST, DATE},
     "Param1=value1",
     "content-type;host;x-amz-date",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {"post-sts-header-before",
     "POST",
     "",
     {HOST,
      DATE,
      {STR_INIT("X-Amz-Security-Token"),
       STR_INIT("AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAe"
                "MicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phU"
                "ZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38x"
                "Vqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2"
                "ICCR/oLxBA==")}},
     "",
     "host;x-amz-date;x-amz-security-token",
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
};

static size_t count_headers(const struct vector *vector)
{
    size_t count = 0;
    while (count < COUNT_OF(vector->headers) && vector->headers[count].name.data != NULL) {
        count++;
    }
    return count;
}

static void test_suite(void **state)
{
    (void)state;
    struct sigv4_scope scope = {
        .access_key_id = STR("AKIDEXAMPLE"),
        .secret_access_key = STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        .region = STR("us-east-1"),
        .service = STR("service"),
        .time = STR("20150830T123600Z"),
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct vector *vector = &vectors[i];
        struct sigv4_request request = {
            .method = str_from_c(vector->method),
            .path = STR("/"),
            .query = str_from_c(vector->query),
            .headers = vector->headers,
            .header_count = count_headers(vector),
            .body = str_from_c(vector->body),
        };
        struct buf got = {0};
        struct buf expected = {0};
        sigv4_sign(&request, &scope, &got);
        buf_format(&expected,
                   "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
                   "aws4_request, SignedHeaders=%s, Signature=%s",
                   vector->signed_headers, vector->signature);
        CHECK_STR_EQ(vector->name, buf_str(&got), buf_str(&expected));
        buf_finish(&got);
        buf_finish(&expected);
    }
}

/* "Create a signed AWS API request": ListUsers of IAM. */
static void test_documented_example(void **state)
{
    (void)state;
    struct sigv4_scope scope = {
        .access_key_id = STR("AKIDEXAMPLE"),
        .secret_access_key = STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        .region = STR("us-east-1"),
        .service = STR("iam"),
        .time = STR("20150830T123600Z"),
    };
    const struct sigv4_header headers[] = {
        {STR("Host"), STR("iam.amazonaws.com")},
        {STR("Content-Type"), STR("application/x-www-form-urlencoded; charset=utf-8")},
        {STR("X-Amz-Date"), STR("20150830T123600Z")},
    };
    struct sigv4_request request = {
        .method = STR("GET"),
        .path = STR("/"),
        .query = STR("Action=ListUsers&Version=2010-05-08"),
        .headers = headers,
        .header_count = COUNT_OF(headers),
    };
    struct buf got = {0};
    sigv4_sign(&request, &scope, &got);
    CHECK_STR_EQ("ListUsers", buf_str(&got),
                 STR("AWS4-HMAC-SHA256 "
                     "Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
                     "SignedHeaders=content-type;host;x-amz-date, "
                     "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"));
    buf_finish(&got);
}

/* The canonical request, which contains the session token, is overwritten. */
static void test_tokens_leave_no_copies(void **state)
{
    (void)state;
    static const char mirrored[] = "9876543210zyxwvutsrqponmlkjihgfedcba";
    char token[2000];
    memset(token, 'A', sizeof(token));
    reverse_text(mirrored, token + 100);
    token[100 + strlen(mirrored)] = 'A';
    const struct sigv4_header headers[] = {
        HOST, {STR("X-Amz-Security-Token"), str_make(token, sizeof(token))}};
    struct sigv4_request request = {.method = STR("GET"),
                                    .path = STR("/"),
                                    .query = STR(""),
                                    .headers = headers,
                                    .header_count = COUNT_OF(headers)};
    struct sigv4_scope scope = {.access_key_id = STR("AKIDEXAMPLE"),
                                .secret_access_key = STR("secret"),
                                .region = STR("us-east-1"),
                                .service = STR("dynamodb"),
                                .time = STR("20150830T123600Z")};
    struct buf authorization = {0};
    sigv4_sign(&request, &scope, &authorization);
    assert_false(heap_contains(mirrored));
    buf_finish(&authorization);
}

static void test_time(void **state)
{
    (void)state;
    char text[SIGV4_TIME_SIZE];
    sigv4_format_time(INT64_C(1440938160999), text);
    CHECK_STR_EQ("time", str_from_c(text), STR("20150830T123600Z"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite),
        cmocka_unit_test(test_documented_example),
        cmocka_unit_test(test_tokens_leave_no_copies),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
