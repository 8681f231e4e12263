/* Merges the write-ahead log and the tables of a closed store: see image.h. Called by `gramme
 * check` and `gramme repair`, on their main thread.
 *
 * Sources are ordered by age, as in RocksDB: the log, the tables of level 0 from the newest to the
 * oldest, then one source for each further level. For each key the newest source counts. Without a
 * manifest levels are not known, and the largest sequence number counts. */
#include "store/image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/image/log_rows.h"
#include "store/image/manifest.h"
#include "store/image/table_file.h"
#include "store/rocks/identity.h"
#include "store/space_set.h"
#include "base/bytes.h"
#include "store/store.h"

struct source {
    struct image *image;
    size_t rank; /* 0 is the newest */
    bool is_log;
    size_t at; /* next table, or next row of the log */
    const struct manifest_table *tables;
    size_t count;
    struct table_file *file;
    struct table_entry entry; /* the current one */
};

/* A range of keys whose versions of this rank or older may be lost. */
struct lost_range {
    struct str first;
    struct str last; /* STR_NULL: no upper bound */
    size_t rank;
};

struct image {
    struct image_options options;
    const struct files *files;
    int lock_fd;
    struct identity identity;
    struct manifest manifest;
    struct image_summary summary;
    struct log_rows log;
    struct arena arena; /* of the manifest and of lost ranges */

    struct source *sources;
    size_t source_count;
    struct source **heap; /* sources with an entry; the one with the next entry is first */
    size_t heap_count;
    struct buf current; /* key of the row that was returned last */
    bool has_current;
    struct space_set dropped; /* spaces whose rows are skipped */
    struct lost_range *lost;
    size_t lost_count;
    size_t lost_capacity;
    bool is_silent; /* after a rewind: findings are not reported again */
    uint64_t bytes_of_closed_files;
};

/* Findings ------------------------------------------------------------------------------------- */

static void report(struct image *image, enum finding_severity severity, const char *file,
                   const char *text)
{
    struct finding finding = {.severity = severity, .file = file, .offset = -1, .text = text};
    image->options.report(image->options.context, &finding);
}

static void note_lost(struct image *image, const struct finding *finding, size_t rank)
{
    if (image->lost_count == image->lost_capacity) {
        image->lost_capacity = MAX(2 * image->lost_capacity, (size_t)16);
        image->lost = mem_realloc(image->lost, image->lost_capacity * sizeof(*image->lost));
    }
    image->lost[image->lost_count++] = (struct lost_range){
        .first = arena_copy(&image->arena, finding->first),
        .last = str_is_null(finding->last) ? STR_NULL : arena_copy(&image->arena, finding->last),
        .rank = rank};
}

static void report_of_table(void *context, const struct finding *finding)
{
    struct source *source = context;
    struct image *image = source->image;
    if (image->is_silent) {
        return;
    }
    if (finding->has_range) {
        note_lost(image, finding, source->rank);
    }
    image->options.report(image->options.context, finding);
}

static bool is_in(const struct lost_range *range, struct str key)
{
    return str_cmp(range->first, key) <= 0 &&
           (str_is_null(range->last) || str_cmp(key, range->last) <= 0);
}

bool image_is_lost(const struct image *image, struct str key)
{
    for (size_t i = 0; i < image->lost_count; i++) {
        if (is_in(&image->lost[i], key)) {
            return true;
        }
    }
    return false;
}

/* Whether a version newer than that of `source` may be lost. Without levels any other table may
 * have held it. */
static bool is_stale(const struct image *image, const struct source *source, struct str key)
{
    for (size_t i = 0; i < image->lost_count; i++) {
        const struct lost_range *range = &image->lost[i];
        bool is_newer =
            image->summary.has_manifest ? range->rank < source->rank : range->rank != source->rank;
        if (is_newer && !source->is_log && is_in(range, key)) {
            return true;
        }
    }
    return false;
}

/* Sources -------------------------------------------------------------------------------------- */

