/* A pattern as JSON: what the insight API shows and what is kept in the store (there with all
 * members, and read back when the server starts). The mutex is held. */
#include "meter/meter_internal.h"

#include <stdlib.h>

#include "json/reader.h"
#include "json/writer.h"

static void write_member(struct buf *out, const char *name, struct str text)
{
    buf_format(out, ",\"%s\":", name);
    if (str_is_null(text)) {
        JSON_PUT(out, "null");
    } else {
        json_write_string(out, text);
    }
}

static void write_flags(struct buf *out, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{METER_CONSISTENT, "consistent"},
                 {METER_BACKWARD, "backward"},
                 {METER_COUNT, "count"},
                 {METER_HAS_LIMIT, "limit"}};
    bool first = true;
    JSON_PUT(out, ",\"flags\":[");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (flags & names[i].flag) {
            buf_format(out, "%s\"%s\"", first ? "" : ",", names[i].name);
            first = false;
        }
    }
    JSON_PUT(out, "]");
}

static void write_errors(struct buf *out, const struct pattern_sums *sums)
{
    JSON_PUT(out, ",\"errorKinds\":{");
    for (size_t i = 0; i < ERROR_KINDS && sums->error_kinds[i].count > 0; i++) {
        buf_format(out, "%s\"%s\":%llu", i > 0 ? "," : "",
                   err_wire_name((enum err_code)sums->error_kinds[i].code),
                   (unsigned long long)sums->error_kinds[i].count);
    }
    JSON_PUT(out, "}");
}

static void write_arms(struct buf *out, const struct pattern *pattern)
{
    JSON_PUT(out, ",\"indexUnits\":{");
    for (size_t i = 0; i < pattern->arms.count; i++) {
        const struct arm *arm = &pattern->arms.arms[i];
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, arm->name);
        buf_format(out, ":{\"read\":%.15g,\"write\":%.15g}", arm->read_units, arm->write_units);
    }
    JSON_PUT(out, "}");
}

static void write_units(struct buf *out, const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    bool is_write = (pattern->text.flags & METER_WRITE) != 0;
    double read = is_write ? 0 : sums->table_units;
    double write = is_write ? sums->table_units : 0;
    buf_format(out, ",\"tableUnits\":{\"read\":%.15g,\"write\":%.15g}", read, write);
    write_arms(out, pattern);
    for (size_t i = 0; i < pattern->arms.count; i++) {
        read += pattern->arms.arms[i].read_units;
        write += pattern->arms.arms[i].write_units;
    }
    double calls = sums->calls > 0 ? (double)sums->calls : 1;
    buf_format(out,
               ",\"readUnits\":%.15g,\"writeUnits\":%.15g,\"unitsPerCall\":%.6g,\"unitsMax\":%.15g",
               read, write, (read + write) / calls, sums->units_max);
}

static void write_latency(struct buf *out, const struct pattern_sums *sums)
{
    uint64_t max = sums->latency_max_us;
    buf_format(out,
               ",\"latency\":{\"p50Us\":%llu,\"p90Us\":%llu,\"p99Us\":%llu,\"maxUs\":%llu,"
               "\"sumUs\":%llu}",
               (unsigned long long)latency_quantile(sums->latencies, 0.5, max),
               (unsigned long long)latency_quantile(sums->latencies, 0.9, max),
               (unsigned long long)latency_quantile(sums->latencies, 0.99, max),
               (unsigned long long)max, (unsigned long long)sums->latency_us);
}

/* What only the answer to one pattern, and the store, have. */
static void write_more(struct buf *out, const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    bool first = true;
    JSON_PUT(out, ",\"example\":");
    if (str_is_null(pattern->text.example)) {
        JSON_PUT(out, "null");
    } else {
        struct str operation = pattern->text.operation;
        const char *space = memchr(operation.data, ' ', operation.len);
        operation.len = space == NULL ? operation.len : (size_t)(space - operation.data);
        JSON_PUT(out, "{\"operation\":");
        json_write_string(out, operation);
        JSON_PUT(out, ",\"request\":");
        buf_add(out, pattern->text.example);
        JSON_PUT(out, "}");
    }
    JSON_PUT(out, ",\"histogram\":[");
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        if (sums->latencies[i] > 0) {
            buf_format(out, "%s{\"leUs\":%llu,\"calls\":%llu}", first ? "" : ",",
                       (unsigned long long)latency_bucket_end(i),
                       (unsigned long long)sums->latencies[i]);
            first = false;
        }
    }
    buf_format(out, "],\"bits\":%u", pattern->text.flags);
}

