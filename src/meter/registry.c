/* Patterns and tables by name, and how blocks of threads are added to them. On the collector's
 * thread, or on one that answers a request of the insight API; the mutex is held. */
#include "meter/meter_internal.h"

#include <math.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { TEXT_OVERHEAD = 17 }; /* of a text: its end, and what malloc needs */

static struct str keep(struct str text)
{
    if (str_is_null(text)) {
        return STR_NULL;
    }
    char *copy = mem_alloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    return str_make(copy, text.len);
}

/* --- tables --- */

static size_t table_bytes(const struct table_sums *table)
{
    enum { MAP_ENTRY = 64 };
    size_t bytes = sizeof(*table) + 2 * (table->name.len + TEXT_OVERHEAD) + MAP_ENTRY;
    for (size_t i = 0; i < table->arms.count; i++) {
        bytes += sizeof(struct arm) + table->arms.arms[i].name.len + TEXT_OVERHEAD;
    }
    return bytes;
}

static void table_destroy(struct table_sums *table)
{
    for (size_t i = 0; i < table->arms.count; i++) {
        mem_free((char *)table->arms.arms[i].name.data);
    }
    mem_free(table->arms.arms);
    mem_free((char *)table->name.data);
    mem_free(table);
}

struct table_sums *meter_table_for(struct meter *meter, struct str name)
{
    struct str key = str_is_null(name) ? STR("") : name;
    struct table_sums *table = map_get(&meter->tables, key);
    bool is_room = meter->tables.count < METER_TABLES_MAX && meter->bytes < TABLE_BYTES_MAX;
    if (table == NULL && !is_room && key.len > 0) {
        return meter_table_for(meter, STR_NULL); /* folded: counted with calls on no table */
    }
    if (table == NULL) {
        table = mem_zalloc(sizeof(*table));
        table->name = keep(name);
        map_put(&meter->tables, key, table);
        meter->bytes += table_bytes(table);
    }
    return table;
}

void meter_remove_table(struct meter *meter, struct table_sums *table)
{
    meter->bytes -= table_bytes(table);
    map_remove(&meter->tables, table->name);
    table_destroy(table);
}

/* --- units of indexes --- */

static struct arm *find_arm(const struct arm_list *list, struct str name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->arms[i].name, name)) {
            return &list->arms[i];
        }
    }
    return NULL;
}

static struct arm *add_arm(struct arm_list *list, struct str name)
{
    list->arms = mem_realloc(list->arms, (list->count + 1) * sizeof(*list->arms));
    list->arms[list->count] = (struct arm){.name = name};
    return &list->arms[list->count++];
}

struct arm *meter_table_arm(struct meter *meter, struct table_sums *table, struct str index)
{
    struct arm *arm = find_arm(&table->arms, index);
    if (arm == NULL && meter->bytes < SUMS_BYTES_MAX) {
        arm = add_arm(&table->arms, keep(index));
        meter->bytes += sizeof(*arm) + index.len + TEXT_OVERHEAD;
    }
    return arm;
}

struct arm *meter_pattern_arm(struct meter *meter, struct pattern *pattern, struct str index)
{
    struct arm *arm = find_arm(&pattern->arms, index);
    const struct arm *of_table = arm == NULL ? meter_table_arm(meter, pattern->table, index) : NULL;
    if (of_table != NULL && meter->bytes < SUMS_BYTES_MAX) {
        arm = add_arm(&pattern->arms, of_table->name);
        meter->bytes += sizeof(*arm);
        pattern->bytes += sizeof(*arm);
    }
    return arm;
}

/* --- patterns --- */

struct pattern *meter_pattern(const struct meter *meter, uint64_t id)
{
    size_t at = id & (meter->slot_count - 1);
    while (meter->slots[at] != NULL) {
        if (meter->slots[at]->text.id == id) {
            return meter->slots[at];
        }
        at = (at + 1) & (meter->slot_count - 1);
    }
    return NULL;
}

static void put_slot(struct meter *meter, struct pattern *pattern)
{
    size_t at = pattern->text.id & (meter->slot_count - 1);
    while (meter->slots[at] != NULL) {
        at = (at + 1) & (meter->slot_count - 1);
    }
    meter->slots[at] = pattern;
}

