/* Reads Ion text: structs {Item: {...}}, each after an optional version marker, or a list of them.
 * A condition may stand beside the item, as in JSON. Called by record.c. */
#include "archive/ion_text.h"
#include "archive/record_internal.h"
#include "err/messages.h"

static const struct str version_marker = {.data = "$ion_1_0", .len = 8};

/* Reads until the window holds twice as much as before, is full, or the source ends: a record that
 * is scanned again is then scanned a few times only. */
static bool read_more(struct window *window, struct err *err)
{
    size_t before = window_text(window).len;
    while (window_text(window).len < 2 * before && !window->is_end) {
        if (!window_fill(window, err)) {
            bool has_grown = window_text(window).len > before && window_is_full(window);
            err->code = has_grown ? ERR_NONE : err->code;
            return has_grown;
        }
    }
    return true;
}

/* Skips blanks and comments. */
static enum ion_scan skip_blanks(struct window *window, struct err *err)
{
    for (;;) {
        size_t len = 0;
        enum ion_scan result = ion_scan_blanks(window_text(window), window->is_end, &len);
        window_take(window, len);
        bool needs_more = result == ION_SCAN_MORE || window_text(window).len < version_marker.len;
        if (result == ION_SCAN_BAD || !needs_more || window->is_end) {
            return result;
        }
        if (!window_fill(window, err)) {
            return ION_SCAN_BAD;
        }
    }
}

/* Takes what may stand between records. False: the next thing is a record, or cannot be read. */
static bool take_between(struct record_reader *reader)
{
    struct window *window = &reader->window;
    struct str text = window_text(window);
    char c = text.len == 0 ? 0 : text.data[0];
    if (!reader->is_in_list && str_starts_with(text, version_marker)) {
        window_take(window, version_marker.len);
    } else if (c == '[' && !reader->is_in_list) {
        reader->is_in_list = true;
        window_take(window, 1);
    } else if (c == ']' && reader->is_in_list) {
        reader->is_in_list = false;
        window_take(window, 1);
    } else if (c == ',' && reader->is_in_list) {
        window_take(window, 1);
    } else {
        return false;
    }
    return true;
}

static enum record_result broken(struct arena *arena, struct record *out, const char *why)
{
    record_bad(arena, out, MESSAGE_BAD_RECORD "%s", why);
    return RECORD_BROKEN;
}

/* The text of the next record; RECORD_ITEM: it is at the start of the window. */
static enum record_result find_record(struct record_reader *reader, struct arena *arena,
                                      size_t *out_len, struct record *out, struct err *err)
{
    struct window *window = &reader->window;
    do {
        if (skip_blanks(window, err) == ION_SCAN_BAD) {
            return err->code != ERR_NONE ? record_end_failed(out, err)
                                         : broken(arena, out, "a comment is not closed");
        }
    } while (take_between(reader));
    struct str text = window_text(window);
    if (text.len == 0) {
        return reader->is_in_list ? broken(arena, out, "the list is not closed") : RECORD_END;
    }
    if (text.data[0] != '{') {
        return broken(arena, out, "it is not a struct");
    }
    for (;;) {
        enum ion_scan result = ion_scan_struct(window_text(window), window->is_end, out_len);
        if (result == ION_SCAN_FOUND) {
            return RECORD_ITEM;
        }
        if (result == ION_SCAN_BAD) {
            return broken(arena, out, "the struct is not closed");
        }
        if (!read_more(window, err)) {
            return record_end_failed(out, err);
        }
    }
}

/* Takes the parts of a record from its struct. */
static enum record_result take_parts(struct value fields, struct arena *arena, struct record *out)
{
    struct value condition = value_map_get(fields, STR("ConditionExpression"));
    out->item = value_map_get(fields, STR("Item"));
    out->names = value_map_get(fields, STR("ExpressionAttributeNames"));
    out->attributes = value_map_get(fields, STR("ExpressionAttributeValues"));
    out->condition = value_type(condition) == VALUE_S ? value_bytes(condition) : STR_NULL;
    if (value_type(out->item) != VALUE_M) {
        return record_bad(arena, out, "The record has no field Item");
    }
    bool has_condition = !value_is_absent(condition) && value_type(condition) != VALUE_NULL;
    if (has_condition && str_is_null(out->condition)) {
        return record_bad(arena, out, CONDITION_IS_NO_STRING);
    }
    out->names = value_type(out->names) == VALUE_M ? out->names : VALUE_ABSENT;
    out->attributes = value_type(out->attributes) == VALUE_M ? out->attributes : VALUE_ABSENT;
    return RECORD_ITEM;
}

enum record_result read_ion_record(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err)
{
    size_t len;
    enum record_result result = find_record(reader, arena, &len, out, err);
    if (result != RECORD_ITEM) {
        return result;
    }
    struct str text = str_make(window_text(&reader->window).data, len);
    struct value fields;
    struct err problem = ERR_INIT(arena);
    bool ok = ion_read_struct(arena, text, &fields, &problem);
    window_take(&reader->window, len);
    if (!ok) {
        out->error = problem.message;
        return problem.code == ERR_SERIALIZATION ? RECORD_BROKEN : RECORD_BAD;
    }
    return take_parts(fields, arena, out);
}
