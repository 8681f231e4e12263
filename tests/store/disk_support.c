/* Updates that count themselves, and the fixture of tests with disk errors: see disk_support.h.
 * Used by failed_writes_test, failed_reads_test and full_disk_test; each client is used by one
 * thread. */
#include "disk_support.h"

#include <unistd.h>

#include "base/clock.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 20};

bool eval_count(void *context, struct arena *arena, const struct str *rows,
                struct store_batch *batch)
{
    (void)context;
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    store_batch_add(batch, key_text(arena, 8, "count", ""), (struct store_count){.count = 1});
    store_batch_append(batch, str_make(key_text(arena, 9, "log", "").data, STORE_PREFIX_LEN),
                       STR("x"));
    return true;
}

struct str count_key(struct client *client)
{
    return key_text(&client->arena, 7, "p", "count");
}

enum store_status count_once(struct client *client)
{
    struct str key = count_key(client);
    return client_update(client, &key, 1, eval_count, NULL);
}

void check_count(struct client *client, uint64_t expected)
{
    assert_int_equal(number_of(client_get(client, count_key(client))), expected);
    struct str counter = client_get(client, key_text(&client->arena, 8, "count", ""));
    assert_int_equal(store_count_value(counter).count, expected);
    struct rows log = client_read_space(client, 9);
    assert_int_equal(log.count, expected);
    for (size_t i = 1; i < log.count; i++) {
        assert_true(str_cmp(log.keys[i - 1], log.keys[i]) < 0);
    }
}

void wait_until_writable(struct client *client)
{
    int64_t start = clock_monotonic_us();
    while (client_try_put(client, key_text(&client->arena, 7, "p", "try"), STR("v")) != STORE_OK) {
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(10000);
    }
}

int set_up_disk(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    fixture_open(fixture, &on_disk);
    *state = fixture;
    return 0;
}

int tear_down_disk(void **state)
{
    bad_disk_heal();
    fixture_close(*state);
    mem_free(*state);
    return 0;
}
