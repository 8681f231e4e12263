/* store/pg/members_internal.h: the state of the members thread, and what its files share: members.c
 * (the thread and the calls), membership.c (rows of this member) and others.c (the other members).
 */
#ifndef GRAMME_STORE_PG_MEMBERS_INTERNAL_H
#define GRAMME_STORE_PG_MEMBERS_INTERNAL_H

#include "store/pg/chores.h"
#include "store/pg/members.h"

enum { PROGRESS_LEN = 16 };

/* The heartbeats of a member that does no transfers are counted from here, those of others from 1.
 * So all members know it, also those of earlier versions that only compare the numbers. */
#define FIRST_BEAT_WITHOUT_TRANSFERS (INT64_C(1) << 62)

/* Another member, as this process sees it. */
struct other {
    uint64_t number;
    int64_t beat;       /* number of its last heartbeat */
    int64_t changed_ns; /* when that number changed, by the local clock */
    int64_t held_ns;    /* when its advisory lock was last held */
    struct store_progress progress;
    bool is_listed; /* its row was read in this round */
};

struct members {
    struct pg *pg;
    pthread_t thread;
    bool started;
    int wake_fd;
    PGconn *pq; /* of the thread; NULL: it must be opened */
    struct other *others;
    size_t other_count;
    size_t other_capacity;
    bool has_joined;
    /* Members may have left since the last list that a heartbeat has confirmed: see members.h. */
    bool must_confirm;

    atomic_uint_least64_t number;
    /* The number under which updates are written. After the process has joined again it is the old
     * one, so that updates fail, until no call under way uses a version that is older than what the
     * others knew: they have not waited for these calls. */
    atomic_uint_least64_t writer_number;
    int64_t joined_ns;       /* used by the thread only, as the next */
    uint64_t newest_written; /* by members_write_newest() on this connection; 0: nothing */
    atomic_int_least64_t lease_until_ns;
    atomic_uint_least64_t newest_at_join;
    atomic_bool is_leader;
    atomic_bool leads_transfers;
    atomic_bool is_fenced; /* a transaction found that this member is excluded */
    struct chores *chores; /* run by the thread */

    pthread_mutex_t mutex; /* protects all of the following */
    void (*changed)(void *context);
    void *context;
    bool has_announced; /* since it joined */
    pthread_cond_t is_watching;
    bool must_begin; /* store_watch() waits until the thread has reset the announced versions */
    struct store_progress announced;
    struct store_progress slowest;
};

struct own_key {
    uint8_t bytes[OWN_KEY_MAX];
    size_t len;
};

/* membership.c: on the members thread, and in members_open(). */
/* Returns the key of a row of a member, in `key`. */
struct param member_key(struct own_key *key, enum own_kind kind, uint64_t number);
/* Takes the advisory lock, which shows other members that the session is open. */
MUST_USE bool members_hold_session(struct members *members, uint64_t number);
/* Reads the newest version that any member has announced. This process must know it before it may
 * serve. */
MUST_USE bool members_read_newest(struct members *members, uint64_t *out);
/* Joins under a new number. */
MUST_USE bool members_join(struct members *members);
/* Announces a version to members that join later, before it is in the row of this member. */
MUST_USE bool members_write_newest(struct members *members, uint64_t seen);
/* Sends a heartbeat. Returns 1: renewed; 0: this member is excluded; negative: PostgreSQL does not
 * answer, or warns: the standby may not have the heartbeat, nor what others can already read. */
MUST_USE int members_beat(struct members *members, struct store_progress progress);
/* Leaves: deletes the rows of this member. If a lost transaction still locks a marker row, others
 * exclude this member later: while its row is there, they know that it may still write. */
void members_leave(struct members *members);

/* others.c: on the members thread, and in members_open(). */
/* Reads the rows of all members; those without a row are forgotten, and must_confirm is set. */
MUST_USE bool members_list(struct members *members);
/* Finds out which members hold their advisory locks. */
MUST_USE bool members_list_sessions(struct members *members);
/* Excludes the members that have not sent heartbeats, or whose session has ended. */
void members_exclude_dead(struct members *members);
/* Computes the lowest announced versions, and whether this member is the leader: the one with the
 * smallest number, and for transfers the one with the smallest number of those that do them. So a
 * member becomes the leader only when all earlier ones have left or are excluded. */
void members_compare(struct members *members);
/* While there was no connection the others could not be seen, and they may have lost theirs: counts
 * their time from now on. */
void members_expect_others(struct members *members);

#endif
