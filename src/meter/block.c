/* A thread's own counters: an open-addressing table of patterns and a log of the partition keys
 * that were used. Called by meter_record(), on the thread of the call. */
#include "meter/block_internal.h"

#include "base/hash.h"
#include "base/mem.h"

enum { BLOCK_BYTES_MIN = 64 * 1024, ARENA_BYTES_MAX = 256 * 1024 };

struct block *block_create(size_t bytes)
{
    struct block *block = mem_zalloc(sizeof(*block));
    bytes = MAX(bytes, (size_t)BLOCK_BYTES_MIN);
    block->slot_count = 64;
    while (block->slot_count * 2 * sizeof(*block->entries) <= bytes / 2 &&
           block->slot_count < 1024) {
        block->slot_count *= 2;
    }
    block->entries = mem_zalloc(block->slot_count * sizeof(*block->entries));
    block->events_max = MIN(bytes / 4, (size_t)256 * 1024);
    block->events = mem_alloc(block->events_max);
    block->arena_max = MIN(bytes / 4, (size_t)ARENA_BYTES_MAX);
    arena_init(&block->arena);
    return block;
}

void block_destroy(struct block *block)
{
    if (block != NULL) {
        arena_finish(&block->arena);
        mem_free(block->entries);
        mem_free(block->events);
        mem_free(block);
    }
}

void block_reset(struct block *block)
{
    while (block->newest != NULL) { /* few are used: the whole table is more than half a megabyte */
        struct block_entry *entry = block->newest;
        block->newest = entry->older;
        memset(entry, 0, sizeof(*entry));
    }
    block->entry_count = 0;
    block->events_len = 0;
    block->events_lost = 0;
    block->arena_bytes = 0;
    arena_reset(&block->arena);
}

size_t pattern_text_bytes(const struct pattern_text *text)
{
    return sizeof(*text) + text->text.len + text->operation.len + text->table.len +
           text->index.len + text->key.len + text->filter.len + text->condition.len +
           text->update.len + text->projection.len + text->example.len;
}

size_t block_bytes(const struct block *block)
{
    return sizeof(*block) + block->slot_count * sizeof(*block->entries) + block->events_max +
           block->arena_bytes;
}

bool block_is_full_of_patterns(const struct block *block)
{
    return block->entry_count > block->slot_count * 3 / 4 || block->arena_bytes > block->arena_max;
}

bool block_is_full(const struct block *block)
{
    return block_is_full_of_patterns(block) || block->events_len > block->events_max / 2;
}

/* Adds the example to a pattern; a call before this one may have been malformed. */
static void add_example(struct block *block, struct block_entry *entry, struct str body)
{
    struct pattern_text *text = (struct pattern_text *)entry->text;
    if (!entry->had_example) {
        entry->had_example = true;
        text->example = pattern_example(&block->arena, body);
        block->arena_bytes += text->example.len;
    }
}

static struct block_entry *find_entry(struct block *block, const struct recording *recording)
{
    const struct meter_call *call = recording->call;
    uint64_t fingerprint = recording->fingerprint;
    size_t at = fingerprint & (block->slot_count - 1);
    while (block->entries[at].fingerprint != fingerprint) {
        if (block->entries[at].fingerprint == 0) {
            struct block_entry *entry = &block->entries[at];
            const struct pattern_text *text =
                pattern_describe(&block->arena, call, recording->access);
            entry->fingerprint = fingerprint;
            entry->older = block->newest;
            block->newest = entry;
            entry->text = text;
            if (text->index_count > 0) {
                entry->index_units = ARENA_ARRAY(&block->arena, double, text->index_count);
            }
            block->entry_count++;
            block->arena_bytes += pattern_text_bytes(text) + text->index_count * 48;
            return entry;
        }
        at = (at + 1) & (block->slot_count - 1);
    }
    return &block->entries[at];
}

void pattern_count_errors(struct pattern_sums *sums, enum err_code code, uint64_t count)
{
    for (size_t i = 0; code != ERR_NONE && i < ERROR_KINDS - 1; i++) {
        struct error_count *kind = &sums->error_kinds[i];
        if (kind->count == 0 || kind->code == (uint32_t)code) {
            kind->code = (uint32_t)code;
            kind->count += count;
            return;
        }
    }
    sums->error_kinds[ERROR_KINDS - 1].count += count;
}

void pattern_note_worst(struct pattern_sums *sums, uint64_t read, uint64_t returned)
{
    if (read * MAX(sums->worst_returned, (uint64_t)1) >
        sums->worst_read * MAX(returned, (uint64_t)1)) {
        sums->worst_read = read;
        sums->worst_returned = returned;
    }
}

