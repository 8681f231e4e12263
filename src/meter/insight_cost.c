/* GET cost of the insight API: the estimated monthly bill from the consumed units, and the bill
 * under assumptions (what-if). Runs on a slow thread of the HTTP server. */
#include "meter/insight_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "meter/what_if_internal.h"

#define MONTH_HOURS 730.0
#define GB          ((double)(1 << 30))
enum { ITEM_OVERHEAD_BYTES = 100, PARTS_MAX = 1 + CAPACITY_INDEX_MAX };

/* The table itself, or one of its indexes. */
struct part {
    const struct index *index; /* NULL: the table */
    double read_units;         /* while traffic was observed */
    double write_units;
    double items;
    double bytes; /* without the overhead per item */
    int64_t provisioned_read;
    int64_t provisioned_write;
};

struct table_cost {
    const struct table *table;
    struct part parts[PARTS_MAX];
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
    struct what_if what_if;
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

static void fill_table(struct costing *c, struct table_cost *cost, const struct table *table,
                       const struct table_sizes *sizes)
{
    const struct table_sums *sums = map_get(&c->insight->meter->tables, table->name);
    cost->table = table;
    cost->part_count = 1 + table->index_count;
    cost->parts[0] = (struct part){
        .items = (double)sizes->item_count,
        .bytes = (double)sizes->bytes,
        .provisioned_read = table->throughput.read_units,
        .provisioned_write = table->throughput.write_units,
    };
    for (size_t i = 0; i < table->index_count; i++) {
        cost->parts[1 + i] = (struct part){
            .index = &table->indexes[i],
            .items = (double)sizes->index_item_counts[i],
            .bytes = (double)sizes->index_bytes[i],
            .provisioned_read = table->indexes[i].throughput.read_units,
            .provisioned_write = table->indexes[i].throughput.write_units,
        };
    }
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
                    : provisioned_amount((double)part->provisioned_read,
                                         (double)part->provisioned_write, prices);
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
            *read += (double)cost->parts[i].provisioned_read;
            *write += (double)cost->parts[i].provisioned_write;
        }
        return;
    }
    *read = MAX(ceil(MAX(cost->peak_read * c->what_if.traffic, average_read(c, cost))), 1);
    *write = MAX(ceil(MAX(cost->peak_write * c->what_if.traffic, average_write(c, cost))), 1);
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

/* Returns the on-demand cost of the units of a pattern, also of a deleted table. */
static struct pattern_cost cost_of_pattern(const struct costing *c, const struct pattern *pattern)
{
    struct pattern_cost cost = {.pattern = pattern};
    const struct class_prices *prices = &c->prices->standard;
    for (size_t i = 0; i < c->count; i++) {
        if (str_eq(c->tables[i].table->name, pattern->text.table)) {
            prices = class_of(c, c->tables[i].table->class);
        }
    }
    what_if_pattern_units(&c->what_if, pattern, &cost.read_units, &cost.write_units);
    cost.monthly = c->month *
                   (cost.read_units * prices->read_request_million +
                    cost.write_units * prices->write_request_million) /
                   1e6;
    return cost;
}

static void write_patterns(const struct costing *c, size_t limit)
{
    const struct meter *meter = c->insight->meter;
    struct buf *out = c->insight->out;
    struct pattern_cost *all = mem_alloc((meter->pattern_count + 1) * sizeof(*all));
    for (size_t i = 0; i < meter->pattern_count; i++) {
        all[i] = cost_of_pattern(c, meter->patterns[i]);
    }
    qsort(all, meter->pattern_count, sizeof(*all), compare);
    JSON_PUT(out, ",\"patterns\":[");
    for (size_t i = 0; i < MIN(meter->pattern_count, limit); i++) {
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
static void write_bill(const struct costing *c, size_t limit)
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
    JSON_PUT(out, "},\"tables\":[");
    for (size_t i = 0; i < c->count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write_table(c, &c->tables[i]);
    }
    JSON_PUT(out, "]");
    write_patterns(c, limit);
}

/* --- what if --- */

/* Changes the consumption to that under the assumptions. */
static void apply_what_if(struct costing *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct table_cost *cost = &c->tables[i];
        cost->stream_reads *= c->what_if.traffic;
        for (size_t k = 0; k < cost->part_count; k++) {
            struct part *part = &cost->parts[k];
            struct what_if_part changed =
                what_if_part(&c->what_if, cost->table, part->index,
                             (struct what_if_part){part->read_units, part->write_units, part->items,
                                                   part->bytes});
            part->read_units = changed.read_units;
            part->write_units = changed.write_units;
            part->items = changed.items;
            part->bytes = changed.bytes;
            if (changed.items == 0 && part->index != NULL) {
                part->provisioned_read = part->provisioned_write = 0;
            }
        }
    }
}

static void write_what_if(struct costing *c, size_t limit)
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
    write_bill(c, limit);
    JSON_PUT(out, "}}");
}

static void write_cost(struct costing *c, const struct insight_tables *tables, double hours,
                       size_t limit)
{
    struct insight *insight = c->insight;
    struct buf *out = insight->out;
    struct what_if asked = c->what_if;
    c->tables = ARENA_ARRAY(insight->arena, struct table_cost, tables->count);
    c->count = tables->count;
    for (size_t i = 0; i < tables->count; i++) {
        fill_table(c, &c->tables[i], tables->tables[i], &tables->sizes[i]);
    }
    JSON_PUT(out, "{\"prices\":{\"name\":");
    json_write_string(out, c->prices->name);
    JSON_PUT(out, ",\"date\":");
    json_write_string(out, c->prices->date);
    JSON_PUT(out, ",\"currency\":");
    json_write_string(out, c->prices->currency);
    buf_format(out, "},\"observedHours\":%.12g,\"monthHours\":%.12g,", hours, MONTH_HOURS);
    c->what_if = what_if_nothing();
    write_bill(c, limit);
    c->what_if = asked;
    write_what_if(c, limit);
}

void insight_cost(struct insight *insight)
{
    enum { PATTERNS_DEFAULT = 50 };
    struct meter *meter = insight->meter;
    struct costing c = {.insight = insight};
    struct insight_tables tables = {0};
    double hours = insight_number(insight, "hours", 0, 1e-6, 1e6);
    size_t limit = insight_limit(insight, PATTERNS_DEFAULT);
    c.prices = prices_find(&meter->prices, insight_parameter(insight, "prices", 0));
    if (c.prices == NULL) {
        insight_refuse(insight, "prices must be one of those that GET prices lists");
        return;
    }
    what_if_read(insight, &c.what_if);
    if (!str_is_null(insight->mistake)) {
        return;
    }
    insight_all_tables(insight, &tables);
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    if (hours == 0) {
        hours = MAX((double)(clock_wall_ms() - meter->since_ms) / 3600e3, 1.0 / 3600);
    }
    c.month = MONTH_HOURS / hours;
    write_cost(&c, &tables, hours, limit);
    pthread_mutex_unlock(&meter->mutex);
    insight_release_tables(&tables);
}
