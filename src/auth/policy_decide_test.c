/* Decisions on requests, by one policy and by all that apply, and the texts of denials, as IAM
 * makes them. The policies P1 to P20 and their requests are an oracle collected from AWS's
 * documentation and published measurements. */
#include "auth/policy.h"
#include "auth/policy_testing.h"
#include "base/testing.h"

/* The oracle ------------------------------------------------------------------------------- */

#define LEADING_U1  "\"ForAllValues:StringEquals\":{\"dynamodb:LeadingKeys\":[\"${aws:username}\"]"
#define SELECT_SOME "\"StringEqualsIfExists\":{\"dynamodb:Select\":\"SPECIFIC_ATTRIBUTES\""
#define READS       "[\"dynamodb:GetItem\",\"dynamodb:Query\",\"dynamodb:Scan\"]"
#define P1                                                                                         \
    V12 ALLOW("[\"dynamodb:GetItem\",\"dynamodb:BatchGetItem\",\"dynamodb:Query\","                \
              "\"dynamodb:PutItem\",\"dynamodb:UpdateItem\",\"dynamodb:DeleteItem\","              \
              "\"dynamodb:BatchWriteItem\"]",                                                      \
              "\"" T "\"",                                                                         \
              IF(LEADING_U1 ",\"dynamodb:Attributes\":[\"UserId\",\"GameTitle\",\"Wins\","         \
                            "\"Losses\"]}," SELECT_SOME "}")) END
#define P2_BODY ALLOW("\"dynamodb:*\"", "[\"" T "\",\"" T "/index/*\"]", IF(LEADING_U1 "}"))
#define P2      V12 P2_BODY END
#define P3                                                                                         \
    V12 ALLOW(                                                                                     \
        "[\"dynamodb:UpdateItem\",\"dynamodb:GetItem\",\"dynamodb:Query\",\"dynamodb:Scan\"]",     \
        "\"" TABLE("T3") "\"",                                                                     \
        IF("\"ForAllValues:StringEquals\":{\"dynamodb:Attributes\":[\"UserId\","                   \
           "\"TopScore\"]},\"StringEqualsIfExists\":{\"dynamodb:Select\":"                         \
           "\"SPECIFIC_ATTRIBUTES\",\"dynamodb:ReturnValues\":[\"NONE\",\"UPDATED_OLD\","          \
           "\"UPDATED_NEW\"]}")) END
#define P4                                                                                         \
    V12 ALLOW(                                                                                     \
        "\"dynamodb:UpdateItem\"", "\"" T "\"",                                                    \
        IF("\"ForAllValues:StringNotLike\":{\"dynamodb:Attributes\":[\"BossLevelUnlocked\"]}"))    \
        END
#define P5                                                                                         \
    V12 ALLOW("\"dynamodb:Query\"", "\"" INDEX_G "\"",                                             \
              IF("\"ForAllValues:StringEquals\":{\"dynamodb:Attributes\":[\"GameTitle\","          \
                 "\"TopScoreDateTime\",\"Wins\"]},\"StringEquals\":{\"dynamodb:Select\":"          \
                 "\"SPECIFIC_ATTRIBUTES\"}")) END
#define C_TABLE "\"" TABLE("C") "\""
#define P6                                                                                         \
    V12 ALLOW(READS, C_TABLE,                                                                      \
              "") "," DENY(READS, C_TABLE,                                                         \
                           IF("\"ForAnyValue:StringEquals\":{\"dynamodb:Attributes\":"             \
                              "\"SSN\"}")) "," DENY(READS, C_TABLE,                                \
                                                    IF("\"StringNotEqualsIfExists\":{"             \
                                                       "\"dynamodb:Select\":"                      \
                                                       "\"SPECIFIC_ATTRIBUTES\"}")) END
#define P7                                                                                         \
    V12 ALLOW("[\"dynamodb:GetItem\",\"dynamodb:PutItem\"]", "\"" T "\"",                          \
              IF("\"ForAnyValue:StringEquals\":{\"dynamodb:EnclosingOperation\":"                  \
                 "[\"TransactGetItems\",\"TransactWriteItems\"]}")) END
#define P8                                                                                         \
    V12 ALLOW("\"dynamodb:PutItem\"", "\"" T "\"",                                                 \
              "") "," DENY("\"dynamodb:PutItem\"", "\"" T "\"",                                    \
                           IF("\"ForAnyValue:StringEquals\":{\"dynamodb:EnclosingOperation\":"     \
                              "\"TransactWriteItems\"}")) END
