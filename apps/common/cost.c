/* Computes what a workload costs: units of each operation in a month, times the price. */
#include "apps/common/cost.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "apps/common/measured.h"
#include "base/base.h"

enum { DAYS_PER_MONTH = 30 }; /* as the documents count */

static struct gramme_value *parse(const char *json)
{
    struct gramme_value *value = gramme_value_from_json(json, strlen(json), GRAMME_PLAIN, NULL);
    assert(value != NULL); /* our own file */
    return value;
}

static void copy(const struct gramme_value *from, const char *name, struct gramme_value *to,
                 const char *as)
{
    gramme_set_value(to, as, gramme_get(from, name));
}

/* What was measured of a pattern, and with which others it is counted together. */
static void show_measured(const struct gramme_value *patterns, size_t index,
                          const struct gramme_value *measured, struct gramme_value *out)
{
    const struct gramme_value *pattern = gramme_value_at(patterns, index);
    struct gramme_value *live = gramme_map_create();
    if (measured_sum(measured, pattern, live)) {
        struct gramme_value *together = gramme_list_create();
        for (size_t i = 0; i < gramme_value_count(patterns); i++) {
            const struct gramme_value *other = gramme_value_at(patterns, i);
            if (i != index && measured_is_same(other, pattern)) {
                gramme_add_value(together, gramme_get(other, "name"));
            }
        }
        if (gramme_value_count(together) > 0) {
            gramme_set_value(live, "togetherWith", together);
        }
        gramme_value_destroy(together);
        gramme_set_value(out, "live", live);
    }
    gramme_value_destroy(live);
}

static void show_patterns(const struct gramme_value *patterns, const struct gramme_value *measured,
                          struct gramme_value *out)
{
    static const char *const names[][2] = {
        {"name", "name"},   {"what", "what"}, {"operation", "operation"}, {"table", "table"},
        {"index", "index"}, {"key", "key"},   {"units_max", "unitsMax"},  {"items_max", "itemsMax"},
    };
    for (size_t i = 0; i < gramme_value_count(patterns); i++) {
        struct gramme_value *pattern = gramme_add_map(out);
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            copy(gramme_value_at(patterns, i), names[k][0], pattern, names[k][1]);
        }
        show_measured(patterns, i, measured, pattern);
    }
}

/* A ten-thousandth of a cent is exact enough. */
static double rounded(double amount)
{
    return round(amount * 1e6) / 1e6;
}

/* Adds the units and the cost of one operation, per month; returns the cost. */
static double price_operation(const struct gramme_value *operation,
                              const struct gramme_value *prices, struct gramme_value *out,
                              bool *out_is_read)
{
    for (size_t i = 0; i < gramme_value_count(operation); i++) {
        const struct gramme_value *entry = gramme_value_at(operation, i);
        gramme_set_value(out, gramme_value_name(entry), entry);
    }
    const char *kind = gramme_get_string(operation, "kind");
    const char *per = gramme_get_string(operation, "per");
    assert(kind != NULL && per != NULL);
    *out_is_read = strcmp(kind, "read") == 0;
    double price = gramme_get_double(prices, *out_is_read ? "readMillion" : "writeMillion", 0);
    double times = strcmp(per, "day") == 0 ? DAYS_PER_MONTH : 1;
    double units =
        gramme_get_double(operation, "count", 0) * gramme_get_double(operation, "units", 1) * times;
    double cost = units / 1e6 * price;
    gramme_set_double(out, "unitsPerMonth", units);
    gramme_set_double(out, "costPerMonth", rounded(cost));
    return cost;
}

static void add_workload(const struct gramme_value *workload, struct gramme_value *body)
{
    const struct gramme_value *prices = gramme_get(workload, "prices");
    const struct gramme_value *operations = gramme_get(workload, "operations");
    struct gramme_value *out = gramme_set_map(body, "workload");
    copy(workload, "source", out, "source");
    copy(workload, "note", out, "note");
    copy(workload, "prices", out, "prices");
    copy(workload, "storageGb", out, "storageGb");
    struct gramme_value *list = gramme_set_list(out, "operations");
    double reads = 0;
    double writes = 0;
    for (size_t i = 0; i < gramme_value_count(operations); i++) {
        bool is_read;
        double cost =
            price_operation(gramme_value_at(operations, i), prices, gramme_add_map(list), &is_read);
        *(is_read ? &reads : &writes) += cost;
    }
    double storage = gramme_get_double(workload, "storageGb", 0) *
                     gramme_get_double(prices, "storageGbMonth", 0);
    struct gramme_value *cost = gramme_set_map(body, "cost");
    gramme_set_double(cost, "reads", rounded(reads));
    gramme_set_double(cost, "writes", rounded(writes));
    gramme_set_double(cost, "storage", rounded(storage));
    gramme_set_double(cost, "total", rounded(reads + writes + storage));
    copy(prices, "currency", cost, "currency");
}

const char *cost_table(struct arena *arena, const char *patterns)
{
    struct gramme_value *file = parse(patterns);
    const struct gramme_value *first = gramme_value_at(gramme_get(file, "patterns"), 0);
    const char *table = arena_format(arena, "%s", gramme_get_string(first, "table")).data;
    gramme_value_destroy(file);
    return table;
}

struct gramme_value *cost_describe(const char *patterns, const char *workload,
                                   const struct gramme_value *measured)
{
    struct gramme_value *file = parse(patterns);
    struct gramme_value *load = parse(workload);
    struct gramme_value *body = gramme_map_create();
    gramme_set_bool(body, "measured", measured != NULL);
    show_patterns(gramme_get(file, "patterns"), measured, gramme_set_list(body, "patterns"));
    add_workload(load, body);
    gramme_value_destroy(file);
    gramme_value_destroy(load);
    return body;
}
