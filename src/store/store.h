/* store/store.h: ordered rows and atomic updates; the one storage interface.
 *
 * A row is a key and a value, both bytes. A key is
 *
 *     space (4 bytes, big-endian) | part (16 bytes) | sort (any bytes)
 *
 * with at most STORE_KEY_LEN_MAX bytes, and rows are ordered by memcmp of the whole key. A space is
 * a table's items, one of its indexes, the catalog and so on; a part is what belongs together.
 * Space 0 is the store's own.
 *
 * Every write names its keys beforehand and is a pure function of the rows that stand there, so the
 * store is handed keys and a function instead of begin, get, put and commit: it may lock, validate
 * or run serially, run the function again, and put many requests into one commit.
 *
 * The rules that every store keeps, and that tests/store checks:
 *  1. An update is atomic, and serializable with all updates and snapshot gets that share a
 *     declared key, absent or present.
 *  2. eval does no I/O and its rows live only inside it. A condition that fails is STORE_NO_WRITE.
 *  3. Rows outside the declared keys are written only if a declared key owns them (index rows
 *     embed it), or by append or add.
 *  4. The stamps of append grow strictly in commit order per log; a reader that saw n never later
 *     finds a smaller one that it did not see.
 *  5. Any number of updates may be committed together, each with its own status; updates that
 *     share a key see each other in turn; a commit that fails as a whole is run again one by one.
 *  6. STORE_OK only when the bytes are on disk. What cannot be decided says STORE_UNKNOWN.
 *  7. add is for counters and never makes two writers wait for each other. A counter's key is not
 *     declared, and is read by a get with `are_counters`.
 *  8. Times of updates (`wants_time`) respect causality: if an update was done before another one
 *     was started, or wrote a key that the other one declares, its time is the smaller one, also
 *     across processes, restarts and clocks that are set back. So the updates up to a time are a
 *     consistent cut of all of them, and store_settle() says which times are complete.
 *
 * A request struct belongs to the caller and must live until its done() has been called, always
 * on the thread of `home` and possibly before the function that started it returns. It is started
 * on that thread too; until done() its arena is the store's. Requests that are under way at the
 * same time may be carried out in any order. `home` outlives the store.
 *
 * Which thread does the work is the store's decision; `home` says what its thread allows
 * (base/mailbox.h). A store may carry out a request on the thread that starts it as far as the
 * mailbox permits: it may wait there for a commit if home->may_block and the update was started
 * alone, and may give rows there until the mailbox's time slice is over. All else runs on threads
 * of the store. */
#ifndef GRAMME_STORE_STORE_H
#define GRAMME_STORE_STORE_H

#include "base/bytes.h"
#include "err/err.h"
#include "base/mailbox.h"

#define STORE_SPACE_LEN  4
#define STORE_PART_LEN   16
#define STORE_PREFIX_LEN (STORE_SPACE_LEN + STORE_PART_LEN)

/* What codec/key.h can make fits. */
#define STORE_KEY_LEN_MAX 6144

enum store_status {
    STORE_OK,
    STORE_NO_WRITE, /* eval returned false: nothing was written */
    STORE_GONE,     /* a declared key lies in a dropped space: nothing was written */
    STORE_FAILED,   /* disk full, I/O error: nothing was written; it may work later */
    STORE_UNKNOWN,  /* it may have been written or not */
    STORE_TOO_MUCH, /* the rows of a get have more than bytes_max */
    STORE_BUSY,     /* others kept a declared row locked for too long: nothing was written */
};

/* Reads rows by key. */
struct store_get {
    const struct str *keys;
    size_t key_count;
    bool snapshot;       /* all rows as of one instant; else each on its own is the newest */
    bool are_counters;   /* the keys are of counters: each row is as store_count_value() takes it */
    bool before_serving; /* also while this process may not serve: see store_may_serve() */
    size_t bytes_max;    /* of all rows together: more is STORE_TOO_MUCH; 0: no limit */
    struct arena *arena; /* the store's scratch memory for this request */
    struct mailbox *home;
    void (*done)(struct store_get *get);

    enum store_status status;
    struct str *rows; /* one per key, STR_NULL if absent; valid until done() returns */

    struct task task; /* the store's own */
    void *internal;
};

/* Reads the rows of lo <= key < hi, in order or backward. */
struct store_range {
    struct str lo;
    struct str hi;
    bool backward;
    struct arena *arena;
    struct mailbox *home;
    /* One row; false ends the range. The bytes are valid until it returns. Called on any thread,
     * but never on two at once, and never after done(). */
    bool (*row)(struct store_range *range, struct str key, struct str value);
    void (*done)(struct store_range *range);
    /* Called on the thread of `home` before rows are given on another one; NULL: nothing to do. */
    void (*before_thread_change)(struct store_range *range);

