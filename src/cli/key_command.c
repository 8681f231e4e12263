/* `gramme key`: access keys of users. A secret is printed once and cannot be shown again. Runs on
 * the main thread. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/admin_client.h"
#include "cli/commands.h"

static bool make_key(const struct admin_arguments *arguments, struct str id, struct str secret,
                     struct err *err)
{
    struct buf body = {0};
    struct str answer;
    buf_add_char(&body, '{');
    admin_add(&body, "UserName", arguments->words[0]);
    admin_add(&body, "AccessKeyId", id);
    admin_add(&body, "SecretAccessKey", secret);
    buf_add_char(&body, '}');
    bool good = admin_request(arguments, "CreateAccessKey", buf_str(&body), &answer, err);
    buf_finish(&body);
    if (good && str_is_null(secret)) {
        struct str new_id = admin_member(arguments->arena, answer, "AccessKeyId");
        struct str new_secret = admin_member(arguments->arena, answer, "SecretAccessKey");
        printf("AWS_ACCESS_KEY_ID=%.*s\nAWS_SECRET_ACCESS_KEY=%.*s\n", STR_ARG(new_id),
               STR_ARG(new_secret));
    }
    return good;
}

static bool add(const struct admin_arguments *arguments, struct err *err)
{
    return make_key(arguments, STR_NULL, STR_NULL, err);
}

static bool rotate(const struct admin_arguments *arguments, struct err *err)
{
    if (!add(arguments, err)) {
        return false;
    }
    fprintf(stderr, "The older key still works. When nobody uses it any more: gramme key disable "
                    "KEY-ID, later gramme key remove KEY-ID.\n");
    return true;
}

/* The secret is not an argument: arguments are visible to all users of the machine. */
static bool import(const struct admin_arguments *arguments, struct err *err)
{
    const char *secret = getenv("GRAMME_IMPORT_SECRET");
    if (secret == NULL) {
        return err_set(err, ERR_VALIDATION,
                       "set GRAMME_IMPORT_SECRET to the secret of the key that is imported");
    }
    return make_key(arguments, arguments->words[1], str_from_c(secret), err);
}

static bool change(const struct admin_arguments *arguments, const char *operation, const char *more,
                   struct err *err)
{
    struct buf body = {0};
    struct str answer;
    buf_add_char(&body, '{');
    admin_add(&body, "AccessKeyId", arguments->words[0]);
    buf_format(&body, "%s}", more);
    bool good = admin_request(arguments, operation, buf_str(&body), &answer, err);
    buf_finish(&body);
    return good;
}

static bool disable(const struct admin_arguments *arguments, struct err *err)
{
    return change(arguments, "UpdateAccessKey", ",\"Disabled\":true", err);
}

static bool enable(const struct admin_arguments *arguments, struct err *err)
{
    return change(arguments, "UpdateAccessKey", ",\"Disabled\":false", err);
}

static bool remove_key(const struct admin_arguments *arguments, struct err *err)
{
    return change(arguments, "DeleteAccessKey", "", err);
}

int key_command(int argc, char **argv)
{
    static const struct admin_verb verbs[] = {
        {"add", "USER", "create a key and print it, once", 1, add},
        {"rotate", "USER", "create the second key of a user", 1, rotate},
        {"disable", "KEY-ID", "refuse requests with the key", 1, disable},
        {"enable", "KEY-ID", "accept them again", 1, enable},
        {"remove", "KEY-ID", "delete the key", 1, remove_key},
        {"import", "USER KEY-ID",
         "add an existing key; its secret is read from GRAMME_IMPORT_SECRET", 2, import},
        {0},
    };
    return admin_main("key", verbs, argc, argv);
}
