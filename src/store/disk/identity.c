/* Reads and writes the identity of a store: the files STORE and STORE.copy, each with a checksum.
 * Called when a store is opened, created or restored, by the scrubber, which writes a damaged copy
 * again, and by the commands that read closed stores; each on its own thread. */
#include "store/disk/identity.h"

#include <errno.h>
#include <fcntl.h>

#include "base/bytes.h"
#include "base/random.h"

static const char magic[] = "GRAMMEST";
static const char *const names[] = {"STORE", "STORE.copy"};

/* magic (8) | format (u32) | 0 (u32) | id (16) | seed (u64) | 0 (16) | checksum (u64) */
enum { IDENTITY_LEN = 64, SEED_AT = 32 };
static_assert(16 + STORE_ID_LEN == SEED_AT, "the seed follows the id");
static_assert(SEED_AT + 8 + CHECKSUM_LEN <= IDENTITY_LEN, "the checksum ends the identity");

static void encode(const struct identity *identity, uint8_t out[IDENTITY_LEN])
{
    memset(out, 0, IDENTITY_LEN);
    memcpy(out, magic, 8);
    put_u32_le(out + 8, identity->format);
    memcpy(out + 16, identity->id, STORE_ID_LEN);
    put_u64_le(out + SEED_AT, identity->seed);
    checksum_write(out, IDENTITY_LEN);
}

/* Reads one of the files; *out_exact: no bit had to be corrected. */
static bool read_copy(const struct files *files, const char *path, struct identity *out,
                      bool *out_exact)
{
    struct buf bytes = {0};
    bool good = files_read_file(files, path, &bytes) && bytes.len == IDENTITY_LEN;
    if (good) {
        uint8_t *at = (uint8_t *)bytes.data;
        enum checksum_result check = checksum_check(at, IDENTITY_LEN);
        good = check != CHECKSUM_BAD && memcmp(at, magic, 8) == 0;
        *out_exact = check == CHECKSUM_GOOD;
        out->format = get_u32_le(at + 8);
        memcpy(out->id, at + 16, STORE_ID_LEN);
        out->seed = get_u64_le(at + SEED_AT);
    }
    buf_finish(&bytes);
    return good;
}

static bool exists(const struct files *files, const char *path)
{
    int fd = files->open(files, path, O_RDONLY);
    if (fd >= 0) {
        files_close(files, fd);
    }
    return fd >= 0 || errno != ENOENT;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
    return a->format == b->format && a->seed == b->seed && memcmp(a->id, b->id, STORE_ID_LEN) == 0;
}

enum identity_result identity_read(const struct files *files, const char *directory,
                                   struct identity *out, bool *out_incomplete, struct err *err)
{
    struct buf path = {0};
    bool is_there = false;
    int good_count = 0;
    int exact_count = 0;
    bool is_equal = true; /* false: an upgrade was interrupted between the files */
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        path.len = 0;
        buf_format(&path, "%s/%s", directory, names[i]);
        is_there = exists(files, path.data) || is_there;
        struct identity copy;
        bool exact = false;
        if (read_copy(files, path.data, &copy, &exact)) {
            *out = good_count == 0 ? copy : *out;
            is_equal = is_same(out, &copy);
            good_count++;
            exact_count += exact;
        }
    }
    buf_finish(&path);
    assert(exact_count <= good_count);
    assert(is_there || good_count == 0);
    *out_incomplete = exact_count < (int)COUNT_OF(names) || !is_equal;
    if (good_count == 0 && is_there) {
        err_set(err, ERR_INTERNAL,
                "the store in %s is damaged: neither STORE nor STORE.copy can be read; nothing was "
                "changed; `gramme repair %s %s-repaired` saves what is left",
                directory, directory, directory);
        return IDENTITY_BAD;
    }
    return good_count > 0 ? IDENTITY_FOUND : IDENTITY_NONE;
}

void identity_make(struct identity *out, uint64_t seed)
{
    *out = (struct identity){.format = STORE_FORMAT, .seed = seed};
    random_system(out->id, sizeof(out->id));
    if (seed == 0) {
        random_system(&out->seed, sizeof(out->seed));
    }
}

static bool write_file(const struct files *files, const char *path, const uint8_t *bytes)
{
    int fd = files->open(files, path, O_CREAT | O_TRUNC | O_WRONLY);
    if (fd < 0) {
        return false;
    }
    struct iovec part = {(void *)bytes, IDENTITY_LEN};
    bool good = files_write_all(files, fd, &part, 1, 0) && files_sync(files, fd);
    files_close(files, fd);
    return good;
}

/* Writes a temporary file, syncs it and renames it, so that the file is always complete. */
static bool write_copy(const struct files *files, const char *directory, const char *name,
                       const uint8_t *bytes)
{
    struct buf path = {0};
    struct buf temporary = {0};
    buf_format(&path, "%s/%s", directory, name);
    buf_format(&temporary, "%s/STORE.tmp", directory);
    bool good = write_file(files, temporary.data, bytes) &&
                files->rename(files, temporary.data, path.data) == 0 &&
                files->sync_directory(files, directory) == 0;
    buf_finish(&path);
    buf_finish(&temporary);
    return good;
}

bool identity_write(const struct files *files, const char *directory,
                    const struct identity *identity, struct err *err)
{
    uint8_t bytes[IDENTITY_LEN];
    assert(identity->format >= 1);
    encode(identity, bytes);
    assert(checksum_check(bytes, IDENTITY_LEN) == CHECKSUM_GOOD);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!write_copy(files, directory, names[i], bytes)) {
            return err_set(err, ERR_INTERNAL, "cannot write to the store in %s: %s: %s", directory,
                           names[i], strerror(errno));
        }
    }
    return true;
}
