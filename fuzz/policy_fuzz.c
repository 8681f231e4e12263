/* Fuzzes IAM policies. Input: a policy document, which is parsed as each kind; valid ones decide
 * about requests. Properties: the same document gives the same result or error twice; a policy
 * never allows what one of its statements denies; a decision allocates memory from the request's
 * arena only. */
#include "auth/policy.h"

#include <stdlib.h>

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static void set_key(struct auth_context *context, enum context_key_id id, const struct str *values,
                    size_t count)
{
    context->keys[id] =
        (struct context_values){.values = values, .count = count, .is_present = true};
}

/* Sets a value for most condition keys. */
static void fill_context(struct auth_context *context)
{
    static const struct str user = {"u1", 2};
    static const struct str address = {"10.1.2.3", 8};
    static const struct str time = {"2026-01-01T00:00:00Z", 20};
    static const struct str flag = {"true", 4};
    static const struct str names[] = {{"SSN", 3}, {"a*b", 3}, {"", 0}};
    static const struct context_tag tags[] = {{{"team", 4}, {"red", 3}}};
    set_key(context, CONTEXT_AWS_USERNAME, &user, 1);
    set_key(context, CONTEXT_AWS_SOURCE_IP, &address, 1);
    set_key(context, CONTEXT_AWS_CURRENT_TIME, &time, 1);
    set_key(context, CONTEXT_AWS_SECURE_TRANSPORT, &flag, 1);
    set_key(context, CONTEXT_DDB_LEADING_KEYS, names, 3);
    set_key(context, CONTEXT_DDB_ATTRIBUTES, names, 2);
    set_key(context, CONTEXT_AWS_TAG_KEYS, names, 0);
    for (size_t i = 0; i < CONTEXT_TAG_FAMILY_COUNT; i++) {
        context->tags[i] = (struct context_tags){.tags = tags, .count = 1};
    }
}

static void decide(struct arena *arena, const struct policy *policy, enum policy_kind kind)
{
    static const struct {
        const char *name;
        bool is_prefix;
    } resources[] = {
        {"*", false},
        {"arn:aws:dynamodb:us-east-1:000000000000:table/Music/index/a*b", false},
        {"arn:aws", false},
        {"", false},
        {"arn:aws:s3:::bucket/data/*", true},
    };
    struct auth_context context = {0};
    struct policy_caller caller = {
        .kind = CALLER_USER,
        .arn = STR("arn:aws:iam::000000000000:user/u1"),
        .account = STR("000000000000"),
    };
    fill_context(&context);
    bool mentions = policy_mentions(policy); /* only that it ends */
    (void)mentions;
    for (size_t i = 0; i < COUNT_OF(resources); i++) {
        struct policy_request request = {
            .caller = &caller,
            .action = STR("dynamodb:GetItem"),
            .resource = str_from_c(resources[i].name),
            .is_prefix = resources[i].is_prefix,
            .context = &context,
            .arena = arena,
        };
        struct policy_answer answer = policy_evaluate(policy, &request);
        struct policy_set set = {.identity = &policy, .identity_count = kind == POLICY_IDENTITY};
        if (kind != POLICY_IDENTITY) {
            set.resource = policy;
        }
        struct policy_decision decision = policy_decide(&set, &request);
        require(answer.effect != POLICY_DENY || (!decision.is_allowed && decision.is_explicit));
        require(answer.effect != POLICY_NO_MATCH || !decision.is_allowed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make(data, size);
    for (int kind = POLICY_IDENTITY; kind <= POLICY_TRUST; kind++) {
        struct arena arena;
        arena_init(&arena);
        struct err first = ERR_INIT(&arena);
        struct err second = ERR_INIT(&arena);
        struct policy *policy = NULL;
        struct policy *again = NULL;
        bool good = policy_parse(text, (enum policy_kind)kind, &policy, &first);
        require(policy_parse(text, (enum policy_kind)kind, &again, &second) == good);
        if (good) {
            decide(&arena, policy, (enum policy_kind)kind);
            policy_destroy(policy);
            policy_destroy(again);
        } else {
            require(first.message.len > 0 && str_eq(first.message, second.message));
        }
        arena_finish(&arena);
    }
    return 0;
}
