/* The gate around the database: see gate.h. A reader first increments its count and then loads the
 * pointer; the committer first sets the pointer to NULL and then reads the counts. All four
 * operations are sequentially consistent, so either the reader sees NULL, or the committer sees the
 * reader and waits for it. */
#include "store/rocks/threads/gate.h"

#include <time.h>

void gate_init(struct gate *gate)
{
    atomic_init(&gate->db, NULL);
    for (size_t i = 0; i < GATE_COUNTS; i++) {
        atomic_init(&gate->counts[i].inside, 0);
    }
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->opened, NULL);
    gate->opening = false;
}

void gate_finish(struct gate *gate)
{
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->mutex);
}

static _Thread_local int inside_count; /* how often this thread has entered and not left */

static struct gate_count *count_of_thread(struct gate *gate)
{
    static atomic_uint thread_count;
    static _Thread_local unsigned index_plus_one;
    if (index_plus_one == 0) {
        index_plus_one = atomic_fetch_add(&thread_count, 1) % GATE_COUNTS + 1;
        rocksdb_set_perf_level(rocksdb_disable); /* per thread: RocksDB's counters are not read */
    }
    return &gate->counts[index_plus_one - 1];
}

rocksdb_t *gate_try_enter(struct gate *gate)
{
    atomic_fetch_add(&count_of_thread(gate)->inside, 1);
    inside_count++;
    rocksdb_t *db = atomic_load(&gate->db);
    if (UNLIKELY(db == NULL)) {
        gate_leave(gate);
    }
    return db;
}

void gate_leave(struct gate *gate)
{
    assert(inside_count > 0); /* else the database could be closed under another reader */
    inside_count--;
    atomic_fetch_sub_explicit(&count_of_thread(gate)->inside, 1, memory_order_release);
}

rocksdb_t *gate_enter(struct gate *gate)
{
    rocksdb_t *db;
    while ((db = gate_try_enter(gate)) == NULL) {
        pthread_mutex_lock(&gate->mutex);
        while (gate->opening) {
            pthread_cond_wait(&gate->opened, &gate->mutex);
        }
        bool none = gate_is_shut(gate);
        pthread_mutex_unlock(&gate->mutex);
        if (none) {
            return NULL;
        }
    }
    return db;
}

void gate_shut(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->opening = true;
    atomic_store(&gate->db, NULL);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_wait_empty(struct gate *gate)
{
    assert(gate_is_shut(gate)); /* else readers enter behind the count that was read */
    for (size_t i = 0; i < GATE_COUNTS; i++) {
        while (atomic_load(&gate->counts[i].inside) != 0) {
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        }
    }
}

void gate_open(struct gate *gate, rocksdb_t *db)
{
    pthread_mutex_lock(&gate->mutex);
    assert(gate_is_shut(gate));
    gate->opening = false;
    atomic_store(&gate->db, db);
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->mutex);
}
