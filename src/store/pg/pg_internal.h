/* store/pg/pg_internal.h: what the files of this folder share. README.md has the threads, the life
 * of a transaction and the stored rows. */
#ifndef GRAMME_STORE_PG_PG_INTERNAL_H
#define GRAMME_STORE_PG_PG_INTERNAL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
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
    PG_CONNS_DEFAULT = 16, /* half for gets and ranges, half for updates */
    PG_CONNS_MIN = 2,
    PG_CONNS_MAX = 128,
    PG_READ_BATCH = 8,       /* gets that go to one connection before the next is chosen */
    PG_VERSION_MIN = 130000, /* of the server */
    PG_PARAMS_MAX = 6,
    PG_GROUP_MAX = 64, /* updates in one transaction */
    PG_KEYS_MAX = 512, /* declared keys in one transaction, unless one update has more */
};
/* How long a request waits for a connection to the server, from its start. */
#define PG_PATIENCE_NS ((int64_t)5 * 1000 * 1000 * 1000)
/* A connection that does not answer for so long is closed. */
#define PG_SILENCE_NS ((int64_t)10 * 1000 * 1000 * 1000)
#define PG_WID_ABSENT (-1) /* wid of a row that is locked as absent: see README.md */

struct pg;
struct conn;
struct group;

/* One parameter of a statement, in binary form. */
struct param {
    const void *data;
    size_t len;
};

/* Gets the result of one statement, and clears it; NULL: the connection was lost. I/O thread. */
typedef void pg_handler(struct conn *conn, void *owner, size_t tag, PGresult *result);

struct pending {
    pg_handler *handle;
    void *owner;
    size_t tag;
    bool is_sync;
};

enum conn_state { CONN_DOWN, CONN_UP };

/* A connection. Used by the I/O thread only; while it is CONN_DOWN, by the connector only. */
struct conn {
    struct pg *pg;
    int number;
    bool is_writer;
    enum conn_state state;
    PGconn *pq;
    struct task task;         /* passes the connection to the connector and back */
    struct pending *pendings; /* ring buffer of statements that were sent and not answered */
    size_t pending_first;
    size_t pending_count;
    size_t pending_capacity;
    bool needs_sync;
    bool wants_write; /* libpq has unsent data */
    int64_t
        answered_ns; /* when the server answered last, or the oldest pending statement was sent */

    /* Writers only. */
    struct group *group; /* under way, or waiting to be decided */
    bool has_warned;     /* the server sent a WARNING during this transaction */
    uint64_t member;     /* `counters` are those of this member and counter_slot */
    uint32_t counter_slot;
    struct map counters; /* counter key -> struct store_count of the slot */
};

/* An update under way; in the arena of the update. */
struct update_job {
    struct update_job *next;
    struct store_update *update;
    int64_t deadline_ns;
    int attempts;
    bool is_alone; /* must not share a transaction with others */
};

struct job_list {
    struct update_job *first;
    struct update_job **last;
};

/* When a get or a range that has failed is tried again: the first time at once, because another
 * connection may work, then after pauses that grow. */
struct retry {
    int64_t deadline_ns;
    int64_t after_ns; /* not before this time; 0: at once */
    int64_t pause_ns; /* before the attempt after the next failure; 0: none */
};

/* A get under way; in the arena of the get. */
struct get_job {
    struct get_job *next;
    struct pg *pg;
    struct store_get *get;
    struct task task;
    struct retry retry;
    size_t outstanding;
    size_t bytes; /* of the rows that were read */
    bool has_failed;
};

/* A range under way; not in the arena of the range, because row() may rewind it. */
struct range_job {
    struct range_job *next;
    struct pg *pg;
    struct store_range *range;
    struct task task;
    struct retry retry;
    struct buf lo; /* bounds of the rows that are not read yet */
    struct buf hi;
    size_t limit; /* of the next statement */
    PGresult *result;
    int row;            /* next row of the result to pass to row() */
    int row_count;      /* rows of the result before the first one whose value was too long */
    bool is_space_done; /* the result is the last one of its space */
    int bucket;         /* that is read, if the range is read bucket by bucket; else -1 */
    struct buf best;    /* first or last key of the buckets that were asked */
    size_t asked;       /* statements about keys that were not answered */
    bool has_lost;      /* one of them has failed */
    bool is_slow;       /* row() runs on the slow thread */
    bool is_unreadable; /* the last statements failed on a damaged page */
    bool has_failed;
    int64_t until_ns; /* end of the time slice */
};

/* A row that a transaction has read or will write. */
struct group_row {
    struct str key;
    struct str value; /* the newest value; STR_NULL: absent */
    bool is_declared;
    bool was_present;
    bool is_changed;
};

