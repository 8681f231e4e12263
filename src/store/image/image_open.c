/* Opens the image of a closed store: takes its lock, reads the identity, finds the SST files, reads
 * the rows of the store itself, the write-ahead log and the dropped spaces. What is damaged is
 * reported, and replaced where that is possible. Called by `gramme check` and `gramme repair`, on
 * their main thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/image/image_internal.h"
#include "store/image/quarantine_row.h"
#include "store/store.h"

/* Takes the lock that a running server holds. Without the lock file no server runs, and none is
 * created. */
static bool lock(struct image *image, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/STORE.lock", image->options.directory);
    image->lock_fd = open(path.data, O_RDONLY | O_CLOEXEC);
    buf_finish(&path);
    if (image->lock_fd >= 0 && flock(image->lock_fd, LOCK_SH | LOCK_NB) != 0) {
        return err_set(err, ERR_INTERNAL, "the store in %s is in use by a server; stop it first",
                       image->options.directory);
    }
    return true;
}

static bool is_unreadable(const struct image *image, uint32_t format, struct err *err)
{
    return err_set(err, ERR_INTERNAL,
                   "the store in %s has format %u; this version reads formats %d to %d only (a "
                   "start of the server upgrades older ones)",
                   image->options.directory, format, STORE_FORMAT_WITHOUT_HISTORY,
                   STORE_FORMAT_QUARANTINE);
}

/* `has_old_wal`: there are files of the WAL of format 3, which had no files STORE; its records
 * would be missing. */
static bool read_identity(struct image *image, bool has_old_wal, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct err ignored = ERR_INIT(&arena);
    bool is_incomplete = false;
    enum identity_result result = identity_read(image->files, image->options.directory,
                                                &image->identity, &is_incomplete, &ignored);
    arena_finish(&arena);
    image->summary.has_identity = result == IDENTITY_FOUND;
    image->summary.seed = image->identity.seed;
    image->summary.format = image->identity.format;
    if (result == IDENTITY_FOUND && !identity_format_is_readable(image->identity.format)) {
        return is_unreadable(image, image->identity.format, err);
    }
    if (result == IDENTITY_NONE && has_old_wal) {
        return is_unreadable(image, STORE_FORMAT_OLDEST, err);
    }
    if (result != IDENTITY_FOUND) {
        image_report(
            image, FINDING_DAMAGE, "STORE",
            "neither STORE nor STORE.copy can be read: the seed of hashes is taken from the "
            "SST files");
    } else if (is_incomplete) {
        image_report(image, FINDING_CORRECTED, "STORE", "one of STORE and STORE.copy is bad");
    }
    return true;
}

static bool read_file(struct image *image, const char *name, struct buf *out)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", image->options.directory, name);
    bool good = files_read_file(image->files, path.data, out);
    buf_finish(&path);
    return good;
}

/* Reads the manifest. False: there is none that can be read, which is reported. */
static bool read_manifest(struct image *image)
{
    struct buf name = {0};
    struct buf bytes = {0};
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool good = read_file(image, "CURRENT", &name) && name.len > 10 &&
                memcmp(name.data, "MANIFEST-", 9) == 0 && name.data[name.len - 1] == '\n';
    if (!good) {
        image_report(image, FINDING_DAMAGE, "CURRENT", "it does not name a manifest");
    } else {
        name.data[name.len - 1] = '\0';
        good = (read_file(image, name.data, &bytes) ||
                err_set(&err, ERR_INTERNAL, "%s", strerror(errno))) &&
               manifest_read(&image->arena, buf_str(&bytes), &image->manifest, &err);
        if (!good) {
            image_report(image, FINDING_DAMAGE, name.data, arena_copy_c(&arena, err.message).data);
        }
    }
    arena_finish(&arena);
    buf_finish(&name);
    buf_finish(&bytes);
    return good;
}

struct listing {
    struct image *image;
    struct manifest_sst *ssts;
    size_t count;
    bool has_store;   /* there is a file of a store */
    bool has_old_wal; /* of format 3 */
};

static void list_file(void *context, const char *name)
{
    struct listing *listing = context;
    char *end;
    uint64_t number = strtoull(name, &end, 10);
    listing->has_store = listing->has_store || strcmp(name, "STORE") == 0 ||
                         strcmp(name, "STORE.copy") == 0 || strcmp(name, "wal.state") == 0 ||
                         strcmp(name, "CURRENT") == 0;
    listing->has_old_wal = listing->has_old_wal || (end != name && strcmp(end, ".journal") == 0);
    if (end == name || strcmp(end, ".sst") != 0) {
        return;
    }
    listing->ssts = mem_realloc(listing->ssts, (listing->count + 1) * sizeof(*listing->ssts));
    listing->ssts[listing->count++] =
        (struct manifest_sst){.number = number, .smallest = STR(""), .largest = STR_NULL};
}