/* What a pattern adds to `meter->bytes`: with its texts and, if patterns are kept, sums that are
 * not in the store yet. */
static size_t pattern_bytes(const struct meter *meter, const struct pattern_text *text)
{
    enum { TEXTS = 10 };
    return sizeof(struct pattern) + pattern_text_bytes(text) - sizeof(*text) +
           (size_t)TEXTS * TEXT_OVERHEAD +
           (meter->options.keep ? sizeof(struct pattern_sums) + TEXT_OVERHEAD : 0);
}

static struct pattern *add_pattern(struct meter *meter, const struct pattern_text *text)
{
    struct pattern *pattern = mem_zalloc(sizeof(*pattern));
    pattern->text = (struct pattern_text){
        .id = text->id,
        .text = keep(text->text),
        .operation = keep(text->operation),
        .table = keep(text->table),
        .index = keep(text->index),
        .key = keep(text->key),
        .filter = keep(text->filter),
        .condition = keep(text->condition),
        .update = keep(text->update),
        .projection = keep(text->projection),
        .example = keep(text->example),
        .flags = text->flags,
    };
    pattern->table = meter_table_for(meter, text->table);
    pattern->table->pattern_count++;
    pattern->bytes = pattern_bytes(meter, text);
    meter->patterns[meter->pattern_count++] = pattern;
    meter->bytes += pattern->bytes;
    put_slot(meter, pattern);
    return pattern;
}

struct pattern *meter_other_for(struct meter *meter, struct str table, bool is_write)
{
    struct buf name = {0};
    bool is_room = meter->other_count < OTHERS_MAX && meter->bytes < OTHER_BYTES_MAX;
    table = is_room ? meter_table_for(meter, table)->name : STR_NULL;
    buf_add(&name, is_write ? STR("other writes ") : STR("other reads "));
    buf_add(&name, str_is_null(table) ? STR("") : table);
    struct pattern_text other = {
        .id = hash_64(buf_str(&name)),
        .text = buf_str(&name),
        .operation = STR("other"),
        .table = table,
        .flags = is_write ? METER_WRITE : 0,
    };
    struct pattern *pattern = meter_pattern(meter, other.id);
    if (pattern == NULL) {
        pattern = add_pattern(meter, &other);
        pattern->is_other = true;
        meter->other_count++;
    }
    buf_finish(&name);
    return pattern;
}

static void add_example(struct meter *meter, struct pattern *pattern, struct str example)
{
    if (str_is_null(pattern->text.example) && !str_is_null(example) &&
        meter->bytes < PATTERN_BYTES_MAX) {
        pattern->text.example = keep(example);
        pattern->bytes += example.len;
        meter->bytes += example.len;
    }
}

struct pattern *meter_pattern_for(struct meter *meter, const struct pattern_text *text)
{
    struct pattern *pattern = meter_pattern(meter, text->id);
    if (pattern != NULL) {
        /* A call that was refused early may have made it, without what is known of others. */
        pattern->text.flags |= text->flags;
        add_example(meter, pattern, text->example);
        return pattern;
    }
    size_t bytes = pattern_bytes(meter, text) + text->index_count * sizeof(struct arm);
    if (meter->pattern_count - meter->other_count >= PATTERNS_MAX ||
        meter->bytes + bytes > PATTERN_BYTES_MAX) {
        return meter_other_for(meter, text->table, (text->flags & METER_WRITE) != 0);
    }
    return add_pattern(meter, text);
}

static void pattern_destroy(struct pattern *pattern)
{
    const struct pattern_text *text = &pattern->text;
    const struct str *texts[] = {
        &text->text,   &text->operation, &text->table,  &text->index,      &text->key,
        &text->filter, &text->condition, &text->update, &text->projection, &text->example};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        mem_free((char *)texts[i]->data);
    }
    mem_free(pattern->arms.arms);
    mem_free(pattern->unsaved);
    mem_free(pattern);
}

void meter_remove_evicted(struct meter *meter)
{
    size_t count = 0;
    memset(meter->slots, 0, meter->slot_count * sizeof(*meter->slots));
    for (size_t i = 0; i < meter->pattern_count; i++) {
        struct pattern *pattern = meter->patterns[i];
        if (pattern->is_evicted) {
            meter->bytes -= pattern->bytes;
            meter->other_count -= pattern->is_other;
            pattern->table->pattern_count--;
            pattern_destroy(pattern);
        } else {
            meter->patterns[count++] = pattern;
            put_slot(meter, pattern);
        }
    }
    meter->pattern_count = count;
}

