/* Describes the manifest, which lists the SST files: its name, size and hash. A clean end stores
 * that in wal.state, so that the next start detects a manifest that was damaged in between. Called
 * when the store is opened and closed, and by the scrubber. */
#include <errno.h>

#include "base/hash.h"
#include "store/rocks/database/database.h"

bool rocks_is_damaged(const struct rocks *rocks, const char *what, const char *why, struct err *err)
{
    err_set(err, ERR_INTERNAL,
            "the store in %s is damaged: %s: %s; nothing was changed; look with `gramme check %s`, "
            "save what is left with `gramme repair %s %s-repaired`",
            rocks->path, what, why, rocks->path, rocks->path, rocks->path);
    return false;
}

/* Reads the name of the manifest from CURRENT, without the newline. */
static bool read_current(const struct rocks *rocks, struct buf *out, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/CURRENT", rocks->path);
    bool good = files_read_file(rocks->files, path.data, out);
    buf_finish(&path);
    if (!good) {
        return rocks_is_damaged(rocks, "CURRENT", strerror(errno), err);
    }
    struct str name = buf_str(out);
    if (!str_starts_with(name, STR("MANIFEST-")) || name.data[name.len - 1] != '\n') {
        return rocks_is_damaged(rocks, "CURRENT", "it does not name a manifest", err);
    }
    out->len--;
    buf_reserve(out, 1)[0] = '\0';
    return true;
}

static bool read_manifest(const struct rocks *rocks, const char *name, struct buf *out,
                          struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", rocks->path, name);
    bool good = files_read_file(rocks->files, path.data, out);
    buf_finish(&path);
    return good || rocks_is_damaged(rocks, name, strerror(errno), err);
}

bool rocks_describe_manifest(const struct rocks *rocks, struct wal_sst_state *out, struct err *err)
{
    struct buf name = {0};
    struct buf bytes = {0};
    bool good = read_current(rocks, &name, err) &&
                (name.len <= WAL_MANIFEST_NAME_MAX ||
                 rocks_is_damaged(rocks, "CURRENT", "it does not name a manifest", err)) &&
                read_manifest(rocks, name.data, &bytes, err);
    if (good) {
        memcpy(out->manifest, name.data, name.len + 1);
        out->manifest_bytes = bytes.len;
        out->manifest_hash = hash_64(buf_str(&bytes));
    }
    buf_finish(&name);
    buf_finish(&bytes);
    return good;
}