static bool next_log_row(struct source *source)
{
    const struct log_rows *log = &source->image->log;
    if (source->at == log->count) {
        return false;
    }
    const struct log_row *row = &log->rows[source->at++];
    source->entry = (struct table_entry){.key = row->key,
                                         .value = row->value,
                                         .sequence = UINT64_MAX,
                                         .type = row->is_deletion ? ENTRY_DELETION : ENTRY_VALUE};
    return true;
}

static void close_table(struct source *source)
{
    source->image->bytes_of_closed_files += table_file_bytes_read(source->file);
    table_file_close(source->file);
    source->file = NULL;
}

static void open_next_table(struct source *source)
{
    const struct manifest_table *table = &source->tables[source->at++];
    struct image *image = source->image;
    struct table_file_options options = {.files = image->files,
                                         .directory = image->options.directory,
                                         .number = table->number,
                                         .size_bytes = table->size_bytes,
                                         .smallest = table->smallest,
                                         .largest = table->largest,
                                         .is_for_repair = image->options.is_for_repair,
                                         .report = report_of_table,
                                         .context = source};
    source->file = table_file_open(&options);
}

/* Moves to the next entry of the source. */
static bool source_next(struct source *source)
{
    if (source->is_log) {
        return next_log_row(source);
    }
    while (true) {
        if (source->file == NULL) {
            if (source->at == source->count) {
                return false;
            }
            open_next_table(source);
        }
        if (table_file_next(source->file, &source->entry)) {
            return true;
        }
        close_table(source);
    }
}

/* The heap ------------------------------------------------------------------------------------- */

/* Whether the entry of `a` comes before that of `b`: by key, then the newer one. */
static bool is_before(const struct image *image, const struct source *a, const struct source *b)
{
    int order = str_cmp(a->entry.key, b->entry.key);
    if (order != 0) {
        return order < 0;
    }
    if (!image->summary.has_manifest && a->entry.sequence != b->entry.sequence) {
        return a->entry.sequence > b->entry.sequence;
    }
    return a->rank < b->rank;
}

static void sift_down(struct image *image, size_t i)
{
    struct source **heap = image->heap;
    while (true) {
        size_t first = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < image->heap_count; child++) {
            if (is_before(image, heap[child], heap[first])) {
                first = child;
            }
        }
        if (first == i) {
            return;
        }
        struct source *other = heap[i];
        heap[i] = heap[first];
        heap[first] = other;
        i = first;
    }
}

/* Moves the first source to its next entry, and restores the heap. */
static void advance_first(struct image *image)
{
    if (!source_next(image->heap[0])) {
        image->heap[0] = image->heap[--image->heap_count];
    }
    if (image->heap_count > 0) {
        sift_down(image, 0);
    }
}

static void start_sources(struct image *image)
{
    image->heap_count = 0;
    for (size_t i = 0; i < image->source_count; i++) {
        if (source_next(&image->sources[i])) {
            image->heap[image->heap_count++] = &image->sources[i];
        }
    }
    for (size_t i = image->heap_count; i > 0; i--) {
        sift_down(image, i - 1);
    }
}

static struct source *add_source(struct image *image)
{
    struct source *source = &image->sources[image->source_count];
    *source = (struct source){.image = image, .rank = image->source_count++};
    return source;
}

/* Tables that do not overlap share a source. */
static bool shares_source(const struct image *image, const struct manifest_table *table)
{
    return image->summary.has_manifest && table->level > 0 && table != image->manifest.tables &&
           table[-1].level == table->level;
}

static void make_sources(struct image *image)
{
    const struct manifest *manifest = &image->manifest;
    image->sources = mem_zalloc((manifest->count + 1) * sizeof(*image->sources));
    image->heap = mem_zalloc((manifest->count + 1) * sizeof(*image->heap));
    struct source *source = add_source(image);
    source->is_log = true;
    for (size_t i = 0; i < manifest->count; i++) {
        if (!shares_source(image, &manifest->tables[i])) {
            source = add_source(image);
            source->tables = &manifest->tables[i];
        }
        source->count++;
    }
}

