/* store/store.h: ordered rows and atomic updates; the one storage interface.
 *
 * A row is a key and a value, both bytes. A key is
 *
 *     space (4 bytes, big-endian) | part (16 bytes) | sort (any bytes)
 *
 * with at most STORE_KEY_LEN_MAX bytes, and rows are ordered by memcmp of the whole key. A space is
 * a table's items, one of its indexes, the catalog and so on; a part groups rows that are stored
 * next to each other. Space 0 is the store's own.
 *
 * An update names its keys and passes a function of the rows under them, instead of calling begin,
 * get, put and commit. So the store may lock the rows, validate them or run updates serially, may
 * run the function again, and may commit many updates together.
 *
 * Rules that every store keeps; tests/store has a test case for each:
 *  1. Isolation. An update is atomic. Updates and snapshot gets that share a declared key are
 *     serializable, whether the row exists or not. A get without `snapshot` returns for each key
 *     the newest committed row.
 *  2. Evaluation. eval does no I/O, and the rows that it gets are valid until it returns. If its
 *     condition fails it returns false, and the status is STORE_NO_WRITE.
 *  3. Undeclared rows. An update writes rows outside its declared keys only if a declared key owns
 *     them (an index entry holds the key of its item), or by append or add.
 *  4. Logs. The stamps of appended rows grow strictly in commit order within a log. A reader that
 *     has read stamp n finds no smaller stamp later that it did not find before.
 *  5. Groups. The store may commit any number of updates together; each has its own status. Updates
 *     of a group that share a key are evaluated in order, each with the rows that the previous one
 *     has written. If the commit of a group fails, the store runs its updates again one by one.
 *  6. Durability. STORE_OK means that the bytes are on disk. If the store cannot find out whether
 *     they are, the status is STORE_UNKNOWN. Such an update is decided, for good, before a later
 *     update that declares one of its keys is STORE_OK.
 *  7. Counters. add changes a counter, and never makes two updates wait for each other. The key of
 *     a counter must not be declared. Read counters by a get with `are_counters`: a range over such
 *     keys may or may not return rows for them.
 *  8. Times. The times of updates (`wants_time`) respect causality: if an update was done before
 *     another one was started, or wrote a key that the other one declares, it has the smaller time,
 *     also in another process, after a restart, and if the system clock was set back. So all
 *     updates up to a time are a consistent state, and store_settle() returns a time up to which
 *     all updates are decided.
 *  9. Ranges. A range is not a snapshot. It returns rows in the order of keys. It returns a row
 *     exactly once if the row exists from the start of the range to its end. A row that is written
 *     or erased meanwhile may be returned in any version that it had meanwhile, or not at all, and
 *     an update that writes several rows may be seen in part.
 *
 * Requests. The caller owns the struct of a request and keeps it unchanged until done() is called.
 * It starts the request on the thread of `home` and done() runs on that thread, possibly before the
 * function that starts the request returns. Until done() is called the arena belongs to the store.
 * Requests that are under way at the same time may be carried out in any order. `home` must outlive
 * the store.
 *
 * done() may start other requests, also with the same struct. As it may be called by the function
 * that starts a request, a chain of requests that start each other nests on the stack: a caller
 * whose chain has no small bound starts the next request in a loop, after that function has
 * returned (fetch_all() in engine/read.c). row(), eval and prepare must not call the store.
 *
 * Threads. The store may do the work of a request on the thread that starts it, as far as `home`
 * allows (base/mailbox.h): if home->may_block, the thread may wait for the commit of an update that
 * was started alone; if home->has_slices, the thread may return rows until home->slice_until_ns,
 * which the store sets 2 ms ahead when the first range of a round of events needs it and the event
 * loop resets to 0 before each round. A get or a range may also read files on that thread while
 * such reads are quick (store/rocks/README.md, "What may block"). Everything else runs on threads
 * of the store. */
#ifndef GRAMME_STORE_STORE_H
#define GRAMME_STORE_STORE_H

#include "base/bytes.h"
#include "base/mailbox.h"
#include "err/err.h"

#define STORE_SPACE_LEN  4
#define STORE_PART_LEN   16
#define STORE_PREFIX_LEN (STORE_SPACE_LEN + STORE_PART_LEN)

/* Bytes of the longest key: enough for every key of codec/row_key.h. */
#define STORE_KEY_LEN_MAX 6144

enum store_status {
    STORE_OK,
    STORE_NO_WRITE, /* eval returned false: nothing was written */
    STORE_GONE,     /* a declared key lies in a dropped space: nothing was written */
    /* Disk full, I/O error: nothing was written; a later attempt may succeed. Also of a get: its
     * arena is over its budget. */
    STORE_FAILED,
    STORE_UNKNOWN,  /* the update may or may not have been written */
    STORE_TOO_MUCH, /* the rows of a get have more than bytes_max bytes */
    STORE_BUSY,     /* other transactions kept a declared row locked: nothing was written */
};