void pattern_write(struct buf *out, const struct pattern *pattern, bool whole)
{
    const struct pattern_text *text = &pattern->text;
    const struct pattern_sums *sums = &pattern->sums;
    buf_format(out, "{\"id\":\"%016llx\"", (unsigned long long)text->id);
    write_member(out, "operation", text->operation);
    write_member(out, "table", text->table);
    write_member(out, "index", text->index);
    write_member(out, "text", text->text);
    write_member(out, "key", text->key);
    write_member(out, "filter", text->filter);
    write_member(out, "condition", text->condition);
    write_member(out, "update", text->update);
    write_member(out, "projection", text->projection);
    write_flags(out, text->flags);
    buf_format(out, ",\"scan\":%s,\"other\":%s", text->flags & METER_SCAN ? "true" : "false",
               pattern->is_other ? "true" : "false");
    buf_format(out, ",\"calls\":%llu,\"errors\":%llu", (unsigned long long)sums->calls,
               (unsigned long long)sums->errors);
    write_errors(out, sums);
    buf_format(out,
               ",\"itemsRead\":%llu,\"itemsReturned\":%llu,\"bytesRead\":%llu,"
               "\"bytesWritten\":%llu,\"requestBytes\":%llu,\"answerBytes\":%llu",
               (unsigned long long)sums->items_read, (unsigned long long)sums->items_returned,
               (unsigned long long)sums->bytes_read, (unsigned long long)sums->bytes_written,
               (unsigned long long)sums->request_bytes, (unsigned long long)sums->answer_bytes);
    write_units(out, pattern);
    buf_format(out, ",\"itemsReadMax\":%llu,\"itemBytesMax\":%llu,\"collectionBytesMax\":%llu",
               (unsigned long long)sums->items_read_max, (unsigned long long)sums->item_bytes_max,
               (unsigned long long)sums->collection_bytes_max);
    write_latency(out, sums);
    buf_format(out, ",\"firstSeenAt\":%lld,\"lastSeenAt\":%lld", (long long)sums->first_ms,
               (long long)sums->last_ms);
    if (whole) {
        write_more(out, pattern);
    }
    JSON_PUT(out, "}");
}

/* --- reading what was kept --- */

/* A pattern as it is read, before it is known whether all of it is well-formed. */
struct kept {
    struct pattern_text text;
    struct pattern_sums sums;
    double bits;
    struct arm arms[CAPACITY_INDEX_MAX];
    size_t arm_count;
};

static bool read_number(struct json_reader *reader, double *out)
{
    struct str text;
    char digits[64];
    if (!json_read_number(reader, &text) || text.len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    *out = strtod(digits, NULL);
    return *out >= 0 && *out < 1e18;
}

static bool read_text(struct json_reader *reader, struct str *out)
{
    struct json_string string;
    if (json_peek(reader) == JSON_NULL) {
        return json_read_null(reader);
    }
    if (!json_read_string(reader, &string)) {
        return false;
    }
    *out = string.text;
    return true;
}

/* Reads {"name": number, ...}; unknown names are skipped. */
static bool read_numbers(struct json_reader *reader, const char *const *names, double *const *out,
                         size_t count)
{
    struct json_string name;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        size_t i = 0;
        while (i < count && !str_eq(name.text, str_from_c(names[i]))) {
            i++;
        }
        if (i == count ? !json_skip(reader) : !read_number(reader, out[i])) {
            return false;
        }
    }
    return reader->mistake == NULL;
}

static bool read_arms(struct json_reader *reader, struct kept *kept)
{
    struct json_string name;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        struct arm ignored;
        bool fits = kept->arm_count < COUNT_OF(kept->arms);
        struct arm *arm = fits ? &kept->arms[kept->arm_count++] : &ignored;
        *arm = (struct arm){.name = name.text};
        const char *const names[] = {"read", "write"};
        double *const out[] = {&arm->read_units, &arm->write_units};
        if (!read_numbers(reader, names, out, 2)) {
            return false;
        }
    }
    return reader->mistake == NULL;
}

