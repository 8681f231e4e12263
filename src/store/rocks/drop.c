/* Dropped spaces. A drop adds the number of the space to a set, permanently; reads and updates
 * check the set. Compactions remove the rows (a compaction filter), and the sweeper thread starts
 * compactions for large spaces.
 *
 * DeleteRange is not used: in RocksDB 7.8 an iterator that reads a range tombstone may lose the
 * status of another level, such as "incomplete", and end early without an error
 * (https://github.com/facebook/rocksdb/pull/11782, /11786).
 *
 * The set is stored in space 0, part "dropped": sort is the number of a piece (4 bytes,
 * big-endian), the value its bits; see space_set.h. */
#include "base/bytes.h"
#include "base/mem.h"
#include "store/rocks/rocks_internal.h"

static const uint64_t sweep_bytes_min = (uint64_t)1 << 20; /* no compaction for smaller spaces */

static const int64_t look_ns = 1000000000; /* interval of the sweeper's other duties */

struct drop_job {
    struct task task;
    uint32_t space;
};

struct sweep_job {
    struct task task;
    size_t count;
    uint32_t spaces[];
};

static void mark_of_drop(struct task *task)
{
    (void)task; /* never called: as task->run it marks a drop */
}

void rocks_drop_space(struct store *store, uint32_t space)
{
    assert(space > 0);
    assert(space < UINT32_MAX);
    struct rocks *rocks = rocks_of(store);
    space_set_add(&rocks->gone, space);
    struct drop_job *job = mem_zalloc(sizeof(*job));
    job->space = space;
    job->task.run = mark_of_drop;
    inbox_push(&rocks->updates, &job->task);
}

bool rocks_is_drop(const struct task *task)
{
    return task->run == mark_of_drop;
}

void rocks_note_drop(struct rocks *rocks, struct task *task)
{
    struct drop_job *job = CONTAINER_OF(task, struct drop_job, task);
    if (rocks->drop_count == rocks->drop_capacity) {
        rocks->drop_capacity = MAX(rocks->drop_capacity * 2, (size_t)16);
        rocks->drops = mem_realloc(rocks->drops, rocks->drop_capacity * sizeof(*rocks->drops));
    }
    rocks->drops[rocks->drop_count++] = job->space;
    mem_free(job);
}

void rocks_write_drops(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    char key[STORE_PREFIX_LEN + 4];
    rocks_own_key(key, "dropped");
    for (size_t i = 0; i < rocks->drop_count; i++) {
        uint32_t piece = space_piece(rocks->drops[i]);
        if (i > 0 && piece == space_piece(rocks->drops[i - 1])) {
            continue;
        }
        uint8_t row[SPACE_PIECE_BYTES];
        space_set_save(&rocks->gone, piece, row);
        put_u32_be(key + STORE_PREFIX_LEN, piece);
        rocksdb_writebatch_put(writes, key, sizeof(key), (const char *)row, sizeof(row));
    }
}

void rocks_drops_written(struct rocks *rocks)
{
    if (LIKELY(rocks->drop_count == 0)) {
        return;
    }
    size_t bytes = rocks->drop_count * sizeof(*rocks->drops);
    struct sweep_job *job = mem_alloc(sizeof(*job) + bytes);
    job->count = rocks->drop_count;
    memcpy(job->spaces, rocks->drops, bytes);
    for (size_t i = 0; i < rocks->drop_count; i++) {
        space_set_add(&rocks->purged, rocks->drops[i]);
    }
    rocks->drop_count = 0;
    work_queue_push(&rocks->sweeps, &job->task);
}

bool rocks_load_drops(struct rocks *rocks, struct err *err)
{
    char prefix[STORE_PREFIX_LEN];
    rocks_own_key(prefix, "dropped");
    rocksdb_iterator_t *iter = rocksdb_create_iterator(rocks->db, rocks->read_blocking);
    for (rocksdb_iter_seek(iter, prefix, sizeof(prefix)); rocksdb_iter_valid(iter);
         rocksdb_iter_next(iter)) {
        size_t key_len;
        size_t row_len;
        const char *key = rocksdb_iter_key(iter, &key_len);
        const char *row = rocksdb_iter_value(iter, &row_len);
        if (!str_starts_with(str_make(key, key_len), str_make(prefix, sizeof(prefix)))) {
            break;
        }
        assert(key_len == sizeof(prefix) + 4);
        assert(row_len == SPACE_PIECE_BYTES);
        uint32_t piece = get_u32_be(key + sizeof(prefix));
        space_set_load(&rocks->gone, piece, (const uint8_t *)row);
        space_set_load(&rocks->purged, piece, (const uint8_t *)row);
    }
    char *message = NULL;
    rocksdb_iter_get_error(iter, &message);
    rocksdb_iter_destroy(iter);
    if (rocks_failed(message, "read")) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    return true;
}

static unsigned char leave_out(void *state, int level, const char *key, size_t key_len,
                               const char *value, size_t value_len, char **new_value,
                               size_t *new_value_len, unsigned char *changed)
{
    (void)level;
    (void)value;
    (void)value_len;
    (void)new_value;
    (void)new_value_len;
    (void)changed;
    const struct rocks *rocks = state;
    return space_set_has(&rocks->purged, store_key_space(str_make(key, key_len)));
}

static void destroy_nothing(void *state)
{
    (void)state;
}

static const char *filter_name(void *state)
{
    (void)state;
    return "gramme.dropped";
}

rocksdb_compactionfilter_t *rocks_drop_filter_create(struct rocks *rocks)
{
    return rocksdb_compactionfilter_create(rocks, destroy_nothing, leave_out, filter_name);
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
 * spaces; not if compactions are off because of a damaged table. */
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
        again = gate_is_shut(&rocks->gate); /* interrupted by a repair */
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
            rocks_adapt_merging(rocks);
            rocks_limit_log(rocks);
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
