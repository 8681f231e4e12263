/* The newest deliveries: each once, by time, and at most as many as the ring has. */
#include "apps/reconciliation/recent.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/testing.h"

/* Adds a delivery at this second; `error` may be NULL. */
static void add(struct recent *recent, const char *call, int second, const char *error)
{
    struct gramme_value *delivery = gramme_map_create();
    gramme_set_format(delivery, "At", "2026-02-09T12:%02d:%02d.000000Z", second / 60, second % 60);
    gramme_set_int(delivery, "Attempt", 1);
    gramme_set_int(delivery, "Status", error == NULL ? 200 : 500);
    if (error != NULL) {
        gramme_set_string(delivery, "Error", error);
    }
    recent_add(recent, "north", call, delivery);
    gramme_value_destroy(delivery);
}

/* Checks the ids of the calls, "c-1 c-2". */
static void check_numbers(struct recent *recent, bool only_failed, const char *wanted)
{
    char found[128] = "";
    struct gramme_value *list = gramme_list_create();
    recent_show(recent, only_failed, list);
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        size_t len = strlen(found);
        snprintf(found + len, sizeof(found) - len, "%s%s", i > 0 ? " " : "",
                 gramme_get_string(gramme_value_at(list, i), "callId"));
    }
    assert_string_equal(found, wanted);
    gramme_value_destroy(list);
}

static void the_newest_come_first_and_each_once(void **state)
{
    (void)state;
    struct recent *recent = recent_create();
    add(recent, "c-2", 2, NULL);
    add(recent, "c-4", 4, "status 500");
    add(recent, "c-1", 1, "status 500"); /* one from before the start is read later */
    add(recent, "c-4", 4, "status 500"); /* from the poller and from the stream */
    add(recent, "c-5", 4, NULL);         /* at the same time as another */
    check_numbers(recent, false, "c-5 c-4 c-2 c-1");
    check_numbers(recent, true, "c-4 c-1");
    recent_destroy(recent);
}

static struct gramme_value *item_of(const char *json)
{
    struct gramme_value *item = gramme_value_from_json(json, strlen(json), GRAMME_PLAIN, NULL);
    assert_non_null(item);
    return item;
}

static void changes_of_the_table_add_their_last_delivery(void **state)
{
    (void)state;
    struct recent *recent = recent_create();
    struct gramme_value *old = item_of(
        "{\"PK\": \"TENANT#north\", \"SK\": \"CALL#c-1\", \"Deliveries\": [{\"At\": \"1\"}]}");
    struct gramme_value *new = item_of("{\"PK\": \"TENANT#north\", \"SK\": \"CALL#c-1\", "
                                       "\"Deliveries\": [{\"At\": \"1\"}, {\"At\": \"2\"}]}");
    struct gramme_value *other =
        item_of("{\"PK\": \"x\", \"SK\": \"CALL#c-2\", \"Deliveries\": [{\"At\": \"1\"}]}");
    recent_apply(recent, old, old);
    recent_apply(recent, old, NULL);
    recent_apply(recent, NULL, other); /* not a call */
    recent_add_all(recent, other);
    check_numbers(recent, false, "");
    recent_apply(recent, old, new);
    check_numbers(recent, false, "c-1");
    recent_add_all(recent, new);
    check_numbers(recent, false, "c-1 c-1");
    gramme_value_destroy(old);
    gramme_value_destroy(new);
    gramme_value_destroy(other);
    recent_destroy(recent);
}

static void only_the_last_ones_are_kept(void **state)
{
    (void)state;
    struct recent *recent = recent_create();
    for (int i = 0; i < 1000; i++) {
        char call[16];
        snprintf(call, sizeof(call), "c-%d", i);
        add(recent, call, i, NULL);
    }
    struct gramme_value *list = gramme_list_create();
    recent_show(recent, false, list);
    assert_int_equal(gramme_value_count(list), 200);
    assert_string_equal(gramme_get_string(gramme_value_at(list, 0), "callId"), "c-999");
    assert_string_equal(gramme_get_string(gramme_value_at(list, 199), "callId"), "c-800");
    gramme_value_destroy(list);
    recent_destroy(recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_come_first_and_each_once),
        cmocka_unit_test(changes_of_the_table_add_their_last_delivery),
        cmocka_unit_test(only_the_last_ones_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