/* Reads rows by key. */
struct store_get {
    const struct str *keys;
    size_t key_count;
    bool snapshot;       /* all rows as of one instant; else each row is the newest by itself */
    bool are_counters;   /* the keys are those of counters: decode rows by store_count_value() */
    bool before_serving; /* read also while store_may_serve() is false */
    size_t bytes_max;    /* sum of the rows' lengths; more is STORE_TOO_MUCH; 0: no limit */
    struct arena *arena; /* memory of the request: the store allocates from it */
    struct mailbox *home;
    void (*done)(struct store_get *get);

    enum store_status status;
    /* One per key, STR_NULL if absent; valid until done() returns. Only if STORE_OK. */
    struct str *rows;

    struct task task; /* private to the store, as the next */
    void *internal;
};

/* Reads the rows of lo <= key < hi in ascending order of keys, or descending if `backward`. */
struct store_range {
    struct str lo;
    struct str hi;
    bool backward;
    struct arena *arena;
    struct mailbox *home;
    /* Gets one row; returns false to end the range. The bytes are valid until it returns. Runs on
     * any thread, but never on two at once, and never after done(). */
    bool (*row)(struct store_range *range, struct str key, struct str value);
    void (*done)(struct store_range *range);
    /* Called on the thread of `home` before row() runs on another thread; may be NULL. */
    void (*before_thread_change)(struct store_range *range);

    bool before_serving; /* as in a get */
    size_t rows_wanted;  /* estimate of how many rows row() accepts; 0: not known */
    /* Cost of row() per byte of a row, relative to a plain read; 0 means 1. The store reads the
     * clock more often for a larger weight. */
    size_t weight;
    /* Set by the store: the thread that calls row() serves no connection, so row() may take long.
     * While it is false, row() may set put_off and return false instead of doing expensive work:
     * the store then passes the same row again on a thread where may_take_long is true. */
    bool may_take_long;
    bool put_off;

    enum store_status status; /* STORE_OK also if row() has ended the range */
    /* Only if STORE_FAILED: rows of the range are in quarantine, or in a block that cannot be read.
     * Later attempts fail, too, unless it was an error of the disk that does not recur. */
    bool is_unreadable;

    struct task task; /* private to the store, as the next */
    void *internal;
};

struct store_batch;
struct preparation;

/* Whether an update makes disk space free. When the disk is full, a store that keeps a reserve of
 * space for such updates accepts no others. */
enum store_frees {
    STORE_FREES_NOTHING,
    STORE_FREES_ROWS,   /* it erases rows; it may keep earlier versions of them elsewhere */
    STORE_FREES_SPACES, /* it is a step of deleting whole spaces */
};

/* Writes rows. */
struct store_update {
    const struct str *keys; /* the declared keys, without duplicates */
    size_t key_count;
    struct arena *arena; /* eval may allocate from it; what eval writes must live until done() */
    struct mailbox *home;
    /* Reads the rows (one per key, STR_NULL if absent) and adds what is to be written to the batch.
     * Returns false to write nothing. May run more than once, on any thread, and must not depend on
     * an earlier run. */
    bool (*eval)(struct store_update *update, const struct str *rows, struct store_batch *batch);
    void (*done)(struct store_update *update);
    /* The expensive part of eval, or NULL. The store decides whether it is used. It is called for
     * each declared key in order, with its row (STR_NULL if absent), and keeps its result in the
     * caller's struct. If eval then finds is_prepared set, its `rows` are NULL and it uses these
     * results: no declared row has changed since. If one has, prepare runs again from the first
     * key. On any thread, one at a time. */
    void (*prepare)(struct store_update *update, size_t index, struct str row);
    /* With `prepare`: about how often eval passes over each byte of the rows; 0 means 1. */
    size_t weight;
    bool is_prepared; /* set by the store, for eval */
    /* eval needs the time of the update (rule 8). The store sets time_ns before each eval. */
    bool wants_time;
    int64_t time_ns;        /* since 1970; unique among the updates of a key */
    enum store_frees frees; /* set by the caller, or by eval */

    enum store_status status;

    struct task task; /* private to the store, as the next two */
    void *internal;
    struct preparation *preparation;
};

/* The value of a counter. */
struct store_count {
    int64_t count;
    int64_t bytes;
};

/* The functions store_batch_*() are for eval. The store carries them out in order, when eval has
 * returned true; values must live until done(). */

