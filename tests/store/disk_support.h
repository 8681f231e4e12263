/* tests/store/disk_support.h: for tests with a disk that fails (bad_disk.h) or is full: a fixture
 * on disk, and an update that shows whether it was executed, and how often. */
#ifndef GRAMME_TESTS_STORE_DISK_SUPPORT_H
#define GRAMME_TESTS_STORE_DISK_SUPPORT_H

#include "bad_disk.h"
#include "support.h"

/* The evaluation of an update of count_key(): increments a row, a counter and a log; a second
 * execution would be visible in each. */
bool eval_count(void *context, struct arena *arena, const struct str *rows,
                struct store_batch *batch);
/* Returns the key that eval_count() declares. */
struct str count_key(struct client *client);
/* Runs an update with eval_count(), and returns its status. */
enum store_status count_once(struct client *client);
/* Checks that exactly `expected` of these updates were executed. */
void check_count(struct client *client, uint64_t expected);

/* Writes a row again and again until that succeeds, for a minute at most. */
void wait_until_writable(struct client *client);

/* Creates a store on disk, as set-up of a test; *state is its struct fixture. */
int set_up_disk(void **state);
/* Ends all disk errors and closes the fixture. */
int tear_down_disk(void **state);

#define DISK_TEST(function) cmocka_unit_test_setup_teardown(function, set_up_disk, tear_down_disk)

#endif
