/* GET cost of the insight API: the estimated monthly bill from the consumed units, and the bill
 * under assumptions (what-if). Runs on a slow thread of the HTTP server. */
#include "meter/insight_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "meter/what_if_internal.h"

#define MONTH_HOURS 730.0
#define GB          ((double)(1 << 30))
enum { ITEM_OVERHEAD_BYTES = 100 };

/* The table itself, or one of its indexes. */
struct part {
    const struct index *index; /* NULL: the table */
    double read_units;         /* while traffic was observed */
    double write_units;
    double items;
    double bytes;         /* without the overhead per item */
    double average_bytes; /* of an item, as it is */
    double provisioned_read;
    double provisioned_write;
    struct what_if_units seen;    /* units of the patterns that are known, */
    struct what_if_units changed; /* and under the assumptions */
};

struct table_cost {
    const struct table *table;
    struct part *parts;
    size_t part_count;
    double stream_reads;
    double peak_read; /* units per second, of the busiest minute; 0: not known */
    double peak_write;
};

/* Amounts of a month. */
struct amounts {
    double requests;
    double storage;
    double streams;
};

struct costing {
    struct insight *insight;
    const struct prices *prices;
    double month; /* factor from the observed time to a month */
    struct table_cost *tables;
    size_t count;
    struct map by_name;        /* of struct table_cost */
    struct table_cost **order; /* by cost, the most expensive first */
    struct what_if what_if;
    size_t limit;  /* of tables and of patterns that are written */
    size_t offset; /* of tables */
};

static double sum_of(const struct amounts *amounts)
{
    return amounts->requests + amounts->storage + amounts->streams;
}

static const struct class_prices *class_of(const struct costing *c, enum table_class class)
{
    return class == TABLE_CLASS_STANDARD ? &c->prices->standard : &c->prices->infrequent_access;
}

/* --- what was consumed --- */

static void fill_units(struct table_cost *cost, const struct table_sums *sums)
{
    double read = sums->read_units;
    double write = sums->write_units;
    for (size_t i = 0; i < sums->arms.count; i++) {
        const struct arm *arm = &sums->arms.arms[i];
        read -= arm->read_units;
        write -= arm->write_units;
        for (size_t k = 1; k < cost->part_count; k++) {
            if (str_eq(cost->parts[k].index->name, arm->name)) {
                cost->parts[k].read_units = arm->read_units;
                cost->parts[k].write_units = arm->write_units;
            }
        }
    }
    cost->parts[0].read_units = MAX(read, 0);
    cost->parts[0].write_units = MAX(write, 0);
    cost->stream_reads = sums->stream_reads;
    for (size_t i = 0; i < TABLE_MINUTES_KEPT; i++) {
        cost->peak_read = MAX(cost->peak_read, (double)sums->minutes[i].read_units / 60);
        cost->peak_write = MAX(cost->peak_write, (double)sums->minutes[i].write_units / 60);
    }
}

/* Makes the parts of a table: itself and its indexes. */
static void fill_parts(struct arena *arena, struct table_cost *cost, const struct table *table,
                       const struct table_sizes *sizes)
{
    cost->part_count = 1 + table->index_count;
    cost->parts = ARENA_ARRAY(arena, struct part, cost->part_count);
    cost->parts[0] = (struct part){
        .items = (double)sizes->item_count,
        .bytes = (double)sizes->bytes,
        .provisioned_read = (double)table->throughput.read_units,
        .provisioned_write = (double)table->throughput.write_units,
    };
    for (size_t i = 0; i < table->index_count; i++) {
        cost->parts[1 + i] = (struct part){
            .index = &table->indexes[i],
            .items = (double)sizes->index_item_counts[i],
            .bytes = (double)sizes->index_bytes[i],
            .provisioned_read = (double)table->indexes[i].throughput.read_units,
            .provisioned_write = (double)table->indexes[i].throughput.write_units,
        };
    }
    for (size_t i = 0; i < cost->part_count; i++) {
        struct part *part = &cost->parts[i];
        part->average_bytes = part->items > 0 ? part->bytes / part->items : 0;
    }
}

static void fill_table(struct costing *c, struct table_cost *cost, const struct table *table,
                       const struct table_sizes *sizes)
{
    const struct table_sums *sums = map_get(&c->insight->meter->tables, table->name);
    cost->table = table;
    fill_parts(c->insight->arena, cost, table, sizes);
    if (sums != NULL) {
        fill_units(cost, sums);
    }
}

/* --- amounts --- */

