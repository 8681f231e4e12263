/* Cost per month from declared patterns and a workload; what the database has measured. */
#include "apps/common/cost.h"

#include <string.h>

#include "apps/common/measured.h"
#include "base/base.h"
#include "base/testing.h"

static const char PATTERNS[] =
    "{\"patterns\": [{\"name\": \"get\", \"what\": \"one\", \"operation\": \"GetItem\", \"table\": "
    "\"T\", \"units_max\": 0.5, \"items_max\": 1},"
    " {\"name\": \"list\", \"what\": \"some\", \"operation\": \"Query\", \"table\": \"T\", "
    "\"index\": \"I\", \"key\": \"a = :a\", \"units_max\": 8, \"items_max\": 100}],"
    " \"calls\": {\"GET /x\": [\"get\"]}}";

static double number(const struct gramme_value *map, const char *name)
{
    assert_non_null(gramme_get(map, name));
    return gramme_get_double(map, name, -1);
}

static void patterns_are_shown_as_the_api_names_them(void **state)
{
    (void)state;
    struct gramme_value *body = cost_describe(
        PATTERNS, "{\"source\": \"assumed\", \"operations\": [], \"prices\": {}}", NULL);
    const struct gramme_value *patterns = gramme_get(body, "patterns");
    assert_int_equal(gramme_value_count(patterns), 2);
    const struct gramme_value *list = gramme_value_at(patterns, 1);
    assert_string_equal(gramme_get_string(list, "key"), "a = :a");
    assert_true(number(list, "unitsMax") == 8 && number(list, "itemsMax") == 100);
    assert_string_equal(gramme_get_string(list, "complexity"), "O(n)");
    assert_string_equal(gramme_get_string(gramme_value_at(patterns, 0), "complexity"), "O(1)");
    assert_false(gramme_get_bool(list, "scans", true));
    assert_null(gramme_get(gramme_value_at(patterns, 0), "index"));
    assert_null(gramme_get(body, "calls"));
    assert_true(number(gramme_get(body, "cost"), "total") == 0);
    gramme_value_destroy(body);
}

/* The numbers of the document on tasks: 0.02 + 0.02 + 0.25 dollars. */
static void a_month_costs_what_its_operations_do(void **state)
{
    (void)state;
    struct gramme_value *body = cost_describe(
        PATTERNS,
        "{\"source\": \"document\", \"note\": \"n\", \"storageGb\": 1, \"operations\": ["
        "{\"what\": \"views\", \"pattern\": \"get\", \"kind\": \"read\", \"count\": 500, \"per\": "
        "\"day\", \"units\": 1},"
        "{\"what\": \"lists\", \"pattern\": \"list\", \"kind\": \"read\", \"count\": 500, \"per\": "
        "\"day\", \"units\": 5},"
        "{\"what\": \"writes\", \"pattern\": \"get\", \"kind\": \"write\", \"count\": 600, "
        "\"per\": \"day\", \"units\": 1},"
        "{\"what\": \"monthly\", \"pattern\": \"get\", \"kind\": \"write\", \"count\": 7, \"per\": "
        "\"month\"}],"
        " \"prices\": {\"readMillion\": 0.25, \"writeMillion\": 1.25, \"storageGbMonth\": 0.25, "
        "\"currency\": \"USD\"}}",
        NULL);
    const struct gramme_value *operations = gramme_get(gramme_get(body, "workload"), "operations");
    assert_true(number(gramme_value_at(operations, 0), "unitsPerMonth") == 15000);
    assert_true(number(gramme_value_at(operations, 1), "unitsPerMonth") == 75000);
    assert_true(number(gramme_value_at(operations, 3), "unitsPerMonth") == 7);
    const struct gramme_value *cost = gramme_get(body, "cost");
    assert_true(number(cost, "reads") == 0.0225);
    assert_true(number(cost, "writes") == 0.022509); /* 18,007 units, rounded to a millionth */
    assert_true(number(cost, "storage") == 0.25);
    assert_true(number(cost, "total") == 0.295009);
    assert_string_equal(gramme_get_string(cost, "currency"), "USD");
    assert_null(gramme_get(cost, "provisioned")); /* there are no prices for it */
    /* As declared: get takes 0.5, list 8: (500 * 0.5 + 500 * 8) * 30 reads. */
    const struct gramme_value *here = gramme_get(cost, "here");
    assert_true(number(here, "reads") == 0.031875 && number(here, "storage") == 0.25);
    assert_string_equal(gramme_get_string(gramme_value_at(operations, 0), "unitsHereAre"),
                        "declared");
    gramme_value_destroy(body);
}