/* Writes the row of declared key number `index`. */
void store_batch_put(struct store_batch *batch, size_t index, struct str value);
/* Erases the row of declared key number `index`; it may be absent. */
void store_batch_erase(struct store_batch *batch, size_t index);
/* Writes a row that a declared key owns (rule 3). */
void store_batch_put_owned(struct store_batch *batch, struct str key, struct str value);
/* Erases a row that a declared key owns; it may be absent. */
void store_batch_erase_owned(struct store_batch *batch, struct str key);
/* Adds to a counter; an absent one is zero. No update may declare its key. */
void store_batch_add(struct store_batch *batch, struct str key, struct store_count delta);
/* Erases a counter. No update may add to it at the same time or later. */
void store_batch_erase_counter(struct store_batch *batch, struct str key);
/* Appends a row to the log `prefix` (space and part). Its key is the prefix and its stamp, 8 bytes,
 * big-endian. */
void store_batch_append(struct store_batch *batch, struct str prefix, struct str value);
/* Appends a row to a log with several parts that follow each other. `log` is a prefix that
 * identifies the log. The row goes to the part `prefix`, or to the newest part of the log if that
 * is a larger one. Within a process no prefix of a log may be smaller than an earlier one; another
 * process may be ahead. */
void store_batch_append_to_log(struct store_batch *batch, struct str log, struct str prefix,
                               struct str value);
/* Makes `prefix` the newest part of the log, unless a larger one is. Once the update is STORE_OK no
 * row is appended to an earlier part, and later stamps are larger than `stamp`. */
void store_batch_advance_log(struct store_batch *batch, struct str log, struct str prefix,
                             uint64_t stamp);

/* Decodes the row of a counter; an absent row (STR_NULL) is zero. */
struct store_count store_count_value(struct str row);
/* The row of a counter: both numbers, 64 bits each, little-endian. */
enum { STORE_COUNT_LEN = 16 };
/* Encodes the row of a counter. For stores. */
void store_count_encode(struct store_count value, char out[STORE_COUNT_LEN]);

struct store;

struct store_options {
    size_t cache_bytes;              /* of the block cache */
    int worker_count;                /* threads for reads that need the disk */
    uint64_t scrub_bytes_per_second; /* rate of the scrubber; 0: no scrubber */
    int64_t scrub_wait_ms;           /* before its first pass; 0: a minute */
    uint64_t reserve_bytes;          /* disk space kept for deletes on a full disk; 0: none */
    uint64_t seed;                   /* store_seed() of a store that is created; 0: random */
    /* Account and region. A shared store that belongs to other ones is refused. STR_NULL: accepts
     * any. */
    struct str owner;
    bool claims; /* a shared store that belongs to nobody yet belongs to `owner` from now on */
    /* This process also does the work for which store_leads_transfers() chooses a member. */
    bool does_transfers;
};

/* Opens the store that `url` names; stores.def lists the kinds. False: *err says why. Close it with
 * store_close(). */
MUST_USE bool store_open(struct str url, const struct store_options *options, struct store **out,
                         struct err *err);
/* Returns whether store_open() knows the kind of the URL. */
MUST_USE bool store_knows_url(struct str url);
/* Returns whether a store of this URL still has its rows after the process has ended. */
MUST_USE bool store_url_is_persistent(struct str url);
/* Returns whether several processes may have a store of this URL open at once. */
MUST_USE bool store_url_is_shared(struct str url);
/* Returns the list of URLs for messages and help: "rocksdb:DIRECTORY, memory:". */
MUST_USE const char *store_url_kinds(void);
/* Returns the URL without its password, for messages; in `arena` if something was cut off. Of a
 * text in an unknown form only the beginning is left. */
MUST_USE struct str store_url_to_show(struct arena *arena, struct str url);
/* Returns the directory of the store's files; NULL if it has none on this machine. */
MUST_USE const char *store_directory(const struct store *store);
/* Closes the store. Every get, range and settle must be done. Updates may be under way: the call
 * waits until they are decided and posted to their homes, where done() runs later; it must not call
 * the store. Waits for drops as well, or they are repeated at the next open. Accepts NULL. */
void store_close(struct store *store);

/* Starts a get. */
void store_get(struct store *store, struct store_get *get);
/* Starts a range. */
void store_range(struct store *store, struct store_range *range);
/* Starts an update. If home->may_block the call may wait for its commit. */
void store_update(struct store *store, struct store_update *update);
/* Starts several updates. Each is atomic by itself, and calls its own done(). Does not wait for
 * commits if there is more than one. They may share an arena: the store then evaluates them on one
 * thread and allocates on no other one. The caller must not use the arena before all are done. */
void store_update_all(struct store *store, struct store_update *const *updates, size_t count);
/* Drops a space. From now on reads return no rows of it, an update that declares a key of it is
 * STORE_GONE, and rows that an update would write there as owned rows are discarded. The disk space
 * is freed in the background. The drop is durable once an update that was started later is
 * STORE_OK. The number of a dropped space must never be used again. */
void store_drop_space(struct store *store, uint32_t space);