static double stored_bytes(const struct part *part)
{
    return part->bytes + part->items * ITEM_OVERHEAD_BYTES;
}

static double storage_of(const struct part *part, const struct class_prices *prices)
{
    return stored_bytes(part) / GB * prices->storage_gb_month;
}

static double on_demand_of(const struct costing *c, const struct part *part,
                           const struct class_prices *prices)
{
    return c->month *
           (part->read_units * prices->read_request_million +
            part->write_units * prices->write_request_million) /
           1e6;
}

static double provisioned_amount(double read, double write, const struct class_prices *prices)
{
    return MONTH_HOURS * (read * prices->read_unit_hour + write * prices->write_unit_hour);
}

/* Local indexes share the units of their table. */
static double provisioned_of(const struct part *part, const struct class_prices *prices)
{
    bool is_local = part->index != NULL && part->index->kind == INDEX_LOCAL;
    return is_local ? 0
                    : provisioned_amount(part->provisioned_read, part->provisioned_write, prices);
}

static struct amounts amounts_of(const struct costing *c, const struct table_cost *cost,
                                 enum table_class class)
{
    const struct class_prices *prices = class_of(c, class);
    struct amounts amounts = {0};
    for (size_t i = 0; i < cost->part_count; i++) {
        const struct part *part = &cost->parts[i];
        amounts.requests += cost->table->billing == BILLING_PROVISIONED
                                ? provisioned_of(part, prices)
                                : on_demand_of(c, part, prices);
        amounts.storage += storage_of(part, prices);
    }
    amounts.streams = c->month * cost->stream_reads * c->prices->stream_read_million / 1e6;
    return amounts;
}

/* --- on demand against provisioned --- */

/* Units per second, on average. */
static double average_read(const struct costing *c, const struct table_cost *cost)
{
    double units = 0;
    for (size_t i = 0; i < cost->part_count; i++) {
        units += cost->parts[i].read_units;
    }
    return units * c->month / (MONTH_HOURS * 3600);
}

static double average_write(const struct costing *c, const struct table_cost *cost)
{
    double units = 0;
    for (size_t i = 0; i < cost->part_count; i++) {
        units += cost->parts[i].write_units;
    }
    return units * c->month / (MONTH_HOURS * 3600);
}

/* Units to be provisioned: those that are, or enough for the busiest minute. */
static void wanted_units(const struct costing *c, const struct table_cost *cost, double *read,
                         double *write)
{
    *read = *write = 0;
    if (cost->table->billing == BILLING_PROVISIONED) {
        for (size_t i = 0; i < cost->part_count; i++) {
            *read += cost->parts[i].provisioned_read;
            *write += cost->parts[i].provisioned_write;
        }
        return;
    }
    *read = MAX(ceil(MAX(cost->peak_read, average_read(c, cost))), 1);
    *write = MAX(ceil(MAX(cost->peak_write, average_write(c, cost))), 1);
}

static void write_modes(const struct costing *c, const struct table_cost *cost)
{
    struct buf *out = c->insight->out;
    const struct class_prices *prices = class_of(c, cost->table->class);
    struct amounts amounts = amounts_of(c, cost, cost->table->class);
    double other = amounts.storage + amounts.streams;
    double on_demand = 0;
    double read;
    double write;
    for (size_t i = 0; i < cost->part_count; i++) {
        on_demand += on_demand_of(c, &cost->parts[i], prices);
    }
    wanted_units(c, cost, &read, &write);
    double provisioned = provisioned_amount(read, write, prices);
    /* The same units, provisioned and always used. */
    double used = provisioned_amount(average_read(c, cost), average_write(c, cost), prices);
    double break_even = on_demand > 0 ? used / on_demand
                        : prices->read_request_million > 0
                            ? prices->read_unit_hour / (prices->read_request_million * 3600 / 1e6)
                            : 0;
    buf_format(out,
               ",\"onDemand\":{\"monthly\":%.12g},\"provisioned\":{\"monthly\":%.12g,"
               "\"readUnits\":%.12g,\"writeUnits\":%.12g},\"utilization\":%.6g,"
               "\"breakEvenUtilization\":%.6g",
               on_demand + other, provisioned + other, read, write,
               provisioned > 0 ? used / provisioned : 0, break_even);
}

/* --- writing --- */

static void write_amounts(struct buf *out, const struct amounts *amounts)
{
    buf_format(out, "\"monthly\":%.12g,\"requests\":%.12g,\"storage\":%.12g,\"streams\":%.12g",
               sum_of(amounts), amounts->requests, amounts->storage, amounts->streams);
}