static void what_is_measured_replaces_what_is_declared(void **state)
{
    (void)state;
    static const char MEASURED[] = "[{\"operation\": \"GetItem\", \"index\": null, \"calls\": 4, "
                                   "\"readUnits\": 8}]";
    static const char WORKLOAD[] =
        "{\"source\": \"document\", \"storageGb\": 1, \"operations\": [{\"what\": \"views\", "
        "\"pattern\": \"get\", \"kind\": \"read\", \"count\": 1000000, \"per\": \"month\", "
        "\"units\": 1}, {\"what\": \"w\", \"pattern\": \"list\", \"kind\": \"write\", "
        "\"count\": 3000000, \"per\": \"month\", \"units\": 1}],"
        " \"prices\": {\"readMillion\": 0.25, \"writeMillion\": 1.25, \"storageGbMonth\": 0.25, "
        "\"readUnitHour\": 0.00013, \"writeUnitHour\": 0.00065}}";
    struct gramme_value *measured =
        gramme_value_from_json(MEASURED, strlen(MEASURED), GRAMME_PLAIN, NULL);
    struct gramme_value *body = cost_describe(PATTERNS, WORKLOAD, measured);
    const struct gramme_value *cost = gramme_get(body, "cost");
    const struct gramme_value *views =
        gramme_value_at(gramme_get(gramme_get(body, "workload"), "operations"), 0);
    assert_string_equal(gramme_get_string(views, "unitsHereAre"), "measured");
    assert_true(number(views, "unitsHere") == 2 && number(views, "costPerMonthHere") == 0.5);
    assert_true(number(cost, "reads") == 0.25);
    assert_true(number(gramme_get(cost, "here"), "reads") == 0.5);
    /* 720 hours of 1 unit to read (0.4 per second) and 2 to write (1.2 per second). */
    const struct gramme_value *provisioned = gramme_get(cost, "provisioned");
    assert_true(number(provisioned, "readCapacity") == 1);
    assert_true(number(provisioned, "writeCapacity") == 2);
    assert_true(number(provisioned, "reads") == 0.0936 && number(provisioned, "writes") == 0.936);
    assert_true(number(provisioned, "total") == 1.2796);
    gramme_value_destroy(body);
    gramme_value_destroy(measured);
}

static void what_the_database_has_measured_is_added(void **state)
{
    (void)state;
    static const char MEASURED[] =
        "[{\"operation\": \"GetItem\", \"table\": \"T\", \"index\": null, \"key\": \"id = ?\", "
        "\"calls\": 3, \"readUnits\": 1.5, \"writeUnits\": 0},"
        " {\"operation\": \"GetItem\", \"index\": null, \"calls\": 1, \"readUnits\": 1},"
        " {\"operation\": \"Query\", \"index\": \"I\", \"key\": \"a = ? AND b = ?\", \"calls\": 9},"
        " {\"operation\": \"Query\", \"index\": \"J\", \"key\": \"a = ?\", \"calls\": 9},"
        " {\"operation\": \"GetItemX\", \"calls\": 9}, {}, 7]";
    struct gramme_value *measured =
        gramme_value_from_json(MEASURED, strlen(MEASURED), GRAMME_PLAIN, NULL);
    struct gramme_value *body = cost_describe(
        PATTERNS, "{\"source\": \"assumed\", \"operations\": [], \"prices\": {}}", measured);
    const struct gramme_value *patterns = gramme_get(body, "patterns");
    const struct gramme_value *live = gramme_get(gramme_value_at(patterns, 0), "live");
    assert_true(number(live, "requests") == 4 && number(live, "units") == 2.5);
    assert_true(number(live, "unitsEach") == 0.625);
    assert_null(gramme_get(live, "togetherWith"));
    assert_null(gramme_get(gramme_value_at(patterns, 1), "live"));
    assert_true(gramme_get_bool(body, "measured", false));
    gramme_value_destroy(body);
    gramme_value_destroy(measured);
}

/* Each pair differs only in the names of values, or in more. */
static void keys_are_compared_without_names_of_values(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        bool is_same;
    } rows[] = {
        {"a = :a", "a = ?", true},
        {"a = :some_name AND begins_with(b, :x)", "a = ? AND begins_with(b, ?)", true},
        {"a = :a AND b > :b", "a = :x AND b > :y", true},
        {"a = :a", "b = :a", false},
        {"a = :a", "a = :a AND b = :b", false},
        {"a = :a AND b = :b", "a = :a", false},
        {"a = :a", NULL, false},
        {NULL, NULL, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_value *maps[2];
        for (size_t k = 0; k < 2; k++) {
            const char *key = k == 0 ? rows[i].a : rows[i].b;
            maps[k] = gramme_map_create();
            gramme_set_string(maps[k], "operation", "Query");
            if (key != NULL) {
                gramme_set_string(maps[k], "key", key);
            }
        }
        assert_int_equal(measured_is_same(maps[0], maps[1]), rows[i].is_same);
        gramme_value_destroy(maps[0]);
        gramme_value_destroy(maps[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_shown_as_the_api_names_them),
        cmocka_unit_test(a_month_costs_what_its_operations_do),
        cmocka_unit_test(what_is_measured_replaces_what_is_declared),
        cmocka_unit_test(what_the_database_has_measured_is_added),
        cmocka_unit_test(keys_are_compared_without_names_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