/* Asks for a time up to which all updates are decided: every update with a time of at most
 * `time_ns` is committed and can be read, or has failed for good; every other update gets a larger
 * time. Updates may be delayed by a few milliseconds. */
struct store_settle {
    struct arena *arena; /* belongs to the store until done() */
    struct mailbox *home;
    void (*done)(struct store_settle *settle);

    enum store_status status; /* STORE_OK, or another one: try again */
    int64_t time_ns;

    struct store_update update; /* private to the store, as the next */
    void *internal;
};
/* Starts a settle. */
void store_settle(struct store *store, struct store_settle *settle);

/* A source of time for updates: microseconds since 1970. Any thread may call now_us(). */
struct store_clock {
    int64_t (*now_us)(const void *context); /* NULL: the wall clock */
    const void *context;
};
/* Sets the clock that the times of updates follow (rule 8): the time of an update is that of the
 * clock, or just after that of the update before if that is later. Without it, and in a store that
 * has a clock of its own because processes share it, the wall clock is used. When the call returns
 * the clock that was set before is not used any more. */
void store_set_clock(struct store *store, struct store_clock clock);

/* Returns a number that was chosen at random when the store was created and never changes: the seed
 * of the hashes in stored keys. */
uint64_t store_seed(const struct store *store);
/* Returns the account and region that a shared store belongs to; STR_NULL: none. Valid until the
 * store is closed. */
struct str store_owner(const struct store *store);
/* The longest key that the store accepts: STORE_KEY_LEN_MAX or less. An update that writes a row
 * with a longer one is STORE_FAILED. `store` NULL: of a closed store whose rows are checked. */
size_t store_key_len_max(const struct store *store);

/* --- processes that share a store ---
 *
 * A store of some kinds may be open in several processes at once; each is a member. A member keeps
 * some of the rows in memory (the catalog), and counts the changes of these rows by a version
 * number. It announces the version that it knows, and asks for the lowest version that is known by
 * all members. A member that does not renew its lease is excluded: it can neither answer requests
 * nor write from then on. A store that cannot be shared has one member. */

struct store_progress {
    uint64_t seen;    /* this member knows all changes up to this version */
    uint64_t settled; /* and no request under way in it uses an older version */
};
/* Registers a function that is called when another member has announced something, joined or left,
 * and may be called at any other time; it runs on a thread of the store and must return soon. Until
 * this member has announced the versions that others had announced before, it may not serve. NULL
 * unregisters: when the call returns the function does not run any more. */
void store_watch(struct store *store, void (*changed)(void *context), void *context);
/* Announces the version that this member knows now. */
void store_announce(struct store *store, struct store_progress progress);
/* Returns the versions that all members know at least. */
MUST_USE struct store_progress store_slowest(const struct store *store);
/* Returns whether this member is the leader, which does the work that one member does for all.
 * Another member may still return true for a moment, but cannot write any more. */
MUST_USE bool store_is_leader(const struct store *store);
/* The same for exports, imports and deliveries to Kinesis, which only members that were opened with
 * does_transfers carry out: returns whether this member is the leader of these. */
MUST_USE bool store_leads_transfers(const struct store *store);
/* Returns whether this process may answer requests. If it may not, gets and ranges without
 * `before_serving` are STORE_FAILED. */
MUST_USE bool store_may_serve(const struct store *store);

/* The functions of a store: what store_get() and the others call. */
struct store_ops {
    void (*close)(struct store *store);
    void (*get)(struct store *store, struct store_get *get);
    void (*range)(struct store *store, struct store_range *range);
    /* `is_alone`: started by store_update(), or the only one of store_update_all(). */
    void (*update)(struct store *store, struct store_update *update, bool is_alone);
    void (*drop_space)(struct store *store, uint32_t space);
    /* NULL: the store evaluates updates one after the other, so an update that writes nothing
     * serves as a settle. */
    void (*settle)(struct store *store, struct store_settle *settle);
    void (*set_clock)(struct store *store, struct store_clock clock); /* NULL: has its own clock */
    /* All of the following are NULL if the store cannot be shared. */
    void (*watch)(struct store *store, void (*changed)(void *context), void *context);
    void (*announce)(struct store *store, struct store_progress progress);
    struct store_progress (*slowest)(const struct store *store);
    bool (*is_leader)(const struct store *store);
    bool (*leads_transfers)(const struct store *store);
    bool (*may_serve)(const struct store *store);
};

struct store {
    const struct store_ops *ops;
    uint64_t seed;
    struct str owner;
    size_t key_len_max;    /* 0: STORE_KEY_LEN_MAX */
    const char *directory; /* or NULL */
    /* The announced versions of a store that cannot be shared. */
    _Atomic uint64_t seen;
    _Atomic uint64_t settled;
};

/* Returns the space of a key. */
static inline uint32_t store_key_space(struct str key)
{
    return get_u32_be(key.data);
}

#endif