/* An append to a log, or an advance of it. */
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

/* A group of updates: one transaction. */
struct group {
    struct pg *pg;
    struct conn *conn;
    struct task task; /* passes the group to the slow thread and back */
    enum group_phase phase;
    int64_t wid;
    int64_t time_ns;     /* time of the first update that wants one; later ones get larger times */
    int64_t deadline_ns; /* by then it must be decided, else STORE_UNKNOWN */
    struct update_job *jobs[PG_GROUP_MAX];
    enum store_status
        outcomes[PG_GROUP_MAX]; /* of the evals; STORE_OK: there is something to write */
    size_t job_count;
    struct map by_key; /* -> struct group_row */
    struct group_row **rows;
    size_t row_count;
    size_t row_capacity;
    struct map added; /* counter key -> struct store_count */
    struct str *erased_counters;
    size_t erased_count;
    size_t erased_capacity;
    struct appended *appended;
    size_t appended_count;
    size_t appended_capacity;
    struct log_head *heads; /* of the logs in `appended`, if the table is distributed */
    size_t head_count;
    bool has_heads;  /* they were locked and read, and COMMIT was sent or can be */
    uint32_t *drops; /* spaces that it drops */
    size_t drop_count;
    PGresult **results; /* contain the rows that were read */
    size_t result_count;
    size_t result_capacity;
    size_t row_bytes;
    size_t outstanding;
    bool has_failed;
    bool is_lost; /* the connection was lost */
    bool is_committed;
    bool is_fenced;   /* the marker row is missing: this member was excluded */
    bool is_released; /* pg_release_keys() was called */
    char sqlstate[6];
    int64_t decided_wid; /* wid of the marker row */
};

struct pg_faults {
    atomic_uint every[PG_FAULT_COUNT];
    atomic_uint chances[PG_FAULT_COUNT];
    atomic_uint_least64_t counts[PG_FAULT_COUNT];
};

struct pg {
    struct store store;
    char *conninfo;          /* the URI */
    char *server;            /* host and port for messages, without passwords */
    atomic_size_t last_host; /* of the URL, that was reached last */
    struct buf owner;        /* memory of store.owner */
    bool does_transfers;     /* as in struct store_options */
    bool is_distributed;     /* rows are spread over several servers: see distributed.h */
    struct random random;    /* of the I/O thread */
    struct mailbox box;      /* of the I/O thread */
    int wake_fd;
    pthread_t io_thread;
    bool io_started;
    atomic_bool closing;
    atomic_int_least64_t close_by_ns;
    atomic_int under_way; /* requests that are not done */

    struct waiting_mailbox *connector_box;
    pthread_t connector;
    bool connector_started;
    struct waiting_mailbox *slow_box; /* of the slow thread: rows and evals that take long */
    pthread_t slow;
    bool slow_started;

    struct conn conns[PG_CONNS_MAX];
    int conn_count;
    struct conn *batch_reader; /* took the last get; NULL: none, or something else after it */
    int batch_count;           /* how many gets it took in a row */
    /* Gets and ranges that wait for a connection, or for the end of a pause. */
    struct get_job *waiting_gets;
    struct range_job *waiting_ranges;
    struct job_list pending; /* updates whose keys are free */
    struct map busy;         /* declared keys of groups under way -> struct busy_key */
    uint32_t *drops;         /* spaces that the next transaction drops */
    size_t drop_count;
    size_t drop_capacity;
    bool is_dropping;      /* a drop is under way: no group starts before it is committed */
    int64_t drop_after_ns; /* when a failed drop is tried again */
    struct space_set gone;
    struct pg_faults faults;
    struct members *members;
    pthread_mutex_t settle_mutex; /* protects `settlings`; no other lock is taken inside */
    struct settling *settlings;   /* the first one is under way: settle.c */
};

/* Returns the PostgreSQL store that contains `store`. */
static inline struct pg *pg_of(struct store *store)
{
    return CONTAINER_OF(store, struct pg, store);
}

/* Keys of the store's own rows (space 0): the kind, then a name. */
enum own_kind {
    OWN_IDENTITY = 'I', /* format, seed, owner */
    OWN_HEAD = 'H',     /* name: log; wid is the last stamp, the value the newest prefix */
    OWN_COUNTER = 'C',  /* name: counter key, then the slot; the value is a part of the sum */
    OWN_DROPPED = 'D',  /* name: space; wid: see chores.c */
    OWN_MEMBER = 'M',   /* name: member number; wid counts heartbeats: see members_internal.h */
    OWN_MARKER = 'W',   /* name: member number, writer; wid is that of its last transaction */
    OWN_JOINS = 'J',    /* wid is the number of the member that joined last */
    OWN_NEWEST = 'N',   /* wid is the newest version that a member has announced */
    OWN_RECOVERY = 'R', /* an update that declares it runs RECOVER; there is no such row */
};
enum { OWN_KEY_MAX = STORE_SPACE_LEN + 1 + STORE_KEY_LEN_MAX + 16 };