void meter_forget(struct meter *meter)
{
    size_t at = 0;
    struct str name;
    void *table;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        pattern_destroy(meter->patterns[i]);
    }
    while (map_next(&meter->tables, &at, &name, &table)) {
        table_destroy(table);
    }
    map_finish(&meter->tables);
    map_init(&meter->tables);
    memset(meter->slots, 0, meter->slot_count * sizeof(*meter->slots));
    meter->pattern_count = meter->other_count = 0;
    meter->folded_calls = 0;
    meter->bytes = 0;
    meter->totals = (struct moment){0};
    meter->total_request_bytes = meter->total_answer_bytes = 0;
    meter->observed_ms = meter->observed_at_ms = 0;
    meter->observing_ms = clock_monotonic_us() / 1000;
    for (int i = 0; i < meter->options.thread_count; i++) {
        atomic_store_explicit(&meter->threads[i].console_calls, 0, memory_order_relaxed);
    }
    heat_forget(&meter->heat);
}

void meter_restart(struct meter *meter, int64_t since_ms)
{
    meter_forget(meter);
    meter->since_ms = since_ms;
    memset(meter->seconds, 0, SECONDS_KEPT * sizeof(*meter->seconds));
    memset(meter->minutes, 0, MINUTES_KEPT * sizeof(*meter->minutes));
    meter->second = meter->minute = (struct moment){0};
    meter->second_count = meter->minute_count = 0;
    meter->has_stale_notes = meter->options.keep;
}

int64_t meter_observed_ms(const struct meter *meter)
{
    int64_t now_ms = clock_wall_ms();
    int64_t from_ms = now_ms - (clock_monotonic_us() / 1000 - meter->observing_ms);
    if (meter->observed_at_ms <= now_ms) { /* else the clock was set back */
        from_ms = MAX(from_ms, meter->observed_at_ms);
    }
    return meter->observed_ms + now_ms - from_ms;
}

/* --- sums --- */

static void sum_latencies(struct pattern_sums *to, const struct pattern_sums *from)
{
    to->latency_us += from->latency_us;
    to->latency_max_us = MAX(to->latency_max_us, from->latency_max_us);
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        to->latencies[i] += from->latencies[i];
    }
}

void pattern_sums_add(struct pattern_sums *to, const struct pattern_sums *from)
{
    if (from->calls > 0) {
        to->first_ms = to->calls == 0 ? from->first_ms : MIN(to->first_ms, from->first_ms);
    }
    to->last_ms = MAX(to->last_ms, from->last_ms);
    to->calls += from->calls;
    to->errors += from->errors;
    to->items_read += from->items_read;
    to->items_returned += from->items_returned;
    to->bytes_read += from->bytes_read;
    to->bytes_written += from->bytes_written;
    to->request_bytes += from->request_bytes;
    to->answer_bytes += from->answer_bytes;
    to->table_units += from->table_units;
    to->units_max = MAX(to->units_max, from->units_max);
    to->items_read_max = MAX(to->items_read_max, from->items_read_max);
    pattern_note_worst(to, from->worst_read, from->worst_returned);
    to->item_bytes_max = MAX(to->item_bytes_max, from->item_bytes_max);
    to->collection_bytes_max = MAX(to->collection_bytes_max, from->collection_bytes_max);
    sum_latencies(to, from);
    for (size_t i = 0; i < ERROR_KINDS; i++) {
        if (from->error_kinds[i].count > 0) {
            pattern_count_errors(to, (enum err_code)from->error_kinds[i].code,
                                 from->error_kinds[i].count);
        }
    }
}

/* Adds the units of the pattern in each index to its table, times `factor`. Returns their sum. */
static double account_indexes(struct table_sums *table, const struct pattern *pattern,
                              double factor)
{
    double units = 0;
    for (size_t i = 0; i < pattern->arms.count; i++) {
        const struct arm *from = &pattern->arms.arms[i];
        struct arm *arm = find_arm(&table->arms, from->name);
        arm->read_units += factor * from->read_units;
        arm->write_units += factor * from->write_units;
        units += from->read_units + from->write_units;
    }
    return units;
}

