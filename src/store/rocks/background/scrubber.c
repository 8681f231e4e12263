/* The scrubber: a thread that reads the files of the store at a limited rate, so that damage is
 * found while there may still be a backup without it. It reads the SST files one by one, with
 * image/sst_file.h: data blocks, indexes, filters, properties and footers. Also the manifest, and
 * the two copies of the identity, of which a damaged one is written again.
 *
 * It does not read the write-ahead log and wal.state: they change all the time, are checked at
 * every start, and their rows are in memory until they are in an SST file. */
#include <stdlib.h>

#include "base/log.h"
#include "store/image/db_manifest.h"
#include "store/image/sst_file.h"
#include "store/rocks/background/background.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/rocks.h"

static const int64_t first_wait_ns = (int64_t)60 * 1000000000;
static const int64_t pause_ns = (int64_t)600 * 1000000000; /* between two passes */
static const uint64_t piece_bytes = (uint64_t)256 << 10;

struct live_sst {
    uint64_t number;
    uint64_t size_bytes;
    struct str smallest;
    struct str largest;
};

/* A pass. */
struct scrub {
    struct rocks *rocks;
    struct arena arena; /* of the list of SST files */
    struct live_sst *ssts;
    size_t sst_count;
    int64_t wait_ns; /* after each piece; 0: none */
    uint64_t number; /* of the SST file that is being read */
    uint64_t bytes;
    uint64_t damage_count;
    bool is_closing; /* the store is being closed */
};

/* Waits. False: the store is being closed. */
static bool wait_for(struct rocks *rocks, int64_t wait_ns)
{
    struct task *task;
    return work_queue_pop_within(&rocks->scrubs, wait_ns, &task);
}

/* SST files ---------------------------------------------------------------------------------------
 */

static struct str copy_key(struct scrub *scrub, const char *key, size_t len)
{
    return arena_copy(&scrub->arena, str_make(key, len));
}

static void list_ssts(struct scrub *scrub)
{
    arena_reset(&scrub->arena);
    scrub->sst_count = 0;
    rocksdb_t *db = gate_enter(&scrub->rocks->gate);
    if (db == NULL) {
        return;
    }
    const rocksdb_livefiles_t *files = rocksdb_livefiles(db);
    size_t count = (size_t)rocksdb_livefiles_count(files);
    scrub->ssts = ARENA_ARRAY(&scrub->arena, struct live_sst, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct live_sst *sst = &scrub->ssts[scrub->sst_count++];
        size_t len;
        const char *name = rocksdb_livefiles_name(files, (int)i); /* "/000012.sst" */
        sst->number = strtoull(name + (name[0] == '/'), NULL, 10);
        sst->size_bytes = rocksdb_livefiles_size(files, (int)i);
        const char *key = rocksdb_livefiles_smallestkey(files, (int)i, &len);
        sst->smallest = copy_key(scrub, key, len);
        key = rocksdb_livefiles_largestkey(files, (int)i, &len);
        sst->largest = copy_key(scrub, key, len);
    }
    rocksdb_livefiles_destroy(files);
    gate_leave(&scrub->rocks->gate);
}

/* Whether the SST file is still in use: a compaction may have replaced and deleted it meanwhile. */
static bool is_live(const struct scrub *scrub, uint64_t number)
{
    struct scrub now = {.rocks = scrub->rocks};
    arena_init(&now.arena);
    list_ssts(&now);
    bool found = false;
    for (size_t i = 0; i < now.sst_count; i++) {
        found = found || now.ssts[i].number == number;
    }
    arena_finish(&now.arena);
    return found;
}

static void report(void *context, const struct finding *finding)
{
    struct scrub *scrub = context;
    if (finding->severity == FINDING_DAMAGE && is_live(scrub, scrub->number)) {
        scrub->damage_count++;
        rocks_note_damage(scrub->rocks, scrub->number, finding->offset, finding->text);
    }
}

/* Reads one SST file, with a pause after each piece. */
static void scrub_sst(struct scrub *scrub, const struct live_sst *sst)
{
    scrub->number = sst->number;
    struct sst_file *file = sst_file_open(&(struct sst_file_options){
        .files = scrub->rocks->files,
        .directory = scrub->rocks->path,
        .number = sst->number,
        .size_bytes = sst->size_bytes,
        .smallest = sst->smallest,
        .largest = sst->largest,
        .report = report,
        .context = scrub,
    });
    uint64_t paused_at = 0;
    struct sst_entry entry;
    while (!scrub->is_closing && sst_file_next(file, &entry)) {
        if (scrub->wait_ns > 0 && sst_file_bytes_read(file) - paused_at >= piece_bytes) {
            paused_at = sst_file_bytes_read(file);
            scrub->is_closing = !wait_for(scrub->rocks, scrub->wait_ns);
        }
    }
    scrub->bytes += sst_file_bytes_read(file);
    sst_file_close(file);
}

