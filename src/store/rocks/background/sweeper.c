/* The sweeper: a thread that frees the disk space of dropped spaces. Deletes the files that hold
 * nothing else and starts compactions for large spaces. Once a second it also adapts the start of
 * compactions to the write rate, limits the write-ahead log (compactions.c) and tends the reserve.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "store/rocks/background/background.h"

static const uint64_t sweep_bytes_min = (uint64_t)1 << 20; /* no compaction for smaller spaces */

static const int64_t look_ns = 1000000000; /* interval of the sweeper's other duties */

struct sweep_job {
    struct task task;
    size_t count;
    uint32_t spaces[];
};

void rocks_sweep_spaces(struct rocks *rocks, const uint32_t *spaces, size_t count)
{
    struct sweep_job *job = mem_alloc(sizeof(*job) + count * sizeof(*spaces));
    job->count = count;
    memcpy(job->spaces, spaces, count * sizeof(*spaces));
    work_queue_push(&rocks->sweeps, &job->task);
}

static uint64_t approximate_bytes(rocksdb_t *db, const char *lo, const char *hi)
{
    size_t len = STORE_SPACE_LEN;
    uint64_t bytes = 0;
    char *message = NULL;
    rocksdb_approximate_sizes(db, 1, &lo, &len, &hi, &len, &bytes, &message);
    rocks_failed(message, "measure dropped rows");
    return bytes;
}

/* Deletes files that hold only rows of the space, then compacts those that it shares with other
 * spaces; not if compactions are off because of a damaged SST file. */
static void reclaim(struct rocks *rocks, rocksdb_t *db, const char *lo, const char *hi)
{
    char *message = NULL;
    rocksdb_delete_file_in_range(db, lo, STORE_SPACE_LEN, hi, STORE_SPACE_LEN, &message);
    rocks_failed(message, "delete dropped rows");
    if (atomic_load(&rocks->damage.compactions_are_off)) {
        return;
    }
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    rocksdb_compact_range_opt(db, options, lo, STORE_SPACE_LEN, hi, STORE_SPACE_LEN);
    rocksdb_compactoptions_destroy(options);
}

static void sweep(struct rocks *rocks, uint32_t first, uint32_t last)
{
    assert(first > 0); /* space 0 is the store's own */
    assert(first <= last);
    char lo[STORE_SPACE_LEN];
    char hi[STORE_SPACE_LEN];
    put_u32_be(lo, first);
    put_u32_be(hi, last + 1);
    bool again = true;
    while (again && !atomic_load(&rocks->closing)) {
        rocksdb_t *db = gate_enter(&rocks->gate);
        if (db == NULL) {
            return;
        }
        if (approximate_bytes(db, lo, hi) >= sweep_bytes_min) {
            reclaim(rocks, db, lo, hi);
        }
        again = gate_is_shut(&rocks->gate); /* interrupted by a reopen */
        gate_leave(&rocks->gate);
    }
}

/* Sweeps the spaces that were dropped before the store was opened: the last process may have ended
 * before it swept them. */
static void sweep_old(struct rocks *rocks)
{
    uint64_t at = 0;
    uint32_t first;
    uint32_t last;
    while (!atomic_load(&rocks->closing) &&
           space_set_next_run(&rocks->purged, &at, &first, &last)) {
        sweep(rocks, first, last);
    }
}

static void tend_reserve(struct rocks *rocks)
{
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        uint64_t bytes = rocks_number(db, "rocksdb.total-sst-files-size");
        gate_leave(&rocks->gate);
        reserve_tend(&rocks->reserve, bytes);
    }
}

void *rocks_sweeper_main(void *arg)
{
    struct rocks *rocks = arg;
    sweep_old(rocks);
    struct task *task;
    while (work_queue_pop_within(&rocks->sweeps, look_ns, &task)) {
        if (task == NULL) {
            rocks_adapt_compactions(rocks);
            rocks_limit_wal(rocks);
            tend_reserve(rocks);
            continue;
        }
        struct sweep_job *job = CONTAINER_OF(task, struct sweep_job, task);
        for (size_t i = 0; i < job->count; i++) {
            sweep(rocks, job->spaces[i], job->spaces[i]);
        }
        mem_free(job);
    }
    return NULL;
}
