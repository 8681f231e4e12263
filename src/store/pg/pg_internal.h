/* store/pg/pg_internal.h: what the files of this folder share. README.md has the threads, the life
 * of a transaction and the stored rows. */
#ifndef GRAMME_STORE_PG_PG_INTERNAL_H
#define GRAMME_STORE_PG_PG_INTERNAL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/random.h"
#include "store/formats.h"
#include "store/pg/members.h"
#include "store/pg/pg.h"
#include "store/space_set.h"
#include "store/store.h"

/* Statements that every connection prepares: see statements.def. */
enum statement {
#define STATEMENT(name_, sql_) STATEMENT_##name_,
#include "store/pg/statements.def"
#undef STATEMENT
    STATEMENT_COUNT
};

enum {
    PG_READERS = 8, /* connections for gets and ranges */
    PG_WRITERS = 8, /* connections for updates */
    PG_CONNS = PG_READERS + PG_WRITERS,
    PG_VERSION_MIN = 130000, /* of the server */
    PG_PARAMS_MAX = 6,
    PG_GROUP_MAX = 64, /* updates in one transaction */
    PG_KEYS_MAX = 512, /* declared keys in one transaction, unless one update has more */
};
/* How long a request waits for a server that is not there, from its start. */
#define PG_PATIENCE_NS ((int64_t)5 * 1000 * 1000 * 1000)
/* A connection on which nothing comes back for so long is given up. */
#define PG_SILENCE_NS ((int64_t)10 * 1000 * 1000 * 1000)
#define PG_WID_ABSENT (-1) /* the row is only locked: see README.md */

struct pg;
struct conn;
struct group;

/* One parameter of a statement, in binary form. */
struct param {
    const void *data;
    size_t len;
};

/* Called on the I/O thread with the result of one statement, which it clears; NULL: the connection
 * was lost. */
typedef void pg_handler(struct conn *conn, void *owner, size_t tag, PGresult *result);

struct pending {
    pg_handler *handle;
    void *owner;
    size_t tag;
    bool is_sync;
};

enum conn_state { CONN_DOWN, CONN_UP };

/* A connection. All of it belongs to the I/O thread, except while it is down: then the connector
 * has it. */
struct conn {
    struct pg *pg;
    int number;
    bool is_writer;
    enum conn_state state;
    PGconn *pq;
    struct task task;         /* on its way to the connector and back */
    struct pending *pendings; /* a ring of what was sent and not answered */
    size_t pending_first;
    size_t pending_count;
    size_t pending_capacity;
    bool needs_sync;
    bool wants_write;    /* not everything could be sent */
    int64_t answered_ns; /* when something came back last, or the first was sent */

    /* Of writers. */
    struct group *group; /* under way, or waiting to be decided */
    bool has_warned;     /* the server warned during this transaction */
    uint64_t member;     /* the counters are of this member's slot, and of this number */
    uint32_t counter_slot;
    struct map counters; /* counter key -> struct store_count of the slot */
};

/* An update on its way; in the update's arena. */
struct update_job {
    struct update_job *next;
    struct store_update *update;
    int64_t deadline_ns;
    int attempts;
    bool is_alone; /* it shares no transaction with others */
};

struct job_list {
    struct update_job *first;
    struct update_job **last;
};

/* A get on its way; in the get's arena. */
struct get_job {
    struct get_job *next;
    struct pg *pg;
    struct store_get *get;
    struct task task;
    int64_t deadline_ns;
    size_t outstanding;
    bool has_failed;
};

/* A range on its way; in memory of its own, because row() may rewind the request's arena. */
struct range_job {
    struct range_job *next;
    struct pg *pg;
    struct store_range *range;
    struct task task;
    int64_t deadline_ns;
    struct buf lo; /* what is still to be read */
    struct buf hi;
    size_t limit; /* rows of the next statement */
    PGresult *result;
    int row;            /* of the result, to be given next */
    size_t bytes;       /* of the rows of the result */
    bool is_space_done; /* the result is the last of its space */
    bool is_slow;       /* rows are given on the slow thread */
    bool has_failed;
    int64_t until_ns; /* end of the time slice */
};

/* One row that a transaction has read or will write. */
struct slot {
    struct str key;
    struct str value; /* the newest; STR_NULL: absent */
    bool is_declared;
    bool was_present;
    bool is_changed;
};

struct appended {
    struct str log;
    struct str prefix;
    struct str value;
    bool is_advance;
    uint64_t stamp; /* of an advance */
    size_t order;
};

enum group_phase {
    GROUP_LOCKING,
    GROUP_EVALUATING,
    GROUP_WRITING,  /* COMMIT has been sent */
    GROUP_UNDOING,  /* ROLLBACK has been sent */
    GROUP_DECIDING, /* whether it was committed is not known */
};

