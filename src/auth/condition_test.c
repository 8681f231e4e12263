/* What single conditions of a policy mean: operators, quantifiers, variables and bad values. */
#include "auth/policy.h"
#include "auth/policy_testing.h"
#include "base/testing.h"

#define ZEROS    "0000000000000000000000000000000000000000" /* 40 */
#define NINES_18 "999999999999999999"

static const struct condition_row {
    const char *condition; /* the inside of Condition, with ' for " */
    const char *context;
    bool holds;
} conditions[] = {
    {"'StringEquals':{'aws:userid':'A'}", "aws:userid=A", true},
    {"'StringEquals':{'AWS:USERID':'A'}", "aws:userid=A", true},
    {"'StringEquals':{'aws:userid':'a'}", "aws:userid=A", false},
    {"'StringEquals':{'aws:userid':'A*'}", "aws:userid=AB", false},
    {"'StringEquals':{'aws:userid':['x','A']}", "aws:userid=A", true},
    {"'StringNotEquals':{'aws:userid':['x','A']}", "aws:userid=A", false},
    {"'StringNotEquals':{'aws:userid':['x','A']}", "", true},
    {"'StringEquals':{'aws:userid':'A'}", "", false},
    {"'StringEqualsIfExists':{'aws:userid':'A'}", "", true},
    {"'StringEqualsIgnoreCase':{'aws:userid':'aB'}", "aws:userid=Ab", true},
    {"'StringNotEqualsIgnoreCase':{'aws:userid':'aB'}", "aws:userid=Ab", false},
    {"'StringLike':{'aws:userid':'A?C*F'}", "aws:userid=ABCDEF", true},
    {"'StringLike':{'aws:userid':'A?C*F'}", "aws:userid=ABCDE", false},
    {"'StringLike':{'aws:userid':'*a*b*c'}", "aws:userid=xxaxbxbxcc", true},
    {"'StringLike':{'aws:userid':'?'}", "aws:userid=\xC3\xA9", true},
    {"'StringLike':{'aws:userid':'${*}x'}", "aws:userid=*x", true},
    {"'StringLike':{'aws:userid':'${*}x'}", "aws:userid=ax", false},
    {"'StringLike':{'aws:userid':'${aws:UserAgent}*'}", "aws:UserAgent=a*b;aws:userid=a*bc", true},
    {"'StringLike':{'aws:userid':'${aws:UserAgent}*'}", "aws:UserAgent=a*b;aws:userid=aXbc", false},
    {"'StringLike':{'aws:userid':'${aws:UserAgent}*'}", "aws:userid=aXbc", false},
    {"'StringNotLike':{'aws:userid':'${aws:UserAgent}*'}", "aws:userid=aXbc", true},
    {"'StringEquals':{'aws:userid':'${aws:UserAgent, 'none'}'}", "aws:userid=none", true},
    {"'NumericLessThan':{'aws:EpochTime':10}", "aws:EpochTime=9.5", true},
    {"'NumericLessThanEquals':{'aws:EpochTime':'10'}", "aws:EpochTime=10.0", true},
    {"'NumericGreaterThan':{'aws:EpochTime':10}", "aws:EpochTime=10", false},
    {"'NumericNotEquals':{'aws:EpochTime':10}", "aws:EpochTime=x", true},
    {"'NumericEquals':{'aws:EpochTime':1e1}", "aws:EpochTime=10", true},
    {"'NumericEquals':{'aws:EpochTime':9007199254740992}", "aws:EpochTime=9007199254740993", false},
    {"'NumericLessThan':{'aws:EpochTime':9007199254740993}", "aws:EpochTime=9007199254740992",
     true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1" ZEROS ZEROS, true},
    {"'NumericLessThan':{'aws:EpochTime':1000}", "aws:EpochTime=-1" ZEROS ZEROS, true},
    {"'NumericEquals':{'aws:EpochTime':1e80}", "aws:EpochTime=+001" ZEROS ZEROS ".00", true},
    {"'NumericEquals':{'aws:EpochTime':1e-40}", "aws:EpochTime=0." ZEROS "1e1", true},
    {"'NumericLessThan':{'aws:EpochTime':1e-40}", "aws:EpochTime=0." ZEROS "1", true},
    {"'NumericEquals':{'aws:EpochTime':0}", "aws:EpochTime=-0." ZEROS "e9", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1e400}", "aws:EpochTime=1e99999999999999999999", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e" NINES_18, true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e" NINES_18 "9", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e" NINES_18 "99", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e9223372036854775807", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e9223372036854775808", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e" NINES_18 "999", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}",
     "aws:EpochTime=1" ZEROS "e" NINES_18 NINES_18 "9999", true},
    {"'NumericLessThan':{'aws:EpochTime':1000}", "aws:EpochTime=-1e" NINES_18 "9", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e-" NINES_18, false},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e-" NINES_18 "9", false},
    {"'NumericGreaterThan':{'aws:EpochTime':0}", "aws:EpochTime=1e-" NINES_18 "9", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e-" NINES_18 "99", false},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}", "aws:EpochTime=1e-" NINES_18 "999", false},
    {"'NumericGreaterThan':{'aws:EpochTime':1000}",
     "aws:EpochTime=0." ZEROS "1e-" NINES_18 NINES_18 "9999", false},
    {"'NumericLessThan':{'aws:EpochTime':-12.5}", "aws:EpochTime=-12.51", true},
    {"'NumericGreaterThan':{'aws:EpochTime':-12.5}", "aws:EpochTime=.1", true},
    {"'NumericEquals':{'aws:EpochTime':12.5}", "aws:EpochTime=125.e-1", true},
    {"'NumericNotEquals':{'aws:EpochTime':1}", "aws:EpochTime=1e", true},
    {"'NumericNotEquals':{'aws:EpochTime':1}", "aws:EpochTime=1.0.0", true},
    {"'NumericNotEquals':{'aws:EpochTime':1}", "aws:EpochTime=0x1", true},
    {"'NumericNotEquals':{'aws:EpochTime':1}", "aws:EpochTime=+", true},
    {"'NumericGreaterThan':{'aws:EpochTime':1}", "aws:EpochTime=inf", false},
    {"'DateGreaterThan':{'aws:CurrentTime':'2026-01-01'}", "aws:CurrentTime=1" ZEROS ZEROS, true},
    {"'DateLessThan':{'aws:CurrentTime':'2026-01-01'}", "aws:CurrentTime=-1.5e3", true},
    {"'DateLessThan':{'aws:CurrentTime':'2026-01-01T00:00:00Z'}",
     "aws:CurrentTime=2025-12-31T23:59:59Z", true},
    {"'DateGreaterThan':{'aws:CurrentTime':'2026-01-01'}", "aws:CurrentTime=2026-01-01T00:00:01Z",
     true},
    {"'DateEquals':{'aws:CurrentTime':'2026-01-01T02:00:00+02:00'}", "aws:CurrentTime=1767225600",
     true},
    {"'DateGreaterThanEquals':{'aws:CurrentTime':'2026-01-01T00:00:00.5Z'}",
     "aws:CurrentTime=2026-01-01T00:00:00Z", false},
    {"'DateGreaterThan':{'aws:CurrentTime':'2025-01-01'}",
     "aws:CurrentTime=2026-01-01T00:00:00." ZEROS "00Z", true}, /* 63 characters */
    {"'DateGreaterThan':{'aws:CurrentTime':'2025-01-01'}",
     "aws:CurrentTime=2026-01-01T00:00:00." ZEROS "000Z", true},
    {"'DateLessThan':{'aws:CurrentTime':'2026-01-01T00:00:01Z'}",
     "aws:CurrentTime=2026-01-01T00:00:00.9" ZEROS ZEROS "9+00:00", true},
    {"'DateEquals':{'aws:CurrentTime':'2026-01-01T00:00:00.5Z'}",
     "aws:CurrentTime=2026-01-01T02:00:00.5" ZEROS "+02:00", true},
    {"'DateEquals':{'aws:CurrentTime':'2026-01-01T00:00Z'}",
     "aws:CurrentTime=2025-12-31T22:30-01:30", true},
    {"'DateEquals':{'aws:CurrentTime':'2026-01-01'}", "aws:CurrentTime=2026-01-01T00:00:00", true},
    {"'DateGreaterThan':{'aws:CurrentTime':0}", "aws:CurrentTime=2026-01-01T00:00:00.Z", false},
    {"'DateGreaterThan':{'aws:CurrentTime':0}", "aws:CurrentTime=2026-01-01T00:00:00.5e9Z", false},
    {"'DateGreaterThan':{'aws:CurrentTime':0}", "aws:CurrentTime=2026-01-01T00:00:00Zx", false},
    {"'DateGreaterThan':{'aws:CurrentTime':0}", "aws:CurrentTime=2026-13-01", false},
    {"'DateGreaterThan':{'aws:CurrentTime':0}", "aws:CurrentTime=2026-1-01", false},
    {"'DateNotEquals':{'aws:CurrentTime':0}", "aws:CurrentTime=soon", true},
    {"'Bool':{'aws:SecureTransport':'True'}", "aws:SecureTransport=true", true},
    {"'Bool':{'aws:SecureTransport':false}", "aws:SecureTransport=true", false},
    {"'Bool':{'aws:MultiFactorAuthPresent':false}", "", false},
    {"'BoolIfExists':{'aws:MultiFactorAuthPresent':false}", "", true},
    {"'BinaryEquals':{'aws:userid':'QUJD'}", "aws:userid=QUJD", true},
    {"'IpAddress':{'aws:SourceIp':'192.0.2.0/25'}", "aws:SourceIp=192.0.2.127", true},
    {"'IpAddress':{'aws:SourceIp':'192.0.2.0/25'}", "aws:SourceIp=192.0.2.128", false},
    {"'NotIpAddress':{'aws:SourceIp':'192.0.2.0/25'}", "aws:SourceIp=192.0.2.128", true},
    {"'IpAddress':{'aws:SourceIp':'2001:db8::/33'}", "aws:SourceIp=2001:db8:7fff::1", true},
    {"'IpAddress':{'aws:SourceIp':'2001:db8::/33'}", "aws:SourceIp=2001:db8:8000::1", false},
    {"'IpAddress':{'aws:SourceIp':'0.0.0.0/0'}", "aws:SourceIp=8.8.8.8", true},
    {"'IpAddress':{'aws:SourceIp':'0.0.0.0/0'}", "aws:SourceIp=::1", false},
    {"'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::*:user/*'}", "aws:PrincipalArn=" USER, true},
    {"'ArnLike':{'aws:PrincipalArn':'arn:aws:*:user/*'}", "aws:PrincipalArn=" USER, false},
    {"'ArnNotEquals':{'aws:PrincipalArn':'arn:aws:iam::*:role/*'}", "aws:PrincipalArn=" USER, true},
    {"'Null':{'aws:TokenIssueTime':true}", "", true},
    {"'Null':{'aws:TokenIssueTime':'false'}", "", false},
    {"'Null':{'aws:TokenIssueTime':'false'}", "aws:TokenIssueTime=x", true},
    {"'ForAllValues:StringEquals':{'dynamodb:Attributes':['a','b']}", "dynamodb:Attributes=a,b,a",
     true},
    {"'ForAllValues:StringEquals':{'dynamodb:Attributes':['a','b']}", "dynamodb:Attributes=a,c",
     false},
    {"'ForAllValues:StringEquals':{'dynamodb:Attributes':['a','b']}", "", true},
    {"'ForAllValues:StringEquals':{'dynamodb:Attributes':['a','b']}", "dynamodb:Attributes=", true},
    {"'ForAnyValue:StringEquals':{'dynamodb:Attributes':['a','b']}", "dynamodb:Attributes=c,b",
     true},
    {"'ForAnyValue:StringEquals':{'dynamodb:Attributes':['a','b']}", "dynamodb:Attributes=c",
     false},
    {"'ForAnyValue:StringEquals':{'dynamodb:Attributes':['a','b']}", "", false},
    {"'ForAnyValue:StringNotEquals':{'dynamodb:Attributes':'a'}", "dynamodb:Attributes=a,b", true},
    {"'ForAllValues:StringNotEquals':{'dynamodb:Attributes':'a'}", "dynamodb:Attributes=a,b",
     false},
    {"'StringEquals':{'dynamodb:Attributes':'a'}", "dynamodb:Attributes=a", false},
    {"'StringNotEquals':{'dynamodb:Attributes':'a'}", "dynamodb:Attributes=b", false},
    {"'StringNotEquals':{'dynamodb:Attributes':'a'}", "", true},
    {"'ForAllValues:StringEquals':{'aws:username':'u1'}", "", true},
    {"'ForAllValues:StringEquals':{'dynamodb:FirstPartitionKeyValues':'k'}",
     "dynamodb:LeadingKeys=k", true},
    {"'StringEquals':{'s3:prefix':'x'}", "", false},
    {"'StringEquals':{'aws:ResourceTag/Env':'x'}", "aws:ResourceTag/env=x", true},
    {"'StringEquals':{'aws:userid':'A'},'Bool':{'aws:SecureTransport':true}", "aws:userid=A",
     false},
};