/* Small files ---------------------------------------------------------------------------------- */

/* Whether the manifest that CURRENT names can be read. */
static bool manifest_is_good(const struct rocks *rocks, struct err *err)
{
    struct wal_sst_state ssts;
    struct buf path = {0};
    struct buf bytes = {0};
    struct manifest manifest;
    bool good = rocks_describe_manifest(rocks, &ssts, err);
    if (good) {
        buf_format(&path, "%s/%s", rocks->path, ssts.manifest);
        good = files_read_file(rocks->files, path.data, &bytes) &&
               manifest_read(err->arena, buf_str(&bytes), &manifest, err);
    }
    buf_finish(&path);
    buf_finish(&bytes);
    return good;
}

/* The manifest is replaced with each change of the SST files, so that one that cannot be read may
 * just have been deleted: it is read again. */
static void scrub_manifest(struct scrub *scrub)
{
    enum { TRIES = 5 };
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool good = false;
    for (int i = 0; i < TRIES && !good && !scrub->is_closing; i++) {
        scrub->is_closing = i > 0 && !wait_for(scrub->rocks, (int64_t)100 * 1000000);
        arena_reset(&arena);
        err = ERR_INIT(&arena);
        good = manifest_is_good(scrub->rocks, &err);
    }
    if (!good && !scrub->is_closing) {
        scrub->damage_count++;
        log_write(
            LOG_ERROR, "store",
            "the manifest of the SST files in %s is damaged (%.*s): the store works until the "
            "server stops, but will not open again: make a backup with `gramme backup`",
            scrub->rocks->path, STR_ARG(err.message));
    }
    arena_finish(&arena);
}

static void scrub_identity(struct scrub *scrub)
{
    struct rocks *rocks = scrub->rocks;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct identity found;
    bool is_incomplete = false;
    pthread_mutex_lock(&rocks->turn); /* the committer changes the format: quarantine_sst.c */
    if (identity_read(rocks->files, rocks->path, &found, &is_incomplete, &err) != IDENTITY_FOUND ||
        is_incomplete) {
        scrub->damage_count++;
        bool good = identity_write(rocks->files, rocks->path, &rocks->identity, &err);
        log_write(LOG_WARN, "store", "STORE or STORE.copy in %s was damaged and %s", rocks->path,
                  good ? "was written again" : "cannot be written");
    }
    pthread_mutex_unlock(&rocks->turn);
    arena_finish(&arena);
}

/* Passes --------------------------------------------------------------------------------------- */

static void scrub_all(struct scrub *scrub)
{
    arena_init(&scrub->arena);
    scrub_identity(scrub);
    scrub_manifest(scrub);
    list_ssts(scrub);
    for (size_t i = 0; i < scrub->sst_count && !scrub->is_closing; i++) {
        scrub_sst(scrub, &scrub->ssts[i]);
    }
    arena_finish(&scrub->arena);
}

uint64_t rocks_scrub(struct store *store)
{
    struct scrub scrub = {.rocks = rocks_of(store)};
    scrub_all(&scrub);
    return scrub.damage_count;
}

/* One pass at the limited rate. False: the store is being closed. */
static bool run_pass(struct rocks *rocks)
{
    struct scrub scrub = {
        .rocks = rocks,
        .wait_ns = (int64_t)(piece_bytes * 1000000000 / rocks->scrub_bytes_per_second),
    };
    scrub_all(&scrub);
    if (!scrub.is_closing) {
        log_write(scrub.damage_count > 0 ? LOG_ERROR : LOG_DEBUG, "store",
                  "scrub finished, %llu MiB: %llu damaged blocks",
                  (unsigned long long)(scrub.bytes >> 20), (unsigned long long)scrub.damage_count);
    }
    return !scrub.is_closing;
}

void *rocks_scrubber_main(void *arg)
{
    struct rocks *rocks = arg;
    assert(rocks->scrub_bytes_per_second > 0);
    bool is_open = wait_for(rocks, rocks->scrub_wait_ns > 0 ? rocks->scrub_wait_ns : first_wait_ns);
    while (is_open) {
        is_open = run_pass(rocks) && wait_for(rocks, pause_ns);
    }
    return NULL;
}