static enum err_code code_of(struct str name)
{
    for (int code = ERR_NONE + 1; code < ERR_CODE_COUNT; code++) {
        if (str_eq(name, str_from_c(err_wire_name((enum err_code)code)))) {
            return (enum err_code)code;
        }
    }
    return ERR_INTERNAL;
}

static bool read_errors(struct json_reader *reader, struct kept *kept)
{
    struct json_string name;
    size_t count = 0;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        double number;
        if (!read_number(reader, &number)) {
            return false;
        }
        if (count < ERROR_KINDS) {
            kept->sums.error_kinds[count++] =
                (struct error_count){(uint32_t)code_of(name.text), (uint64_t)number};
        }
    }
    return reader->mistake == NULL;
}

static bool read_histogram(struct json_reader *reader, struct kept *kept)
{
    if (!json_enter_array(reader)) {
        return false;
    }
    while (json_next_element(reader)) {
        double end = 0;
        double calls = 0;
        const char *const names[] = {"leUs", "calls"};
        double *const out[] = {&end, &calls};
        if (!read_numbers(reader, names, out, 2)) {
            return false;
        }
        if (end >= 1) {
            kept->sums.latencies[latency_bucket((uint64_t)end - 1)] += (uint64_t)calls;
        }
    }
    return reader->mistake == NULL;
}

static bool read_latency(struct json_reader *reader, struct kept *kept)
{
    double max = 0;
    double sum = 0;
    const char *const names[] = {"maxUs", "sumUs"};
    double *const out[] = {&max, &sum};
    bool good = read_numbers(reader, names, out, 2);
    kept->sums.latency_max_us = (uint64_t)max;
    kept->sums.latency_us = (uint64_t)sum;
    return good;
}

static bool read_table_units(struct json_reader *reader, struct kept *kept)
{
    double read = 0;
    double write = 0;
    const char *const names[] = {"read", "write"};
    double *const out[] = {&read, &write};
    bool good = read_numbers(reader, names, out, 2);
    kept->sums.table_units = read + write;
    return good;
}

static bool read_example(struct json_reader *reader, struct kept *kept)
{
    struct json_string name;
    if (json_peek(reader) == JSON_NULL) {
        return json_read_null(reader);
    }
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        if (str_eq(name.text, STR("request")) ? !json_read_raw(reader, &kept->text.example)
                                              : !json_skip(reader)) {
            return false;
        }
    }
    return reader->mistake == NULL;
}

/* Members that are texts or plain numbers, by name. */
static bool read_simple(struct json_reader *reader, struct kept *kept, struct str name)
{
    struct pattern_text *text = &kept->text;
    struct pattern_sums *sums = &kept->sums;
    const struct {
        const char *name;
        struct str *text;
        uint64_t *number;
        int64_t *time;
    } members[] = {
        {"operation", &text->operation, NULL, NULL},
        {"table", &text->table, NULL, NULL},
        {"index", &text->index, NULL, NULL},
        {"text", &text->text, NULL, NULL},
        {"key", &text->key, NULL, NULL},
        {"filter", &text->filter, NULL, NULL},
        {"condition", &text->condition, NULL, NULL},
        {"update", &text->update, NULL, NULL},
        {"projection", &text->projection, NULL, NULL},
        {"calls", NULL, &sums->calls, NULL},
        {"errors", NULL, &sums->errors, NULL},
        {"itemsRead", NULL, &sums->items_read, NULL},
        {"itemsReturned", NULL, &sums->items_returned, NULL},
        {"bytesRead", NULL, &sums->bytes_read, NULL},
        {"bytesWritten", NULL, &sums->bytes_written, NULL},
        {"requestBytes", NULL, &sums->request_bytes, NULL},
        {"answerBytes", NULL, &sums->answer_bytes, NULL},
        {"itemsReadMax", NULL, &sums->items_read_max, NULL},
        {"itemBytesMax", NULL, &sums->item_bytes_max, NULL},
        {"collectionBytesMax", NULL, &sums->collection_bytes_max, NULL},
        {"firstSeenAt", NULL, NULL, &sums->first_ms},
        {"lastSeenAt", NULL, NULL, &sums->last_ms},
    };
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        double number = 0;
        if (!str_eq(name, str_from_c(members[i].name))) {
            continue;
        }
        if (members[i].text != NULL) {
            return read_text(reader, members[i].text);
        }
        bool good = read_number(reader, &number);
        if (members[i].number != NULL) {
            *members[i].number = (uint64_t)number;
        } else {
            *members[i].time = (int64_t)number;
        }
        return good;
    }
    return json_skip(reader);
}