/* Writes the key of one of the store's own rows; returns its length. */
size_t pg_own_key(uint8_t out[OWN_KEY_MAX], enum own_kind kind, struct str name);
/* Returns the column b of a key, a byte of the hash of its partition key. */
static inline int pg_bucket(struct str key)
{
    return key.len > STORE_SPACE_LEN ? (uint8_t)key.data[STORE_SPACE_LEN] : 0;
}
/* After the key of a counter: member (8 bytes), writer (2), number (4). */
enum { PG_COUNTER_SLOT_LEN = 14 };
/* Length of the longest key that the primary key of the table can hold. */
enum { PG_KEY_MAX = 2600 };

/* hosts.c */
/* Removes the parameter `pool`, the number of connections, from the URL and sets pg->conn_count. */
MUST_USE bool pg_take_pool(struct pg *pg, struct err *err);
/* Blocks. */
/* Connects to the first host of the URL that answers and takes writes; the caller checks
 * PQstatus().
 */
PGconn *pg_connect_to_hosts(struct pg *pg);

/* schema.c: blocks; on the thread that opens the store, on the connector and in members.c. */
/* Connects and sets up the session; NULL: *err says why. */
MUST_USE PGconn *pg_connect(struct pg *pg, bool is_pipelined, struct err *err);
/* Checks the database, creates the table if there is none, and sets the seed. */
MUST_USE bool pg_check_schema(struct pg *pg, PGconn *pq, const struct store_options *options,
                              struct err *err);
/* Reads the dropped spaces into pg->gone. */
MUST_USE bool pg_load_drops(struct pg *pg, PGconn *pq, struct err *err);
/* Returns the SQLSTATE of a result; "" if it has none. */
const char *pg_state(const PGresult *result);
/* Runs a statement with binary parameters and waits for its result, which the caller clears; NULL:
 * there was none for PG_SILENCE_NS, and the connection must be closed. */
PGresult *pg_query(PGconn *pq, const char *sql, const struct param *params, size_t count);
/* As pg_query(); returns how many rows it wrote or found; negative: it failed, which is logged. */
int pg_run(PGconn *pq, const char *sql, const struct param *params, size_t count);

/* As pg_run(); also fails if the server warns. */
int pg_run_strictly(PGconn *pq, const char *sql, const struct param *params, size_t count);

/* pg_conn.c: on the I/O thread. */
/* Sends a statement; `handle` gets its result. If the connection is lost, `handle` is called later
 * with NULL, as for every statement that was sent before. */
void conn_send(struct conn *conn, enum statement statement, const struct param *params,
               size_t count, pg_handler *handle, void *owner, size_t tag);
/* Sends a synchronization point: the server sends all its results, and accepts statements again if
 * an earlier one failed. */
void conn_sync(struct conn *conn);
/* Closes the connection and calls all pending handlers. The connector opens it again. */
void conn_lose(struct conn *conn);
/* Sends as much as the socket accepts. */
void conn_flush(struct conn *conn);
/* Reads from the socket, and calls the handlers of complete results. */
void conn_receive(struct conn *conn);
/* Asks the connector to open the connection. */
void conn_open(struct conn *conn);
/* Returns the reader with the fewest pending statements; NULL: none is connected. */
MUST_USE struct conn *pg_pick_reader(struct pg *pg);
/* The same for a get: the connection that took the last one, up to PG_READ_BATCH in a row, as long
 * as nothing of it has been sent. */
MUST_USE struct conn *pg_pick_get_reader(struct pg *pg);
/* For tests: returns whether to inject a fault now. */
MUST_USE bool pg_fault_is_due(struct pg *pg, enum pg_fault fault);

/* Memory for a parameter that is a number; must live until the statement is sent. */
struct param_int {
    uint8_t bytes[8];
};
/* Returns a parameter of type bytea, which borrows the bytes. */
static inline struct param param_bytes(struct str bytes)
{
    return (struct param){bytes.data != NULL ? bytes.data : "", bytes.len};
}
/* Returns a parameter of type int2, in `memory`. */
struct param param_int16(struct param_int *memory, int value);
/* Returns a parameter of type int4, in `memory`. */
struct param param_int32(struct param_int *memory, int32_t value);
/* Returns a parameter of type int8, in `memory`. */
struct param param_int64(struct param_int *memory, int64_t value);
/* Returns a parameter of type bytea[], in `memory`. */
struct param param_array(struct buf *memory, const struct str *values, size_t count);