static double count_units(struct block_entry *entry, const struct meter_access *access)
{
    double units = access->table_units;
    entry->sums.table_units += access->table_units;
    for (size_t i = 0; access->arms != NULL && i < entry->text->index_count; i++) {
        entry->index_units[i] += access->arms->indexes[i];
        units += access->arms->indexes[i];
    }
    return units;
}

static void log_key(struct block *block, uint32_t space, struct value key, double units,
                    bool is_write, int64_t now_ns)
{
    size_t len = MIN(key.len, (size_t)HEAT_KEY_MAX);
    size_t need = (sizeof(struct heat_event) + len + 7) & ~(size_t)7;
    if (block->events_max - block->events_len < need) {
        block->events_lost++;
        return;
    }
    struct heat_event *event = (struct heat_event *)(block->events + block->events_len);
    *event = (struct heat_event){
        .hash = hash_64(str_make(key.data, key.len)),
        .space = space,
        .second = (uint32_t)(now_ns / 1000000000),
        .units = (float)units,
        .is_write = is_write,
        .key_len = (uint8_t)len,
        .is_cut = len < key.len,
    };
    memcpy(event + 1, key.data, len);
    block->events_len += need;
}

/* A write makes heat in each global index whose entry it changed. */
static void log_index_keys(struct block *block, const struct meter_access *access, int64_t now_ns)
{
    const struct table *table = access->table;
    for (size_t i = 0; i < table->index_count; i++) {
        if (!access->arms->index_used[i] || table->indexes[i].kind != INDEX_GLOBAL) {
            continue;
        }
        struct value key = value_map_get(access->item, table->indexes[i].key.hash[0].name);
        if (!value_is_absent(key)) {
            log_key(block, table->indexes[i].space, key, access->arms->indexes[i], true, now_ns);
        }
    }
}

static void log_keys(struct block *block, const struct meter_access *access, int64_t now_ns)
{
    bool is_write = (access->flags & METER_WRITE) != 0;
    uint32_t space = access->index != NULL ? access->index->space : access->table->space;
    for (size_t i = 0; i < access->key_count; i++) {
        log_key(block, space, access->keys[i].key, access->keys[i].units, false, now_ns);
    }
    if (value_is_absent(access->partition)) {
        return;
    }
    if (access->index != NULL) {
        size_t place = (size_t)(access->index - access->table->indexes);
        double units = access->arms == NULL ? 0 : access->arms->indexes[place];
        log_key(block, space, access->partition, units, false, now_ns);
        return;
    }
    log_key(block, space, access->partition, access->table_units, is_write, now_ns);
    if (is_write && access->arms != NULL && !value_is_absent(access->item)) {
        log_index_keys(block, access, now_ns);
    }
}

static void add_items(struct pattern_sums *sums, const struct meter_access *access, double units)
{
    sums->items_read += access->items_read;
    sums->items_returned += access->items_returned;
    sums->bytes_read += access->bytes_read;
    sums->bytes_written += access->bytes_written;
    sums->units_max = MAX(sums->units_max, units);
    sums->items_read_max = MAX(sums->items_read_max, (uint64_t)access->items_read);
    if (access->items_read >= WORST_ITEMS_MIN) {
        pattern_note_worst(sums, access->items_read, access->items_returned);
    }
    sums->item_bytes_max = MAX(sums->item_bytes_max, (uint64_t)access->item_bytes);
    sums->collection_bytes_max =
        MAX(sums->collection_bytes_max, (uint64_t)access->collection_bytes);
}

/* The time of the call, and with its last access its bytes. */
static void add_call(struct pattern_sums *sums, const struct recording *recording)
{
    const struct meter_call *call = recording->call;
    int64_t now_ms = recording->now_ns / 1000000;
    uint64_t us = (uint64_t)(recording->now_ns - call->start_ns) / 1000;
    sums->first_ms = sums->calls == 0 ? now_ms : sums->first_ms;
    sums->last_ms = now_ms;
    sums->calls++;
    sums->latency_us += us;
    sums->latency_max_us = MAX(sums->latency_max_us, us);
    sums->latencies[latency_bucket(us)]++;
    if (recording->access->next == NULL) {
        sums->request_bytes += call->body.len;
        sums->answer_bytes += call->answer_bytes;
    }
}

void block_record(struct block *block, const struct recording *recording)
{
    const struct meter_call *call = recording->call;
    const struct meter_access *access = recording->access;
    struct block_entry *entry = find_entry(block, recording);
    if (UNLIKELY(recording->with_example)) {
        add_example(block, entry, call->body);
    }
    struct pattern_sums *sums = &entry->sums;
    enum err_code err = access->err != ERR_NONE ? access->err : call->err;
    add_call(sums, recording);
    add_items(sums, access, count_units(entry, access));
    if (UNLIKELY(err != ERR_NONE)) {
        sums->errors++;
        pattern_count_errors(sums, err, 1);
    }
    if (access->table != NULL) {
        log_keys(block, access, recording->now_ns);
    }
}