#define P9                                                                                         \
    V12 ALLOW("\"dynamodb:PartiQLSelect\"", "\"" T "\"",                                           \
              "") "," DENY("\"dynamodb:PartiQLSelect\"", "\"" T "\"",                              \
                           IF("\"Bool\":{\"dynamodb:FullTableScan\":true}")) END
#define P10 V12 ALLOW("\"dynamodb:*\"", ALL, "") "," DENY("\"dynamodb:GetItem\"", ALL, "") END
#define P11                                                                                        \
    V12 ALLOW("\"dynamodb:*\"", ALL, "") "," DENY(                                                 \
        "\"dynamodb:*\"", ALL, IF("\"StringEquals\":{\"dynamodb:Attributes\":\"SSN\"}")) END
#define P12                                                                                        \
    V12 ALLOW("\"dynamodb:GetItem\"", "\"" T "\"",                                                 \
              "") ",{\"Effect\":\"Deny\",\"Action\":\"*\",\"NotResource\":\"" T "\"}" END
#define P13 V12 ALLOW("\"dynamodb:ListTables\"", "\"" TABLE("*") "\"", "") END
#define P14 V12 ALLOW("\"dynamodb:get*\"", "\"" T "\"", "") END
#define P15 "{\"Version\":\"2008-10-17\",\"Statement\":" P2_BODY "}"
#define P16                                                                                        \
    V12 "{\"Effect\":\"Allow\",\"NotAction\":\"dynamodb:DeleteTable\",\"Resource\":\"" T "\"}" END
#define P17                                                                                        \
    V12 ALLOW("\"dynamodb:*\"", ALL, IF("\"StringEquals\":{\"aws:ResourceTag/env\":\"prod\"}")) END
#define P18 V12 ALLOW("\"dynamodb:CreateTable\"", ALL, "") END
#define P19                                                                                        \
    V12 ALLOW("\"*\"", ALL, "") "," DENY("\"dynamodb:RestoreTableFromBackup\"",                    \
                                         "\"" TABLE("Music/backup/*") "\"", "") END
#define P20 V12 ALLOW("\"*\"", ALL, IF("\"IpAddress\":{\"aws:SourceIp\":\"10.0.0.0/8\"}")) END

#define LEADING(keys_)     ";dynamodb:LeadingKeys=" keys_
#define ATTRIBUTES(names_) ";dynamodb:Attributes=" names_
#define SELECT(how_)       ";dynamodb:Select=" how_
#define SOME               SELECT("SPECIFIC_ATTRIBUTES")
#define EVERY              SELECT("ALL_ATTRIBUTES")
#define IN_TRANSACT(name_) ";dynamodb:EnclosingOperation=" name_