/* pg_get.c */
/* store_get() of this store. */
void pg_get(struct store *store, struct store_get *get);
/* Starts the gets that waited, if there is a connection and their pauses are over. I/O thread. */
void pg_start_waiting_gets(struct pg *pg);
/* pg_range.c */
/* store_range() of this store. */
void pg_range(struct store *store, struct store_range *range);
/* As pg_start_waiting_gets(), for ranges. */
void pg_start_waiting_ranges(struct pg *pg);
/* settle.c */
/* store_settle() of this store. */
void pg_settle(struct store *store, struct store_settle *settle);

/* update.c, group.c, group_outcome.c, pg_write.c: on the I/O thread, but for the first two. */
/* store_update() of this store. */
void pg_update(struct store *store, struct store_update *update, bool is_alone);
/* store_drop_space() of this store. */
void pg_drop_space(struct store *store, uint32_t space);
/* Forms groups and starts their transactions while there are updates and free writers. */
void pg_start_groups(struct pg *pg);
/* Ends updates and groups whose deadline has passed. */
void pg_expire(struct pg *pg, int64_t now_ns);
/* The connection of a writer is open again: finds out whether its lost transaction was committed.
 */
void group_decide(struct group *group);
/* Ends a group that was not decided in time: STORE_UNKNOWN. */
void group_give_up(struct group *group);
/* Creates an empty group. */
MUST_USE struct group *group_create(struct pg *pg);
/* Frees a group. */
void group_destroy(struct group *group);
/* Returns the row of a key; adds one if there is none. */
MUST_USE struct group_row *group_row_of(struct group *group, struct str key);
/* Empties a map and frees its values. */
void pg_clear_values(struct map *map);
/* Returns the length of the key of a writer's marker row, which is written to `out`. */
MUST_USE size_t group_marker_key(uint8_t out[OWN_KEY_MAX], const struct conn *conn);
/* Answers all updates; `written` is the status of those that have written. If it is not known
 * whether the transaction was committed, neither is the outcome of an update without writes: it may
 * have read rows of an earlier update of the group. */
void group_finish_jobs(struct group *group, enum store_status written);
/* Nothing was written: queues all updates again whose deadline has not passed; the others get
 * `status`. If `alone`, each is in a group of its own then. */
void group_retry_jobs(struct group *group, bool alone, enum store_status status);
/* Rolls back, then answers the updates or queues them again, and ends the group. */
void group_roll_back(struct group *group);
/* Begins the transaction: locks and reads the declared rows. */
void group_begin(struct group *group);
/* Evaluates the updates, one after the other, with the rows that were read. I/O or slow thread. */
void group_evaluate(struct group *group);
/* Sends the writes of all updates, without COMMIT. False: there is nothing to write. */
MUST_USE bool group_send_writes(struct group *group, pg_handler *handle);
/* Sorts the appends of the group by log; those of one log keep their order. */
void group_sort_appended(struct group *group);
/* The transaction was committed: conn->counters get the new values of the slot. */
void group_note_counters(struct group *group);
/* Frees the keys for other groups. Must be called before an update is answered, because the updates
 * own the keys. */
void pg_release_keys(struct group *group);
/* The group has ended: frees it and its writer. */
void pg_group_ended(struct group *group);
/* Answers an update. */
void pg_finish_job(struct update_job *job, enum store_status status);
/* Queues an update again. */
void pg_retry_job(struct pg *pg, struct update_job *job);

/* A request is done: store_close() waits until none is left. */
static inline void pg_request_ended(struct pg *pg)
{
    atomic_fetch_sub_explicit(&pg->under_way, 1, memory_order_release);
}
/* Runs a task on the I/O thread. */
static inline void pg_post(struct pg *pg, struct task *task)
{
    mailbox_post(&pg->box, task);
}

/* pg_loop.c */
/* Starts the time of a get or a range, or of the rest of a range that has read rows. */
void pg_retry_init(struct retry *retry);
/* An attempt has failed: returns whether there may be another one, and sets when. I/O thread. */
MUST_USE bool pg_retry_allows(struct pg *pg, struct retry *retry);
/* Returns whether the next attempt must wait, in pg->waiting_gets or pg->waiting_ranges. */
MUST_USE static inline bool pg_retry_waits(const struct retry *retry)
{
    return UNLIKELY(retry->after_ns > 0) && clock_monotonic_ns() < retry->after_ns;
}
/* The I/O thread. */
void *pg_io_main(void *pg);
/* The connector thread. */
void *pg_connector_main(void *pg);
/* The slow thread. */
void *pg_slow_main(void *pg);

#endif
