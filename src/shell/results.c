/* Items as JSON, CSV or lists, and the order of columns. Tables are in results_table.c. Main
 * thread. */
#include "shell/results_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/terminal.h"

void items_add(struct items *items, const struct gramme_value *item)
{
    if (items->count == items->capacity) {
        items->capacity = MAX(items->capacity * 2, (size_t)64);
        items->list = mem_realloc(items->list, items->capacity * sizeof(*items->list));
    }
    items->list[items->count++] = item;
}

void items_finish(struct items *items)
{
    mem_free(items->list);
    items->list = NULL;
    items->count = items->capacity = 0;
}

/* --- values --- */

static void add_binary(struct buf *out, const struct gramme_value *value)
{
    size_t len;
    const void *data = gramme_value_binary(value, &len);
    char *text = buf_reserve(out, BASE64_ENCODED_LEN(len));
    base64_encode(str_make(data, len), text);
    buf_added(out, BASE64_ENCODED_LEN(len));
}

void results_add_plain(struct buf *out, const struct gramme_value *value)
{
    bool truth = false;
    switch (gramme_value_type(value)) {
    case GRAMME_NONE:
        break;
    case GRAMME_STRING:
        buf_add(out, str_make(gramme_value_string(value), gramme_value_len(value)));
        break;
    case GRAMME_NUMBER:
        buf_add(out, str_from_c(gramme_value_number(value)));
        break;
    case GRAMME_BINARY:
        add_binary(out, value);
        break;
    case GRAMME_NULL:
        buf_add(out, STR("null"));
        break;
    case GRAMME_BOOL:
        buf_add(out, gramme_value_bool(value, &truth) && truth ? STR("true") : STR("false"));
        break;
    default: {
        size_t len;
        char *json = gramme_value_to_json(value, GRAMME_PLAIN, &len);
        buf_add(out, str_make(json, json == NULL ? 0 : len));
        gramme_free(json);
    }
    }
}

void results_add_json(struct buf *out, const struct gramme_value *item, enum gramme_form form)
{
    size_t len;
    char *json = gramme_value_to_json(item, form, &len);
    terminal_add_json(out, str_make(json, json == NULL ? 0 : len));
    buf_add_char(out, '\n');
    gramme_free(json);
}

void results_add_csv(struct buf *out, struct str text)
{
    bool needs_quotes = false;
    for (size_t i = 0; i < text.len; i++) {
        needs_quotes = needs_quotes || strchr(",\"\r\n", text.data[i]) != NULL;
    }
    if (!needs_quotes) {
        buf_add(out, text);
        return;
    }
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"') {
            buf_add_char(out, '"');
        }
        buf_add_char(out, text.data[i]);
    }
    buf_add_char(out, '"');
}

/* --- columns --- */

/* Where a column stands: keys first, then the order of the SELECT list, then of appearance. */
struct column {
    const char *name;
    size_t rank;
    size_t seen;
};

static size_t rank_of(const struct items *items, const char *name)
{
    for (size_t k = 0; k < 2; k++) {
        for (size_t part = 0; items->keys[k] != NULL && part < 2; part++) {
            const char *key = items->keys[k]->name[part];
            if (key != NULL && strcmp(key, name) == 0) {
                return k * 2 + part;
            }
        }
    }
    if (!str_is_null(items->columns)) {
        const char *found = memmem(items->columns.data, items->columns.len, name, strlen(name));
        return found == NULL ? SIZE_MAX : 4 + (size_t)(found - items->columns.data);
    }
    return SIZE_MAX;
}

static int compare_columns(const void *a, const void *b)
{
    const struct column *left = a;
    const struct column *right = b;
    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    return left->seen < right->seen ? -1 : left->seen > right->seen;
}

/* Lists the attributes of all items, as they are met. The caller frees the list. */
static struct column *list_columns(const struct items *items, size_t *out_count)
{
    struct map seen;
    map_init(&seen);
    struct column *list = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (size_t i = 0; i < items->count; i++) {
        for (size_t k = 0; k < gramme_value_count(items->list[i]); k++) {
            const char *name = gramme_value_name(gramme_value_at(items->list[i], k));
            if (map_put(&seen, str_from_c(name), &seen) != NULL) {
                continue;
            }
            if (count == capacity) {
                capacity = MAX(capacity * 2, (size_t)16);
                list = mem_realloc(list, capacity * sizeof(*list));
            }
            list[count] = (struct column){name, rank_of(items, name), count};
            count++;
        }
    }
    map_finish(&seen);
    *out_count = count;
    return list;
}