static void write_part(const struct costing *c, const struct table_cost *cost,
                       const struct part *part)
{
    struct buf *out = c->insight->out;
    const struct class_prices *prices = class_of(c, cost->table->class);
    double requests = cost->table->billing == BILLING_PROVISIONED ? provisioned_of(part, prices)
                                                                  : on_demand_of(c, part, prices);
    double storage = storage_of(part, prices);
    JSON_PUT(out, "{\"index\":");
    insight_write_text(out, part->index == NULL ? STR_NULL : part->index->name);
    buf_format(out,
               ",\"readUnits\":%.15g,\"writeUnits\":%.15g,\"storedBytes\":%.15g,"
               "\"monthly\":%.12g,\"requests\":%.12g,\"storage\":%.12g}",
               part->read_units, part->write_units, stored_bytes(part), requests + storage,
               requests, storage);
}

static void write_table(const struct costing *c, const struct table_cost *cost)
{
    struct buf *out = c->insight->out;
    const struct table *table = cost->table;
    struct amounts amounts = amounts_of(c, cost, table->class);
    struct amounts standard = amounts_of(c, cost, TABLE_CLASS_STANDARD);
    struct amounts infrequent = amounts_of(c, cost, TABLE_CLASS_INFREQUENT_ACCESS);
    double stored = 0;
    JSON_PUT(out, "{\"table\":");
    json_write_string(out, table->name);
    buf_format(out, ",\"billing\":\"%s\",\"class\":\"%s\",",
               table->billing == BILLING_PROVISIONED ? "PROVISIONED" : "PAY_PER_REQUEST",
               table->class == TABLE_CLASS_STANDARD ? "STANDARD" : "STANDARD_INFREQUENT_ACCESS");
    write_amounts(out, &amounts);
    write_modes(c, cost);
    for (size_t i = 0; i < cost->part_count; i++) {
        stored += stored_bytes(&cost->parts[i]);
    }
    buf_format(out,
               ",\"standard\":{\"monthly\":%.12g},\"infrequentAccess\":{\"monthly\":%.12g},"
               "\"storedBytes\":%.15g,\"streamReads\":%.15g,\"parts\":[",
               sum_of(&standard), sum_of(&infrequent), stored, cost->stream_reads);
    for (size_t i = 0; i < cost->part_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write_part(c, cost, &cost->parts[i]);
    }
    JSON_PUT(out, "]}");
}

struct pattern_cost {
    const struct pattern *pattern;
    double read_units;
    double write_units;
    double monthly;
};

static int compare(const void *a, const void *b)
{
    const struct pattern_cost *left = a;
    const struct pattern_cost *right = b;
    if (left->monthly != right->monthly) {
        return left->monthly > right->monthly ? -1 : 1;
    }
    return str_cmp(left->pattern->text.text, right->pattern->text.text);
}

/* The part of a table that an arm of a pattern belongs to (NULL: the table itself); NULL: the index
 * does not exist any more. */
static struct part *part_of(struct table_cost *cost, const struct arm *arm)
{
    struct part *found = cost == NULL || arm != NULL ? NULL : &cost->parts[0];
    for (size_t i = 1; cost != NULL && arm != NULL && i < cost->part_count; i++) {
        found = str_eq(cost->parts[i].index->name, arm->name) ? &cost->parts[i] : found;
    }
    return found;
}

static struct table_cost *table_of(const struct costing *c, const struct pattern *pattern)
{
    struct str name = pattern->text.table;
    return str_is_null(name) ? NULL : map_get(&c->by_name, name);
}

/* Returns the on-demand cost of the units of a pattern, also of a deleted table. */
static struct pattern_cost cost_of_pattern(const struct costing *c, const struct pattern *pattern)
{
    struct pattern_cost cost = {.pattern = pattern};
    struct table_cost *table = table_of(c, pattern);
    const struct class_prices *prices =
        table == NULL ? &c->prices->standard : class_of(c, table->table->class);
    for (size_t i = 0; i <= pattern->arms.count; i++) {
        const struct arm *arm = i == 0 ? NULL : &pattern->arms.arms[i - 1];
        const struct part *part = part_of(table, arm);
        struct what_if_units units =
            what_if_units(&c->what_if, pattern, arm, part == NULL ? 0 : part->average_bytes);
        cost.read_units += units.read;
        cost.write_units += units.write;
    }
    cost.monthly = c->month *
                   (cost.read_units * prices->read_request_million +
                    cost.write_units * prices->write_request_million) /
                   1e6;
    return cost;
}