static bool is_named(const struct manifest *manifest, uint64_t number)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (manifest->ssts[i].number == number) {
            return true;
        }
    }
    return false;
}

/* Reports SST files that are not in the manifest; a start of the server would delete them. */
static void note_unnamed(struct image *image, const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (!is_named(&image->manifest, listing->ssts[i].number)) {
            struct buf name = {0};
            buf_format(&name, "%06llu.sst", (unsigned long long)listing->ssts[i].number);
            image_report(image, FINDING_NOTE, name.data,
                         "the manifest does not name this SST file; the next start deletes it");
            buf_finish(&name);
        }
    }
}

static void use_all_ssts(struct image *image, const struct listing *listing)
{
    struct manifest *manifest = &image->manifest;
    manifest->count = listing->count;
    manifest->ssts = ARENA_ARRAY(&image->arena, struct manifest_sst, listing->count + 1);
    if (listing->count > 0) {
        memcpy(manifest->ssts, listing->ssts, listing->count * sizeof(*listing->ssts));
    }
    image_report(
        image, FINDING_DAMAGE, "MANIFEST",
        "all SST files in the directory are read instead; if the server was killed, SST files that "
        "were "
        "replaced shortly before may be among them, and rows that were changed or deleted then "
        "may be found as they were");
}

static uint64_t size_of_sst(const struct image *image, uint64_t number)
{
    struct buf path = {0};
    buf_format(&path, "%s/%06llu.sst", image->options.directory, (unsigned long long)number);
    int fd = image->files->open(image->files, path.data, O_RDONLY);
    int64_t size = fd >= 0 ? image->files->size(image->files, fd) : 0;
    if (fd >= 0) {
        files_close(image->files, fd);
    }
    buf_finish(&path);
    return size > 0 ? (uint64_t)size : 0;
}

static bool find_ssts(struct image *image, struct err *err)
{
    struct listing listing = {.image = image};
    const char *directory = image->options.directory;
    if (image->files->list(image->files, directory, list_file, &listing) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot read %s: %s", directory, strerror(errno));
    }
    bool good =
        listing.has_store || err_set(err, ERR_INTERNAL, "there is no store in %s", directory);
    good = good && lock(image, err) && read_identity(image, listing.has_old_wal, err);
    if (good) {
        image->summary.has_manifest = read_manifest(image);
        if (image->summary.has_manifest) {
            note_unnamed(image, &listing);
        } else {
            use_all_ssts(image, &listing);
        }
        for (size_t i = 0; i < image->manifest.count; i++) {
            image->summary.sst_bytes += size_of_sst(image, image->manifest.ssts[i].number);
        }
        image->summary.sst_count = image->manifest.count;
    }
    mem_free(listing.ssts);
    return good;
}

/* Finds a row of space 0. Nothing is reported meanwhile, because all rows are read again later. */
static bool find_own_row(struct image *image, const char *name, struct buf *out)
{
    char key[STORE_PREFIX_LEN] = {0};
    memcpy(key + STORE_SPACE_LEN, name, strlen(name));
    struct str wanted = str_make(key, sizeof(key));
    image->is_silent = true;
    image_rewind(image);
    struct image_row row;
    bool found = false;
    while (!found && image_next(image, &row) && str_cmp(row.key, wanted) <= 0) {
        found = str_eq(row.key, wanted);
    }
    if (found) {
        out->len = 0;
        buf_add(out, row.value);
    }
    image->is_silent = false;
    return found;
}

/* Finds the seed of a store without SST files: the row `format` is then only in RocksDB's own WAL,
 * NUMBER.log: its key, the length 12, format (u32), seed (u64). */
static void find_seed(void *context, const char *name)
{
    struct image *image = context;
    size_t len = strlen(name);
    struct buf bytes = {0};
    if (len > 4 && strcmp(name + len - 4, ".log") == 0 && read_file(image, name, &bytes)) {
        static const char row[STORE_PREFIX_LEN + 1] = "\0\0\0\0format\0\0\0\0\0\0\0\0\0\0\x0c";
        const char *at = memmem(bytes.data, bytes.len, row, sizeof(row));
        if (at != NULL && (size_t)(bytes.data + bytes.len - at) >= sizeof(row) + 12 &&
            identity_format_is_readable(get_u32_le((const uint8_t *)at + sizeof(row)))) {
            image->summary.seed = get_u64_le((const uint8_t *)at + sizeof(row) + 4);
        }
    }
    buf_finish(&bytes);
}

