/* The users file and the master key. Called by serve.c on the main thread. */
#include "server/users.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { FILE_BYTES_MAX = 64 << 20 };

/* The text of a file that holds secrets, in memory that is not dumped. Nobody else may be able to
 * read it. */
static bool read_secret_file(struct secret_arena *secrets, struct str path, struct str *out,
                             struct err *err)
{
    struct str name = arena_copy_c(err->arena, path);
    int fd = open(name.data, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0) {
        int reason = errno;
        if (fd >= 0) {
            close(fd);
        }
        return err_set(err, ERR_INTERNAL, "cannot read %.*s: %s", STR_ARG(path), strerror(reason));
    }
    bool is_private = (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0;
    bool fits = S_ISREG(facts.st_mode) && facts.st_size <= FILE_BYTES_MAX;
    size_t size = fits ? (size_t)facts.st_size : 0;
    char *text = secret_alloc(secrets, size + 1);
    size_t len = 0;
    ssize_t count = 1;
    while (is_private && fits && len < size && count > 0) {
        count = read(fd, text + len, size - len);
        len += count > 0 ? (size_t)count : 0;
    }
    close(fd);
    *out = str_make(text, len);
    if (!is_private) {
        return err_set(err, ERR_INTERNAL,
                       "%.*s holds secrets, and others may read it: chmod 600 it", STR_ARG(path));
    }
    return (fits && len == size) ||
           err_set(err, ERR_INTERNAL, "cannot read %.*s: it is no file of at most 64 MiB",
                   STR_ARG(path));
}

bool users_read_master_key(struct secret_arena *secrets, struct str file, struct seal_key **out,
                           struct err *err)
{
    struct str text;
    *out = NULL;
    if (file.len > 0) {
        if (!read_secret_file(secrets, file, &text, err)) {
            return false;
        }
    } else {
        text = secret_take_environment(secrets, "GRAMME_MASTER_KEY");
        if (str_is_null(text)) {
            return true;
        }
    }
    struct seal_key *key = secret_alloc(secrets, sizeof(*key));
    if (!seal_key_parse(text, key, err)) {
        return false;
    }
    *out = key;
    return true;
}

bool users_reload(struct users *users, struct err *err)
{
    if (users->file.len == 0) {
        return true;
    }
    struct secret_arena secrets = {0};
    struct err problem = ERR_INIT(err->arena);
    struct directory *directory = directory_create(users->account);
    struct str text;
    bool good = read_secret_file(&secrets, users->file, &text, &problem) &&
                directory_add_file(directory, text, users->key, &problem) &&
                directory_complete(directory, 0, &problem);
    secret_arena_finish(&secrets);
    if (!good) {
        directory_release(directory);
        return err_set(err, problem.code, "users file %.*s: %.*s", STR_ARG(users->file),
                       STR_ARG(problem.message));
    }
    directory_publish(&users->source, directory);
    return true;
}

bool users_open(struct users *users, const struct config *config, struct err *err)
{
    *users = (struct users){.file = config->users_file, .account = config->account};
    directory_source_init(&users->source);
    return users_read_master_key(&users->secrets, config->master_key_file, &users->key, err) &&
           users_reload(users, err);
}

void users_close(struct users *users)
{
    if (str_is_null(users->account)) {
        return; /* never opened */
    }
    directory_source_finish(&users->source);
    secret_arena_finish(&users->secrets);
}