/* One transaction. */
struct group {
    struct pg *pg;
    struct conn *conn;
    struct task task; /* to the slow thread and back */
    enum group_phase phase;
    int64_t wid;
    int64_t time_ns;     /* of the first member, if one wants it; that of others follows */
    int64_t deadline_ns; /* until then it must be decided */
    struct update_job *jobs[PG_GROUP_MAX];
    enum store_status outcomes[PG_GROUP_MAX]; /* of eval: STORE_OK wants to write */
    size_t job_count;
    struct map by_key; /* -> struct slot */
    struct slot **slots;
    size_t slot_count;
    size_t slot_capacity;
    struct map added; /* counter key -> struct store_count */
    struct str *erased_counters;
    size_t erased_count;
    size_t erased_capacity;
    struct appended *appended;
    size_t appended_count;
    size_t appended_capacity;
    uint32_t *drops; /* spaces that are dropped with it */
    size_t drop_count;
    PGresult **results; /* hold the rows that were read */
    size_t result_count;
    size_t result_capacity;
    size_t row_bytes;
    size_t outstanding;
    bool has_failed;
    bool is_lost; /* the connection was */
    bool is_committed;
    bool is_fenced;
    bool is_released; /* its keys are no longer in use */
    char sqlstate[6];
    int64_t decided_wid; /* what the marker row said */
};

struct pg_faults {
    atomic_uint every[PG_FAULT_COUNT];
    atomic_uint chances[PG_FAULT_COUNT];
    atomic_uint_least64_t counts[PG_FAULT_COUNT];
};

struct pg {
    struct store store;
    char *conninfo; /* the URI */
    char *server;   /* host and port for messages, without passwords */
    bool is_citus;
    struct random random; /* of the I/O thread */
    struct mailbox box;   /* of the I/O thread */
    int wake_fd;
    pthread_t io_thread;
    bool io_started;
    atomic_bool closing;
    atomic_int_least64_t close_by_ns;
    atomic_int under_way; /* requests that are not done */

    struct waiting_mailbox *connector_box;
    pthread_t connector;
    bool connector_started;
    struct waiting_mailbox *slow_box; /* the slow thread: what takes long */
    pthread_t slow;
    bool slow_started;

    struct conn conns[PG_CONNS];
    struct get_job *waiting_gets; /* for a connection */
    struct range_job *waiting_ranges;
    struct job_list pending; /* updates that may start */
    struct map busy;         /* declared keys of groups -> struct busy_key */
    uint32_t *drops;         /* spaces to be dropped by the next transaction */
    size_t drop_count;
    size_t drop_capacity;
    bool is_dropping;      /* nothing else starts before it is committed */
    int64_t drop_after_ns; /* after a failure */
    struct space_set gone;
    struct pg_faults faults;
    struct members *members;
    pthread_mutex_t settle_mutex; /* for the next; a leaf */
    struct settling *settlings;   /* the first one is under way: settle.c */
};

static inline struct pg *pg_of(struct store *store)
{
    return CONTAINER_OF(store, struct pg, store);
}

/* Keys of the store's own rows (space 0): kind, then what it is of. */
enum own_kind {
    OWN_IDENTITY = 'I', /* format, seed, owner */
    OWN_HEAD = 'H',     /* log: wid is the last stamp, the value the newest prefix */
    OWN_COUNTER = 'C',  /* counter key, then the slot: a part of the counter */
    OWN_DROPPED = 'D',  /* space: its rows are gone, or will be */
    OWN_MEMBER = 'M',   /* member number: a process that has the store open */
    OWN_MARKER = 'W',   /* member number, writer: wid is that of its last transaction */
    OWN_JOINS = 'J',    /* wid is the last number that a member was given */
    OWN_NEWEST = 'N',   /* wid is the newest change that a member has announced */
};
enum { OWN_KEY_MAX = STORE_SPACE_LEN + 1 + STORE_KEY_LEN_MAX + 16 };

/* Writes the key of a row of the store's own; returns its length. */
size_t pg_own_key(uint8_t out[OWN_KEY_MAX], enum own_kind kind, struct str name);
/* The column b of a key: spreads rows over shards. */
static inline int pg_bucket(struct str key)
{
    return key.len > STORE_SPACE_LEN ? (uint8_t)key.data[STORE_SPACE_LEN] : 0;
}
/* Behind the key of a counter: member (8), writer (2), number (4). */
enum { PG_COUNTER_SLOT_LEN = 14 };
/* The longest key that the index of the table takes. */
enum { PG_KEY_MAX = 2600 };

