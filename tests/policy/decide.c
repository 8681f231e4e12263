/* Decides by policies, one question per line of standard input, for test_random_policies.py, which
 * compares the decisions with those of an evaluator of its own. A line is a JSON object:
 *
 *   {"identity": [policy, ...], "resource": policy, "boundary": policy, "session": policy,
 *    "kind": "user", "arn": ..., "role": ..., "account": ...,
 *    "action": ..., "on": ARN, "context": {key: [value, ...]}}
 *
 * The answer is a line: allow, or implicit or explicit and whose policy decided. */
#include <stdio.h>
#include <stdlib.h>

#include "auth/policy.h"
#include "json/reader.h"

enum { IDENTITY_MAX = 8, VALUES_MAX = 16, TAGS_MAX = 8 };

struct line {
    struct arena *arena;
    struct policy *policies[IDENTITY_MAX + 3]; /* all, to be freed */
    size_t policy_count;
    const struct policy *identity[IDENTITY_MAX];
    struct policy_set set;
    struct policy_caller caller;
    struct policy_request request;
    struct auth_context context;
    struct context_tag tags[CONTEXT_TAG_FAMILY_COUNT][TAGS_MAX];
};

static void require(bool truth, const char *what)
{
    if (!truth) {
        fprintf(stderr, "decide: bad input: %s\n", what);
        exit(1);
    }
}

static const struct policy *read_policy(struct line *line, struct json_reader *reader,
                                        enum policy_kind kind)
{
    struct str raw;
    struct err err = ERR_INIT(line->arena);
    struct policy *policy = NULL;
    require(json_read_raw(reader, &raw), "policy");
    if (!policy_parse(raw, kind, &policy, &err)) {
        fprintf(stderr, "decide: %.*s\n%.*s\n", STR_ARG(err.message), STR_ARG(raw));
        exit(1);
    }
    line->policies[line->policy_count++] = policy;
    return policy;
}

static void read_identity(struct line *line, struct json_reader *reader)
{
    require(json_enter_array(reader), "identity");
    while (json_next_element(reader)) {
        require(line->set.identity_count < IDENTITY_MAX, "too many policies");
        line->identity[line->set.identity_count++] = read_policy(line, reader, POLICY_IDENTITY);
    }
    line->set.identity = line->identity;
}

static void read_context(struct line *line, struct json_reader *reader)
{
    struct json_string name;
    require(json_enter_object(reader), "context");
    while (json_next_member(reader, &name)) {
        struct context_key key = context_key_from_name(arena_copy(line->arena, name.text));
        struct str *values = ARENA_ARRAY(line->arena, struct str, VALUES_MAX);
        size_t count = 0;
        struct json_string text;
        require(json_enter_array(reader), "values");
        while (json_next_element(reader)) {
            require(count < VALUES_MAX && json_read_string(reader, &text), "value");
            values[count++] = arena_copy(line->arena, text.text);
        }
        require(key.id != CONTEXT_UNKNOWN, "unknown key");
        if (key.id < CONTEXT_KEY_COUNT) {
            line->context.keys[key.id] =
                (struct context_values){.values = values, .count = count, .is_present = true};
        } else {
            struct context_tags *family = &line->context.tags[key.id - CONTEXT_KEY_COUNT];
            struct context_tag *tags = line->tags[key.id - CONTEXT_KEY_COUNT];
            require(count == 1 && family->count < TAGS_MAX, "tag");
            tags[family->count] = (struct context_tag){.name = key.tag, .value = values[0]};
            *family = (struct context_tags){.tags = tags, .count = family->count + 1};
        }
    }
}

static struct str read_text(struct line *line, struct json_reader *reader)
{
    struct json_string text;
    require(json_read_string(reader, &text), "text");
    return arena_copy(line->arena, text.text);
}

static void read_member(struct line *line, struct json_reader *reader, struct str name)
{
    if (str_eq(name, STR("identity"))) {
        read_identity(line, reader);
    } else if (str_eq(name, STR("resource"))) {
        line->set.resource = read_policy(line, reader, POLICY_RESOURCE);
    } else if (str_eq(name, STR("boundary"))) {
        line->set.boundary = read_policy(line, reader, POLICY_IDENTITY);
    } else if (str_eq(name, STR("session"))) {
        line->set.session = read_policy(line, reader, POLICY_IDENTITY);
    } else if (str_eq(name, STR("kind"))) {
        struct str kind = read_text(line, reader);
        line->caller.kind = str_eq(kind, STR("root"))   ? CALLER_ROOT
                            : str_eq(kind, STR("user")) ? CALLER_USER
                                                        : CALLER_ROLE_SESSION;
    } else if (str_eq(name, STR("context"))) {
        read_context(line, reader);
    } else {
        struct str *text = str_eq(name, STR("arn"))       ? &line->caller.arn
                           : str_eq(name, STR("role"))    ? &line->caller.role_arn
                           : str_eq(name, STR("account")) ? &line->caller.account
                           : str_eq(name, STR("action"))  ? &line->request.action
                                                          : &line->request.resource;
        *text = read_text(line, reader);
    }
}

static void decide(struct arena *arena, struct str text)
{
    static const char *const sources[] = {[SOURCE_IDENTITY] = "identity",
                                          [SOURCE_RESOURCE] = "resource",
                                          [SOURCE_BOUNDARY] = "boundary",
                                          [SOURCE_SESSION] = "session"};
    struct line line = {.arena = arena};
    struct json_reader reader;
    struct json_string name;
    json_reader_init(&reader, arena, text);
    require(json_enter_object(&reader), "line");
    while (json_next_member(&reader, &name)) {
        read_member(&line, &reader, name.text);
    }
    require(json_at_end(&reader), "end of line");
    line.request.caller = &line.caller;
    line.request.context = &line.context;
    line.request.arena = arena;
    struct policy_decision decision = policy_decide(&line.set, &line.request);
    if (decision.is_allowed) {
        printf("allow\n");
    } else {
        printf("%s %s\n", decision.is_explicit ? "explicit" : "implicit", sources[decision.source]);
    }
    for (size_t i = 0; i < line.policy_count; i++) {
        policy_destroy(line.policies[i]);
    }
}

int main(void)
{
    struct arena arena;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t len;
    arena_init(&arena);
    while ((len = getline(&text, &capacity, stdin)) > 0) {
        decide(&arena, str_make(text, (size_t)len));
        arena_reset(&arena);
    }
    free(text);
    arena_finish(&arena);
    return 0;
}
