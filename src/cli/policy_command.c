/* `gramme policy`: policies, whom they are attached to, and what they decide. Runs on the main
 * thread. */
#include <stdio.h>

#include "cli/admin_client.h"
#include "cli/commands.h"
#include "json/writer.h"

static bool put(const struct admin_arguments *arguments, struct err *err)
{
    return admin_put_document(arguments, "PutPolicy", "PolicyName", err);
}

/* An operation on the policy of the first word, and on --user or --role. */
static bool change(const struct admin_arguments *arguments, const char *operation,
                   struct str *answer, struct err *err)
{
    struct buf body = {0};
    buf_add_char(&body, '{');
    admin_add(&body, "PolicyName", arguments->words[0]);
    admin_add(&body, "UserName", arguments->user);
    admin_add(&body, "RoleName", arguments->role);
    buf_format(&body, "%s}", arguments->as_boundary ? ",\"AsBoundary\":true" : "");
    bool good = admin_request(arguments, operation, buf_str(&body), answer, err);
    buf_finish(&body);
    return good;
}

static bool get(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    if (!change(arguments, "GetPolicy", &answer, err)) {
        return false;
    }
    struct str document = admin_member(arguments->arena, answer, "Document");
    printf("%.*s\n", STR_ARG(document));
    return true;
}

static bool remove_policy(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    return change(arguments, "DeletePolicy", &answer, err);
}

static bool attach(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    return change(arguments, "AttachPolicy", &answer, err);
}

static bool detach(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    return change(arguments, "DetachPolicy", &answer, err);
}

static void print_policy(struct arena *arena, struct str policy)
{
    struct str name = admin_member(arena, policy, "PolicyName");
    bool is_built_in = str_eq(admin_member(arena, policy, "IsBuiltIn"), STR("true"));
    printf("%.*s%s\n", STR_ARG(name), is_built_in ? " (built in)" : "");
}

static bool list(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    if (!admin_request(arguments, "ListPolicies", STR("{}"), &answer, err)) {
        return false;
    }
    admin_each(arguments->arena, answer, "Policies", print_policy);
    return true;
}

/* "key=value,value": one value or several. */
static void add_context(struct buf *body, struct str text)
{
    const char *equals = text.len == 0 ? NULL : memchr(text.data, '=', text.len);
    size_t len = equals == NULL ? text.len : (size_t)(equals - text.data);
    json_write_string(body, str_make(text.data, len));
    JSON_PUT(body, ":[");
    struct str rest = equals == NULL ? STR("") : str_skip(text, len + 1);
    for (bool is_first = true; rest.len > 0; is_first = false) {
        const char *comma = memchr(rest.data, ',', rest.len);
        size_t value_len = comma == NULL ? rest.len : (size_t)(comma - rest.data);
        buf_add(body, is_first ? STR("") : STR(","));
        json_write_string(body, str_make(rest.data, value_len));
        rest = str_skip(rest, MIN(value_len + 1, rest.len));
    }
    buf_add_char(body, ']');
}

static void print_decision(const struct admin_arguments *arguments, struct str answer)
{
    struct str decision = admin_member(arguments->arena, answer, "Decision");
    struct str source = admin_member(arguments->arena, answer, "Source");
    struct str policy = admin_member(arguments->arena, answer, "PolicyName");
    struct str statement = admin_member(arguments->arena, answer, "Statement");
    bool is_found = str_eq(admin_member(arguments->arena, answer, "TableFound"), STR("true"));
    printf("%.*s", STR_ARG(decision));
    if (!str_is_null(statement)) {
        printf(" by %.*s%s%.*s, statement %.*s", STR_ARG(source), str_is_null(policy) ? "" : " ",
               STR_ARG(policy), STR_ARG(statement));
    } else if (!str_eq(decision, STR("allowed"))) {
        printf(": no %.*s allows it", STR_ARG(source));
    }
    printf("\n");
    if (!is_found && str_starts_with(arguments->resource, STR("arn:aws:dynamodb:"))) {
        fprintf(stderr, "The resource is no table, index or stream of this server: tags and a "
                        "policy of its own were not evaluated.\n");
    }
}

static bool test(const struct admin_arguments *arguments, struct err *err)
{
    struct buf body = {0};
    struct str answer;
    buf_add_char(&body, '{');
    admin_add(&body, "UserName", arguments->user);
    admin_add(&body, "RoleName", arguments->role);
    admin_add(&body, "Action", arguments->action);
    admin_add(&body, "Resource", arguments->resource);
    buf_add(&body, body.len > 1 ? STR(",\"Context\":{") : STR("\"Context\":{"));
    for (size_t i = 0; i < arguments->context_count; i++) {
        buf_add(&body, i > 0 ? STR(",") : STR(""));
        add_context(&body, arguments->context[i]);
    }
    JSON_PUT(&body, "}}");
    bool good = admin_request(arguments, "SimulatePolicy", buf_str(&body), &answer, err);
    buf_finish(&body);
    if (good) {
        print_decision(arguments, answer);
    }
    return good;
}

int policy_command(int argc, char **argv)
{
    static const struct admin_verb verbs[] = {
        {"put", "NAME FILE", "create or replace a policy; - is standard input", 2, put},
        {"get", "NAME", "print a policy", 1, get},
        {"list", "", "list policies", 0, list},
        {"attach", "NAME --user USER [--boundary]", "attach it to a user, or --role ROLE", 1,
         attach},
        {"detach", "NAME --user USER [--boundary]", "detach it", 1, detach},
        {"remove", "NAME", "delete a policy that is not attached", 1, remove_policy},
        {"test", "--user USER --action ACTION [--resource ARN] [--context KEY=VALUE,...]",
         "print whether it is allowed, and why; or --role ROLE", 0, test},
        {0},
    };
    return admin_main("policy", verbs, argc, argv);
}
