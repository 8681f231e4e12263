/* store/rocks/rocks_internal.h: what the files of this folder share.
 *
 * Threads: callers read on their own thread from the block cache; workers do reads that would
 * block; the committer alone writes. Locks: `queue.mutex` of the workers and of the committer are
 * never held together. */
#ifndef GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H
#define GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H

#include <pthread.h>
#include <rocksdb/c.h>

#include "store/batch_internal.h"
#include "store/store.h"

/* Tasks that threads wait for. */
struct work_queue {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct task *oldest;
    struct task **newest_link;
    bool closing;
};

void work_queue_init(struct work_queue *queue);
void work_queue_finish(struct work_queue *queue);
void work_queue_push(struct work_queue *queue, struct task *task);
/* Waits for a task; with `all` the whole list is handed over, else one. NULL: closing and empty. */
MUST_USE struct task *work_queue_pop(struct work_queue *queue, bool all);
void work_queue_close(struct work_queue *queue);

struct rocks {
    struct store store;
    rocksdb_env_t *env; /* memory only */
    rocksdb_cache_t *cache;
    rocksdb_options_t *options;
    rocksdb_t *db;
    rocksdb_readoptions_t *read_cached; /* what would need I/O is "incomplete" */
    rocksdb_readoptions_t *read_blocking;
    rocksdb_writeoptions_t *write_synced;

    struct work_queue reads;
    pthread_t *workers;
    int worker_count;

    struct work_queue updates;
    pthread_t committer;
    bool committer_started;
    struct store_batch batch; /* committer only, like all below */
    struct overlay *overlay;
    uint64_t last_stamp;
    struct arena group_arena;
    uint32_t *dropped; /* spaces that are gone, sorted */
    size_t dropped_count;
};

static inline struct rocks *rocks_of(struct store *store)
{
    return CONTAINER_OF(store, struct rocks, store);
}

/* Frees a message of RocksDB's and says whether there was one. */
bool rocks_failed(char *message, const char *doing);

/* read.c */
void rocks_get(struct store *store, struct store_get *get);
void rocks_range(struct store *store, struct store_range *range);
void *rocks_worker_main(void *rocks);

/* commit.c */
MUST_USE bool rocks_commit_start(struct rocks *rocks, struct err *err);
void rocks_update(struct store *store, struct store_update *update);
void rocks_drop_space(struct store *store, uint32_t space);
void rocks_commit_stop(struct rocks *rocks);

#endif
