/* Reads patterns that were kept in the store (pattern_json.c writes them). Any thread. */
#include "meter/meter_internal.h"

#include <stdlib.h>

#include "json/reader.h"

static bool read_number(struct json_reader *reader, double *out)
{
    return json_read_amount(reader, 1e18, out);
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

static bool read_arms(struct json_reader *reader, struct kept_pattern *kept)
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
    return ERR_NONE; /* "other", or a kind of another version */
}

static bool read_errors(struct json_reader *reader, struct kept_pattern *kept)
{
    struct json_string name;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        double number;
        if (!read_number(reader, &number)) {
            return false;
        }
        pattern_count_errors(&kept->sums, code_of(name.text), (uint64_t)number);
    }
    return reader->mistake == NULL;
}

static bool read_histogram(struct json_reader *reader, struct kept_pattern *kept)
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

static bool read_latency(struct json_reader *reader, struct kept_pattern *kept)
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

static bool read_table_units(struct json_reader *reader, struct kept_pattern *kept)
{
    double read = 0;
    double write = 0;
    const char *const names[] = {"read", "write"};
    double *const out[] = {&read, &write};
    bool good = read_numbers(reader, names, out, 2);
    kept->sums.table_units = read + write;
    return good;
}

static bool read_example(struct json_reader *reader, struct kept_pattern *kept)
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
static bool read_simple(struct json_reader *reader, struct kept_pattern *kept, struct str name)
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
        {"worstItemsRead", NULL, &sums->worst_read, NULL},
        {"worstItemsReturned", NULL, &sums->worst_returned, NULL},
        {"itemBytesMax", NULL, &sums->item_bytes_max, NULL},
        {"collectionBytesMax", NULL, &sums->collection_bytes_max, NULL},
        {"since", NULL, NULL, &kept->since_ms},
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

static bool read_member(struct json_reader *reader, struct kept_pattern *kept, struct str name)
{
    static const struct {
        const char *name;
        bool (*read)(struct json_reader *reader, struct kept_pattern *kept);
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
        double bits = 0;
        bool good = read_number(reader, &bits);
        kept->text.flags = (unsigned)bits;
        return good;
    }
    if (str_eq(name, STR("unitsMax"))) {
        return read_number(reader, &kept->sums.units_max);
    }
    return read_simple(reader, kept, name);
}

bool pattern_parse(struct arena *arena, struct str json, struct kept_pattern *out)
{
    struct json_reader reader;
    struct json_string name;
    *out = (struct kept_pattern){0};
    json_reader_init(&reader, arena, json);
    bool good = json_enter_object(&reader);
    while (good && json_next_member(&reader, &name)) {
        good = read_member(&reader, out, name.text);
    }
    return good && json_at_end(&reader) && out->text.id != 0 && out->text.text.len > 0;
}