static const struct oracle_row {
    int number;
    const char *policy;
    const char *caller;
    const char *action;
    const char *resource;
    const char *context;
    const char *expected;
} oracle[] = {
    {1, P1, "user", "GetItem", T, LEADING("u1") ATTRIBUTES("UserId,GameTitle,Wins") SOME, "allow"},
    {1, P1, "user", "BatchGetItem", T, LEADING("u1,u1") ATTRIBUTES("UserId,Wins") SOME, "allow"},
    {1, P1, "user", "Query", T, LEADING("u1") ATTRIBUTES("UserId,Wins") SOME, "allow"},
    {2, P1, "user", "GetItem", T, LEADING("u1") ATTRIBUTES("UserId,GameTitle") EVERY, "impl"},
    {2, P1, "user", "Query", T, LEADING("u1") ATTRIBUTES("UserId") EVERY, "impl"},
    {3, P1, "user", "GetItem", T, LEADING("u2") ATTRIBUTES("UserId,GameTitle,Wins") SOME, "impl"},
    {3, P1, "user", "Query", T, LEADING("u2") ATTRIBUTES("UserId,Wins") SOME, "impl"},
    {4, P1, "user", "GetItem", T, LEADING("u1") ATTRIBUTES("UserId,Secret") SOME, "impl"},
    {4, P1, "user", "GetItem", T, LEADING("u1") ATTRIBUTES("UserId,Wins,Secret") SOME, "impl"},
    {5, P1, "user", "PutItem", T, LEADING("u1") ATTRIBUTES("UserId,GameTitle,Wins"), "allow"},
    {5, P1, "user", "PutItem", T, LEADING("u1") ATTRIBUTES("UserId,GameTitle,Level"), "impl"},
    {5, P1, "user", "UpdateItem", T, LEADING("u1") ATTRIBUTES("UserId,GameTitle,Wins,Level"),
     "impl"},
    {6, P1, "user", "BatchWriteItem", T, LEADING("u2") ATTRIBUTES("UserId"), "impl"},
    {6, P1, "user", "BatchWriteItem", T, LEADING("u1,u2") ATTRIBUTES("UserId"), "impl"},
    {7, P1, "user", "Scan", T, EVERY, "impl"},
    {7, P1, "user", "DescribeTable", T, "", "impl"},
    {7, P1, "user", "PartiQLSelect", T, LEADING("u1"), "impl"},
    {8, P1, "user", "Query", INDEX_G, LEADING("u1") ATTRIBUTES("GameTitle,Wins") SOME, "impl"},
    {9, P1, "user", "GetItem", TABLE("missing"), LEADING("u1") ATTRIBUTES("UserId") SOME, "impl"},
    {9, P1, "user", "PutItem", T,
     LEADING("u1") ATTRIBUTES("UserId") IN_TRANSACT("TransactWriteItems"), "allow"},
    {9, P1, "user", "PutItem", T,
     LEADING("u2") ATTRIBUTES("UserId") IN_TRANSACT("TransactWriteItems"), "impl"},
    {10, P2, "user", "Scan", T, EVERY, "allow"},
    {11, P2, "user", "Query", INDEX_O, LEADING("u1") ATTRIBUTES("Owner"), "allow"},
    {11, P2, "user", "Query", INDEX_O, LEADING("u2") ATTRIBUTES("Owner"), "impl"},
    {11, P2, "user", "PutItem", T, LEADING("u2"), "impl"},
    {11, P2, "user", "DeleteItem", T, LEADING("u2"), "impl"},
    {12, P2, "user", "DescribeTable", T, "", "allow"},
    {12, P2, "user", "ListTables", TABLE("*"), "", "impl"},
    {12, P2, "session", "GetItem", T, LEADING("u1"), "impl"},
    {13, P3, "user", "Scan", TABLE("T3"), ATTRIBUTES("UserId,TopScore") SOME, "allow"},
    {13, P3, "user", "Scan", TABLE("T3"), ATTRIBUTES("UserId,TopScore,Wins") SOME, "impl"},
    {14, P3, "user", "UpdateItem", TABLE("T3"),
     ATTRIBUTES("UserId,TopScore") ";dynamodb:ReturnValues=UPDATED_NEW", "allow"},
    {14, P3, "user", "UpdateItem", TABLE("T3"),
     ATTRIBUTES("UserId,TopScore") ";dynamodb:ReturnValues=ALL_NEW", "impl"},
    {15, P4, "user", "UpdateItem", T, ATTRIBUTES("UserId,Wins"), "allow"},
    {15, P4, "user", "UpdateItem", T, ATTRIBUTES("UserId,BossLevelUnlocked"), "impl"},
    {16, P5, "user", "Query", INDEX_G, ATTRIBUTES("GameTitle,Wins") SOME, "allow"},
    {16, P5, "user", "Query", INDEX_G, ATTRIBUTES("GameTitle") SELECT("ALL_PROJECTED_ATTRIBUTES"),
     "impl"},
    {16, P5, "user", "Query", T, ATTRIBUTES("GameTitle,Wins") SOME, "impl"},
    {17, P6, "user", "GetItem", TABLE("C"), ATTRIBUTES("UserId") SOME, "allow"},
    {17, P6, "user", "GetItem", TABLE("C"), ATTRIBUTES("UserId,SSN") SOME, "expl"},
    {17, P6, "user", "GetItem", TABLE("C"), ATTRIBUTES("UserId") EVERY, "expl"},
    {17, P6, "user", "Query", TABLE("C"), ATTRIBUTES("UserId,SSN") SOME, "expl"},
    {18, P7, "user", "PutItem", T, "", "impl"},
    {18, P7, "user", "PutItem", T, IN_TRANSACT("TransactWriteItems"), "allow"},
    {18, P7, "user", "GetItem", T, "", "impl"},
    {18, P7, "user", "GetItem", T, IN_TRANSACT("TransactGetItems"), "allow"},
    {19, P8, "user", "PutItem", T, "", "allow"},
    {19, P8, "user", "PutItem", T, IN_TRANSACT("TransactWriteItems"), "expl"},
    {20, P9, "user", "PartiQLSelect", T, ";dynamodb:FullTableScan=false", "allow"},
    {20, P9, "user", "PartiQLSelect", T, ";dynamodb:FullTableScan=true", "expl"},
    {21, P10, "user", "GetItem", T, "", "expl"},
    {21, P10, "user", "BatchGetItem", T, "", "allow"},
    {21, P10, "user", "PartiQLSelect", T, "", "allow"},
    {22, P11, "user", "GetItem", T, ATTRIBUTES("SSN") SOME, "allow"},
    {23, P12, "user", "GetItem", T, "", "allow"},
    {23, P12, "user", "GetItem", TABLE("X"), "", "expl"},
    {23, P12, "user", "PutItem", T, "", "impl"},
    {24, P13, "user", "ListTables", TABLE("*"), "", "allow"},
    {24, P13, "user", "DescribeTable", T, "", "impl"},
    {25, P14, "user", "GetItem", T, "", "allow"},
    {25, P14, "user", "GetItem", TABLE("gamescores"), "", "impl"},
    {25, P14, "user", "BatchGetItem", T, "", "impl"},
    {26, P15, "user", "GetItem", T, LEADING("u1"), "impl"},
    {26, P15, "user", "Scan", T, "", "allow"},
    {26, P16, "user", "PutItem", T, "", "allow"},
    {26, P16, "user", "DeleteTable", T, "", "impl"},
    {27, P17, "user", "GetItem", T, ";aws:ResourceTag/env=prod", "allow"},
    {27, P17, "user", "Query", INDEX_G, ";aws:ResourceTag/env=prod", "allow"},
    {27, P17, "user", "GetItem", T, "", "impl"},
    {28, P18, "user", "CreateTable", T, "", "allow"},
    {28, P18, "user", "TagResource", T, "", "impl"},
    {29, P19, "user", "RestoreTableFromBackup", TABLE("Music/backup/01"), "", "expl"},
    {29, P19, "user", "RestoreTableFromBackup", TABLE("Other/backup/01"), "", "allow"},
    {29, P19, "user", "ListBackups", "*", "", "allow"},
    {30, P20, "user", "GetItem", T, ";aws:SourceIp=127.0.0.1", "impl"},
    {30, P20, "user", "GetItem", T, ";aws:SourceIp=10.1.2.3", "allow"},
};