void meter_account(struct meter *meter, struct pattern *pattern, bool add)
{
    const struct pattern_sums *sums = &pattern->sums;
    struct table_sums *table = pattern->table;
    uint64_t sign = add ? 1 : (uint64_t)-1; /* numbers wrap around */
    double factor = add ? 1 : -1;
    bool is_write = (pattern->text.flags & METER_WRITE) != 0;
    double units = sums->table_units + account_indexes(table, pattern, factor);
    struct arm *read = str_is_null(pattern->text.index)
                           ? NULL
                           : meter_table_arm(meter, table, pattern->text.index);
    if (read != NULL) {
        read->reads += sign * sums->calls;
    }
    table->calls += sign * sums->calls;
    table->errors += sign * sums->errors;
    *(is_write ? &table->write_units : &table->read_units) += factor * units;
    *(is_write ? &meter->totals.write_units : &meter->totals.read_units) += factor * units;
    table->stream_reads += factor * (pattern->text.flags & METER_STREAM ? (double)sums->calls : 0);
    meter->totals.calls += sign * sums->calls;
    meter->totals.errors += sign * sums->errors;
    meter->total_request_bytes += sign * sums->request_bytes;
    meter->total_answer_bytes += sign * sums->answer_bytes;
    meter->folded_calls += pattern->is_other ? sign * sums->calls : 0;
}

void pattern_add_unsaved(struct pattern *pattern, const struct pattern_sums *sums)
{
    if (pattern->unsaved == NULL) {
        pattern->unsaved = mem_zalloc(sizeof(*pattern->unsaved));
    }
    pattern_sums_add(pattern->unsaved, sums);
    pattern->is_dirty = true;
}

/* Adds to a bucket of a minute. The quantiles stay the same if all buckets are halved. */
static void add_latencies(uint16_t latencies[LATENCY_BUCKETS], size_t bucket, double count)
{
    while (count + latencies[bucket] > UINT16_MAX) {
        for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
            latencies[i] = (uint16_t)((latencies[i] + 1) / 2);
        }
        count /= 2;
    }
    latencies[bucket] += (uint16_t)lround(count);
}

static void add_minute(struct pattern_minute *to, const struct pattern_sums *sums, double units)
{
    to->calls += (uint32_t)sums->calls;
    to->errors += (uint32_t)sums->errors;
    to->units += units;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        add_latencies(to->latencies, i, (double)sums->latencies[i]);
    }
}

struct pattern_minute pattern_recent(const struct meter *meter, const struct pattern *pattern)
{
    struct pattern_minute recent = pattern->now;
    double part = 1 - (double)(meter->second_count % 60) / 60; /* of the minute before */
    recent.calls += (uint32_t)lround(part * pattern->last.calls);
    recent.errors += (uint32_t)lround(part * pattern->last.errors);
    recent.units += part * pattern->last.units;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        add_latencies(recent.latencies, i, part * pattern->last.latencies[i]);
    }
    return recent;
}

uint64_t pattern_minute_quantile(const struct pattern_minute *minute, double part, uint64_t max_us)
{
    uint64_t latencies[LATENCY_BUCKETS];
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        latencies[i] = minute->latencies[i];
    }
    return latency_quantile(latencies, part, max_us);
}

/* --- adding blocks --- */

static void add_moment(struct moment *to, const struct pattern_sums *sums, double read_units,
                       double write_units)
{
    to->calls += sums->calls;
    to->errors += sums->errors;
    to->read_units += read_units;
    to->write_units += write_units;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        to->latencies[i] += sums->latencies[i];
    }
}

static void add_table(struct meter *meter, struct table_sums *table,
                      const struct block_entry *entry, double read_units, double write_units)
{
    const struct pattern_sums *sums = &entry->sums;
    struct arm *read =
        str_is_null(entry->text->index) ? NULL : meter_table_arm(meter, table, entry->text->index);
    table->calls += sums->calls;
    table->errors += sums->errors;
    table->read_units += read_units;
    table->write_units += write_units;
    table->now.calls += (float)sums->calls;
    table->now.errors += (float)sums->errors;
    table->now.read_units += (float)read_units;
    table->now.write_units += (float)write_units;
    if (entry->text->flags & METER_STREAM) {
        table->stream_reads += (double)sums->calls;
    }
    if (read != NULL) {
        read->reads += sums->calls;
    }
}

