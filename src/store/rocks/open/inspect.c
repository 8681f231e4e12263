/* Checks a directory before RocksDB opens it for writing, because RocksDB creates a database where
 * there is none, and deletes files that its manifest does not list. First: is the directory a
 * store, is it empty, or is it something else, which is refused? Then the write-ahead log is
 * checked against the SST files, which are opened read-only. Nothing is deleted, and no file but
 * the lock is created, before all checks have passed.
 *
 * Called by rocks_open_directory(), on its thread. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "store/rocks/database/database.h"
#include "store/rocks/open/open.h"

/* The entries of the directory. */
struct contents {
    bool has_current;  /* RocksDB's */
    bool has_new_file; /* a store was being created */
    bool is_partial;   /* a repair or restore is not complete */
    bool has_others;
    char other[64]; /* the name of a file that is not part of a store */
    enum identity_result identity;
    bool identity_is_incomplete;
    bool is_new; /* there is nothing but what an interrupted creation may have left */
};

static void note_entry(void *context, const char *name)
{
    struct contents *contents = context;
    if (strcmp(name, "lost+found") == 0 || strcmp(name, "STORE.lock") == 0) {
        return;
    }
    contents->has_current = contents->has_current || strcmp(name, "CURRENT") == 0;
    if (strcmp(name, "STORE.new") == 0) {
        contents->has_new_file = true;
        return;
    }
    contents->is_partial = contents->is_partial || strcmp(name, ROCKS_PARTIAL_NAME) == 0;
    contents->has_others = true;
    strncpy(contents->other, name, sizeof(contents->other) - 1);
}

/* Locks the directory, so that no other process changes it while it is checked. RocksDB's own lock
 * is taken too late for that. Closing the descriptor releases the lock. */
static bool lock(struct rocks *rocks, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/STORE.lock", rocks->path);
    rocks->lock_fd = open(path.data, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    buf_finish(&path);
    if (rocks->lock_fd < 0) {
        return rocks_cannot_open(rocks, err);
    }
    if (flock(rocks->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return rocks_cannot_open(rocks, err);
        }
        return err_set(err, ERR_INTERNAL, "the store in %s is in use by another server",
                       rocks->path);
    }
    return true;
}

void rocks_unlock(struct rocks *rocks)
{
    if (rocks->lock_fd >= 0) {
        close(rocks->lock_fd);
        rocks->lock_fd = -1;
    }
}

static bool is_same_manifest(const struct wal_sst_state *a, const struct wal_sst_state *b)
{
    return strcmp(a->manifest, b->manifest) == 0 && a->manifest_bytes == b->manifest_bytes &&
           a->manifest_hash == b->manifest_hash;
}

/* Finds the last WAL record that the SST files hold. After a clean end it is in wal.state, if the
 * manifest is the one of that end. If it has the same name but other bytes, it is damaged: RocksDB
 * writes a new manifest at every start. */
static bool find_stored(struct rocks *rocks, uint64_t *out, struct err *err)
{
    struct wal_sst_state now = {0};
    struct wal_state_found found;
    if (!rocks_describe_manifest(rocks, &now, err) ||
        !wal_state_read(rocks->files, rocks->path, rocks->identity.id, &found, err)) {
        return false;
    }
    const struct wal_sst_state *then = &found.state.ssts;
    if (found.state.is_clean && is_same_manifest(then, &now)) {
        *out = then->stored;
        return true;
    }
    if (found.state.is_clean && strcmp(then->manifest, now.manifest) == 0) {
        return rocks_is_damaged(rocks, now.manifest,
                                "it is not what it was when the store was closed", err);
    }
    bool good = rocks_open_read_only(rocks, err) && rocks_read_stored(rocks, out, err);
    rocks_close_database(rocks);
    return good;
}

static bool check_store(struct rocks *rocks, struct err *err)
{
    uint64_t stored;
    if (!find_stored(rocks, &stored, err)) {
        return false;
    }
    struct wal_scan_input input = {.files = rocks->files,
                                   .directory = rocks->path,
                                   .store_id = rocks->identity.id,
                                   .stored = stored};
    struct wal_scan scan;
    bool good = wal_scan(&input, &scan, err);
    wal_scan_finish(&scan);
    return good;
}

/* Upgrades from format 4 to 5: only the number changes, so that servers which do not write
 * histories refuse the store. If it is interrupted between the two files, the next start repeats
 * it. */
static bool upgrade_identity(struct rocks *rocks, struct err *err)
{
    uint32_t before = rocks->identity.format;
    rocks->identity.format = STORE_FORMAT;
    if (!identity_write(rocks->files, rocks->path, &rocks->identity, err)) {
        return false;
    }
    log_write(LOG_INFO, "store", "the store in %s was upgraded from format %u to %d", rocks->path,
              before, STORE_FORMAT);
    return true;
}

static bool use_store(struct rocks *rocks, bool is_incomplete, struct err *err)
{
    uint32_t format = rocks->identity.format;
    if (!identity_format_is_readable(format)) {
        return err_set(err, ERR_INTERNAL,
                       "the store in %s has format %u, but this version of gramme knows formats up "
                       "to %d only",
                       rocks->path, format, STORE_FORMAT_QUARANTINE);
    }
    if (!check_store(rocks, err)) {
        return false;
    }
    if (format < STORE_FORMAT) {
        return upgrade_identity(rocks, err);
    }
    if (is_incomplete) {
        log_write(LOG_WARN, "store", "one of %s/STORE and STORE.copy was bad and is written again",
                  rocks->path);
        return identity_write(rocks->files, rocks->path, &rocks->identity, err);
    }
    return true;
}

/* Reads the names of the files and the identity; refuses what is neither a store nor empty. */
static bool look(struct rocks *rocks, struct contents *out, struct err *err)
{
    *out = (struct contents){0};
    if (rocks->files->list(rocks->files, rocks->path, note_entry, out) != 0) {
        return rocks_cannot_open(rocks, err);
    }
    if (out->is_partial) {
        return err_set(
            err, ERR_INTERNAL,
            "%s holds a store that `gramme repair` or `gramme restore` has not completed; "
            "delete the directory and run the command again",
            rocks->path);
    }
    out->identity = identity_read(rocks->files, rocks->path, &rocks->identity,
                                  &out->identity_is_incomplete, err);
    if (out->identity == IDENTITY_BAD) {
        return false;
    }
    out->is_new = out->has_new_file || !out->has_others;
    if (out->identity == IDENTITY_NONE && !out->is_new && !out->has_current) {
        return err_set(err, ERR_INTERNAL,
                       "%s is not empty and holds no store (there is '%s', but neither STORE nor "
                       "CURRENT); nothing was changed",
                       rocks->path, out->other);
    }
    return true;
}

/* Looks before the lock file is created, and again when the directory is locked: until then another
 * process may have made a store there, and closed it. */
bool rocks_inspect(struct rocks *rocks, struct err *err)
{
    struct contents contents;
    if (!files_make_directory(rocks->files, rocks->path)) {
        return rocks_cannot_open(rocks, err);
    }
    if (!look(rocks, &contents, err) || !lock(rocks, err) || !look(rocks, &contents, err)) {
        return false;
    }
    bool good;
    if (contents.identity == IDENTITY_FOUND) {
        good = use_store(rocks, contents.identity_is_incomplete, err);
        if (good && contents.has_new_file) {
            rocks_remove_new_file(rocks); /* the last process ended before it did that */
        }
    } else {
        good = contents.is_new ? rocks_create_store(rocks, err) : rocks_upgrade(rocks, err);
    }
    rocks->store.seed = rocks->identity.seed;
    return good;
}
