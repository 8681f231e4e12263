/* tests/store/support.h: a store under test, and clients whose calls wait until they are done. A
 * failure fails the test. */
#ifndef GRAMME_TESTS_STORE_SUPPORT_H
#define GRAMME_TESTS_STORE_SUPPORT_H

#include <pthread.h>

#include "base/testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "store/fault/fault.h"
#include "store/pg/pg.h"
#include "store/rocks/rocks.h"
#include "store/store.h"

/* How the store under test is created. Every case of the contract runs with each variant. */
struct variant {
    const char *name;
    const char *url; /* NULL: it is on_disk or on PostgreSQL */
    bool on_disk;
    size_t cache_bytes;
    bool cold;       /* rows are flushed to files, and the cache is too small for them */
    bool eval_twice; /* a wrapper runs every second eval twice */
    bool slow;       /* updates are prepared, and ranges defer some of their rows */
    bool postgresql; /* uses the database in GRAMME_POSTGRESQL, emptied before each case */
    bool faults;     /* connections break, transactions fail, commits report warnings */
};

struct client;

struct fixture {
    const struct variant *variant;
    char directory[64];  /* empty: a store in memory */
    uint64_t seed;       /* store_options.seed; 0: random */
    bool does_transfers; /* store_options.does_transfers */
    struct store *inner;
    struct store *store; /* the store itself, or its wrapper */
    struct client *clients;
};

/* Creates the store of a variant, and its directory if it needs one. Close it with
 * fixture_close(). */
void fixture_open(struct fixture *fixture, const struct variant *variant);
/* Opens the store of a fixture with `variant` set as it is: another member of a shared store. */
void fixture_join(struct fixture *fixture);
/* Closes the store and opens it again. Its clients stay valid. */
void fixture_reopen(struct fixture *fixture);
/* Returns whether fixture_reopen() works: the rows survive closing. */
bool fixture_is_persistent(const struct fixture *fixture);
/* Closes the store and creates an empty one of the same variant, with this seed. */
void fixture_recreate(struct fixture *fixture, uint64_t seed);
/* Returns the length of the longest key that a case may use. */
size_t fixture_key_len_max(const struct fixture *fixture);
/* Returns whether rows of a space, live or deleted, still take disk space. `before` is a result of
 * fixture_room() before they were deleted. */
bool fixture_space_has_room(struct fixture *fixture, uint32_t space, uint64_t before);
/* Returns a measure of the space on disk: the number of rows of a space in PostgreSQL, else the
 * bytes of all files. */
uint64_t fixture_room(struct fixture *fixture, uint32_t space);
/* Closes the store, frees its clients, and deletes its directory. */
void fixture_close(struct fixture *fixture);
/* Flushes all rows to files, in a cold variant. */
void fixture_settle(struct fixture *fixture);

/* Opens rocksdb:DIRECTORY, or fails the test. */
struct store *open_store(const char *directory, size_t cache_bytes);
/* Creates a temporary directory and writes its path to `out`. */
void make_directory(char out[64]);
/* Deletes a directory with its contents. */
void remove_directory(const char *directory);

/* The access of one thread to the store. */
struct client {
    struct store *store;
    struct waiting_mailbox *box;
    struct arena arena; /* for keys and rows; client_reset() resets it */
    unsigned update_count;
    bool slow;              /* variant.slow */
    enum store_frees frees; /* of its updates, as the store_update says */
    struct client *next;
};

/* Creates a client of the fixture's store; fixture_close() frees it. */
struct client *client_create(struct fixture *fixture);
/* Creates a client of a store without a fixture. Close the store before the client. */
struct client *client_create_alone(struct store *store);
/* Frees a client of client_create_alone(). */
void client_destroy(struct client *client);
/* Frees all keys and rows that the client has returned. */
void client_reset(struct client *client);

