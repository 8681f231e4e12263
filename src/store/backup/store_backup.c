/* Writes, verifies and restores backups. Called by the commands of the same names, on their main
 * threads. */
#include "store/backup/store_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/backup/paced_copy.h"
#include "store/disk/files.h"
#include "store/disk/identity.h"
#include "store/image/db_manifest.h"
#include "store/image/sst_file.h"
#include "store/rocks/open/fill_store.h"

/* State of the work on all files of a backup. */
struct work {
    const struct backup_options *options;
    struct rate rate;
    uint64_t done_bytes;
    uint64_t total_bytes;
};

static void count_piece(void *context, uint64_t bytes)
{
    struct work *work = context;
    work->done_bytes += bytes;
    if (work->options->progress != NULL) {
        work->options->progress(work->options->context, work->done_bytes, work->total_bytes);
    }
}

static void start_work(struct work *work, const struct backup_options *options,
                       uint64_t total_bytes)
{
    *work = (struct work){.options = options, .total_bytes = total_bytes};
    work->rate = (struct rate){
        .bytes_per_second = options->bytes_per_second, .piece = count_piece, .context = work};
}

static void join_path(struct buf *out, const char *directory, struct str name)
{
    out->len = 0;
    buf_format(out, "%s/%.*s", directory, STR_ARG(name));
}

static uint64_t total_bytes_of(const struct backup_manifest *manifest)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < manifest->file_count; i++) {
        bytes += manifest->files[i].size_bytes;
    }
    return bytes;
}

static bool read_text(const char *directory, const char *name, struct buf *out)
{
    struct buf path = {0};
    join_path(&path, directory, str_from_c(name));
    bool good = files_read_file(files_system(), path.data, out);
    buf_finish(&path);
    return good;
}

/* Verifying ------------------------------------------------------------------------------------ */

