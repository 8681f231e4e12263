/* Creates, empties and frees the one group of the store, which every commit uses again. Called when
 * the store is opened and closed, and with the turn to commit. */
#include "store/rocks/commit/commit_group.h"

#include "base/mem.h"
#include "store/rocks/commit/commit.h"

static const size_t group_bytes_max = (size_t)8 << 20;
/* A larger batch is freed after the commit, a smaller one is reused. */
static const size_t kept_bytes_max = (size_t)1 << 20;

struct rocks_group *rocks_group_create(struct rocks *rocks)
{
    struct rocks_group *group = mem_zalloc(sizeof(*group));
    group->rocks = rocks;
    group->writes = rocksdb_writebatch_create();
    group->newest = overlay_create();
    group->counters = counters_create();
    preparations_init(&group->preparations, rocks);
    return group;
}

void rocks_group_destroy(struct rocks_group *group)
{
    store_batch_finish(&group->batch);
    preparations_finish(&group->preparations);
    mem_free(group->rows);
    mem_free(group->pins);
    counters_destroy(group->counters);
    overlay_destroy(group->newest);
    rocksdb_writebatch_destroy(group->writes);
    mem_free(group);
}

void rocks_group_clear(struct rocks_group *group)
{
    overlay_clear(group->newest);
    group->stamped = false;
    size_t bytes;
    rocksdb_writebatch_data(group->writes, &bytes);
    if (UNLIKELY(bytes > kept_bytes_max)) {
        rocksdb_writebatch_destroy(group->writes);
        group->writes = rocksdb_writebatch_create();
    } else {
        rocksdb_writebatch_clear(group->writes);
    }
}

bool rocks_group_is_full(const struct rocks_group *group)
{
    size_t bytes;
    rocksdb_writebatch_data(group->writes, &bytes);
    return group->member_count == GROUP_UPDATES_MAX || bytes >= group_bytes_max;
}