static const char *verdict(const struct policy_decision *decision)
{
    return decision->is_allowed ? "allow" : decision->is_explicit ? "expl" : "impl";
}

static void test_oracle(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(oracle); i++) {
        const struct oracle_row *row = &oracle[i];
        struct arena arena;
        arena_init(&arena);
        struct policy *policy = testing_policy(&arena, row->policy, POLICY_IDENTITY);
        const struct policy *const list[] = {policy};
        const struct policy_caller *caller = testing_caller(row->caller);
        struct testing_context built;
        const char *context = row->context;
        testing_context(&arena, context + (context[0] == ';'), caller, &built);
        struct policy_decision decision =
            policy_decide(&(struct policy_set){.identity = list, .identity_count = 1},
                          &(struct policy_request){
                              .caller = caller,
                              .action = arena_format(&arena, "dynamodb:%s", row->action),
                              .resource = str_from_c(row->resource),
                              .context = &built.context,
                              .arena = &arena,
                          });
        struct str what = arena_format(&arena, "row %d: %s %s", row->number, row->action, context);
        CHECK_STR_EQ(what.data, str_from_c(verdict(&decision)), str_from_c(row->expected));
        policy_destroy(policy);
        arena_finish(&arena);
    }
}

/* Several policies ------------------------------------------------------------------------- */

#define BY(effect_, principal_, action_)                                                           \
    V12 "{\"Effect\":\"" effect_ "\",\"Principal\":" principal_ ",\"Action\":\"dynamodb:" action_  \
        "\",\"Resource\":\"" T "\"}" END
#define ONLY(action_)      V12 ALLOW("\"dynamodb:" action_ "\"", ALL, "") END
#define NO(kind_, action_) " because no " kind_ " allows the dynamodb:" action_ " action"