static void write_patterns(const struct costing *c)
{
    const struct meter *meter = c->insight->meter;
    struct buf *out = c->insight->out;
    struct pattern_cost *all = mem_alloc((meter->pattern_count + 1) * sizeof(*all));
    for (size_t i = 0; i < meter->pattern_count; i++) {
        all[i] = cost_of_pattern(c, meter->patterns[i]);
    }
    qsort(all, meter->pattern_count, sizeof(*all), compare);
    JSON_PUT(out, ",\"patterns\":[");
    for (size_t i = 0; i < MIN(meter->pattern_count, c->limit); i++) {
        const struct pattern_text *text = &all[i].pattern->text;
        buf_format(out, "%s{\"id\":\"%016llx\",\"text\":", i > 0 ? "," : "",
                   (unsigned long long)text->id);
        json_write_string(out, text->text);
        JSON_PUT(out, ",\"table\":");
        insight_write_text(out, text->table);
        buf_format(out, ",\"readUnits\":%.15g,\"writeUnits\":%.15g,\"monthly\":%.12g}",
                   all[i].read_units, all[i].write_units, all[i].monthly);
    }
    JSON_PUT(out, "]");
    mem_free(all);
}

/* "total", "tables" and "patterns". */
static void write_bill(const struct costing *c)
{
    struct buf *out = c->insight->out;
    struct amounts total = {0};
    for (size_t i = 0; i < c->count; i++) {
        struct amounts amounts = amounts_of(c, &c->tables[i], c->tables[i].table->class);
        total.requests += amounts.requests;
        total.storage += amounts.storage;
        total.streams += amounts.streams;
    }
    JSON_PUT(out, "\"total\":{");
    write_amounts(out, &total);
    buf_format(out, "},\"tableCount\":%zu,\"tables\":[", c->count);
    for (size_t i = c->offset; i < MIN(c->count, c->offset + c->limit); i++) {
        buf_add(out, i > c->offset ? STR(",") : STR(""));
        write_table(c, c->order[i]);
    }
    JSON_PUT(out, "]");
    write_patterns(c);
}

/* --- what if --- */

/* Adds up the units of all patterns on each part, as they are and under the assumptions. */
static void add_patterns(struct costing *c)
{
    const struct meter *meter = c->insight->meter;
    struct what_if nothing = what_if_nothing();
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        struct table_cost *table = table_of(c, pattern);
        for (size_t k = 0; table != NULL && k <= pattern->arms.count; k++) {
            const struct arm *arm = k == 0 ? NULL : &pattern->arms.arms[k - 1];
            struct part *part = part_of(table, arm);
            if (part == NULL) {
                continue;
            }
            double bytes = part->average_bytes;
            struct what_if_units now = what_if_units(&nothing, pattern, arm, bytes);
            struct what_if_units then = what_if_units(&c->what_if, pattern, arm, bytes);
            part->seen.read += now.read;
            part->seen.write += now.write;
            part->changed.read += then.read;
            part->changed.write += then.write;
        }
    }
}

/* Units under the assumptions; those of unknown patterns change with the traffic only. */
static double changed_units(const struct costing *c, double units, double seen, double changed)
{
    return changed + MAX(units - seen, 0) * c->what_if.traffic;
}

/* Provisioned units change like those that are consumed: the utilization stays the same. */
static double changed_provision(const struct costing *c, double provisioned, double before,
                                double after)
{
    return ceil(provisioned * (before > 0 ? after / before : c->what_if.traffic));
}

static void change_part(const struct costing *c, const struct table *table, struct part *part)
{
    struct str index = part->index == NULL ? STR_NULL : part->index->name;
    double stored = what_if_stored(&c->what_if, table->name, index);
    double read = changed_units(c, part->read_units, part->seen.read, part->changed.read);
    double write = changed_units(c, part->write_units, part->seen.write, part->changed.write);
    part->provisioned_read = changed_provision(c, part->provisioned_read, part->read_units, read);
    part->provisioned_write =
        changed_provision(c, part->provisioned_write, part->write_units, write);
    part->read_units = read;
    part->write_units = write;
    part->bytes *= stored;
    if (stored == 0) { /* dropped */
        *part = (struct part){.index = part->index};
    }
}

