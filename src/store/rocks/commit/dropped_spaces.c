/* Dropped spaces. A drop adds the number of the space to a set, permanently; reads and updates
 * check the set. The committer writes the set with its next group. Compactions then remove the rows
 * (drop_filter.c), and the sweeper starts compactions for large spaces (sweeper.c).
 *
 * DeleteRange is not used: in RocksDB 7.8 an iterator that reads a range tombstone may lose the
 * status of another level, such as "incomplete", and end early without an error
 * (https://github.com/facebook/rocksdb/pull/11782, /11786).
 *
 * The set is stored in space 0, part "dropped": sort is the number of a piece (4 bytes,
 * big-endian), the value its bits; see space_set.h. */
#include "base/bytes.h"
#include "base/mem.h"
#include "store/rocks/background/background.h"
#include "store/rocks/commit/commit.h"
#include "store/rocks/commit/commit_group.h"

struct drop_job {
    struct task task;
    uint32_t space;
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
    for (size_t i = 0; i < rocks->drop_count; i++) {
        /* Compactions remove only what reads do not find any more. */
        assert(space_set_has(&rocks->gone, rocks->drops[i]));
        space_set_add(&rocks->purged, rocks->drops[i]);
    }
    rocks_sweep_spaces(rocks, rocks->drops, rocks->drop_count);
    rocks->drop_count = 0;
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