/* schema.c: on the caller's thread, before anything else runs. */
/* Connects and makes a connection ready for use; NULL: *err says why. Blocks. */
MUST_USE PGconn *pg_connect(const struct pg *pg, bool is_pipelined, struct err *err);
/* Checks the database and creates the table if there is none; fills the seed. */
MUST_USE bool pg_check_schema(struct pg *pg, PGconn *pq, const struct store_options *options,
                              struct err *err);
MUST_USE bool pg_load_drops(struct pg *pg, PGconn *pq, struct err *err);
/* The SQLSTATE of a result; "" if it has none. */
const char *pg_state(const PGresult *result);
/* Runs a statement with binary parameters and waits for its result, which the caller clears. */
PGresult *pg_query(PGconn *pq, const char *sql, const struct param *params, size_t count);
/* The same; returns how many rows it wrote or found; negative: it failed, and the log says why. */
int pg_run(PGconn *pq, const char *sql, const struct param *params, size_t count);

/* conn.c: on the I/O thread. */
/* Sends a statement; its result goes to `handle`. If the connection is lost the handler is called
 * later, as for all that was sent before. */
void conn_send(struct conn *conn, enum statement statement, const struct param *params,
               size_t count, pg_handler *handle, void *owner, size_t tag);
/* Asks for answers to all that was sent, and for recovery if something of it failed. */
void conn_sync(struct conn *conn);
/* Gives the connection up; all handlers are called. It is opened again in the background. */
void conn_lose(struct conn *conn);
/* Sends what can be sent. */
void conn_flush(struct conn *conn);
/* Takes what has come. */
void conn_receive(struct conn *conn);
/* Asks the connector for a connection. */
void conn_open(struct conn *conn);
/* The reader with the least to do; NULL: none is there. */
MUST_USE struct conn *pg_pick_reader(struct pg *pg);
/* For tests: whether the fault happens now. */
MUST_USE bool pg_fault_is_due(struct pg *pg, enum pg_fault fault);

/* Parameters; the number lives in the caller's memory. */
struct param_int {
    uint8_t bytes[8];
};
static inline struct param param_bytes(struct str bytes)
{
    return (struct param){bytes.data != NULL ? bytes.data : "", bytes.len};
}
struct param param_int16(struct param_int *memory, int value);
struct param param_int32(struct param_int *memory, int32_t value);
struct param param_int64(struct param_int *memory, int64_t value);
/* An array of bytea in binary form. */
struct param param_array(struct buf *memory, const struct str *values, size_t count);

/* read.c */
void pg_get(struct store *store, struct store_get *get);
void pg_start_waiting_gets(struct pg *pg);
/* range.c */
void pg_range(struct store *store, struct store_range *range);
void pg_start_waiting_ranges(struct pg *pg);
/* update.c, group.c, write.c */
void pg_update(struct store *store, struct store_update *update, bool is_alone);
void pg_drop_space(struct store *store, uint32_t space);
/* settle.c */
void pg_settle(struct store *store, struct store_settle *settle);
/* Starts transactions as long as there is something to do and a writer is free. */
void pg_start_groups(struct pg *pg);
/* Ends updates and groups that have waited too long. */
void pg_expire(struct pg *pg, int64_t now_ns);
/* A writer has been opened again: what it left undecided is decided. */
void group_decide(struct group *group);
/* Ends one that could not be decided in time. */
void group_give_up(struct group *group);
MUST_USE struct group *group_create(struct pg *pg);
void group_destroy(struct group *group);
MUST_USE struct slot *group_slot(struct group *group, struct str key);
/* Begins the transaction: locks and reads the declared rows. */
void group_begin(struct group *group);
/* Evaluates all members against the rows. */
void group_evaluate(struct group *group);
/* Sends what they want to write, and COMMIT; false: there is nothing to write. */
MUST_USE bool group_send_writes(struct group *group, pg_handler *handle);
/* The transaction was committed: counters of the slot are known. */
void group_note_counters(struct group *group);
/* The keys may be used by others; before any member is answered, because the keys are the
 * members'. */
void pg_release_keys(struct group *group);
/* The group has ended; `pg` may start another one. */
void pg_group_ended(struct group *group);
void pg_finish_job(struct update_job *job, enum store_status status);
void pg_retry_job(struct pg *pg, struct update_job *job);

/* A request is done: the store may be closed when none is left. */
static inline void pg_request_ended(struct pg *pg)
{
    atomic_fetch_sub_explicit(&pg->under_way, 1, memory_order_release);
}
/* Runs a task on the I/O thread. */
static inline void pg_post(struct pg *pg, struct task *task)
{
    mailbox_post(&pg->box, task);
}

/* loop.c */
void *pg_io_main(void *pg);
void *pg_connector_main(void *pg);
void *pg_slow_main(void *pg);

#endif
