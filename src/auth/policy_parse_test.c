/* Documents that are no valid policies, and the message that says why. */
#include "auth/policy.h"
#include "auth/policy_testing.h"
#include "base/testing.h"

#define ONE(inside_) "{\"Statement\":{" inside_ "}}"

static const struct refused_row {
    const char *document;
    enum policy_kind kind;
    const char *message;
} refused[] = {
    {"", POLICY_IDENTITY, "the policy: unexpected token"},
    {"[]", POLICY_IDENTITY, NULL},
    {"{}", POLICY_IDENTITY, "the policy: Statement is missing"},
    {"{\"Statement\":[],\"x\":1}", POLICY_IDENTITY,
     "the policy: unknown or repeated element \"x\""},
    {"{\"Statement\":[],\"Statement\":[]}", POLICY_IDENTITY,
     "the policy: unknown or repeated element \"Statement\""},
    {"{\"Version\":\"2020-01-01\",\"Statement\":[]}", POLICY_IDENTITY,
     "the policy: unknown Version \"2020-01-01\""},
    {"{\"Statement\":[]} x", POLICY_IDENTITY, NULL},
    {ONE("\"Action\":\"*\",\"Resource\":\"*\""), POLICY_IDENTITY,
     "Statement[0]: Effect is missing"},
    {ONE("\"Effect\":\"allow\""), POLICY_IDENTITY,
     "Statement[0].Effect: neither Allow nor Deny: \"allow\""},
    {ONE("\"Effect\":\"Allow\",\"Resource\":\"*\""), POLICY_IDENTITY,
     "Statement[0]: one of Action and NotAction is required"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\""), POLICY_IDENTITY,
     "Statement[0]: one of Resource and NotResource is required"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"GetItem\",\"Resource\":\"*\""), POLICY_IDENTITY,
     "Statement[0].Action: not an action: \"GetItem\""},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"dyn*:GetItem\",\"Resource\":\"*\""), POLICY_IDENTITY,
     "Statement[0].Action: not an action: \"dyn*:GetItem\""},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"Music\""), POLICY_IDENTITY,
     "Statement[0].Resource: \"Music\" is not an ARN and not *"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"arn:aws:dynamodb\""),
     POLICY_IDENTITY, "Statement[0].Resource: \"arn:aws:dynamodb\" is not an ARN and not *"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Principal\":\"*\""),
     POLICY_IDENTITY, "Statement[0]: Principal is not allowed in an identity-based policy"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\""), POLICY_RESOURCE,
     "Statement[0]: one of Principal and NotPrincipal is required"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Principal\":{\"AWS\":\"arn:"
         "aws:iam::*:root\"}"),
     POLICY_RESOURCE, "Statement[0].Principal: not a principal: \"arn:aws:iam::*:root\""},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Principal\":\"*\""),
     POLICY_TRUST, "Statement[0]: Resource is not allowed in a trust policy"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{\"Equals\":{}}"),
     POLICY_IDENTITY, "Statement[0].Condition: unknown condition operator \"Equals\""},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{\"NullIfExists\":"
         "{}}"),
     POLICY_IDENTITY, "Statement[0].Condition: unknown condition operator \"NullIfExists\""},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{\"Bool\":{\"aws:"
         "SecureTransport\":\"yes\"}}"),
     POLICY_IDENTITY, "Statement[0].Condition: \"yes\" is not a value for this operator"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{\"IpAddress\":{"
         "\"aws:SourceIp\":\"10.0.0.0/33\"}}"),
     POLICY_IDENTITY, "Statement[0].Condition: \"10.0.0.0/33\" is not a value for this operator"},
    {ONE("\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{\"StringEquals\":"
         "{\"aws:userid\":\"a\",\"AWS:UserId\":\"b\"}}"),
     POLICY_IDENTITY, "Statement[0].Condition: this condition key is given twice: \"AWS:UserId\""},
    {V12 ALLOW("\"*\"", "\"" TABLE("${aws:username") "\"", "") END, POLICY_IDENTITY, NULL},
    {"{\"Id\":[\"a\"],\"Statement\":[]}", POLICY_IDENTITY,
     "the policy: this kind of value is not allowed here"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct policy *policy = NULL;
        assert_false(policy_parse(str_from_c(refused[i].document), refused[i].kind, &policy, &err));
        assert_null(policy);
        assert_int_equal(err.code, ERR_VALIDATION);
        if (refused[i].message != NULL) {
            CHECK_STR_EQ(refused[i].document, err.message, str_from_c(refused[i].message));
        }
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