/* Returns a key in `arena`; `part` is padded with zeroes. */
struct str key_text(struct arena *arena, uint32_t space, const char *part, const char *sort);
/* Returns a key in `arena` whose part and sort are numbers, big-endian. */
struct str key_number(struct arena *arena, uint32_t space, uint64_t part, uint64_t sort);
/* Returns the number of a space as a key, which is before all keys of its rows; in `arena`. */
struct str key_space(struct arena *arena, uint32_t space);
/* Returns `len` bytes in `arena` that follow from the seed and cannot be compressed. */
struct str random_bytes(struct arena *arena, uint64_t seed, size_t len);

/* Reads rows and copies them to the client's arena. */
enum store_status client_get_many(struct client *client, const struct str *keys, size_t count,
                                  bool snapshot, struct str *out);
/* Runs a get with the members that the caller has set (keys, bytes_max, ...), and copies the rows
 * to the client's arena. */
enum store_status client_run_get(struct client *client, struct store_get get, struct str *out);
/* Reads one row; an error fails the test. */
struct str client_get(struct client *client, struct str key);

/* Reads a counter; an error fails the test. */
struct store_count client_get_count(struct client *client, struct str key);

struct rows {
    struct str *keys;
    struct str *values;
    size_t count;
    size_t capacity;
    enum store_status status;
    bool is_unreadable;
};

struct range_spec {
    struct str lo;
    struct str hi;
    bool backward;
    size_t rows_max; /* 0: all */
    bool before_serving;
};

/* Reads a range and returns its rows, in the client's arena. */
struct rows client_range(struct client *client, struct range_spec spec);
/* Reads all rows of a space; an error fails the test. */
struct rows client_read_space(struct client *client, uint32_t space);

/* The evaluation of an update; `context` is passed through. */
typedef bool eval_function(void *context, struct arena *arena, const struct str *rows,
                           struct store_batch *batch);

/* An update that is in progress. */
struct change {
    struct store_update update;
    struct arena arena;
    eval_function *eval;
    void *context;
    bool done;
    struct client *client;
    struct str *kept_rows; /* copies of the rows while the update is prepared */
    size_t kept_count;
};

/* Starts an update; client_finish() waits for it and returns its status. */
void client_start(struct client *client, struct change *change, const struct str *keys,
                  size_t count, eval_function *eval, void *context);
/* Fills in an update without starting it: for store_update_all(). */
void client_prepare(struct client *client, struct change *change, const struct str *keys,
                    size_t count, eval_function *eval, void *context);
/* Waits for an update that client_start() has started, and returns its status. */
enum store_status client_finish(struct change *change);
/* Runs an update: client_start() and client_finish(). */
enum store_status client_update(struct client *client, const struct str *keys, size_t count,
                                eval_function *eval, void *context);

/* Writes one row and returns the status. */
enum store_status client_try_put(struct client *client, struct str key, struct str value);
/* Writes many rows, so that they are committed in few groups. Returns whether all writes succeeded.
 */
bool client_try_put_many(struct client *client, const struct str *keys, struct str *values,
                         size_t count);
/* Writes one row; an error fails the test, as in the functions below. */
void client_put(struct client *client, struct str key, struct str value);
/* Deletes one row. */
void client_erase(struct client *client, struct str key);
/* Appends a row to the log with this key prefix. */
void client_append(struct client *client, struct str prefix, struct str value);

/* The argument of a thread of run_threads(). */
struct worker {
    struct fixture *fixture;
    struct client *client;
    size_t index;
    uint64_t seed;
    void *context;
};
/* Runs `main` on `count` threads, each with a client of its own, and waits for all. */
void run_threads(struct fixture *fixture, size_t count, void (*main)(struct worker *worker),
                 void *context);

/* Returns the seed of a random test: TEST_SEED if it is set, else a new one. Prints it, so that a
 * failure can be repeated. */
uint64_t test_seed(const char *test);
/* Returns a random number less than `limit`. */
uint64_t random_below(struct random *random, uint64_t limit);

/* Returns the number in a row of number_row(); 0 if the row is absent. */
uint64_t number_of(struct str row);
/* Returns a row that holds a number, in `arena`. */
struct str number_row(struct arena *arena, uint64_t number);

#endif