static void read_own_rows(struct image *image)
{
    struct buf value = {0};
    if (find_own_row(image, "journal", &value) && value.len == 8) {
        image->summary.stored = get_u64_le((const uint8_t *)value.data);
    }
    /* format (u32), seed (u64) */
    if (!image->summary.has_identity && find_own_row(image, "format", &value) && value.len == 12) {
        image->summary.seed = get_u64_le((const uint8_t *)value.data + 4);
    }
    if (!image->summary.has_identity && image->summary.seed == 0) {
        image->files->list(image->files, image->options.directory, find_seed, image);
    }
    buf_finish(&value);
}

static void read_wal(struct image *image)
{
    struct wal_rows_input input = {.files = image->files,
                                   .directory = image->options.directory,
                                   .store_id =
                                       image->summary.has_identity ? image->identity.id : NULL,
                                   .stored = image->summary.stored,
                                   .report = image->options.report,
                                   .context = image->options.context};
    wal_rows_read(&image->wal_rows, &input);
    image->summary.record_count = image->wal_rows.record_count;
    image->summary.last_record = image->wal_rows.last_record;
}

/* Reads which blocks are in quarantine from a row of space 0. */
static void read_quarantined(struct image *image, const struct image_row *row)
{
    char part[STORE_PREFIX_LEN];
    quarantine_prefix(part);
    struct quarantine_row found;
    if (!str_starts_with(row->key, str_make(part, sizeof(part)))) {
        return;
    }
    if (!quarantine_row_decode(row->key, row->value, &found)) {
        image_report(image, FINDING_DAMAGE, "rows of the store",
                     "an entry of the list of blocks in quarantine is malformed");
        return;
    }
    image_add_lost(image, &(struct lost_range){.first = found.first,
                                               .last = found.last,
                                               .is_quarantined = true,
                                               .is_corrected = found.is_corrected,
                                               .sst = found.sst,
                                               .offset = found.offset});
}

/* Reads the dropped spaces: rows of space 0, part "dropped"; see rocks/commit/dropped_spaces.c. And
 * the list of blocks in quarantine. */
static void read_dropped(struct image *image)
{
    char part[STORE_PREFIX_LEN] = {0};
    memcpy(part + STORE_SPACE_LEN, "dropped", 7);
    struct image_row row;
    image->is_silent = true;
    image_rewind(image);
    while (image_next(image, &row) && row.key.len >= STORE_SPACE_LEN &&
           store_key_space(row.key) == 0) {
        if (str_starts_with(row.key, str_make(part, sizeof(part))) &&
            row.key.len == STORE_PREFIX_LEN + 4 && row.value.len == SPACE_PIECE_BYTES) {
            uint32_t piece = store_key_space(str_skip(row.key, STORE_PREFIX_LEN));
            space_set_load(&image->dropped, piece, (const uint8_t *)row.value.data);
        }
        read_quarantined(image, &row);
    }
    image->is_silent = false;
}

/* SST files of level 0, and without a manifest all SST files, are open at the same time; one that
 * cannot be opened would count as lost. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool image_open(const struct image_options *options, struct image **out, struct err *err)
{
    struct image *image = mem_zalloc(sizeof(*image));
    image->options = *options;
    image->files = files_system();
    image->lock_fd = -1;
    arena_init(&image->arena);
    arena_init(&image->wal_rows.arena);
    space_set_init(&image->dropped);
    raise_file_limit();
    if (!find_ssts(image, err)) {
        image_close(image);
        return false;
    }
    image_make_sources(image);
    read_own_rows(image);
    read_wal(image);
    read_dropped(image);
    image_rewind(image);
    *out = image;
    return true;
}

void image_close(struct image *image)
{
    if (image == NULL) {
        return;
    }
    image_free_sources(image);
    if (image->lock_fd >= 0) {
        close(image->lock_fd);
    }
    wal_rows_finish(&image->wal_rows);
    space_set_finish(&image->dropped);
    arena_finish(&image->arena);
    buf_finish(&image->current);
    mem_free(image->lost);
    mem_free(image);
}
