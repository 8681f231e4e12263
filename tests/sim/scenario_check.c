/* Compares the items and streams of a database with the model of a scenario: see scenario.h. Called
 * by the simulators on their main thread. */
#include "scenario_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "json/reader.h"

/* Items --------------------------------------------------------------------------------------- */

/* An item of an answer: its key, and its version if all else in it is as that version has it. */
struct found_item {
    uint32_t key;
    uint32_t version;
    struct str texts[ATTRIBUTES];
};

static uint32_t number_of_text(struct str text)
{
    uint32_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] >= '0' && text.data[i] <= '9') {
            number = number * 10 + (uint32_t)(text.data[i] - '0');
        }
    }
    return number;
}

/* Reads {"TYPE": "text"}. */
static bool read_value(struct json_reader *reader, struct str *out)
{
    struct json_string type;
    struct json_string text;
    if (!json_enter_object(reader) || !json_next_member(reader, &type) ||
        !json_read_string(reader, &text)) {
        return false;
    }
    *out = text.text;
    return !json_next_member(reader, &type) && reader->mistake == NULL;
}

static size_t attribute_number(struct str name)
{
    static const char *const names[ATTRIBUTES] = {"v", "body", "g", "l", "due"};
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (str_eq(name, str_from_c(names[i]))) {
            return i;
        }
    }
    return ATTRIBUTES;
}

/* Reads an item, or the key of one. */
static bool read_item(struct json_reader *reader, uint32_t table, struct found_item *out)
{
    *out = (struct found_item){0};
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        struct str text;
        if (!read_value(reader, &text)) {
            return false;
        }
        size_t number = attribute_number(name.text);
        if (number < ATTRIBUTES) {
            out->texts[number] = text;
        } else if (str_eq(name.text, str_from_c(table == WIDE ? "sk" : "pk"))) {
            out->key = number_of_text(text);
        }
    }
    out->version = number_of_text(out->texts[0]);
    return reader->mistake == NULL && out->key < SCENARIO_KEYS;
}

static bool is_whole(const struct found_item *item)
{
    struct attribute expected[ATTRIBUTES];
    scenario_attributes(item->version, expected);
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        struct str text = item->texts[i];
        if (expected[i].is_present ? !str_eq(text, str_from_c(expected[i].text))
                                   : !str_is_null(text)) {
            return false;
        }
    }
    return true;
}

/* Enters the array that is member `name` of the object. */
static bool enter_member(struct json_reader *reader, const char *wanted)
{
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        if (str_eq(name.text, str_from_c(wanted))) {
            return json_enter_array(reader);
        }
        if (!json_skip(reader)) {
            return false;
        }
    }
    return false;
}

/* Checks -------------------------------------------------------------------------------------- */

/* A check under way. */
struct check {
    const struct scenario *scenario;
    struct database *database;
    struct arena arena;
    uint32_t table;
    enum scenario_state state;
    char *why; /* 200 bytes */
};

/* Calls an operation that must succeed. */
static bool check_call(struct check *check, bool is_of_streams, const char *operation,
                       struct str body)
{
    struct database *database = check->database;
    int status = is_of_streams ? database_call_streams(database, operation, body)
                               : database_call(database, operation, body);
    if (status != 200) {
        snprintf(check->why, 200, "%s: %d %.*s", operation, status,
                 (int)MIN(database->answer.len, (size_t)150), database->answer.data);
        check->state = status >= 500 ? SCENARIO_UNREADABLE : SCENARIO_DIFFERENT;
    }
    return status == 200;
}

static bool differ(struct check *check, const char *format, ...) PRINTF_LIKE(2, 3);

static bool differ(struct check *check, const char *format, ...)
{
    int len =
        snprintf(check->why, 200, "after %" PRIu64 " steps, %s: ", check->scenario->step_count,
                 scenario_table_names[check->table]);
    va_list args;
    va_start(args, format);
    vsnprintf(check->why + len, 200 - (size_t)len, format, args);
    va_end(args);
    check->state = SCENARIO_DIFFERENT;
    return false;
}

static bool read_versions(struct check *check, uint32_t versions[SCENARIO_KEYS])
{
    struct json_reader reader;
    json_reader_init(&reader, &check->arena, buf_str(&check->database->answer));
    bool good = enter_member(&reader, "Items");
    while (good && json_next_element(&reader)) {
        struct found_item item;
        good = read_item(&reader, check->table, &item) && is_whole(&item);
        if (good) {
            versions[item.key] = item.version;
        }
    }
    return good && reader.mistake == NULL;
}

static bool check_items(struct check *check)
{
    uint32_t versions[SCENARIO_KEYS] = {0};
    struct str body = arena_format(&check->arena, "{\"TableName\":\"%s\",\"ConsistentRead\":true}",
                                   scenario_table_names[check->table]);
    if (!check_call(check, false, "Scan", body)) {
        return false;
    }
    if (!read_versions(check, versions)) {
        return differ(check, "an item that was never written");
    }
    for (uint32_t key = 0; key < SCENARIO_KEYS; key++) {
        uint32_t expected = check->scenario->versions[check->table][key];
        if (versions[key] != expected) {
            return differ(check, "item %u has version %u instead of %u", key, versions[key],
                          expected);
        }
    }
    return true;
}

