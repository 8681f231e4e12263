/* `gramme role`: roles, for temporary credentials. Runs on the main thread. */
#include <stdio.h>

#include "cli/admin_client.h"
#include "cli/commands.h"

static bool put(const struct admin_arguments *arguments, struct err *err)
{
    return admin_put_document(arguments, "PutRole", "RoleName", err);
}

static bool change(const struct admin_arguments *arguments, const char *operation, struct err *err)
{
    struct buf body = {0};
    struct str answer;
    buf_add_char(&body, '{');
    admin_add(&body, "RoleName", arguments->words[0]);
    buf_add_char(&body, '}');
    bool good = admin_request(arguments, operation, buf_str(&body), &answer, err);
    buf_finish(&body);
    return good;
}

static bool remove_role(const struct admin_arguments *arguments, struct err *err)
{
    return change(arguments, "DeleteRole", err);
}

static bool revoke(const struct admin_arguments *arguments, struct err *err)
{
    return change(arguments, "RevokeSessions", err);
}

static void print_role(struct arena *arena, struct str role)
{
    struct str name = admin_member(arena, role, "RoleName");
    struct str arn = admin_member(arena, role, "Arn");
    struct str policies = admin_member(arena, role, "Policies");
    struct str trust = admin_member(arena, role, "Trust");
    printf("%.*s\n  arn %.*s\n  policies %.*s\n  trust %.*s\n", STR_ARG(name), STR_ARG(arn),
           STR_ARG(policies), STR_ARG(trust));
}

static bool list(const struct admin_arguments *arguments, struct err *err)
{
    struct str answer;
    if (!admin_request(arguments, "ListRoles", STR("{}"), &answer, err)) {
        return false;
    }
    admin_each(arguments->arena, answer, "Roles", print_role);
    return true;
}

int role_command(int argc, char **argv)
{
    static const struct admin_verb verbs[] = {
        {"put", "NAME TRUST-FILE [--seconds N]", "create or replace a role", 2, put},
        {"list", "", "list roles", 0, list},
        {"revoke", "NAME", "refuse temporary credentials issued so far", 1, revoke},
        {"remove", "NAME", "delete a role", 1, remove_role},
        {0},
    };
    return admin_main("role", verbs, argc, argv);
}
