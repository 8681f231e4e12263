/* Commits a group: adds drops, counters and the numbers of the store to its batch, writes it to the
 * write-ahead log and the memtable, and sets the status of each update. A group that cannot be
 * written is committed one update at a time. With the turn to commit. */
#include "base/clock.h"
#include "base/mem.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/database/database.h"

static void write_counters(struct rocks_group *group)
{
    for (struct counter *counter = counters_listed(group->counters); counter != NULL;
         counter = counter->next_listed) {
        if (counter->changed) {
            char row[STORE_COUNT_LEN];
            store_count_encode(counter->value, row);
            rocksdb_writebatch_put(group->writes, counter->key.data, counter->key.len, row,
                                   sizeof(row));
        }
    }
}

static enum written write_all(struct rocks_group *group)
{
    struct rocks *rocks = group->rocks;
    rocks_write_drops(rocks, group->writes);
    write_counters(group);
    if (group->stamped) {
        rocks_write_number(group, "stamp", group->rocks->last_stamp);
    }
    if (rocksdb_writebatch_count(group->writes) == 0) {
        return WRITTEN;
    }
    if (group->timed) {
        rocks_write_number(group, "time", (uint64_t)group->rocks->last_time_ns);
    }
    if (UNLIKELY(rocks->health.broken)) {
        return NOT_WRITTEN;
    }
    enum written written = rocks_write(rocks, group->writes);
    if (written == WRITTEN) {
        rocks_drops_written(rocks);
        group->timed = false;
    }
    return written;
}

static enum written write_group(struct rocks_group *group)
{
    enum written written = write_all(group);
    if (written == WRITTEN) {
        counters_settle(group->counters);
    } else {
        counters_forget(group->counters);
    }
    /* What the cache says of a counter is in the database: the next group adds to it. */
    assert(counters_listed(group->counters) == NULL);
    assert(written != WRITTEN || group->rocks->drop_count == 0);
    return written;
}

/* Evaluates one update again and commits it alone. */
static enum written commit_alone(struct rocks_group *group, struct store_update *update)
{
    rocks_group_clear(group);
    group->member_count = 0;
    rocks_resume(group->rocks);
    rocks_group_join_in_any_case(group, update);
    assert(group->member_count == 1); /* nothing of another update is written with it */
    assert(group->members[0] == update);
    return write_group(group);
}

/* A group could not be written. Commits each update alone, because another one may have caused the
 * failure, and tries a second time if the first attempt was not the first record of its segment.
 * Each update is evaluated again, also one that did not want to write: it may have read rows of the
 * group that were never written. */
static void commit_one_by_one(struct rocks_group *group)
{
    struct rocks *rocks = group->rocks;
    size_t count = group->member_count;
    if (count == 0) {
        return;
    }
    struct store_update **members = mem_alloc(count * sizeof(*members));
    memcpy(members, group->members, count * sizeof(*members));
    for (size_t i = 0; i < count; i++) {
        bool fresh = rocks->health.broken || wal_is_fresh(rocks->wal);
        enum written written = commit_alone(group, members[i]);
        if (written == NOT_WRITTEN && !fresh) {
            written = commit_alone(group, members[i]);
        }
        if (written != WRITTEN && members[i]->status == STORE_OK) {
            members[i]->status = written == NOT_WRITTEN ? STORE_FAILED : STORE_UNKNOWN;
        }
    }
    memcpy(group->members, members, count * sizeof(*members));
    group->member_count = count;
    mem_free(members);
}

/* It is not known whether the group was written. All its updates are STORE_UNKNOWN, also those that
 * did not want to write: they may have read rows of the group. */
static void leave_undecided(struct rocks_group *group)
{
    for (size_t i = 0; i < group->member_count; i++) {
        struct store_update *update = group->members[i];
        if (update->status == STORE_OK) {
            update->status = STORE_UNKNOWN;
        } else if (update->status == STORE_NO_WRITE) {
            update->status = STORE_FAILED;
        }
        assert(update->status != STORE_OK);
    }
}

/* Writes the group, which has updates or drops. Unless it was written, all expensive updates must
 * be prepared again. */
static enum written begin_commit(struct rocks_group *group)
{
    assert(group->member_count <= GROUP_UPDATES_MAX);
    group->begun_ns = clock_monotonic_ns();
    group->last_count = (int)group->member_count;
    enum written written = write_group(group);
    if (written != WRITTEN) {
        preparations_invalidate(&group->preparations);
    }
    if (written == PERHAPS_WRITTEN) {
        leave_undecided(group);
    }
    return written;
}

static void end_commit(struct rocks_group *group)
{
    rocks_group_clear(group);
    preparations_start(&group->preparations);
    group->last_ns = clock_monotonic_ns();
    group->last_took_ns = group->last_ns - group->begun_ns;
}

void rocks_group_commit(struct rocks_group *group)
{
    if (group->member_count == 0 && group->rocks->drop_count == 0) {
        preparations_start(&group->preparations);
        return;
    }
    if (begin_commit(group) == NOT_WRITTEN) {
        commit_one_by_one(group);
    }
    end_commit(group);
}

bool rocks_group_try_commit(struct rocks_group *group)
{
    assert(group->member_count == 1);
    enum written written = begin_commit(group);
    end_commit(group);
    group->member_count = 0;
    return written != NOT_WRITTEN;
}
