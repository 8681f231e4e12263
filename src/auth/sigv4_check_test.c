/* Checks of signatures: a request signed as botocore signs it passes in header and query form, each
 * changed bit of what is signed fails, and every error comes with the service's text in the
 * service's order. */
#include "auth/sigv4_check.h"
#include "base/testing.h"

#define SECRET    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define BODY      "{\"TableName\":\"Music\"}"
#define NOW_MS    INT64_C(1768471872000) /* 20260115T101112Z */
#define SCOPE     "20260115/us-east-1/dynamodb/aws4_request"
#define SIGNATURE "2ae661b5f081fd28a5a9210a53dd05202fe1119ab22b47c089857b3f2759a0b7"
#define AUTHORIZATION                                                                              \
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" SCOPE                                               \
    ", SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" SIGNATURE
#define QUERY "/?" QUERY_ALONE
#define QUERY_ALONE                                                                                \
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260115%2Fus-east-1%2F"      \
    "dynamodb%2Faws4_request&X-Amz-Date=20260115T101112Z&X-Amz-Expires=300&X-Amz-SignedHeaders="   \
    "host%3Bx-amz-target&X-Amz-Signature="                                                         \
    "bdc0608852900ccaaa8830e19875cba01b11383ea6bebe3b287dd9aaa57003ce"

enum { HEADER_COUNT = 5 };

static const char *const names[HEADER_COUNT] = {"Host", "X-Amz-Target", "Content-Type",
                                                "X-Amz-Date", "Authorization"};
static const char *const values[HEADER_COUNT] = {
    "localhost:8000", "DynamoDB_20120810.DescribeTable", "application/x-amz-json-1.0",
    "20260115T101112Z", AUTHORIZATION};

static struct sigv4_expected expected(void)
{
    return (struct sigv4_expected){.region = STR("us-east-1"),
                                   .service = STR("dynamodb"),
                                   .now_ms = NOW_MS,
                                   .skew_ms = 15 * 60 * 1000};
}

/* The outcome as one text: "ok", "differs", or the name of the error and its message. */
static struct str verify(struct arena *arena, const struct sigv4_head *head,
                         const struct sigv4_expected *wanted, struct str body)
{
    struct err err = ERR_INIT(arena);
    struct sigv4_claim claim;
    if (!sigv4_claim_read(arena, head, wanted, &claim, &err)) {
        return arena_format(arena, "%s %.*s", err_wire_name(err.code), STR_ARG(err.message));
    }
    unsigned char key[SIGV4_HASH_LEN];
    char hash[SIGV4_HEX_LEN];
    sigv4_derive_key(STR(SECRET), claim.day, claim.region, STR("dynamodb"), key);
    sigv4_hash(body, hash);
    return sigv4_claim_verify(arena, head, &claim, key, str_make(hash, sizeof(hash)))
               ? STR("ok")
               : STR("differs");
}

static struct sigv4_head make_head(struct sigv4_header headers[HEADER_COUNT])
{
    for (int i = 0; i < HEADER_COUNT; i++) {
        headers[i] = (struct sigv4_header){str_from_c(names[i]), str_from_c(values[i])};
    }
    return (struct sigv4_head){.method = STR("POST"),
                               .target = STR("/"),
                               .headers = headers,
                               .header_count = HEADER_COUNT};
}

static void test_header_form(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct sigv4_header headers[HEADER_COUNT];
    struct sigv4_head head = make_head(headers);
    struct sigv4_expected wanted = expected();
    CHECK_STR_EQ("header", verify(&arena, &head, &wanted, STR(BODY)), STR("ok"));
    CHECK_STR_EQ("another body", verify(&arena, &head, &wanted, STR("{}")), STR("differs"));
    wanted.region = STR_NULL;
    CHECK_STR_EQ("any region", verify(&arena, &head, &wanted, STR(BODY)), STR("ok"));
    arena_finish(&arena);
}

static void test_query_form(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct sigv4_header headers[HEADER_COUNT];
    struct sigv4_head head = make_head(headers);
    struct sigv4_expected wanted = expected();
    head.target = STR(QUERY);
    head.header_count = 2; /* host and target */
    CHECK_STR_EQ("query", verify(&arena, &head, &wanted, STR(BODY)), STR("ok"));
    head.header_count = HEADER_COUNT;
    CHECK_STR_EQ(
        "both", verify(&arena, &head, &wanted, STR(BODY)),
        STR("InvalidSignatureException Found both 'X-Amz-Algorithm' as a query-string param "
            "and 'Authorization' as HTTP header."));
    head.header_count = 2;
    head.target = STR("/?X-Amz-Algorithm=AWS4-HMAC-SHA256");
    CHECK_STR_EQ(
        "nothing else", verify(&arena, &head, &wanted, STR(BODY)),
        STR("IncompleteSignatureException AWS query-string parameters must include "
            "'X-Amz-Credential'. AWS query-string parameters must include "
            "'X-Amz-Signature'. AWS query-string parameters must include "
            "'X-Amz-SignedHeaders'. AWS query-string parameters must include 'X-Amz-Date'. "
            "Re-examine the query-string parameters."));
    arena_finish(&arena);
}