void image_rewind(struct image *image)
{
    for (size_t i = 0; i < image->source_count; i++) {
        if (image->sources[i].file != NULL) {
            table_file_close(image->sources[i].file);
            image->sources[i].file = NULL;
        }
        image->sources[i].at = 0;
    }
    image->has_current = false;
    image->bytes_of_closed_files = 0;
    start_sources(image);
}

static bool is_dropped(const struct image *image, struct str key)
{
    return key.len >= STORE_SPACE_LEN && space_set_has(&image->dropped, store_key_space(key));
}

bool image_next(struct image *image, struct image_row *out)
{
    while (true) {
        while (image->heap_count > 0 && image->has_current &&
               str_eq(image->heap[0]->entry.key, buf_str(&image->current))) {
            advance_first(image);
        }
        if (image->heap_count == 0) {
            image->is_silent = true; /* everything has been read and reported */
            return false;
        }
        const struct source *source = image->heap[0];
        image->current.len = 0;
        buf_add(&image->current, source->entry.key);
        image->has_current = true;
        if (source->entry.type == ENTRY_VALUE && !is_dropped(image, source->entry.key)) {
            *out = (struct image_row){.key = source->entry.key,
                                      .value = source->entry.value,
                                      .is_stale = is_stale(image, source, source->entry.key)};
            return true;
        }
    }
}

uint64_t image_bytes_read(const struct image *image)
{
    uint64_t bytes = image->bytes_of_closed_files;
    for (size_t i = 0; i < image->source_count; i++) {
        bytes += image->sources[i].file != NULL ? table_file_bytes_read(image->sources[i].file) : 0;
    }
    return bytes;
}

const struct image_summary *image_summary(const struct image *image)
{
    return &image->summary;
}

/* Opening -------------------------------------------------------------------------------------- */

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
                   "the store in %s has format %u; this version reads formats %d and %d only (a "
                   "start of the server upgrades older ones)",
                   image->options.directory, format, STORE_FORMAT_WITHOUT_HISTORY, STORE_FORMAT);
}

/* `has_old_log`: there are files of the log of format 3, which had no files STORE; its records
 * would be missing. */
static bool read_identity(struct image *image, bool has_old_log, struct err *err)
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
    if (result == IDENTITY_NONE && has_old_log) {
        return is_unreadable(image, STORE_FORMAT_OLDEST, err);
    }
    if (result != IDENTITY_FOUND) {
        report(image, FINDING_DAMAGE, "STORE",
               "neither STORE nor STORE.copy can be read: the seed of hashes is taken from the "
               "tables");
    } else if (is_incomplete) {
        report(image, FINDING_CORRECTED, "STORE", "one of STORE and STORE.copy is bad");
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
        report(image, FINDING_DAMAGE, "CURRENT", "it does not name a manifest");
    } else {
        name.data[name.len - 1] = '\0';
        good = (read_file(image, name.data, &bytes) ||
                err_set(&err, ERR_INTERNAL, "%s", strerror(errno))) &&
               manifest_read(&image->arena, buf_str(&bytes), &image->manifest, &err);
        if (!good) {
            report(image, FINDING_DAMAGE, name.data, arena_copy_c(&arena, err.message).data);
        }
    }
    arena_finish(&arena);
    buf_finish(&name);
    buf_finish(&bytes);
    return good;
}

struct listing {
    struct image *image;
    struct manifest_table *tables;
    size_t count;
    bool has_store;   /* there is a file of a store */
    bool has_old_log; /* of format 3 */
};

static void list_file(void *context, const char *name)
{
    struct listing *listing = context;
    char *end;
    uint64_t number = strtoull(name, &end, 10);
    listing->has_store = listing->has_store || strcmp(name, "STORE") == 0 ||
                         strcmp(name, "STORE.copy") == 0 || strcmp(name, "wal.state") == 0 ||
                         strcmp(name, "CURRENT") == 0;
    listing->has_old_log = listing->has_old_log || (end != name && strcmp(end, ".journal") == 0);
    if (end == name || strcmp(end, ".sst") != 0) {
        return;
    }
    listing->tables = mem_realloc(listing->tables, (listing->count + 1) * sizeof(*listing->tables));
    listing->tables[listing->count++] =
        (struct manifest_table){.number = number, .smallest = STR(""), .largest = STR_NULL};
}