    bool before_serving; /* as in a get */
    size_t rows_wanted;  /* about how many rows will be taken; 0: not known */
    /* How much time row() takes for each byte of a row, compared with an ordinary one; 0 is 1. The
     * store reads the clock accordingly often. */
    size_t weight;
    /* Set by the store: the thread that calls row() serves no connection, so a row may take long.
     * While it is false, row() may set put_off and return false instead of doing expensive work:
     * then the same row is given again on a thread where may_take_long is true. */
    bool may_take_long;
    bool put_off;

    enum store_status status;

    struct task task; /* the store's own */
    void *internal;
};

struct store_batch;
struct preparation;

/* Writes. */
struct store_update {
    const struct str *keys; /* declared; each once */
    size_t key_count;
    struct arena *arena; /* eval may allocate from it; keys and values written must live in it */
    struct mailbox *home;
    /* Decides from the rows (one per key, STR_NULL if absent) and adds to the batch; false writes
     * nothing. May run more than once, on any thread: it starts from scratch each time. */
    bool (*eval)(struct store_update *update, const struct str *rows, struct store_batch *batch);
    void (*done)(struct store_update *update);
    /* NULL, or the expensive part of eval: called for each declared key in turn, with its row
     * (STR_NULL if absent), and keeps what came of it in the caller's struct. If afterwards eval
     * finds is_prepared set, its `rows` are NULL and it uses what prepare kept; the store sets it
     * only if none of the rows has changed since. If one has, prepare runs again from the first
     * key. On any thread, one at a time; the store decides whether it is used at all. */
    void (*prepare)(struct store_update *update, size_t index, struct str row);
    /* How often eval passes over each byte of the rows, about; 0 is 1. With `prepare`. */
    size_t weight;
    bool is_prepared; /* set by the store, for eval */
    /* Eval needs the time of the update: rule 8. Set by the store before each call of eval. */
    bool wants_time;
    int64_t time_ns; /* since 1970; differs from that of every other update of the same key */

    enum store_status status;

    struct task task; /* the store's own */
    void *internal;
    struct preparation *preparation;
};

/* A counter: how many, and how much of it. */
struct store_count {
    int64_t count;
    int64_t bytes;
};

/* For eval. `index` is that of a declared key. */
void store_batch_put(struct store_batch *batch, size_t index, struct str value);
void store_batch_erase(struct store_batch *batch, size_t index);
/* Rows that a declared key owns. */
void store_batch_put_owned(struct store_batch *batch, struct str key, struct str value);
void store_batch_erase_owned(struct store_batch *batch, struct str key);
/* Adds to the counter of a key that nobody declares. */
void store_batch_add(struct store_batch *batch, struct str key, struct store_count delta);
/* Erases a counter that nobody adds to any more. */
void store_batch_erase_counter(struct store_batch *batch, struct str key);
/* A new row behind all others of `prefix` (space and part); its sort is the stamp, 8 bytes. */
void store_batch_append(struct store_batch *batch, struct str prefix, struct str value);
/* The same for a log that has several parts, one after the other. `log` names it: a prefix that
 * only this log uses. The row goes to `prefix`, or to the newest part of the log if `prefix` comes
 * before that; a process passes the prefixes of a log in order, but another one may be ahead. */
void store_batch_append_to_log(struct store_batch *batch, struct str log, struct str prefix,
                               struct str value);
/* Makes `prefix` the newest part of the log, if it is not yet: once the update is STORE_OK no row
 * is appended to an earlier part any more. Stamps to come are larger than `stamp`. */
void store_batch_advance_log(struct store_batch *batch, struct str log, struct str prefix,
                             uint64_t stamp);

/* What a counter's row holds; an absent one (STR_NULL) is zeros. */
struct store_count store_count_value(struct str row);
/* The bytes of a counter's row: both numbers, 64 bits each, little-endian. For the stores. */
enum { STORE_COUNT_LEN = 16 };
void store_count_encode(struct store_count value, char out[STORE_COUNT_LEN]);

struct store;

struct store_options {
    size_t cache_bytes;
    int worker_count;
    uint64_t scrub_bytes_per_second; /* of tables, read in the background; 0: none */
    uint64_t reserve_bytes;          /* of disk, kept for deletes when it is full; 0: none */
    uint64_t seed;                   /* of a store that is created; 0: a random one */
    /* Whose data it is: a shared store refuses another one; STR_NULL: anybody's. */
    struct str owner;
};

