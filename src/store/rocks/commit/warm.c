/* Reads the declared rows of an update into the block cache on a worker, because the committer does
 * not wait for a slow disk. The worker then pushes the update to the committer's inbox again. */
#include "base/clock.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/reads/reads.h"

static void run_warmed_update(struct task *task)
{
    (void)task; /* never called: as task->run it marks an update that a worker has */
}

static void warm_on_worker(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    struct rocks *rocks = update->internal;
    rocksdb_t *db = gate_enter(&rocks->gate);
    int64_t start_ns = clock_monotonic_ns();
    if (db != NULL) {
        for (size_t i = 0; i < update->key_count; i++) {
            struct str row;
            rocksdb_pinnableslice_t *pin;
            if (rocks_read(rocks, db, rocks->read_blocking, update->keys[i], &row, &pin) !=
                READ_OK) {
                break; /* the committer reads the row again and handles the error */
            }
            if (pin != NULL) {
                rocksdb_pinnableslice_destroy(pin);
            }
        }
        read_speed_note(&rocks->read_speed, clock_monotonic_ns() - start_ns);
        gate_leave(&rocks->gate);
    }
    task->run = run_warmed_update;
    inbox_push(&rocks->updates, task);
}

void rocks_group_warm(struct rocks_group *group, struct store_update *update)
{
    group->warming_count++;
    update->task.run = warm_on_worker;
    work_queue_push(&group->rocks->reads, &update->task);
}

bool rocks_is_warmed(const struct task *task)
{
    return task->run == run_warmed_update;
}