static const struct set_row {
    const char *caller;
    const char *identity;
    const char *resource;
    const char *boundary;
    const char *session;
    const char *action;
    const char *expected; /* "allow", or the end of the text */
} sets[] = {
    {"user", NULL, BY("Allow", "{\"AWS\":\"" USER "\"}", "GetItem"), NULL, NULL, "GetItem",
     "allow"},
    {"user", NULL, BY("Allow", "{\"AWS\":\"" USER "\"}", "GetItem"), ONLY("Query"), NULL, "GetItem",
     "allow"},
    {"user", NULL, BY("Allow", "\"*\"", "GetItem"), ONLY("Query"), NULL, "GetItem",
     NO("permissions boundary", "GetItem")},
    {"user", NULL, BY("Allow", "\"*\"", "GetItem"), NULL, NULL, "GetItem", "allow"},
    {"user", NULL, BY("Allow", "{\"AWS\":\"" ACCOUNT "\"}", "GetItem"), NULL, NULL, "GetItem",
     NO("identity-based policy", "GetItem")},
    {"user", ONLY("GetItem"), BY("Deny", "{\"AWS\":\"arn:aws:iam::" ACCOUNT ":root\"}", "GetItem"),
     NULL, NULL, "GetItem", " with an explicit deny in a resource-based policy"},
    {"session", NULL, BY("Allow", "{\"AWS\":\"" ROLE "\"}", "GetItem"), NULL, ONLY("Query"),
     "GetItem", NO("session policy", "GetItem")},
    {"session", NULL, BY("Allow", "{\"AWS\":\"" SESSION "\"}", "GetItem"), NULL, ONLY("Query"),
     "GetItem", "allow"},
    {"session", ONLY("GetItem"), NULL, NULL, ONLY("GetItem"), "GetItem", "allow"},
    {"user", P10, BY("Deny", "\"*\"", "PutItem"), NULL, NULL, "PutItem",
     " with an explicit deny in a resource-based policy"},
    {"user", P10, NULL, ONLY("Query"), NULL, "Query", "allow"},
    {"user", P10, NULL, ONLY("Query"), NULL, "PutItem", NO("permissions boundary", "PutItem")},
    {"user", P10, NULL, NULL, NULL, "GetItem",
     " with an explicit deny in an identity-based policy"},
    {"user", NULL, NULL, NULL, NULL, "GetItem", NO("identity-based policy", "GetItem")},
    {"root", NULL, NULL, NULL, NULL, "GetItem", "allow"},
    {"root", NULL, BY("Deny", "\"*\"", "*"), NULL, NULL, "GetItem",
     " with an explicit deny in a resource-based policy"},
    {"root", NULL, BY("Deny", "\"*\"", "*"), NULL, NULL, "DeleteResourcePolicy", "allow"},
    {"user", NULL,
     V12 "{\"Effect\":\"Allow\",\"NotPrincipal\":{\"AWS\":\"" USER
         "\"},\"Action\":\"*\",\"Resource\":\"*\"}" END,
     NULL, NULL, "GetItem", NO("identity-based policy", "GetItem")},
};

static void test_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        const struct set_row *row = &sets[i];
        struct arena arena;
        arena_init(&arena);
        const struct policy_caller *caller = testing_caller(row->caller);
        struct policy *identity = testing_policy(&arena, row->identity, POLICY_IDENTITY);
        struct policy *resource = testing_policy(&arena, row->resource, POLICY_RESOURCE);
        struct policy *boundary = testing_policy(&arena, row->boundary, POLICY_IDENTITY);
        struct policy *session = testing_policy(&arena, row->session, POLICY_IDENTITY);
        const struct policy *const list[] = {identity};
        struct policy_set set = {
            .identity = list,
            .identity_count = identity != NULL,
            .resource = resource,
            .boundary = boundary,
            .session = session,
        };
        struct testing_context built;
        testing_context(&arena, "", caller, &built);
        struct policy_request request = {
            .caller = caller,
            .action = arena_format(&arena, "dynamodb:%s", row->action),
            .resource = STR(T),
            .context = &built.context,
            .arena = &arena,
        };
        struct policy_decision decision = policy_decide(&set, &request);
        struct str got = STR("allow");
        if (!decision.is_allowed) {
            struct str head = arena_format(
                &arena, "User: %.*s is not authorized to perform: dynamodb:%s on resource: %s",
                STR_ARG(caller->arn), row->action, T);
            got = policy_denial_text(&set, &decision, &request);
            assert_true(str_starts_with(got, head));
            got = (struct str){got.data + head.len, got.len - head.len};
        }
        struct str what = arena_format(&arena, "set %zu", i);
        CHECK_STR_EQ(what.data, got, str_from_c(row->expected));
        policy_destroy(identity);
        policy_destroy(resource);
        policy_destroy(boundary);
        policy_destroy(session);
        arena_finish(&arena);
    }
}

/* Condition keys ----------------------------------------------------------------------------- */

static void test_mentions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct policy *policy = testing_policy(&arena, P1, POLICY_IDENTITY);
    uint64_t expected = CONTEXT_BIT(CONTEXT_DDB_LEADING_KEYS) |
                        CONTEXT_BIT(CONTEXT_DDB_ATTRIBUTES) | CONTEXT_BIT(CONTEXT_DDB_SELECT) |
                        CONTEXT_BIT(CONTEXT_AWS_USERNAME);
    assert_true(policy_mentions(policy) == expected);
    policy_destroy(policy);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_mentions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