static bool read_member(struct json_reader *reader, struct kept *kept, struct str name)
{
    static const struct {
        const char *name;
        bool (*read)(struct json_reader *reader, struct kept *kept);
    } parts[] = {{"indexUnits", read_arms},        {"errorKinds", read_errors},
                 {"histogram", read_histogram},    {"latency", read_latency},
                 {"tableUnits", read_table_units}, {"example", read_example}};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (str_eq(name, str_from_c(parts[i].name))) {
            return parts[i].read(reader, kept);
        }
    }
    if (str_eq(name, STR("id"))) {
        struct str id = STR_NULL;
        bool good = read_text(reader, &id) && id.len == 16;
        kept->text.id = good ? strtoull(arena_copy_c(reader->arena, id).data, NULL, 16) : 0;
        return good;
    }
    if (str_eq(name, STR("bits"))) {
        return read_number(reader, &kept->bits);
    }
    if (str_eq(name, STR("unitsMax"))) {
        return read_number(reader, &kept->sums.units_max);
    }
    return read_simple(reader, kept, name);
}

static void add_kept(struct meter *meter, const struct kept *kept)
{
    struct pattern *pattern = meter_pattern_for(meter, &kept->text);
    struct table_sums *table = pattern->table;
    bool is_write = (kept->text.flags & METER_WRITE) != 0;
    double units = kept->sums.table_units;
    if (pattern->text.id != kept->text.id) { /* there was no room for it: counted in another */
        pattern->is_dirty = true;
        meter_erase(meter, kept->text.id);
    }
    if (str_eq(kept->text.operation, STR("other")) && !pattern->is_other) {
        pattern->is_other = true;
        meter->other_count++;
    }
    for (size_t i = 0; i < kept->arm_count; i++) {
        const struct arm *from = &kept->arms[i];
        struct arm_list *lists[] = {&pattern->arms, &table->arms};
        for (size_t k = 0; k < COUNT_OF(lists); k++) {
            struct arm *arm = arm_for(meter, lists[k], from->name);
            arm->read_units += from->read_units;
            arm->write_units += from->write_units;
        }
        units += from->read_units + from->write_units;
    }
    if (!str_is_null(kept->text.index)) {
        arm_for(meter, &table->arms, kept->text.index)->reads += kept->sums.calls;
    }
    table->calls += kept->sums.calls;
    table->errors += kept->sums.errors;
    *(is_write ? &table->write_units : &table->read_units) += units;
    *(is_write ? &meter->totals.write_units : &meter->totals.read_units) += units;
    table->stream_reads += kept->text.flags & METER_STREAM ? (double)kept->sums.calls : 0;
    meter->totals.calls += kept->sums.calls;
    meter->totals.errors += kept->sums.errors;
    meter->total_request_bytes += kept->sums.request_bytes;
    meter->total_answer_bytes += kept->sums.answer_bytes;
    pattern_sums_add(&pattern->sums, &kept->sums);
}

bool pattern_read(struct meter *meter, struct str json)
{
    struct json_reader reader;
    struct json_string name;
    struct arena arena;
    struct kept kept = {0};
    arena_init(&arena);
    json_reader_init(&reader, &arena, json);
    bool good = json_enter_object(&reader);
    while (good && json_next_member(&reader, &name)) {
        good = read_member(&reader, &kept, name.text);
    }
    good = good && json_at_end(&reader) && kept.text.id != 0 && kept.text.text.len > 0;
    if (good) {
        kept.text.flags = (unsigned)kept.bits;
        add_kept(meter, &kept);
    }
    arena_finish(&arena);
    return good;
}