/* Every single changed bit of signed values, body, and signature is refused. */
static void test_changed_bits(void **state)
{
    (void)state;
    struct sigv4_expected wanted = expected();
    for (int i = -2; i < HEADER_COUNT; i++) {
        const char *text = i == -2 ? BODY : i == -1 ? "/" : values[i];
        for (size_t bit = 0; bit < strlen(text) * 8; bit++) {
            struct arena arena;
            arena_init(&arena);
            struct sigv4_header headers[HEADER_COUNT];
            struct sigv4_head head = make_head(headers);
            char changed[512];
            memcpy(changed, text, strlen(text));
            changed[bit / 8] = (char)(changed[bit / 8] ^ (1 << bit % 8));
            struct str value = str_make(changed, strlen(text));
            if (i >= 0) {
                headers[i].value = value;
            } else if (i == -1) {
                head.target = value;
            }
            struct str got = verify(&arena, &head, &wanted, i == -2 ? value : STR(BODY));
            /* The key id is not signed: another one is another key, which is looked up first. */
            bool is_key_id = i == HEADER_COUNT - 1 && bit / 8 >= 28 && bit / 8 < 39;
            /* An empty path counts as "/". */
            bool is_same_path = i == -1 && changed[0] == '?';
            if (str_eq(got, STR("ok")) && !is_key_id && !is_same_path) {
                fail_msg("\"%.*s\" passes", STR_ARG(value));
            }
            arena_finish(&arena);
        }
    }
}

#define INCOMPLETE "IncompleteSignatureException "
#define INVALID    "InvalidSignatureException "
#define CREDENTIAL "Credential=AKIDEXAMPLE/" SCOPE
#define REST       "SignedHeaders=host;x-amz-date, Signature=" SIGNATURE

static const struct error_row {
    const char *authorization;
    const char *date;
    const char *expected;
} errors[] = {
    {NULL, NULL, "MissingAuthenticationTokenException Request is missing Authentication Token"},
    {"Basic abc", NULL,
     "MissingAuthenticationTokenException Request is missing Authentication Token"},
    {"AWS4-HMAC-SHA256 abc", NULL,
     INCOMPLETE "'abc' not a valid key=value pair (missing equal-sign) in Authorization header: "
                "'AWS4-HMAC-SHA256 abc'."},
    {"AWS4-HMAC-SHA256 x=y", NULL,
     INCOMPLETE
     "Authorization header requires 'Credential' parameter. Authorization header requires "
     "'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. "
     "Authorization=AWS4-HMAC-SHA256 x=y"},
    {"AWS4-HMAC-SHA256 " CREDENTIAL "," REST, "",
     INCOMPLETE
     "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
     "Authorization=AWS4-HMAC-SHA256 " CREDENTIAL "," REST},
    {"AWS4-HMAC-SHA256 " CREDENTIAL "," REST, "201",
     INCOMPLETE "Date must be in ISO-8601 'basic format'. Got '201'. See "
                "http://en.wikipedia.org/wiki/ISO_8601"},
    {"AWS4-HMAC-SHA256 Credential=a/b/c/d/e," REST, "20260115T095611Z",
     INVALID "Signature expired: 20260115T095611Z is now earlier than 20260115T095612Z "
             "(20260115T101112Z - 15 min.)"},
    {"AWS4-HMAC-SHA256 Credential=a/b/c/d/e," REST, "20260115T102613Z",
     INVALID "Signature not yet current: 20260115T102613Z is still later than 20260115T102612Z "
             "(20260115T101112Z + 15 min.)"},
    {"AWS4-HMAC-SHA25 Credential=a,SignedHeaders=x-amz-date, Signature=s", NULL,
     INVALID "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."},
    {"AWS4-HMAC-SHA25 Credential=a/b/c/d," REST, NULL,
     INCOMPLETE "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). "},
    {"AWS4-HMAC-SHA256 Credential=a/b/c/d," REST, NULL,
     INCOMPLETE "Credential must have exactly 5 slash-delimited elements, e.g. "
                "keyid/date/region/service/term, got 'a/b/c/d'"},
    {"AWS4-HMAC-SHA256 Credential=a/b/c/d/e," REST, NULL,
     INVALID
     "Credential should be scoped to a valid region. Credential should be scoped to correct "
     "service: 'dynamodb'. Credential should be scoped with a valid terminator: "
     "'aws4_request', not 'e'. Date in Credential scope does not match YYYYMMDD from ISO-8601 "
     "version of date from HTTP: 'b' != '20260115', from '20260115T101112Z'."},
    {"AWS4-HMAC-SHA256 " CREDENTIAL " " REST, NULL, "differs"},
    {"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=host;host, Signature=" SIGNATURE, NULL,
     "differs"},
    {"AWS4-HMAC-SHA256 " CREDENTIAL "," REST, "Thu, 15 Jan 2026 10:11:12 GMT", "differs"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sigv4_header headers[HEADER_COUNT];
        struct sigv4_head head = make_head(headers);
        struct sigv4_expected wanted = expected();
        if (errors[i].date != NULL) {
            headers[3].value = str_from_c(errors[i].date);
        }
        headers[4].value = str_from_c(errors[i].authorization);
        head.header_count = errors[i].authorization == NULL ? 4 : 5;
        struct str what = arena_format(&arena, "row %zu", i);
        CHECK_STR_EQ(what.data, verify(&arena, &head, &wanted, STR(BODY)),
                     str_from_c(errors[i].expected));
        arena_finish(&arena);
    }
}