static void test_conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        const struct condition_row *row = &conditions[i];
        struct arena arena;
        arena_init(&arena);
        char inside[512];
        size_t len = strlen(row->condition);
        assert_true(len < sizeof(inside));
        for (size_t j = 0; j <= len; j++) {
            char c = row->condition[j];
            /* In ${key, 'default'} the quotes stay. */
            bool stays = c == '\'' && ((j > 0 && strncmp(row->condition + j - 2, ", '", 3) == 0) ||
                                       strncmp(row->condition + j, "'}'", 3) == 0);
            inside[j] = (char)(c == '\'' && !stays ? '"' : c);
        }
        struct str document = arena_format(
            &arena,
            V12 "{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{%s}}" END,
            inside);
        struct policy *policy = testing_policy(&arena, document.data, POLICY_IDENTITY);
        struct testing_context built;
        testing_context(&arena, row->context, testing_caller("user"), &built);
        struct policy_answer answer =
            policy_evaluate(policy, &(struct policy_request){.caller = testing_caller("user"),
                                                             .action = STR("dynamodb:GetItem"),
                                                             .resource = STR(T),
                                                             .context = &built.context,
                                                             .arena = &arena});
        if ((answer.effect == POLICY_ALLOW) != row->holds) {
            fail_msg("%s with %s: %s", row->condition, row->context,
                     row->holds ? "fails" : "holds");
        }
        policy_destroy(policy);
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
