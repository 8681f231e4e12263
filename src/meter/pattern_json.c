/* A pattern as JSON: what the insight API shows and what is kept in the store (pattern_read.c reads
 * it back). The mutex is held. */
#include "meter/meter_internal.h"

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

static const char *kind_name(const struct pattern_sums *sums, size_t kind)
{
    enum err_code code = (enum err_code)sums->error_kinds[kind].code;
    return code == ERR_NONE ? "other" : err_wire_name(code);
}

/* Some codes have the same name: they are one member. */
static void write_errors(struct buf *out, const struct pattern_sums *sums)
{
    bool first = true;
    JSON_PUT(out, ",\"errorKinds\":{");
    for (size_t i = 0; i < ERROR_KINDS; i++) {
        const char *name = kind_name(sums, i);
        uint64_t count = 0;
        bool is_named = false;
        for (size_t k = 0; k < ERROR_KINDS; k++) {
            bool is_same = sums->error_kinds[k].count > 0 && strcmp(kind_name(sums, k), name) == 0;
            is_named = is_named || (is_same && k < i);
            count += is_same ? sums->error_kinds[k].count : 0;
        }
        if (sums->error_kinds[i].count > 0 && !is_named) {
            buf_format(out, "%s\"%s\":%llu", first ? "" : ",", name, (unsigned long long)count);
            first = false;
        }
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

static void write_example(struct buf *out, const struct pattern_text *text)
{
    JSON_PUT(out, ",\"example\":");
    if (str_is_null(text->example)) {
        JSON_PUT(out, "null");
        return;
    }
    struct str operation = text->operation;
    const char *space = memchr(operation.data, ' ', operation.len);
    operation.len = space == NULL ? operation.len : (size_t)(space - operation.data);
    JSON_PUT(out, "{\"operation\":");
    json_write_string(out, operation);
    JSON_PUT(out, ",\"request\":");
    buf_add(out, text->example);
    JSON_PUT(out, "}");
}

static void write_histogram(struct buf *out, const struct pattern_sums *sums)
{
    bool first = true;
    JSON_PUT(out, ",\"histogram\":[");
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        if (sums->latencies[i] > 0) {
            buf_format(out, "%s{\"leUs\":%llu,\"calls\":%llu}", first ? "" : ",",
                       (unsigned long long)latency_bucket_end(i),
                       (unsigned long long)sums->latencies[i]);
            first = false;
        }
    }
    JSON_PUT(out, "]");
}

static void write_recent(struct buf *out, const struct meter *meter, const struct pattern *pattern)
{
    struct pattern_minute recent = pattern_recent(meter, pattern);
    uint64_t max_us = pattern->sums.latency_max_us;
    buf_format(out,
               ",\"lastMinute\":{\"calls\":%u,\"errors\":%u,\"units\":%.6g,\"p50Us\":%llu,"
               "\"p99Us\":%llu}",
               recent.calls, recent.errors, recent.units,
               (unsigned long long)pattern_minute_quantile(&recent, 0.5, max_us),
               (unsigned long long)pattern_minute_quantile(&recent, 0.99, max_us));
}

static void write_texts(struct buf *out, const struct pattern_text *text)
{
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
}

static void write_totals(struct buf *out, const struct pattern_sums *sums)
{
    buf_format(out, ",\"calls\":%llu,\"errors\":%llu", (unsigned long long)sums->calls,
               (unsigned long long)sums->errors);
    write_errors(out, sums);
    buf_format(out,
               ",\"itemsRead\":%llu,\"itemsReturned\":%llu,\"bytesRead\":%llu,"
               "\"bytesWritten\":%llu,\"requestBytes\":%llu,\"answerBytes\":%llu",
               (unsigned long long)sums->items_read, (unsigned long long)sums->items_returned,
               (unsigned long long)sums->bytes_read, (unsigned long long)sums->bytes_written,
               (unsigned long long)sums->request_bytes, (unsigned long long)sums->answer_bytes);
}

static void write_maxima(struct buf *out, const struct pattern_sums *sums)
{
    buf_format(out,
               ",\"itemsReadMax\":%llu,\"worstItemsRead\":%llu,\"worstItemsReturned\":%llu,"
               "\"itemBytesMax\":%llu,\"collectionBytesMax\":%llu",
               (unsigned long long)sums->items_read_max, (unsigned long long)sums->worst_read,
               (unsigned long long)sums->worst_returned, (unsigned long long)sums->item_bytes_max,
               (unsigned long long)sums->collection_bytes_max);
}

void pattern_write(struct buf *out, const struct meter *meter, const struct pattern *pattern,
                   enum pattern_form form)
{
    const struct pattern_text *text = &pattern->text;
    const struct pattern_sums *sums = &pattern->sums;
    write_texts(out, text);
    buf_format(out, ",\"scan\":%s,\"other\":%s", text->flags & METER_SCAN ? "true" : "false",
               pattern->is_other ? "true" : "false");
    write_totals(out, sums);
    write_units(out, pattern);
    write_maxima(out, sums);
    write_latency(out, sums);
    buf_format(out, ",\"firstSeenAt\":%lld,\"lastSeenAt\":%lld", (long long)sums->first_ms,
               (long long)sums->last_ms);
    if (form != PATTERN_LISTED) { /* the answer to one pattern, and what is stored */
        write_example(out, text);
        write_histogram(out, sums);
    }
    if (form == PATTERN_KEPT) {
        buf_format(out, ",\"bits\":%u,\"since\":%lld", text->flags, (long long)meter->since_ms);
    } else {
        write_recent(out, meter, pattern);
    }
    JSON_PUT(out, "}");
}