#define LIST  "content-type;host;x-amz-date;x-amz-target"
#define WRONG "0000000000000000000000000000000000000000000000000000000000000000"
#define DATED "1f042ba1c7e20711c120e976b58bd1d010080072c1da9e119add8e5480320c98"
#define BASIC "165fd5016ecef9049fb55ff095a03d01a756ebaf0b7e33896d220bcfc26cdfad"

/* Forms of one request. The signatures with `date` were computed by the rules only. */
static const struct form_row {
    const char *date_name;
    const char *date;
    const char *authorization; /* NULL: in the query */
    const char *target;
    const char *expected;
} forms[] = {
    /* separated by spaces, by commas, or by both; in any order */
    {"X-Amz-Date", "20260115T101112Z", CREDENTIAL " SignedHeaders=" LIST " Signature=" SIGNATURE,
     "/", "ok"},
    {"X-Amz-Date", "20260115T101112Z", CREDENTIAL ",SignedHeaders=" LIST ",Signature=" SIGNATURE,
     "/", "ok"},
    {"X-Amz-Date", "20260115T101112Z",
     " Signature=" SIGNATURE " , SignedHeaders=" LIST ",, " CREDENTIAL ", ", "/", "ok"},
    /* of repeated parameters the last counts, in a query the first */
    {"X-Amz-Date", "20260115T101112Z",
     "Credential=a/b/c/d/e, SignedHeaders=host, Signature=" WRONG ", " CREDENTIAL
     ", SignedHeaders=" LIST ", Signature=" SIGNATURE,
     "/", "ok"},
    {"X-Amz-Date", "20260115T101112Z",
     CREDENTIAL ", SignedHeaders=" LIST ", Signature=" SIGNATURE ", Signature=" WRONG, "/",
     "differs"},
    {NULL, NULL, NULL, QUERY "&X-Amz-Signature=" WRONG, "ok"},
    {NULL, NULL, NULL, "/?X-Amz-Signature=" WRONG "&" QUERY_ALONE, "differs"},
    /* Date instead of X-Amz-Date, in both forms */
    {"Date", "Thu, 15 Jan 2026 10:11:12 GMT",
     CREDENTIAL ", SignedHeaders=content-type;date;host;x-amz-target, Signature=" DATED, "/", "ok"},
    {"Date", "20260115T101112Z",
     CREDENTIAL ", SignedHeaders=content-type;date;host;x-amz-target, Signature=" BASIC, "/", "ok"},
    {"Date", "Thu, 15 Jan 2026 10:11:13 GMT",
     CREDENTIAL ", SignedHeaders=content-type;date;host;x-amz-target, Signature=" DATED, "/",
     "differs"},
};

static void test_accepted_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sigv4_header headers[HEADER_COUNT];
        struct sigv4_head head = make_head(headers);
        struct sigv4_expected wanted = expected();
        head.target = str_from_c(forms[i].target);
        head.header_count = forms[i].authorization == NULL ? 2 : HEADER_COUNT;
        headers[3].name = str_from_c(forms[i].date_name);
        headers[3].value = str_from_c(forms[i].date);
        if (forms[i].authorization != NULL) {
            headers[4].value = arena_format(&arena, "AWS4-HMAC-SHA256 %s", forms[i].authorization);
        }
        struct str what = arena_format(&arena, "form %zu", i);
        CHECK_STR_EQ(what.data, verify(&arena, &head, &wanted, STR(BODY)),
                     str_from_c(forms[i].expected));
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_form),    cmocka_unit_test(test_query_form),
        cmocka_unit_test(test_changed_bits),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_accepted_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
