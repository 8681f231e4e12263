/* Unit tests of ARNs. */
#include "api/arn.h"

#include "base/testing.h"

#define HERE "arn:aws:dynamodb:us-east-1:000000000000:table/"

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum arn_kind kind;
        const char *table;
        const char *part;
    } cases[] = {
        {"", ARN_NONE, "", ""},
        {"table", ARN_NONE, "", ""},
        {"arn", ARN_NONE, "", ""},
        {"arn:", ARN_OTHER, "", ""},
        {"arn:aws:dynamodb:us-east-1:0", ARN_OTHER, "", ""},
        {"arn:aws:dynamodb:us-east-1:0:table", ARN_OTHER, "", ""},
        {HERE, ARN_OTHER, "", ""},
        {HERE "t", ARN_TABLE, "t", ""},
        {HERE "t/", ARN_OTHER, "t", ""},
        {HERE "t/index/i", ARN_INDEX, "t", "i"},
        {HERE "t/stream/2026-01-01T00:00:00.000", ARN_STREAM, "t", "2026-01-01T00:00:00.000"},
        {HERE "t/stream/", ARN_OTHER, "t", ""},
        {HERE "t/stream", ARN_OTHER, "t", ""},
        {HERE "t/backup/b", ARN_OTHER, "t", "b"},
        {"arn:aws:dynamodb::000000000000:table/t", ARN_OTHER, "t", ""},
        {"arn:aws:s3:us-east-1:000000000000:table/t", ARN_OTHER, "t", ""},
        {"arn:aws:dynamodb:us-east-1:000000000000:global-table/t", ARN_OTHER, "t", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arn arn = arn_parse(str_from_c(cases[i].text));
        if (arn.kind != cases[i].kind) {
            fail_msg("%s is of kind %d", cases[i].text, (int)arn.kind);
        }
        if (arn.kind >= ARN_TABLE) {
            CHECK_STR_EQ(cases[i].text, arn.table, str_from_c(cases[i].table));
            CHECK_STR_EQ(cases[i].text, arn.part, str_from_c(cases[i].part));
            CHECK_STR_EQ(cases[i].text, arn.region, STR("us-east-1"));
            CHECK_STR_EQ(cases[i].text, arn.account, STR("000000000000"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
