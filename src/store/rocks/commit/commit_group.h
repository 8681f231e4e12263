/* store/rocks/commit/commit_group.h: the group of updates that is being committed, and what the
 * files of this folder do with it. All functions: on the thread that has the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_COMMIT_COMMIT_GROUP_H
#define GRAMME_STORE_ROCKS_COMMIT_COMMIT_GROUP_H

#include "store/batch_internal.h"
#include "store/rocks/commit/counters.h"
#include "store/rocks/commit/overlay.h"
#include "store/rocks/commit/prepare.h"
#include "store/rocks/reads/reads.h"

/* The largest group. */
enum { GROUP_UPDATES_MAX = 1024 };

struct rocks_group {
    struct rocks *rocks;
    rocksdb_writebatch_t *writes;
    struct overlay *newest; /* rows that the group has written */
    struct counters *counters;
    bool stamped;
    bool timed; /* an update has used a time that is not stored yet, perhaps without writing */
    struct store_update *members[GROUP_UPDATES_MAX];
    size_t member_count;
    size_t warming_count; /* updates that a worker or a slow thread has */
    struct preparations preparations;
    bool must_evaluate; /* expensive updates are evaluated here, not prepared */
    bool closing;

    /* Of the last commit: when it began, number of updates, when it ended, how long it took. */
    int64_t begun_ns;
    int last_count;
    int64_t last_ns;
    int64_t last_took_ns;

    /* Of the update that is being evaluated. */
    struct store_batch batch;
    struct str *rows;
    rocksdb_pinnableslice_t **pins;
    size_t row_capacity;
};

enum evaluation {
    EVALUATED,
    NEEDS_DISK,      /* rows are not in the cache */
    NEEDS_PREPARING, /* too expensive for the committer */
};

/* commit_group.c */
/* Clears what the updates of the group have written, but not the list of updates. */
void rocks_group_clear(struct rocks_group *group);
/* Returns whether the group must be committed before another update joins. */
MUST_USE bool rocks_group_is_full(const struct rocks_group *group);

/* evaluate.c */
/* Reads the newest row of a key: of the group, or else of the database. As rocks_read(). */
MUST_USE enum read_result rocks_group_read(struct rocks_group *group, struct str key,
                                           enum tier tier, struct str *out,
                                           rocksdb_pinnableslice_t **out_pin);
/* Evaluates an update. If EVALUATED, sets update->status, and fills group->batch if that is
 * STORE_OK. */
MUST_USE enum evaluation rocks_group_evaluate(struct rocks_group *group,
                                              struct store_update *update, enum tier tier);

/* warm.c */
/* Sends an update to a worker, which reads its declared rows into the cache and then pushes it to
 * the committer's inbox. */
void rocks_group_warm(struct rocks_group *group, struct store_update *update);
/* Returns whether a task of the inbox is an update that a worker has sent back. */
MUST_USE bool rocks_is_warmed(const struct task *task);

/* join.c */
/* Adds an update to the group, if it is EVALUATED. */
MUST_USE enum evaluation rocks_group_join(struct rocks_group *group, struct store_update *update,
                                          enum tier tier);
/* As rocks_group_join(), but reads rows from files if that is quick at present. NEEDS_DISK: it is
 * not, so a worker must read the rows first. */
MUST_USE enum evaluation rocks_group_join_with_disk(struct rocks_group *group,
                                                    struct store_update *update);
/* Adds an update that could not be prepared, or whose group could not be written; reads from the
 * disk if need be. */
void rocks_group_join_in_any_case(struct rocks_group *group, struct store_update *update);

/* numbers.c */
/* Adds a number of space 0 to the batch of the group: "stamp" or "time". */
void rocks_write_number(struct rocks_group *group, const char *name, uint64_t number);

/* dropped_spaces.c */
/* Adds the space of a drop task to rocks->drops, and frees the task. */
void rocks_note_drop(struct rocks *rocks, struct task *task);
/* Returns whether a task of the committer's inbox is a drop. */
MUST_USE bool rocks_is_drop(const struct task *task);
/* Adds rocks->drops to the batch of a group. */
void rocks_write_drops(struct rocks *rocks, rocksdb_writebatch_t *writes);
/* The group was written: hands rocks->drops to the sweeper, and empties it. */
void rocks_drops_written(struct rocks *rocks);

/* group_commit.c */
/* Writes the group and sets the status of each update. The caller answers them. */
void rocks_group_commit(struct rocks_group *group);
/* The same for a group of one update, without a second attempt, and empties the list of updates.
 * Returns false if nothing was written because the disk failed: the update can be started again. */
MUST_USE bool rocks_group_try_commit(struct rocks_group *group);

/* group_answers.c */
/* Posts each update of the group to its home, and empties the list of updates. */
void rocks_group_answer(struct rocks_group *group);

/* resume.c */
/* If the store is broken and the time of the next attempt has come, tries to resume writing. */
void rocks_resume(struct rocks *rocks);

#endif