static bool has_file(const struct backup_manifest *manifest, struct str name)
{
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (str_eq(manifest->files[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Reads RocksDB's manifest, which CURRENT names, and checks that all its SST files are listed. */
static bool has_sst_files(const char *directory, const struct backup_manifest *manifest,
                          struct arena *arena, struct err *err)
{
    struct buf current = {0};
    struct buf bytes = {0};
    struct buf name = {0};
    struct manifest ssts = {0};
    bool good = has_file(manifest, STR("CURRENT")) && read_text(directory, "CURRENT", &current) &&
                current.len > 0 && current.data[current.len - 1] == '\n';
    if (good) {
        current.data[--current.len] = '\0';
        good = has_file(manifest, buf_str(&current)) &&
               read_text(directory, current.data, &bytes) &&
               manifest_read(arena, buf_str(&bytes), &ssts, err);
    }
    for (size_t i = 0; i < ssts.count && good; i++) {
        name.len = 0;
        buf_format(&name, "%06llu.sst", (unsigned long long)ssts.ssts[i].number);
        good = has_file(manifest, buf_str(&name));
    }
    buf_finish(&current);
    buf_finish(&bytes);
    buf_finish(&name);
    return good;
}

/* Checks that the files belong together: a server could not open the store without one of them. */
static bool verify_list(const char *directory, const struct backup_manifest *manifest,
                        struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct err ignored = ERR_INIT(&arena);
    bool good = has_sst_files(directory, manifest, &arena, &ignored);
    arena_finish(&arena);
    return good ||
           err_set(err, ERR_INTERNAL,
                   "%s is not complete: the list of SST files, or one of the SST files in it, is "
                   "missing or damaged",
                   directory);
}

static bool verify_file(struct work *work, const char *directory, const struct backup_file *file,
                        struct err *err)
{
    struct buf path = {0};
    uint64_t size;
    uint8_t hash[16];
    join_path(&path, directory, file->name);
    bool good = copy_file(&work->rate, path.data, NULL, &size, hash, err);
    if (good && (size != file->size_bytes || memcmp(hash, file->hash, sizeof(hash)) != 0)) {
        good = err_set(err, ERR_INTERNAL, "%s is damaged: it is not what was copied", path.data);
    }
    buf_finish(&path);
    return good;
}

static void ignore_finding(void *context, const struct finding *finding)
{
    (void)context;
    (void)finding;
}

/* Checks all blocks of an SST file, and reports damage. */
static void verify_blocks(const struct backup_options *options, const char *directory,
                          const struct backup_file *file)
{
    char *end;
    uint64_t number = strtoull(file->name.data, &end, 10);
    if (strcmp(end, ".sst") != 0) {
        return;
    }
    struct sst_file_options sst_options = {
        .files = files_system(),
        .directory = directory,
        .number = number,
        .smallest = STR(""),
        .largest = STR_NULL,
        .report = options->report != NULL ? options->report : ignore_finding,
        .context = options->context,
    };
    struct sst_file *sst = sst_file_open(&sst_options);
    struct sst_entry entry;
    while (sst_file_next(sst, &entry)) {
        ;
    }
    sst_file_close(sst);
}

/* Reports that rows are missing although every block is intact. */
static void report_quarantine(const struct backup_options *options,
                              const struct backup_manifest *manifest)
{
    if (manifest->format == STORE_FORMAT_QUARANTINE && options->report != NULL) {
        struct finding finding = {
            .severity = FINDING_DAMAGE,
            .file = BACKUP_NAME,
            .offset = -1,
            .text =
                "blocks of the store were in quarantine when it was copied, and are in the "
                "backup as well: `gramme check` of the store, or of a restored one, lists them"};
        options->report(options->context, &finding);
    }
}

bool backup_verify(const struct backup_options *options, const char *directory,
                   const struct backup_manifest *manifest, struct err *err)
{
    struct work work;
    start_work(&work, options, total_bytes_of(manifest));
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (!verify_file(&work, directory, &manifest->files[i], err)) {
            return false;
        }
        verify_blocks(options, directory, &manifest->files[i]);
    }
    report_quarantine(options, manifest);
    return verify_list(directory, manifest, err);
}

/* Writing -------------------------------------------------------------------------------------- */

struct listing {
    struct arena *arena;
    struct backup_file *files;
    size_t count;
    size_t capacity;
    const char *directory;
    uint64_t bytes;
    int error; /* errno of a file that cannot be looked at; 0: none */
};

/* Whether a file belongs to the backup: not RocksDB's lock, messages and WAL, which is empty. */
static bool is_wanted(struct str name)
{
    size_t len = name.len;
    bool is_wal = len > 4 && memcmp(name.data + len - 4, ".log", 4) == 0;
    return backup_name_is_valid(name) && !is_wal && !str_eq(name, STR("LOCK")) &&
           !str_starts_with(name, STR("LOG"));
}

static void list_file(void *context, const char *name)
{
    struct listing *listing = context;
    struct stat stat_of;
    struct buf path = {0};
    join_path(&path, listing->directory, str_from_c(name));
    bool is_found = stat(path.data, &stat_of) == 0;
    listing->error = is_found ? listing->error : errno;
    buf_finish(&path);
    if (!is_found || !S_ISREG(stat_of.st_mode) || !is_wanted(str_from_c(name))) {
        return;
    }
    if (listing->count == listing->capacity) {
        listing->capacity = MAX(2 * listing->capacity, (size_t)64);
        listing->files = mem_realloc(listing->files, listing->capacity * sizeof(*listing->files));
    }
    listing->files[listing->count++] =
        (struct backup_file){.name = arena_copy_c(listing->arena, str_from_c(name))};
    listing->bytes += (uint64_t)stat_of.st_size;
}

static bool list_files(struct arena *arena, const char *directory, struct backup_manifest *manifest,
                       uint64_t *out_bytes, struct err *err)
{
    const struct files *files = files_system();
    struct listing listing = {.arena = arena, .directory = directory};
    int error = files->list(files, directory, list_file, &listing) == 0 ? listing.error : errno;
    bool good = error == 0 || err_set(err, ERR_INTERNAL, "%s: %s", directory, strerror(error));
    manifest->files = ARENA_ARRAY(arena, struct backup_file, listing.count + 1);
    manifest->file_count = listing.count;
    if (listing.count > 0) {
        memcpy(manifest->files, listing.files, listing.count * sizeof(*listing.files));
    }
    mem_free(listing.files);
    *out_bytes = listing.bytes;
    return good;
}

static void note_entry(void *context, const char *name)
{
    (void)name;
    *(bool *)context = true;
}

static bool make_target(const char *directory, struct err *err)
{
    const struct files *files = files_system();
    bool is_used = false;
    if (!files_make_directory(files, directory) ||
        files->list(files, directory, note_entry, &is_used) != 0) {
        return err_set(err, ERR_INTERNAL, "%s: %s", directory, strerror(errno));
    }
    return !is_used || err_set(err, ERR_INTERNAL, "%s is not empty", directory);
}

static bool write_text(const char *directory, const char *name, struct str text, struct err *err)
{
    const struct files *files = files_system();
    struct buf path = {0};
    struct buf temporary = {0};
    join_path(&path, directory, str_from_c(name));
    buf_format(&temporary, "%s.tmp", path.data);
    int fd = files->open(files, temporary.data, O_CREAT | O_TRUNC | O_WRONLY);
    struct iovec part = {(void *)text.data, text.len};
    bool good = fd >= 0 && files_write_all(files, fd, &part, 1, 0) && files_sync(files, fd);
    if (fd >= 0) {
        files_close(files, fd);
    }
    good = good && files->rename(files, temporary.data, path.data) == 0 &&
           files->sync_directory(files, directory) == 0;
    if (!good) {
        err_set(err, ERR_INTERNAL, "%s: %s", path.data, strerror(errno));
    }
    buf_finish(&path);
    buf_finish(&temporary);
    return good;
}

static bool write_manifest(const char *directory, const struct backup_manifest *manifest,
                           struct err *err)
{
    struct buf text = {0};
    backup_manifest_write(manifest, &text);
    bool good = write_text(directory, BACKUP_NAME, buf_str(&text), err) &&
                write_text(directory, BACKUP_COPY_NAME, buf_str(&text), err);
    buf_finish(&text);
    return good;
}

static bool copy_files(struct work *work, const char *from, const char *to,
                       struct backup_manifest *manifest, struct err *err)
{
    struct buf source = {0};
    struct buf target = {0};
    bool good = true;
    for (size_t i = 0; i < manifest->file_count && good; i++) {
        struct backup_file *file = &manifest->files[i];
        join_path(&source, from, file->name);
        join_path(&target, to, file->name);
        good = copy_file(&work->rate, source.data, target.data, &file->size_bytes, file->hash, err);
    }
    buf_finish(&source);
    buf_finish(&target);
    return good;
}

bool backup_write(const struct backup_options *options, const char *from, const char *to,
                  struct arena *arena, struct backup_manifest *manifest, struct err *err)
{
    const struct files *files = files_system();
    struct work work;
    uint64_t bytes;
    if (!make_target(to, err) || !list_files(arena, from, manifest, &bytes, err)) {
        return false;
    }
    start_work(&work, options, 2 * bytes);
    bool good = copy_files(&work, from, to, manifest, err);
    if (good && files->sync_directory(files, to) != 0) {
        good = err_set(err, ERR_INTERNAL, "%s: %s", to, strerror(errno));
    }
    for (size_t i = 0; i < manifest->file_count && good; i++) {
        good = verify_file(&work, to, &manifest->files[i], err);
        if (good) {
            verify_blocks(options, to, &manifest->files[i]);
        }
    }
    report_quarantine(options, manifest);
    return good && verify_list(to, manifest, err) && write_manifest(to, manifest, err);
}

/* Opening and restoring ------------------------------------------------------------------------ */

bool backup_is_one(const char *directory)
{
    struct buf text = {0};
    bool good =
        read_text(directory, BACKUP_NAME, &text) || read_text(directory, BACKUP_COPY_NAME, &text);
    buf_finish(&text);
    return good;
}

bool backup_open(const char *directory, struct arena *arena, struct backup_manifest *out,
                 struct err *err)
{
    static const char *const names[] = {BACKUP_NAME, BACKUP_COPY_NAME};
    struct buf text = {0};
    bool good = false;
    bool is_there = false;
    for (size_t i = 0; i < COUNT_OF(names) && !good; i++) {
        struct err ignored = ERR_INIT(arena);
        bool can_be_read = read_text(directory, names[i], &text);
        is_there = is_there || can_be_read;
        good = can_be_read && backup_manifest_read(arena, buf_str(&text), out, &ignored);
    }
    buf_finish(&text);
    if (good && !identity_format_is_readable(out->format)) {
        return err_set(err, ERR_INTERNAL,
                       "the backup in %s has format %u, this version reads %d to %d", directory,
                       out->format, STORE_FORMAT_WITHOUT_HISTORY, STORE_FORMAT_QUARANTINE);
    }
    if (!good && !is_there) {
        return err_set(err, ERR_INTERNAL, "%s holds no complete backup: there is no file BACKUP",
                       directory);
    }
    return good ||
           err_set(err, ERR_INTERNAL, "BACKUP and BACKUP.copy in %s are damaged", directory);
}

static bool restore_file(struct work *work, const char *from, const char *to,
                         const struct backup_file *file, struct err *err)
{
    struct buf source = {0};
    struct buf target = {0};
    uint64_t size;
    uint8_t hash[16];
    join_path(&source, from, file->name);
    join_path(&target, to, file->name);
    bool good = copy_file(&work->rate, source.data, target.data, &size, hash, err);
    if (good && (size != file->size_bytes || memcmp(hash, file->hash, sizeof(hash)) != 0)) {
        good = err_set(err, ERR_INTERNAL, "%s is damaged: it is not what was copied", source.data);
    }
    buf_finish(&source);
    buf_finish(&target);
    return good;
}

bool backup_restore(const struct backup_options *options, const char *directory,
                    const struct backup_manifest *manifest, const char *to, struct err *err)
{
    int lock;
    if (!rocks_claim_directory(to, &lock, err)) {
        return false;
    }
    struct work work;
    start_work(&work, options, total_bytes_of(manifest));
    bool good = true;
    for (size_t i = 0; i < manifest->file_count && good; i++) {
        good = restore_file(&work, directory, to, &manifest->files[i], err);
    }
    good = good && verify_list(to, manifest, err) &&
           rocks_adopt_sst_files(to, manifest->seed, manifest->format, err);
    close(lock);
    return good;
}
