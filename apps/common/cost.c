/* Computes the cost of a workload: the units of each operation in a month, times the price; once
 * with the units in workload.json, once with those that this application's requests take. */
#include "apps/common/cost.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "apps/common/measured.h"
#include "base/base.h"

enum {
    DAYS_PER_MONTH = 30, /* as the documents count */
    HOURS_PER_MONTH = DAYS_PER_MONTH * 24,
    SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600,
    FIXED_ITEMS_MAX = 10, /* a request of at most this many items does not grow with the data */
};

static struct gramme_value *parse(const char *json)
{
    struct gramme_value *value = gramme_value_from_json(json, strlen(json), GRAMME_PLAIN, NULL);
    assert(value != NULL); /* a file of this repository */
    return value;
}

static void copy(const struct gramme_value *from, const char *name, struct gramme_value *to,
                 const char *as)
{
    gramme_set_value(to, as, gramme_get(from, name));
}

/* Adds the measurements of a pattern, and the names of the patterns that the database counts
 * together with it. */
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

static bool has_operation(const struct gramme_value *pattern, const char *prefix)
{
    const char *operation = gramme_get_string(pattern, "operation");
    return operation != NULL && strncmp(operation, prefix, strlen(prefix)) == 0;
}

/* Returns whether a request is a batch or a transaction. */
static bool is_compound(const struct gramme_value *pattern)
{
    return has_operation(pattern, "Transact") || has_operation(pattern, "Batch");
}

/* Adds the complexity of a request, in the notation of the documents. */
static void show_complexity(const struct gramme_value *pattern, struct gramme_value *out)
{
    int64_t items_max = gramme_get_int(pattern, "items_max", 1);
    bool is_scan = has_operation(pattern, "Scan");
    bool grows = is_compound(pattern)
                     ? items_max > FIXED_ITEMS_MAX
                     : is_scan || (has_operation(pattern, "Query") && items_max > 1);
    gramme_set_string(out, "complexity", grows ? "O(n)" : "O(1)");
    gramme_set_bool(out, "scans", is_scan);
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
        show_complexity(gramme_value_at(patterns, i), pattern);
        show_measured(patterns, i, measured, pattern);
    }
}

/* Rounds to a ten-thousandth of a cent. */
static double rounded(double amount)
{
    return round(amount * 1e6) / 1e6;
}

/* The cost of a month. */
struct amounts {
    double reads;
    double writes;
};

static const struct gramme_value *find_pattern(const struct gramme_value *patterns,
                                               const char *name)
{
    for (size_t i = 0; name != NULL && i < gramme_value_count(patterns); i++) {
        const struct gramme_value *pattern = gramme_value_at(patterns, i);
        if (strcmp(gramme_get_string(pattern, "name"), name) == 0) {
            return pattern;
        }
    }
    return NULL;
}

/* Returns the units of one request of an operation by this application: measured, else declared.
 * Measurements count each item of a batch or transaction, so these use the declared units. */
static double units_here(const struct gramme_value *operation, const struct gramme_value *shown,
                         struct gramme_value *out)
{
    const struct gramme_value *pattern =
        find_pattern(shown, gramme_get_string(operation, "pattern"));
    const struct gramme_value *live = is_compound(pattern) ? NULL : gramme_get(pattern, "live");
    double units = live != NULL ? gramme_get_double(live, "unitsEach", 0)
                                : gramme_get_double(pattern, "unitsMax", 0);
    gramme_set_double(out, "unitsHere", units);
    gramme_set_string(out, "unitsHereAre", live != NULL ? "measured" : "declared");
    return units;
}

/* Adds the units and the cost of one operation, per month, to `out` and to the sums. */
static void price_operation(const struct gramme_value *operation, const struct gramme_value *prices,
                            const struct gramme_value *shown, struct gramme_value *out,
                            struct amounts sums[2])
{
    for (size_t i = 0; i < gramme_value_count(operation); i++) {
        const struct gramme_value *entry = gramme_value_at(operation, i);
        gramme_set_value(out, gramme_value_name(entry), entry);
    }
    const char *kind = gramme_get_string(operation, "kind");
    const char *per = gramme_get_string(operation, "per");
    assert(kind != NULL && per != NULL);
    bool is_read = strcmp(kind, "read") == 0;
    double price = gramme_get_double(prices, is_read ? "readMillion" : "writeMillion", 0) / 1e6;
    double times =
        gramme_get_double(operation, "count", 0) * (strcmp(per, "day") == 0 ? DAYS_PER_MONTH : 1);
    double units = times * gramme_get_double(operation, "units", 1);
    double here = times * units_here(operation, shown, out);
    gramme_set_double(out, "unitsPerMonth", units);
    gramme_set_double(out, "costPerMonth", rounded(units * price));
    gramme_set_double(out, "costPerMonthHere", rounded(here * price));
    *(is_read ? &sums[0].reads : &sums[0].writes) += units * price;
    *(is_read ? &sums[1].reads : &sums[1].writes) += here * price;
}

static void show_amounts(struct gramme_value *out, const struct amounts *amounts, double storage)
{
    gramme_set_double(out, "reads", rounded(amounts->reads));
    gramme_set_double(out, "writes", rounded(amounts->writes));
    gramme_set_double(out, "storage", rounded(storage));
    gramme_set_double(out, "total", rounded(amounts->reads + amounts->writes + storage));
}

/* Adds the cost of the same workload with provisioned capacity, if there are prices for it. The
 * capacity is the units of a month, spread evenly, and at least one unit. */
static void show_provisioned(const struct gramme_value *prices, const struct amounts *on_demand,
                             double storage, struct gramme_value *out)
{
    double read_hour = gramme_get_double(prices, "readUnitHour", 0);
    double write_hour = gramme_get_double(prices, "writeUnitHour", 0);
    if (read_hour == 0 || write_hour == 0) {
        return;
    }
    double reads = on_demand->reads / gramme_get_double(prices, "readMillion", 1) * 1e6;
    double writes = on_demand->writes / gramme_get_double(prices, "writeMillion", 1) * 1e6;
    double read_capacity = fmax(1, ceil(reads / SECONDS_PER_MONTH));
    double write_capacity = fmax(1, ceil(writes / SECONDS_PER_MONTH));
    struct gramme_value *provisioned = gramme_set_map(out, "provisioned");
    gramme_set_double(provisioned, "readCapacity", read_capacity);
    gramme_set_double(provisioned, "writeCapacity", write_capacity);
    show_amounts(provisioned,
                 &(struct amounts){.reads = read_capacity * read_hour * HOURS_PER_MONTH,
                                   .writes = write_capacity * write_hour * HOURS_PER_MONTH},
                 storage);
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
    struct amounts sums[2] = {{0}}; /* by the workload's units, and by this application's */
    for (size_t i = 0; i < gramme_value_count(operations); i++) {
        price_operation(gramme_value_at(operations, i), prices, gramme_get(body, "patterns"),
                        gramme_add_map(list), sums);
    }
    double storage = gramme_get_double(workload, "storageGb", 0) *
                     gramme_get_double(prices, "storageGbMonth", 0);
    struct gramme_value *cost = gramme_set_map(body, "cost");
    show_amounts(cost, &sums[0], storage);
    show_amounts(gramme_set_map(cost, "here"), &sums[1], storage);
    show_provisioned(prices, &sums[0], storage, cost);
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