/* The text of the first member of this name in the answer, at any depth. */
static struct str find_text(struct check *check, const char *name)
{
    struct str answer = buf_str(&check->database->answer);
    struct str start = arena_format(&check->arena, "\"%s\":\"", name);
    const char *at = memmem(answer.data, answer.len, start.data, start.len);
    if (at == NULL) {
        return STR_NULL;
    }
    at += start.len;
    const char *end = memchr(at, '"', (size_t)(answer.data + answer.len - at));
    return end == NULL ? STR_NULL : arena_copy(&check->arena, str_make(at, (size_t)(end - at)));
}

/* The iterator before the first record of the table's stream. */
static bool find_iterator(struct check *check, struct str *out)
{
    struct arena *arena = &check->arena;
    if (!check_call(
            check, false, "DescribeTable",
            arena_format(arena, "{\"TableName\":\"%s\"}", scenario_table_names[check->table]))) {
        return false;
    }
    struct str stream = find_text(check, "LatestStreamArn");
    if (!check_call(check, true, "DescribeStream",
                    arena_format(arena, "{\"StreamArn\":\"%.*s\"}", STR_ARG(stream)))) {
        return false;
    }
    struct str shard = find_text(check, "ShardId");
    bool good = check_call(check, true, "GetShardIterator",
                           arena_format(arena,
                                        "{\"StreamArn\":\"%.*s\",\"ShardId\":\"%.*s\","
                                        "\"ShardIteratorType\":\"TRIM_HORIZON\"}",
                                        STR_ARG(stream), STR_ARG(shard)));
    *out = good ? find_text(check, "ShardIterator") : STR_NULL;
    return good;
}

/* Reads the member `dynamodb` of a record: the key, and the versions before and after. */
static bool read_images(struct json_reader *reader, uint32_t table, struct scenario_event *out)
{
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        struct found_item item;
        bool is_keys = str_eq(name.text, STR("Keys"));
        bool is_old = str_eq(name.text, STR("OldImage"));
        if (!is_keys && !is_old && !str_eq(name.text, STR("NewImage"))) {
            json_skip(reader);
            continue;
        }
        if (!read_item(reader, table, &item) || (!is_keys && !is_whole(&item))) {
            return false;
        }
        *(is_keys  ? &out->key
          : is_old ? &out->before
                   : &out->after) = is_keys ? item.key : item.version;
    }
    return reader->mistake == NULL;
}

static bool read_record(struct json_reader *reader, uint32_t table, struct scenario_event *out)
{
    bool has_images = false;
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        if (!str_eq(name.text, STR("dynamodb"))) {
            json_skip(reader);
        } else if (read_images(reader, table, out)) {
            has_images = true;
        } else {
            return false;
        }
    }
    return has_images && reader->mistake == NULL;
}

static bool events_equal(const struct scenario_event *a, const struct scenario_event *b)
{
    return a->key == b->key && a->before == b->before && a->after == b->after;
}

/* Compares the records of an answer with the events from number *count on, and counts them. */
static bool check_records(struct check *check, size_t *count)
{
    const struct scenario *scenario = check->scenario;
    struct json_reader reader;
    json_reader_init(&reader, &check->arena, buf_str(&check->database->answer));
    bool good = enter_member(&reader, "Records");
    while (good && json_next_element(&reader)) {
        struct scenario_event event = {0};
        good = read_record(&reader, check->table, &event);
        if (!good || *count == scenario->event_counts[check->table] ||
            !events_equal(&event, &scenario->events[check->table][*count])) {
            return differ(check,
                          "record %zu of the stream (item %u from version %u to %u) is wrong",
                          *count, event.key, event.before, event.after);
        }
        ++*count;
    }
    return good && reader.mistake == NULL ? true : differ(check, "records that cannot be read");
}

/* Each change must be recorded once, and in order. */
static bool check_stream(struct check *check)
{
    struct str iterator;
    size_t count = 0;
    if (!find_iterator(check, &iterator)) {
        return false;
    }
    for (size_t before = SIZE_MAX; before != count;) {
        before = count;
        struct str body =
            arena_format(&check->arena, "{\"ShardIterator\":\"%.*s\"}", STR_ARG(iterator));
        if (!check_call(check, true, "GetRecords", body)) {
            return false;
        }
        iterator = find_text(check, "NextShardIterator");
        if (!check_records(check, &count)) {
            return false;
        }
    }
    size_t expected = check->scenario->event_counts[check->table];
    return count == expected ||
           differ(check, "the stream has %zu records instead of %zu", count, expected);
}

enum scenario_state scenario_check(const struct scenario *scenario, struct database *database,
                                   char out_why[200])
{
    struct check check = {.scenario = scenario, .database = database, .why = out_why};
    arena_init(&check.arena);
    while (check.table < SCENARIO_TABLES && check_items(&check) && check_stream(&check)) {
        check.table++;
    }
    arena_finish(&check.arena);
    return check.state;
}
