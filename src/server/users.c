/* Users from a file or from the store, and the master key. Called by serve.c on the main thread,
 * and by admin.c on slow threads. */
#include "server/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

enum { FILE_BYTES_MAX = 64 << 20 };

/* Opens a file and finds its size and mode. Returns -1 if that is not possible. */
static int open_file(struct str path, struct stat *out, struct err *err)
{
    struct str name = arena_copy_c(err->arena, path);
    int fd = open(name.data, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, out) != 0) {
        err_set(err, ERR_INTERNAL, "cannot read %.*s: %s", STR_ARG(path), strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

/* The text of a file that holds secrets, in memory that is not dumped. Refuses a file that other
 * users can read. */
static bool read_secret_file(struct secret_arena *secrets, struct str path, struct str *out,
                             struct err *err)
{
    struct stat facts;
    int fd = open_file(path, &facts, err);
    if (fd < 0) {
        return false;
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
           err_set(err, ERR_INTERNAL, "cannot read %.*s: it is not a file of at most 64 MiB",
                   STR_ARG(path));
}

bool users_read_master_key(struct secret_arena *secrets, struct str file, struct seal_key **out,
                           struct err *err)
{
    struct str text = secret_take_environment(secrets, "GRAMME_MASTER_KEY");
    *out = NULL;
    if (file.len > 0 && !read_secret_file(secrets, file, &text, err)) {
        return false;
    }
    if (str_is_null(text)) {
        return true;
    }
    struct seal_key *key = secret_alloc(secrets, sizeof(*key));
    if (!seal_key_parse(text, key, err)) {
        return false;
    }
    *out = key;
    return true;
}

/* From the file ------------------------------------------------------------------------------ */

static bool load_file(struct users *users, struct directory *directory, struct err *err)
{
    struct secret_arena secrets = {0};
    struct err problem = ERR_INIT(err->arena);
    struct str text;
    bool good = read_secret_file(&secrets, users->options.file, &text, &problem) &&
                directory_add_file(directory, text, users->key, &problem) &&
                directory_complete(directory, 0, &problem);
    secret_arena_finish(&secrets);
    return good || err_set(err, problem.code, "users file %.*s: %.*s", STR_ARG(users->options.file),
                           STR_ARG(problem.message));
}

/* From the store ----------------------------------------------------------------------------- */

struct loading {
    struct users *users;
    struct directory *directory;
};

static bool load_record(void *context, const char *kind, struct str value, struct err *err)
{
    struct loading *loading = context;
    for (int i = 0; i < DIRECTORY_KIND_COUNT; i++) {
        if (strcmp(kind, directory_kind_name((enum directory_kind)i)) == 0) {
            return directory_add(loading->directory, (enum directory_kind)i, value,
                                 loading->users->key, err);
        }
    }
    return err_set(err, ERR_INTERNAL, "unknown kind of record: %s", kind);
}

static void restart_loading(void *context)
{
    struct loading *loading = context;
    directory_release(loading->directory);
    loading->directory = directory_create(loading->users->options.account);
}

/* Replaces *directory if the records change while they are read. */
static bool load_store(struct users *users, struct directory **directory, struct err *err)
{
    const char *const kinds[] = {directory_kind_name(DIRECTORY_POLICY),
                                 directory_kind_name(DIRECTORY_ROLE),
                                 directory_kind_name(DIRECTORY_USER), NULL};
    struct loading loading = {.users = users, .directory = *directory};
    int64_t revision = 0;
    bool good = engine_read_records(users->engine, kinds, load_record, restart_loading, &loading,
                                    &revision, err) &&
                directory_complete(loading.directory, revision, err);
    *directory = loading.directory;
    return good;
}

bool users_reload(struct users *users, struct err *err)
{
    struct directory *directory = directory_create(users->options.account);
    bool good = users->options.file.len > 0 ? load_file(users, directory, err)
                                            : load_store(users, &directory, err);
    if (!good) {
        directory_release(directory);
        return false;
    }
    directory_publish(&users->source, directory);
    return true;
}

void users_poll(struct users *users)
{
    if (users->engine == NULL || users->options.file.len > 0) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct directory *directory = directory_current(&users->source);
    int64_t revision = 0;
    bool is_newer = engine_records_revision(users->engine, &revision, &err) &&
                    revision != directory_revision(directory);
    directory_release(directory);
    pthread_mutex_lock(&users->lock);
    if (is_newer && !users_reload(users, &err)) {
        log_write(LOG_WARN, "auth", "users could not be read again: %.*s", STR_ARG(err.message));
    }
    pthread_mutex_unlock(&users->lock);
    arena_finish(&arena);
}

enum records_status users_change(struct users *users, int64_t revision,
                                 const struct record_change *changes, size_t count, struct err *err)
{
    pthread_mutex_lock(&users->lock);
    enum records_status status =
        engine_change_records(users->engine, revision, changes, count, err);
    if (status != RECORDS_FAILED && !users_reload(users, err)) {
        status = RECORDS_FAILED;
    }
    pthread_mutex_unlock(&users->lock);
    return status;
}

/* The first start ---------------------------------------------------------------------------- */

static bool is_empty(struct users *users)
{
    size_t at = 0;
    struct directory *directory = directory_current(&users->source);
    bool empty = directory_next_principal(directory, DIRECTORY_USER, &at) == NULL;
    directory_release(directory);
    return empty;
}

/* Whether root can be made with this key. */
static bool check_root(const struct users *users, struct str id, struct str secret, struct err *err)
{
    if (users->key == NULL) {
        return err_set(err, ERR_VALIDATION,
                       "users are kept in the store under a master key: give it with "
                       "--master-key-file or GRAMME_MASTER_KEY");
    }
    if (!directory_is_key_id(id) || !directory_is_secret(secret)) {
        return err_set(err, ERR_VALIDATION,
                       "GRAMME_ROOT_ACCESS_KEY_ID and GRAMME_ROOT_SECRET_ACCESS_KEY are no "
                       "access key");
    }
    return true;
}

/* Makes root with the key from the environment. */
static bool make_root(struct users *users, struct str id, struct str secret, struct err *err)
{
    if (!check_root(users, id, secret, err)) {
        return false;
    }
    int64_t now = clock_wall_ms() / 1000;
    struct directory_principal root = {
        .kind = CALLER_ROOT,
        .name = STR(DIRECTORY_ROOT),
        .id = STR(DIRECTORY_ROOT),
        .created = now,
        .keys = {{.id = id, .secret = secret, .created = now}},
        .key_count = 1,
    };
    struct buf record = {0};
    directory_write_principal(&root, users->key, err->arena, &record);
    struct record_change change = {
        .kind = directory_kind_name(DIRECTORY_USER), .name = root.name, .value = buf_str(&record)};
    enum records_status status = users_change(users, 0, &change, 1, err);
    buf_finish(&record);
    return status != RECORDS_FAILED; /* stale: another server has made it */
}

bool users_load(struct users *users, struct engine *engine, struct err *err)
{
    users->engine = engine;
    if (!users_reload(users, err)) {
        return false;
    }
    struct str id = str_from_c(getenv("GRAMME_ROOT_ACCESS_KEY_ID"));
    struct str secret = users->root_secret;
    bool good = true;
    if (users->options.file.len == 0 && is_empty(users)) {
        bool is_given = !str_is_null(id) && !str_is_null(secret);
        good = !is_given || make_root(users, id, secret, err);
        if (!is_given) {
            log_write(LOG_WARN, "auth",
                      "there is no user, so every request is refused: run `gramme init`, or give "
                      "--users FILE");
        }
    }
    return good;
}

bool users_open(struct users *users, const struct users_options *options, struct err *err)
{
    *users = (struct users){.options = *options};
    directory_source_init(&users->source);
    pthread_mutex_init(&users->lock, NULL);
    users->root_secret = secret_take_environment(&users->secrets, "GRAMME_ROOT_SECRET_ACCESS_KEY");
    if (!users_read_master_key(&users->secrets, options->master_key_file, &users->key, err)) {
        return false;
    }
    users->token_key = users->key;
    if (users->token_key == NULL) {
        users->token_key = secret_alloc(&users->secrets, sizeof(*users->token_key));
        random_system(users->token_key->bytes, SEAL_KEY_LEN);
    }
    return true;
}

void users_close(struct users *users)
{
    if (str_is_null(users->options.account)) {
        return; /* never opened */
    }
    directory_source_finish(&users->source);
    secret_arena_finish(&users->secrets);
    pthread_mutex_destroy(&users->lock);
}