/* Opens the store that `url` names; stores.def lists the kinds. */
MUST_USE bool store_open(struct str url, const struct store_options *options, struct store **out,
                         struct err *err);
/* Whether store_open() knows the kind of the URL. */
MUST_USE bool store_knows_url(struct str url);
/* What URLs there are, for messages and help: "rocksdb:DIRECTORY, memory:". */
MUST_USE const char *store_url_kinds(void);
/* The URL for messages: without a password. In `arena` if need be. */
MUST_USE struct str store_url_to_show(struct arena *arena, struct str url);
/* The directory that holds the store's files; NULL: none on this machine. */
MUST_USE const char *store_directory(const struct store *store);
/* Waits for what is under way; nothing may be started any more. Accepts NULL. */
void store_close(struct store *store);

void store_get(struct store *store, struct store_get *get);
void store_range(struct store *store, struct store_range *range);
void store_update(struct store *store, struct store_update *update);
/* Starts several updates, each of which ends by itself. */
void store_update_all(struct store *store, struct store_update *const *updates, size_t count);
/* From now on reads find no rows in the space, every update that declares a key of it is
 * STORE_GONE, and what others would write there is left out. The room comes back in the
 * background. Any update that is started later and STORE_OK makes the drop durable too. A number
 * that was dropped is never used again. */
void store_drop_space(struct store *store, uint32_t space);

/* Asks up to which time all updates are decided: every update whose time is at most `time_ns` is
 * carried out and can be read, or never will be, and all others get larger times. Writers may be
 * delayed by a few milliseconds. */
struct store_settle {
    struct arena *arena; /* the store's until done() */
    struct mailbox *home;
    void (*done)(struct store_settle *settle);

    enum store_status status; /* STORE_OK, or another one: try again */
    int64_t time_ns;

    struct store_update update; /* the store's own */
    void *internal;
};
void store_settle(struct store *store, struct store_settle *settle);

/* A random number, made when the store was and the same ever after: the seed of hashes that are
 * stored. */
uint64_t store_seed(const struct store *store);

/* --- processes that share a store ---
 *
 * Any number of processes may have the same store open, if it is of a kind that allows it; each is
 * a member. What a member keeps in memory of the store's rows is versioned by a number that grows
 * with every change. Each announces what it knows, and can ask what the slowest member knows: then
 * a change is known everywhere. A member that does not renew its lease is excluded, and neither
 * answers nor writes from then on. A store that is not shared has one member. */

struct store_progress {
    uint64_t seen;    /* this member knows all changes up to this one */
    uint64_t settled; /* and no request that is under way there knows less */
};
/* `changed` is called whenever another member has announced something, joined or left, and now and
 * then without a reason; on a thread of the store, which it must not keep. NULL ends it: after that
 * it is not called any more. */
void store_watch(struct store *store, void (*changed)(void *context), void *context);
/* What this member knows now. Until it has announced as much as others had when it joined it may
 * not serve. */
void store_announce(struct store *store, struct store_progress progress);
/* What all members know at least. */
MUST_USE struct store_progress store_slowest(const struct store *store);
/* Whether this member is the one for work that one is to do. Another one may think so too for a
 * moment, but then it can write no more. */
MUST_USE bool store_is_leader(const struct store *store);
/* Whether this process may answer requests. If not, reads are STORE_FAILED. */
MUST_USE bool store_may_serve(const struct store *store);

/* What implements a store. */
struct store_ops {
    void (*close)(struct store *store);
    void (*get)(struct store *store, struct store_get *get);
    void (*range)(struct store *store, struct store_range *range);
    /* `is_alone`: store_update() started it, not store_update_all(). */
    void (*update)(struct store *store, struct store_update *update, bool is_alone);
    void (*drop_space)(struct store *store, uint32_t space);
    /* NULL: updates are evaluated one after the other, so an update is enough. */
    void (*settle)(struct store *store, struct store_settle *settle);
    /* NULL, like all below: it is not shared. */
    void (*watch)(struct store *store, void (*changed)(void *context), void *context);
    void (*announce)(struct store *store, struct store_progress progress);
    struct store_progress (*slowest)(const struct store *store);
    bool (*is_leader)(const struct store *store);
    bool (*may_serve)(const struct store *store);
};

struct store {
    const struct store_ops *ops;
    uint64_t seed;
    const char *directory; /* or NULL */
    /* What was announced, if it is not shared. */
    _Atomic uint64_t seen;
    _Atomic uint64_t settled;
};

static inline uint32_t store_key_space(struct str key)
{
    return get_u32_be(key.data);
}

#endif
