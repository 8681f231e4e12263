#include "apps/common/cost.h"

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
    struct gramme_value *body =
        cost_describe(PATTERNS, "{\"source\": \"assumed\", \"operations\": [], \"prices\": {}}");
    const struct gramme_value *patterns = gramme_get(body, "patterns");
    assert_int_equal(gramme_value_count(patterns), 2);
    const struct gramme_value *list = gramme_value_at(patterns, 1);
    assert_string_equal(gramme_get_string(list, "key"), "a = :a");
    assert_true(number(list, "unitsMax") == 8 && number(list, "itemsMax") == 100);
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
        "\"currency\": \"USD\"}}");
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
    gramme_value_destroy(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_shown_as_the_api_names_them),
        cmocka_unit_test(a_month_costs_what_its_operations_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
