/* Patterns and tables by name, and how blocks of threads are added to them. On the collector's
 * thread, or on one that answers a request of the insight API; the mutex is held. */
#include "meter/meter_internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

static struct str keep(struct meter *meter, struct str text)
{
    if (str_is_null(text)) {
        return STR_NULL;
    }
    char *copy = mem_alloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    meter->bytes += text.len + 17; /* with what malloc needs */
    return str_make(copy, text.len);
}

struct arm *arm_for(struct meter *meter, struct arm_list *list, struct str name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->arms[i].name, name)) {
            return &list->arms[i];
        }
    }
    list->arms = mem_realloc(list->arms, (list->count + 1) * sizeof(*list->arms));
    meter->bytes += sizeof(*list->arms);
    list->arms[list->count] = (struct arm){.name = keep(meter, name)};
    return &list->arms[list->count++];
}

static void arms_finish(struct arm_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mem_free((char *)list->arms[i].name.data);
    }
    mem_free(list->arms);
}

struct table_sums *meter_table_for(struct meter *meter, struct str name)
{
    struct str key = str_is_null(name) ? STR("") : name;
    struct table_sums *table = map_get(&meter->tables, key);
    if (table == NULL && meter->tables.count >= METER_TABLES_MAX && key.len > 0) {
        return meter_table_for(meter, STR("")); /* folded: counted with calls on no table */
    }
    if (table == NULL) {
        table = mem_zalloc(sizeof(*table));
        table->name = keep(meter, name);
        map_put(&meter->tables, key, table);
        meter->bytes += sizeof(*table) + 64;
    }
    return table;
}

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

static struct pattern *add_pattern(struct meter *meter, const struct pattern_text *text)
{
    struct pattern *pattern = mem_zalloc(sizeof(*pattern));
    pattern->text = (struct pattern_text){
        .id = text->id,
        .text = keep(meter, text->text),
        .operation = keep(meter, text->operation),
        .table = keep(meter, text->table),
        .index = keep(meter, text->index),
        .key = keep(meter, text->key),
        .filter = keep(meter, text->filter),
        .condition = keep(meter, text->condition),
        .update = keep(meter, text->update),
        .projection = keep(meter, text->projection),
        .example = keep(meter, text->example),
        .flags = text->flags,
    };
    pattern->table = meter_table_for(meter, text->table);
    meter->patterns[meter->pattern_count++] = pattern;
    meter->bytes += sizeof(*pattern) + 16;
    put_slot(meter, pattern);
    return pattern;
}

/* The pattern that stands for all reads, or writes, of a table that there is no room for. */
static struct pattern *other_of(struct meter *meter, const struct pattern_text *text)
{
    struct buf name = {0};
    bool is_room = meter->other_count < OTHERS_MAX;
    struct str table = is_room ? meter_table_for(meter, text->table)->name : STR_NULL;
    buf_add(&name, text->flags & METER_WRITE ? STR("other writes ") : STR("other reads "));
    buf_add(&name, str_is_null(table) ? STR("") : table);
    struct pattern_text other = {
        .id = hash_64(buf_str(&name)),
        .text = buf_str(&name),
        .operation = STR("other"),
        .table = table,
        .flags = text->flags & METER_WRITE,
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

struct pattern *meter_pattern_for(struct meter *meter, const struct pattern_text *text)
{
    struct pattern *pattern = meter_pattern(meter, text->id);
    if (pattern != NULL) {
        /* A call that was refused early may have made it, without what is known of others. */
        pattern->text.flags |= text->flags;
        if (str_is_null(pattern->text.example) && !str_is_null(text->example)) {
            pattern->text.example = keep(meter, text->example);
        }
        return pattern;
    }
    if (meter->pattern_count - meter->other_count >= PATTERNS_MAX) {
        return other_of(meter, text);
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
    arms_finish(&pattern->arms);
    mem_free(pattern);
}

void meter_forget(struct meter *meter)
{
    size_t at = 0;
    struct str name;
    void *table;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        meter_erase(meter, meter->patterns[i]->text.id);
        pattern_destroy(meter->patterns[i]);
    }
    while (map_next(&meter->tables, &at, &name, &table)) {
        struct table_sums *sums = table;
        arms_finish(&sums->arms);
        mem_free((char *)sums->name.data);
        mem_free(sums);
    }
    map_finish(&meter->tables);
    map_init(&meter->tables);
    memset(meter->slots, 0, meter->slot_count * sizeof(*meter->slots));
    meter->pattern_count = meter->other_count = 0;
    meter->folded_calls = 0;
    meter->bytes = 0;
    meter->totals = (struct moment){0};
    meter->total_request_bytes = meter->total_answer_bytes = 0;
    heat_forget(&meter->heat);
}

/* --- adding blocks --- */

static void add_errors(struct pattern_sums *to, const struct pattern_sums *from)
{
    for (size_t i = 0; i < ERROR_KINDS && from->error_kinds[i].count > 0; i++) {
        for (size_t k = 0; k < ERROR_KINDS; k++) {
            struct error_count *kind = &to->error_kinds[k];
            if (kind->count == 0 || kind->code == from->error_kinds[i].code ||
                k == ERROR_KINDS - 1) {
                kind->code = from->error_kinds[i].code;
                kind->count += from->error_kinds[i].count;
                break;
            }
        }
    }
}

void pattern_sums_add(struct pattern_sums *to, const struct pattern_sums *from)
{
    to->first_ms = to->calls == 0 ? from->first_ms : MIN(to->first_ms, from->first_ms);
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
    to->item_bytes_max = MAX(to->item_bytes_max, from->item_bytes_max);
    to->collection_bytes_max = MAX(to->collection_bytes_max, from->collection_bytes_max);
    to->latency_us += from->latency_us;
    to->latency_max_us = MAX(to->latency_max_us, from->latency_max_us);
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        to->latencies[i] += from->latencies[i];
    }
    add_errors(to, from);
}

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
    if (!str_is_null(entry->text->index)) {
        arm_for(meter, &table->arms, entry->text->index)->reads += sums->calls;
    }
}

/* Units of the indexes, on pattern and table; returns their sum. */
static double add_arms(struct meter *meter, struct pattern *pattern,
                       const struct block_entry *entry)
{
    const struct pattern_text *text = entry->text;
    bool is_write = (text->flags & METER_WRITE) != 0;
    double sum = 0;
    for (size_t i = 0; i < text->index_count; i++) {
        double units = entry->index_units[i];
        struct arm_list *lists[] = {&pattern->arms, &pattern->table->arms};
        for (size_t k = 0; units != 0 && k < COUNT_OF(lists); k++) {
            struct arm *arm = arm_for(meter, lists[k], text->index_names[i]);
            *(is_write ? &arm->write_units : &arm->read_units) += units;
        }
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
    double units = sums->table_units + add_arms(meter, pattern, entry);
    double read_units = is_write ? 0 : units;
    double write_units = is_write ? units : 0;
    pattern_sums_add(&pattern->sums, sums);
    pattern->is_dirty = true;
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