static bool is_named(const struct manifest *manifest, uint64_t number)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (manifest->tables[i].number == number) {
            return true;
        }
    }
    return false;
}

/* Reports tables that are not in the manifest; a start of the server would delete them. */
static void note_unnamed(struct image *image, const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (!is_named(&image->manifest, listing->tables[i].number)) {
            struct buf name = {0};
            buf_format(&name, "%06llu.sst", (unsigned long long)listing->tables[i].number);
            report(image, FINDING_NOTE, name.data,
                   "the manifest does not name this table; the next start deletes it");
            buf_finish(&name);
        }
    }
}

static void use_all_tables(struct image *image, const struct listing *listing)
{
    struct manifest *manifest = &image->manifest;
    manifest->count = listing->count;
    manifest->tables = ARENA_ARRAY(&image->arena, struct manifest_table, listing->count + 1);
    if (listing->count > 0) {
        memcpy(manifest->tables, listing->tables, listing->count * sizeof(*listing->tables));
    }
    report(
        image, FINDING_DAMAGE, "MANIFEST",
        "all tables in the directory are read instead; if the server was killed, tables that were "
        "replaced shortly before may be among them, and rows that were changed or deleted then "
        "may be found as they were");
}

static uint64_t size_of_table(const struct image *image, uint64_t number)
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

static bool find_tables(struct image *image, struct err *err)
{
    struct listing listing = {.image = image};
    const char *directory = image->options.directory;
    if (image->files->list(image->files, directory, list_file, &listing) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot read %s: %s", directory, strerror(errno));
    }
    bool good =
        listing.has_store || err_set(err, ERR_INTERNAL, "there is no store in %s", directory);
    good = good && lock(image, err) && read_identity(image, listing.has_old_log, err);
    if (good) {
        image->summary.has_manifest = read_manifest(image);
        if (image->summary.has_manifest) {
            note_unnamed(image, &listing);
        } else {
            use_all_tables(image, &listing);
        }
        for (size_t i = 0; i < image->manifest.count; i++) {
            image->summary.table_bytes += size_of_table(image, image->manifest.tables[i].number);
        }
        image->summary.table_count = image->manifest.count;
    }
    mem_free(listing.tables);
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

/* Finds the seed of a store without tables: the row `format` is then only in RocksDB's own log,
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

static void read_log(struct image *image)
{
    struct log_rows_input input = {.files = image->files,
                                   .directory = image->options.directory,
                                   .store_id =
                                       image->summary.has_identity ? image->identity.id : NULL,
                                   .stored = image->summary.stored,
                                   .report = image->options.report,
                                   .context = image->options.context};
    log_rows_read(&image->log, &input);
    image->summary.record_count = image->log.record_count;
    image->summary.last_record = image->log.last_record;
}

/* Reads the dropped spaces: rows of space 0, part "dropped"; see rocks/drop.c. */
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
    }
    image->is_silent = false;
}

/* Tables of level 0, and without a manifest all tables, are open at the same time; one that cannot
 * be opened would count as lost. */
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
    arena_init(&image->log.arena);
    space_set_init(&image->dropped);
    raise_file_limit();
    if (!find_tables(image, err)) {
        image_close(image);
        return false;
    }
    make_sources(image);
    read_own_rows(image);
    read_log(image);
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
    for (size_t i = 0; i < image->source_count; i++) {
        if (image->sources[i].file != NULL) {
            table_file_close(image->sources[i].file);
        }
    }
    if (image->lock_fd >= 0) {
        close(image->lock_fd);
    }
    log_rows_finish(&image->log);
    space_set_finish(&image->dropped);
    arena_finish(&image->arena);
    buf_finish(&image->current);
    mem_free(image->sources);
    mem_free(image->heap);
    mem_free(image->lost);
    mem_free(image);
}