/* Units of the indexes, on pattern and table; returns their sum. Those that there is no room for
 * count as units of the table itself. */
static double add_arms(struct meter *meter, struct pattern *pattern, struct block_entry *entry)
{
    const struct pattern_text *text = entry->text;
    bool is_write = (text->flags & METER_WRITE) != 0;
    double sum = 0;
    for (size_t i = 0; i < text->index_count; i++) {
        double units = entry->index_units[i];
        struct arm *arm =
            units == 0 ? NULL : meter_pattern_arm(meter, pattern, text->index_names[i]);
        if (arm == NULL) {
            entry->sums.table_units += units;
            continue;
        }
        struct arm *of_table = find_arm(&pattern->table->arms, arm->name);
        *(is_write ? &arm->write_units : &arm->read_units) += units;
        *(is_write ? &arm->unsaved_write : &arm->unsaved_read) += units;
        *(is_write ? &of_table->write_units : &of_table->read_units) += units;
        sum += units;
    }
    return sum;
}

static void add_entry(struct meter *meter, struct block_entry *entry, int64_t wall_offset_ms)
{
    struct pattern_sums *sums = &entry->sums;
    sums->first_ms += wall_offset_ms;
    sums->last_ms += wall_offset_ms;
    struct pattern *pattern = meter_pattern_for(meter, entry->text);
    bool is_write = (entry->text->flags & METER_WRITE) != 0;
    if (pattern->is_other) {
        meter->folded_calls += sums->calls;
    }
    double arms = add_arms(meter, pattern, entry);
    double units = sums->table_units + arms;
    double read_units = is_write ? 0 : units;
    double write_units = is_write ? units : 0;
    pattern_sums_add(&pattern->sums, sums);
    if (meter->options.keep) {
        pattern_add_unsaved(pattern, sums);
    }
    add_minute(&pattern->now, sums, units);
    add_table(meter, pattern->table, entry, read_units, write_units);
    add_moment(&meter->totals, sums, read_units, write_units);
    add_moment(&meter->second, sums, read_units, write_units);
    add_moment(&meter->minute, sums, read_units, write_units);
    meter->total_request_bytes += sums->request_bytes;
    meter->total_answer_bytes += sums->answer_bytes;
}

static void name_places(struct meter *meter, const struct pattern_text *text)
{
    if (str_is_null(text->table)) {
        return;
    }
    heat_name_place(&meter->heat, text->table_space, text->table, STR_NULL);
    for (size_t i = 0; i < text->index_count; i++) {
        heat_name_place(&meter->heat, text->index_spaces[i], text->table, text->index_names[i]);
    }
}

void meter_drain(struct meter *meter, struct block *block)
{
    int64_t wall_offset_ms = clock_wall_ms() - clock_monotonic_us() / 1000;
    for (struct block_entry *entry = block->newest; entry != NULL; entry = entry->older) {
        add_entry(meter, entry, wall_offset_ms);
        name_places(meter, entry->text);
    }
    for (size_t at = 0; at < block->events_len;) {
        const struct heat_event *event = (const struct heat_event *)(block->events + at);
        heat_add(&meter->heat, event, (const char *)(event + 1));
        at += (sizeof(*event) + event->key_len + 7) & ~(size_t)7;
    }
    meter->heat.lost += block->events_lost;
    block_reset(block);
}

uint64_t latency_quantile(const uint64_t latencies[LATENCY_BUCKETS], double part, uint64_t max_us)
{
    uint64_t total = 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        total += latencies[i];
    }
    double wanted = part * (double)total;
    double before = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        double here = (double)latencies[i];
        if (here > 0 && before + here >= wanted) {
            double low = i == 0 ? 0 : (double)latency_bucket_end(i - 1);
            double high = (double)latency_bucket_end(i);
            uint64_t us = (uint64_t)(low + (high - low) * (wanted - before) / here);
            return max_us > 0 ? MIN(us, max_us) : us;
        }
        before += here;
    }
    return 0;
}