/* Changes the consumption to that under the assumptions. */
static void apply_what_if(struct costing *c)
{
    add_patterns(c);
    for (size_t i = 0; i < c->count; i++) {
        struct table_cost *cost = &c->tables[i];
        double read = average_read(c, cost);
        double write = average_write(c, cost);
        cost->stream_reads *= c->what_if.traffic;
        for (size_t k = 0; k < cost->part_count; k++) {
            change_part(c, cost->table, &cost->parts[k]);
        }
        cost->peak_read *= read > 0 ? average_read(c, cost) / read : c->what_if.traffic;
        cost->peak_write *= write > 0 ? average_write(c, cost) / write : c->what_if.traffic;
    }
}

static void write_what_if(struct costing *c)
{
    struct buf *out = c->insight->out;
    if (c->what_if.change_count == 0) {
        JSON_PUT(out, ",\"whatIf\":null}");
        return;
    }
    JSON_PUT(out, ",\"whatIf\":{\"changes\":[");
    for (size_t i = 0; i < c->what_if.change_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, c->what_if.changes[i]);
    }
    JSON_PUT(out, "],");
    apply_what_if(c);
    write_bill(c);
    JSON_PUT(out, "}}");
}

struct ordered {
    struct table_cost *cost;
    double monthly;
};

static int compare_tables(const void *a, const void *b)
{
    const struct ordered *left = a;
    const struct ordered *right = b;
    if (left->monthly != right->monthly) {
        return left->monthly > right->monthly ? -1 : 1;
    }
    return str_cmp(left->cost->table->name, right->cost->table->name);
}

static void fill_tables(struct costing *c, const struct insight_tables *tables)
{
    struct arena *arena = c->insight->arena;
    struct ordered *all = ARENA_ARRAY(arena, struct ordered, tables->count);
    c->tables = ARENA_ARRAY(arena, struct table_cost, tables->count);
    c->order = ARENA_ARRAY(arena, struct table_cost *, tables->count);
    c->count = tables->count;
    for (size_t i = 0; i < tables->count; i++) {
        struct table_cost *cost = &c->tables[i];
        fill_table(c, cost, tables->tables[i], &tables->sizes[i]);
        map_put(&c->by_name, tables->tables[i]->name, cost);
        struct amounts amounts = amounts_of(c, cost, cost->table->class);
        all[i] = (struct ordered){cost, sum_of(&amounts)};
    }
    qsort(all, c->count, sizeof(*all), compare_tables);
    for (size_t i = 0; i < c->count; i++) {
        c->order[i] = all[i].cost;
    }
}

static void write_cost(struct costing *c, const struct insight_tables *tables, double hours)
{
    struct insight *insight = c->insight;
    struct buf *out = insight->out;
    struct what_if asked = c->what_if;
    fill_tables(c, tables);
    JSON_PUT(out, "{\"prices\":{\"name\":");
    json_write_string(out, c->prices->name);
    JSON_PUT(out, ",\"date\":");
    json_write_string(out, c->prices->date);
    JSON_PUT(out, ",\"currency\":");
    json_write_string(out, c->prices->currency);
    buf_format(out, "},\"observedHours\":%.12g,\"monthHours\":%.12g,", hours, MONTH_HOURS);
    c->what_if = what_if_nothing();
    write_bill(c);
    c->what_if = asked;
    write_what_if(c);
}

/* Reads the parameters, but for `hours`. False: the request is refused. */
static bool read_parameters(struct insight *insight, struct costing *c)
{
    enum { COSTS_DEFAULT = 50 };
    c->limit = insight_limit(insight, COSTS_DEFAULT);
    c->offset = (size_t)insight_number(insight, "offset", 0, 0, 1e6);
    c->prices = prices_find(&insight->meter->prices, insight_parameter(insight, "prices", 0));
    if (c->prices == NULL) {
        insight_refuse(insight, "prices must be one of those that GET prices lists");
        return false;
    }
    what_if_read(insight, &c->what_if);
    return str_is_null(insight->mistake);
}

void insight_cost(struct insight *insight)
{
    struct meter *meter = insight->meter;
    struct costing c = {.insight = insight};
    struct insight_tables tables = {0};
    double hours = insight_number(insight, "hours", 0, 1e-6, 1e6);
    if (!read_parameters(insight, &c)) {
        return;
    }
    insight_all_tables(insight, &tables);
    map_init(&c.by_name);
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    if (hours == 0) {
        hours = MAX((double)meter_observed_ms(meter) / 3600e3, 1.0 / 3600);
    }
    c.month = MONTH_HOURS / hours;
    write_cost(&c, &tables, hours);
    pthread_mutex_unlock(&meter->mutex);
    map_finish(&c.by_name);
    insight_release_tables(&tables);
}
