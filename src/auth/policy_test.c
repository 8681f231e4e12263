/* Policies: which documents are refused and why, what single conditions mean, and decisions on
 * requests as IAM makes them. The policies P1 to P20 and their requests are an oracle collected
 * from AWS's documentation and published measurements. */
#include "auth/policy.h"
#include "base/testing.h"

#define ACCOUNT      "000000000000"
#define TABLE(name_) "arn:aws:dynamodb:us-east-1:" ACCOUNT ":table/" name_
#define T            TABLE("GameScores")
#define INDEX_G      T "/index/TopScoreDateTimeIndex"
#define INDEX_O      T "/index/O"
#define USER         "arn:aws:iam::" ACCOUNT ":user/u1"
#define ROLE         "arn:aws:iam::" ACCOUNT ":role/R1"
#define SESSION      "arn:aws:sts::" ACCOUNT ":assumed-role/R1/s"
#define V12          "{\"Version\":\"2012-10-17\",\"Statement\":["
#define END          "]}"
#define ALLOW(action_, resource_, condition_)                                                      \
    "{\"Effect\":\"Allow\",\"Action\":" action_ ",\"Resource\":" resource_ condition_ "}"
#define DENY(action_, resource_, condition_)                                                       \
    "{\"Effect\":\"Deny\",\"Action\":" action_ ",\"Resource\":" resource_ condition_ "}"
#define IF(text_) ",\"Condition\":{" text_ "}"
#define ALL       "\"*\""

static const struct caller_row {
    const char *name;
    struct policy_caller caller;
} callers[] = {
    {"user", {CALLER_USER, {USER, sizeof(USER) - 1}, {NULL, 0}, {ACCOUNT, 12}}},
    {"session",
     {CALLER_ROLE_SESSION,
      {SESSION, sizeof(SESSION) - 1},
      {ROLE, sizeof(ROLE) - 1},
      {ACCOUNT, 12}}},
    {"root", {CALLER_ROOT, {"arn:aws:iam::" ACCOUNT ":root", 30}, {NULL, 0}, {ACCOUNT, 12}}},
};

/* The context of a request, filled from text: "dynamodb:LeadingKeys=a,b;aws:ResourceTag/env=prod".
 */
struct built {
    struct auth_context context;
    struct context_tag tags[CONTEXT_TAG_FAMILY_COUNT][4];
};

static struct str take_until(struct str *rest, char end)
{
    size_t len = 0;
    while (len < rest->len && rest->data[len] != end) {
        len++;
    }
    struct str taken = str_make(rest->data, len);
    *rest = str_skip(*rest, len < rest->len ? len + 1 : len);
    return taken;
}

static void add_key(struct arena *arena, struct built *built, struct str name, struct str values)
{
    struct context_key key = context_key_from_name(name);
    assert_int_not_equal(key.id, CONTEXT_UNKNOWN);
    if (key.id >= CONTEXT_KEY_COUNT) {
        int family = (int)key.id - CONTEXT_KEY_COUNT;
        struct context_tags *tags = &built->context.tags[family];
        built->tags[family][tags->count++] = (struct context_tag){key.tag, values};
        tags->tags = built->tags[family];
        return;
    }
    struct str *list = ARENA_ARRAY(arena, struct str, values.len + 1);
    struct context_values *found = &built->context.keys[key.id];
    *found = (struct context_values){.values = list, .is_present = true};
    while (values.len > 0) {
        list[found->count++] = take_until(&values, ',');
    }
}

static void build_context(struct arena *arena, const char *text, const struct policy_caller *caller,
                          struct built *out)
{
    *out = (struct built){0};
    if (caller->kind == CALLER_USER) {
        add_key(arena, out, STR("aws:username"), STR("u1"));
    }
    struct str rest = str_from_c(text);
    while (rest.len > 0) {
        struct str pair = take_until(&rest, ';');
        struct str name = take_until(&pair, '=');
        add_key(arena, out, name, pair);
    }
}

static struct policy *parse(struct arena *arena, const char *text, enum policy_kind kind)
{
    struct policy *policy = NULL;
    struct err err = ERR_INIT(arena);
    if (text != NULL && !policy_parse(str_from_c(text), kind, &policy, &err)) {
        fail_msg("%s\nis refused: %.*s", text, STR_ARG(err.message));
    }
    return policy;
}

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

static const struct policy_caller *find_caller(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        if (strcmp(callers[i].name, name) == 0) {
            return &callers[i].caller;
        }
    }
    fail_msg("no caller %s", name);
    return NULL;
}

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
        struct policy *policy = parse(&arena, row->policy, POLICY_IDENTITY);
        const struct policy *const list[] = {policy};
        const struct policy_caller *caller = find_caller(row->caller);
        struct built built;
        const char *context = row->context;
        build_context(&arena, context + (context[0] == ';'), caller, &built);
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
        const struct policy_caller *caller = find_caller(row->caller);
        struct policy *identity = parse(&arena, row->identity, POLICY_IDENTITY);
        struct policy *resource = parse(&arena, row->resource, POLICY_RESOURCE);
        struct policy *boundary = parse(&arena, row->boundary, POLICY_IDENTITY);
        struct policy *session = parse(&arena, row->session, POLICY_IDENTITY);
        const struct policy *const list[] = {identity};
        struct policy_set set = {
            .identity = list,
            .identity_count = identity != NULL,
            .resource = resource,
            .boundary = boundary,
            .session = session,
        };
        struct built built;
        build_context(&arena, "", caller, &built);
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

/* Single conditions ------------------------------------------------------------------------ */

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
        struct policy *policy = parse(&arena, document.data, POLICY_IDENTITY);
        struct built built;
        build_context(&arena, row->context, find_caller("user"), &built);
        struct policy_answer answer =
            policy_evaluate(policy, &(struct policy_request){.caller = find_caller("user"),
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

/* Documents that are refused --------------------------------------------------------------- */

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

static void test_mentions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct policy *policy = parse(&arena, P1, POLICY_IDENTITY);
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
        cmocka_unit_test(test_oracle),     cmocka_unit_test(test_sets),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_mentions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
