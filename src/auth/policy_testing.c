/* Policies, callers and contexts for unit tests: see policy_testing.h. */
#include "auth/policy_testing.h"

#include "base/testing.h"

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

static void add_key(struct arena *arena, struct testing_context *built, struct str name,
                    struct str values)
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

void testing_context(struct arena *arena, const char *text, const struct policy_caller *caller,
                     struct testing_context *out)
{
    *out = (struct testing_context){0};
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

struct policy *testing_policy(struct arena *arena, const char *text, enum policy_kind kind)
{
    struct policy *policy = NULL;
    struct err err = ERR_INIT(arena);
    if (text != NULL && !policy_parse(str_from_c(text), kind, &policy, &err)) {
        fail_msg("%s\nis refused: %.*s", text, STR_ARG(err.message));
    }
    return policy;
}

const struct policy_caller *testing_caller(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        if (strcmp(callers[i].name, name) == 0) {
            return &callers[i].caller;
        }
    }
    fail_msg("no caller %s", name);
    return NULL;
}
