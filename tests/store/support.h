/* tests/store/support.h: a store to test, and clients that wait for their answers. */
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

/* How the store under test is made; every case of the contract runs with each. */
struct variant {
    const char *name;
    const char *url; /* NULL: it is on_disk or on PostgreSQL */
    bool on_disk;
    size_t cache_bytes;
    bool cold;       /* rows are moved into files, and the cache holds next to none of them */
    bool eval_twice; /* a store around it runs every second eval once more */
    bool slow;       /* updates are prepared, and ranges put some of their rows off */
    bool postgresql; /* the database that GRAMME_POSTGRESQL names, emptied before each case */
    bool faults;     /* connections are cut, transactions fail, commits warn */
};

struct client;

struct fixture {
    const struct variant *variant;
    char directory[64]; /* empty: in memory */
    struct store *inner;
    struct store *store; /* the same, or the one around it */
    struct client *clients;
};

void fixture_open(struct fixture *fixture, const struct variant *variant);
/* Closes the store and opens it again. */
void fixture_reopen(struct fixture *fixture);
/* The longest key that a case may use. */
size_t fixture_key_len_max(const struct fixture *fixture);
/* Whether rows of a space, live or dead, still need room. */
bool fixture_space_has_room(struct fixture *fixture, uint32_t space, uint64_t before);
uint64_t fixture_room(struct fixture *fixture, uint32_t space);
/* Closes the store and removes its directory; all clients go with it. */
void fixture_close(struct fixture *fixture);
/* With a cold variant: moves what was written into files. */
void fixture_settle(struct fixture *fixture);

/* Opens rocksdb:DIRECTORY, or fails the test. */
struct store *open_store(const char *directory, size_t cache_bytes);
void make_directory(char out[64]);
void remove_directory(const char *directory);

/* One thread's way to the store. */
struct client {
    struct store *store;
    struct waiting_mailbox *box;
    struct arena arena; /* keys and rows; client_reset() empties it */
    unsigned update_count;
    bool slow; /* as the variant says */
    struct client *next;
};

struct client *client_create(struct fixture *fixture);
/* For a store that is no fixture's; close the store before the client. */
struct client *client_create_alone(struct store *store);
void client_destroy(struct client *client);
void client_reset(struct client *client);

/* A key in an arena; `part` is filled up with zeroes. */
struct str key_text(struct arena *arena, uint32_t space, const char *part, const char *sort);
struct str key_number(struct arena *arena, uint32_t space, uint64_t part, uint64_t sort);

/* Reads; the rows are copied into the client's arena. */
enum store_status client_get_many(struct client *client, const struct str *keys, size_t count,
                                  bool snapshot, struct str *out);
/* Reads one row, which must not fail. */
struct str client_get(struct client *client, struct str key);

/* Reads a counter, which must not fail. */
struct store_count client_get_count(struct client *client, struct str key);

struct rows {
    struct str *keys;
    struct str *values;
    size_t count;
    size_t capacity;
    enum store_status status;
};

struct range_spec {
    struct str lo;
    struct str hi;
    bool backward;
    size_t rows_max; /* 0: all */
};

/* Reads a range; the rows are in the client's arena. */
struct rows client_range(struct client *client, struct range_spec spec);

/* What an update does; `context` is the caller's. */
typedef bool eval_function(void *context, struct arena *arena, const struct str *rows,
                           struct store_batch *batch);

/* An update that is under way. */
struct change {
    struct store_update update;
    struct arena arena;
    eval_function *eval;
    void *context;
    bool done;
    struct client *client;
    struct str *kept_rows; /* while it is prepared */
    size_t kept_count;
};

/* Starts an update; client_finish() waits for it and says how it ended. */
void client_start(struct client *client, struct change *change, const struct str *keys,
                  size_t count, eval_function *eval, void *context);
enum store_status client_finish(struct change *change);
enum store_status client_update(struct client *client, const struct str *keys, size_t count,
                                eval_function *eval, void *context);

/* Shorthand for single rows. */
enum store_status client_try_put(struct client *client, struct str key, struct str value);
void client_put(struct client *client, struct str key, struct str value);
void client_erase(struct client *client, struct str key);
void client_append(struct client *client, struct str prefix, struct str value);

/* Runs `main` on `count` threads, each with a client, and waits for all. */
struct worker {
    struct fixture *fixture;
    struct client *client;
    size_t index;
    uint64_t seed;
    void *context;
};
void run_threads(struct fixture *fixture, size_t count, void (*main)(struct worker *worker),
                 void *context);

/* The seed of a random test: TEST_SEED if it is set, else a new one. Printed, so that a failure
 * can be repeated. */
uint64_t test_seed(const char *test);
uint64_t random_below(struct random *random, uint64_t limit);

uint64_t number_of(struct str row); /* an absent row is 0 */
struct str number_row(struct arena *arena, uint64_t number);

#endif
