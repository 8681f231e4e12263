/* `gramme user`: users of a server. Runs on the main thread. */
#include <stdio.h>

#include "cli/admin_client.h"
#include "cli/commands.h"

static bool request_with(const struct admin_arguments *arguments, const char *operation,
                         const char *more, struct str *answer, struct err *err)
{
    struct buf body = {0};
    buf_add_char(&body, '{');
    admin_add(&body, "UserName", arguments->words[0]);
    buf_format(&body, "%s}", more);
    bool good = admin_request(arguments, operation, buf_str(&body), answer, err);
    buf_finish(&body);
    return good;
}

static bool add(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    if (!request_with(arguments, "CreateUser", "", &answer, err)) {
        return false;
    }
    printf("user %.*s added; give it a key with `gramme key add`, and rights with `gramme policy "
           "attach`\n",
           STR_ARG(arguments->words[0]));
    return true;
}

static bool set_disabled(const struct admin_arguments *arguments, const char *more, struct err *err)
{
    struct str answer;
    return request_with(arguments, "UpdateUser", more, &answer, err);
}

static bool disable(const struct admin_arguments *arguments, struct err *err)
{
    return set_disabled(arguments, ",\"Disabled\":true", err);
}

static bool enable(const struct admin_arguments *arguments, struct err *err)
{
    return set_disabled(arguments, ",\"Disabled\":false", err);
}

static bool remove_user(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    return request_with(arguments, "DeleteUser", "", &answer, err);
}

static bool revoke(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    return request_with(arguments, "RevokeSessions", "", &answer, err);
}

static void print_user(struct arena *arena, struct str user)
{
    struct str name = admin_member(arena, user, "UserName");
    struct str policies = admin_member(arena, user, "Policies");
    struct str boundary = admin_member(arena, user, "Boundary");
    struct str keys = admin_member(arena, user, "AccessKeys");
    bool is_disabled = str_eq(admin_member(arena, user, "Disabled"), STR("true"));
    printf("%.*s%s\n  policies %.*s\n", STR_ARG(name), is_disabled ? " (disabled)" : "",
           STR_ARG(policies));
    if (!str_is_null(boundary)) {
        printf("  boundary %.*s\n", STR_ARG(boundary));
    }
    printf("  keys %.*s\n", STR_ARG(keys));
}

static bool list(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    if (!admin_request(arguments, "ListUsers", STR("{}"), &answer, err)) {
        return false;
    }
    admin_each(arguments->arena, answer, "Users", print_user);
    return true;
}

int user_command(int argc, char **argv)
{
    static const struct admin_verb verbs[] = {
        {"add", "NAME", "create a user", 1, add},
        {"list", "", "list users, their policies and keys", 0, list},
        {"disable", "NAME", "refuse all keys and sessions of a user", 1, disable},
        {"enable", "NAME", "accept them again", 1, enable},
        {"revoke", "NAME", "refuse temporary credentials issued so far", 1, revoke},
        {"remove", "NAME", "delete a user and its keys", 1, remove_user},
        {0},
    };
    return admin_main("user", verbs, argc, argv);
}
