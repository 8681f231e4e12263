/* Reads DynamoDB's JSON: one object {"Item": {...}} per line; more than one on a line are read,
 * too. An object may have a condition beside the item: ConditionExpression,
 * ExpressionAttributeNames and ExpressionAttributeValues, as in PutItem. Called by record.c. */
#include "archive/record_internal.h"
#include "err/messages.h"
#include "wire/value_json.h"

/* Finds the end of the line that the window starts with; reads more if needed. Of a line that is
 * longer than the window takes what fits: objects may follow each other without a line feed. */
static bool find_line(struct record_reader *reader, struct err *err)
{
    struct window *window = &reader->window;
    size_t searched = 0;
    reader->is_line_cut = false;
    for (;;) {
        struct str text = window_text(window);
        const char *end =
            text.len == searched ? NULL : memchr(text.data + searched, '\n', text.len - searched);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data) + 1;
        reader->line_end = window->position + len;
        if (end != NULL || window->is_end) {
            return true;
        }
        searched = text.len;
        if (!window_fill(window, err)) {
            reader->is_line_cut = err->code == ERR_VALIDATION && window_is_full(window);
            /* the error of the next read counts */
            err->code = reader->is_line_cut ? ERR_NONE : err->code;
            return reader->is_line_cut;
        }
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t count_blanks(struct str text)
{
    size_t count = 0;
    while (count < text.len && is_blank(text.data[count])) {
        count++;
    }
    return count;
}

/* What was read of an object. */
struct object {
    struct record *record;
    struct arena *arena;
    bool has_item;
    struct str fault; /* the first one of a value; STR_NULL: none */
};

/* Reads a map of attribute values. False: malformed, or object->fault. */
static bool read_attributes(struct json_reader *json, struct object *object, struct value *out)
{
    struct value_reader reader = {.json = json, .complaint = STR_NULL};
    builder_init(&reader.builder, object->arena, 0);
    if (!value_json_read_item(&reader, PLACE_MEMBER)) {
        object->fault = reader.complaint;
        return false;
    }
    *out = builder_finish(&reader.builder);
    if (reader.problem.fault != FAULT_NONE && str_is_null(object->fault)) {
        object->fault = value_problem_text(&reader.problem, WORDING_OLDER, object->arena);
    }
    return true;
}

/* Reads ExpressionAttributeNames: texts. */
static bool read_names(struct json_reader *json, struct object *object)
{
    struct builder builder;
    struct json_string name;
    struct json_string text;
    uint32_t count = 0;
    builder_init(&builder, object->arena, 0);
    size_t open = builder_open(&builder, VALUE_M);
    if (!json_enter_object(json)) {
        return false;
    }
    for (; json_next_member(json, &name); count++) {
        if (!json_read_string(json, &text)) {
            return false;
        }
        builder_add_key(&builder, name.text);
        builder_add_string(&builder, text.text);
    }
    builder_close_map(&builder, open, count);
    object->record->names = builder_finish(&builder);
    return json->mistake == NULL;
}

static bool read_member(struct json_reader *json, struct str name, struct object *object)
{
    struct record *record = object->record;
    if (str_eq(name, STR("Item")) && json_peek(json) == JSON_OBJECT) {
        object->has_item = true;
        return read_attributes(json, object, &record->item);
    }
    if (str_eq(name, STR("ExpressionAttributeValues")) && json_peek(json) == JSON_OBJECT) {
        return read_attributes(json, object, &record->attributes);
    }
    if (str_eq(name, STR("ExpressionAttributeNames")) && json_peek(json) == JSON_OBJECT) {
        return read_names(json, object);
    }
    if (str_eq(name, STR("ConditionExpression")) && json_peek(json) == JSON_STRING) {
        struct json_string text;
        bool ok = json_read_string(json, &text);
        record->condition = ok ? arena_copy(object->arena, text.text) : STR_NULL;
        return ok;
    }
    if (str_eq(name, STR("ConditionExpression")) && json_peek(json) != JSON_NULL) {
        object->fault = STR(CONDITION_IS_NO_STRING);
    }
    return json_skip(json);
}

static enum record_result end_object(struct object *object)
{
    if (!str_is_null(object->fault)) {
        object->record->error = object->fault;
        return RECORD_BAD;
    }
    return object->has_item
               ? RECORD_ITEM
               : record_bad(object->arena, object->record, "The record has no member Item");
}

/* Reads the object that the line starts with, and takes it from the window. */
static enum record_result read_object(struct window *window, struct str line, struct arena *arena,
                                      struct record *out)
{
    struct object object = {.record = out, .arena = arena};
    struct json_reader json;
    struct json_string name;
    json_reader_init(&json, arena, line);
    bool ok = json_peek(&json) == JSON_OBJECT && json_enter_object(&json);
    while (ok && json_next_member(&json, &name)) {
        ok = read_member(&json, name.text, &object);
    }
    if (!ok &&
        !str_is_null(object.fault)) { /* valid JSON, but not an item: reading continues after it */
        json_reader_init(&json, arena, line);
        ok = json_skip(&json);
    }
    if (!ok || json.mistake != NULL) {
        const char *mistake = json.mistake != NULL ? json.mistake : "it is not a JSON object";
        record_bad(arena, out, MESSAGE_BAD_RECORD "%s", mistake);
        return RECORD_BROKEN;
    }
    window_take(window, (size_t)(json.at - line.data));
    return end_object(&object);
}

/* The rest of the line, without blanks before it; reads the next lines if it is empty. Null: the
 * end, or *out_failed. */
static struct str next_text(struct record_reader *reader, bool *out_failed, struct err *err)
{
    struct window *window = &reader->window;
    for (;;) {
        if (window->position >= reader->line_end && !find_line(reader, err)) {
            *out_failed = true;
            return STR_NULL;
        }
        size_t len = (size_t)(reader->line_end - window->position);
        struct str line = str_make(window_text(window).data, len);
        size_t blanks = count_blanks(line);
        window_take(window, blanks);
        if (blanks < len) {
            return str_skip(line, blanks);
        }
        if (len == 0) {
            return STR_NULL;
        }
    }
}

enum record_result read_json_record(struct record_reader *reader, struct arena *arena,
                                    struct record *out, struct err *err)
{
    bool has_failed = false;
    struct str text = next_text(reader, &has_failed, err);
    if (str_is_null(text)) {
        return has_failed ? record_end_failed(out, err) : RECORD_END;
    }
    enum record_result result = read_object(&reader->window, text, arena, out);
    if (result != RECORD_BROKEN || !reader->is_line_cut || reader->window.start == 0) {
        return result;
    }
    *out = (struct record){0}; /* the object is cut off at the end of the window: reads on */
    if (!find_line(reader, err)) {
        return record_end_failed(out, err);
    }
    size_t len = (size_t)(reader->line_end - reader->window.position);
    return read_object(&reader->window, str_make(window_text(&reader->window).data, len), arena,
                       out);
}