void columns_collect(const struct items *items, struct columns *out)
{
    size_t count;
    struct column *list = list_columns(items, &count);
    if (count > 0) {
        qsort(list, count, sizeof(*list), compare_columns);
    }
    out->names = mem_alloc((count + 1) * sizeof(*out->names));
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        out->names[i] = list[i].name;
    }
    mem_free(list);
}

/* --- formats --- */

/* Fields go to files and programs as they are, and to a terminal without control characters. */
static void add_field(const struct session *session, struct buf *out, struct str text)
{
    struct buf safe = {0};
    if (session->is_terminal) {
        terminal_add_text(&safe, text);
        text = buf_str(&safe);
    }
    results_add_csv(out, text);
    buf_finish(&safe);
}

static void print_csv(struct session *session, const struct items *items)
{
    struct columns columns;
    columns_collect(items, &columns);
    struct buf field = {0};
    for (size_t c = 0; c < columns.count; c++) {
        buf_add(&session->out, c == 0 ? STR("") : STR(","));
        add_field(session, &session->out, str_from_c(columns.names[c]));
    }
    buf_add(&session->out, columns.count == 0 ? STR("") : STR("\n"));
    for (size_t i = 0; i < items->count; i++) {
        for (size_t c = 0; c < columns.count; c++) {
            field.len = 0;
            results_add_plain(&field, gramme_get(items->list[i], columns.names[c]));
            buf_add(&session->out, c == 0 ? STR("") : STR(","));
            add_field(session, &session->out, buf_str(&field));
        }
        buf_add_char(&session->out, '\n');
    }
    buf_finish(&field);
    mem_free(columns.names);
}

/* The width of the widest name; not more than 40. */
static size_t width_of_names(const struct columns *columns)
{
    struct buf safe = {0};
    size_t width = 0;
    for (size_t c = 0; c < columns->count; c++) {
        safe.len = 0;
        terminal_add_text(&safe, str_from_c(columns->names[c]));
        width = MAX(width, MIN(terminal_width(buf_str(&safe)), (size_t)40));
    }
    buf_finish(&safe);
    return width;
}

static void print_list(struct session *session, const struct items *items)
{
    struct buf text = {0};
    struct buf safe = {0};
    for (size_t i = 0; i < items->count; i++) {
        struct items one = *items;
        one.list = &items->list[i];
        one.count = 1;
        struct columns columns;
        columns_collect(&one, &columns);
        buf_format(&session->out, "-- item %zu\n", items->first + i + 1);
        size_t width = width_of_names(&columns);
        for (size_t c = 0; c < columns.count; c++) {
            safe.len = text.len = 0;
            terminal_add_text(&safe, str_from_c(columns.names[c]));
            terminal_add_cell(&session->out, buf_str(&safe), width, false);
            buf_add(&session->out, STR(" | "));
            results_add_plain(&text, gramme_get(items->list[i], columns.names[c]));
            terminal_add_text(&session->out, buf_str(&text));
            buf_add_char(&session->out, '\n');
        }
        mem_free(columns.names);
    }
    buf_finish(&text);
    buf_finish(&safe);
}

void results_print(struct session *session, const struct items *items)
{
    switch (session->format) {
    case FORMAT_TABLE:
        results_print_table(session, items);
        break;
    case FORMAT_LIST:
        print_list(session, items);
        break;
    case FORMAT_CSV:
        print_csv(session, items);
        break;
    default:
        for (size_t i = 0; i < items->count; i++) {
            results_add_json(&session->out, items->list[i],
                             session->format == FORMAT_JSON ? GRAMME_PLAIN : GRAMME_TYPED);
        }
    }
}

void results_print_usage(struct session *session, const char *what, size_t count,
                         const struct usage *usage)
{
    session->is_usage_printed = true;
    if (!session->timing) {
        return;
    }
    struct buf line = {0};
    buf_add_char(&line, '(');
    if (what != NULL) {
        buf_format(&line, "%zu %s%s, ", count, what, PLURAL(count));
    }
    if (usage->units > 0) {
        buf_format(&line, "%g unit%s, ", usage->units, PLURAL(usage->units));
    }
    if (usage->calls > 1) {
        buf_format(&line, "%zu calls, ", usage->calls);
    }
    buf_format(&line, "%.1f ms)\n", (double)usage->us / 1000);
    if (session->is_interactive) {
        buf_add(&session->out, buf_str(&line));
    } else {
        fprintf(stderr, "%.*s", STR_ARG(buf_str(&line)));
    }
    buf_finish(&line);
}
