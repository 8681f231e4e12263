/* `gramme init`: makes the master key, if there is none, and the root user with the first access
 * key, which is printed once. Works on a store that no server has open. Runs on the main thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "cli/admin_client.h"
#include "cli/commands.h"

static void print_help(void)
{
    printf("Usage: gramme init [--store URL] [--master-key-file FILE] [--account NUMBER]\n\n"
           "Prepares a store for `gramme serve --auth on`: creates the master key, which encrypts\n"
           "secrets, in a file, and the root user with an access key, which is printed once. A\n"
           "second run replaces the keys of root: write access to the store is sufficient.\n\n"
           "  --store URL              default rocksdb:./data\n"
           "  --master-key-file FILE   default ./gramme.key, unless GRAMME_MASTER_KEY is set\n"
           "  --account NUMBER         default 000000000000\n");
}

/* Writes a new master key to a file, unless it exists. *out_is_new: it did not. */
static bool make_master_key(struct str path, bool *out_is_new, struct err *err)
{
    struct str name = arena_copy_c(err->arena, path);
    int fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST ||
               err_set(err, ERR_INTERNAL, "cannot write %.*s: %s", STR_ARG(path), strerror(errno));
    }
    unsigned char bytes[32];
    char text[2 * sizeof(bytes) + 2];
    random_system(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    text[2 * sizeof(bytes)] = '\n';
    size_t len = 2 * sizeof(bytes) + 1;
    *out_is_new = write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
    if (!*out_is_new) {
        err_set(err, ERR_INTERNAL, "cannot write %.*s: %s", STR_ARG(path), strerror(errno));
        unlink(name.data);
    }
    close(fd);
    return *out_is_new;
}

static bool ask(const struct admin_arguments *arguments, const char *operation, const char *body,
                struct str *answer, struct err *err)
{
    return admin_request(arguments, operation, str_from_c(body), answer, err);
}

/* Creates root with one new key; older keys of root are deleted. *out_uses_key: the store may hold
 * a secret that the master key encrypts, also after a failure. */
static bool make_root(struct admin_arguments *arguments, bool *out_uses_key, struct err *err)
{
    struct str answer;
    struct err ignored = ERR_INIT(arguments->arena);
    if (ask(arguments, "DeleteUser", "{\"UserName\":\"root\"}", &answer, &ignored)) {
        fprintf(stderr, "The older keys of root are gone.\n");
    } else if (ignored.code != ERR_RESOURCE_NOT_FOUND) {
        return err_set_str(err, ignored.code, ignored.message);
    }
    if (!ask(arguments, "CreateUser", "{\"UserName\":\"root\"}", &answer, err)) {
        return false;
    }
    *out_uses_key = true;
    if (!ask(arguments, "CreateAccessKey", "{\"UserName\":\"root\"}", &answer, err)) {
        return false;
    }
    struct str id = admin_member(arguments->arena, answer, "AccessKeyId");
    struct str secret = admin_member(arguments->arena, answer, "SecretAccessKey");
    fprintf(stderr, "The key of root, shown only now. Keep it, and the master key, in a safe "
                    "place.\n");
    printf("AWS_ACCESS_KEY_ID=%.*s\nAWS_SECRET_ACCESS_KEY=%.*s\n", STR_ARG(id), STR_ARG(secret));
    return true;
}

static bool run(const struct admin_arguments *given, struct err *err)
{
    struct admin_arguments arguments = *given;
    if (str_is_null(arguments.store)) {
        arguments.store = STR("rocksdb:./data");
    }
    bool is_new = false;
    bool uses_key = false;
    if (getenv("GRAMME_MASTER_KEY") == NULL || arguments.master_key_file.len > 0) {
        if (arguments.master_key_file.len == 0) {
            arguments.master_key_file = STR("./gramme.key");
        }
        if (!make_master_key(arguments.master_key_file, &is_new, err)) {
            return false;
        }
    }
    unsetenv("GRAMME_ROOT_ACCESS_KEY_ID"); /* else opening the store would create root with it */
    bool good = make_root(&arguments, &uses_key, err);
    if (is_new && !uses_key) { /* it is not the master key of this store */
        unlink(arena_copy_c(arguments.arena, arguments.master_key_file).data);
    }
    return good;
}

int init_command(int argc, char **argv)
{
    static const struct admin_verb verbs[] = {
        {"init", "[--store URL] [--master-key-file FILE]", "prepare a store", 0, run}, {0}};
    if (argc > 0 && is_help_argument(argv[0])) {
        print_help();
        return 0;
    }
    char **with_verb = calloc((size_t)argc + 1, sizeof(*with_verb));
    if (with_verb == NULL) {
        return 1;
    }
    with_verb[0] = (char *)"init";
    memcpy(with_verb + 1, argv, (size_t)argc * sizeof(*argv));
    int status = admin_main("init", verbs, argc + 1, with_verb);
    free(with_verb);
    return status;
}
