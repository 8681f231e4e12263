/* Prices of capacity, storage and stream reads. Read by meter_create(), when the server starts. */
#include "meter/prices_internal.h"

#include <errno.h>
#include <stdio.h>

#include "json/reader.h"
#include "json/writer.h"

/* docs/prices.json is a copy, to start a file of one's own from; a test compares them. */
static const char built_in[] =
    "{\n"
    "  \"default\": \"us-east-1\",\n"
    "  \"prices\": [\n"
    "    {\n"
    "      \"name\": \"us-east-1\", \"date\": \"2026-11-01\", \"currency\": \"USD\",\n"
    "      \"note\": \"list prices of US East (N. Virginia) without free tier and reservations\",\n"
    "      \"standard\": {\"readRequestMillion\": 0.125, \"writeRequestMillion\": 0.625,\n"
    "        \"readUnitHour\": 0.00013, \"writeUnitHour\": 0.00065, \"storageGbMonth\": 0.25},\n"
    "      \"infrequentAccess\": {\"readRequestMillion\": 0.155, \"writeRequestMillion\": 0.78,\n"
    "        \"readUnitHour\": 0.00016, \"writeUnitHour\": 0.00081, \"storageGbMonth\": 0.1},\n"
    "      \"streamReadMillion\": 0.2\n"
    "    },\n"
    "    {\n"
    "      \"name\": \"documents\", \"date\": \"2024-10-31\", \"currency\": \"USD\",\n"
    "      \"note\": \"us-east-1 before the on-demand prices were halved in November 2024\",\n"
    "      \"standard\": {\"readRequestMillion\": 0.25, \"writeRequestMillion\": 1.25,\n"
    "        \"readUnitHour\": 0.00013, \"writeUnitHour\": 0.00065, \"storageGbMonth\": 0.25},\n"
    "      \"infrequentAccess\": {\"readRequestMillion\": 0.31, \"writeRequestMillion\": 1.56,\n"
    "        \"readUnitHour\": 0.00016, \"writeUnitHour\": 0.00081, \"storageGbMonth\": 0.1},\n"
    "      \"streamReadMillion\": 0.2\n"
    "    }\n"
    "  ]\n"
    "}\n";

/* Members of an object: where each goes. */
struct member {
    const char *name;
    struct str *text;
    double *number;
    struct class_prices *class;
};

static bool read_number(struct json_reader *reader, double *out)
{
    return json_read_amount(reader, 1e9, out);
}

static bool read_object(struct json_reader *reader, const struct member *members, size_t count);

static bool read_class(struct json_reader *reader, struct class_prices *out)
{
    const struct member members[] = {
        {.name = "readRequestMillion", .number = &out->read_request_million},
        {.name = "writeRequestMillion", .number = &out->write_request_million},
        {.name = "readUnitHour", .number = &out->read_unit_hour},
        {.name = "writeUnitHour", .number = &out->write_unit_hour},
        {.name = "storageGbMonth", .number = &out->storage_gb_month},
    };
    return read_object(reader, members, COUNT_OF(members));
}

static bool read_member(struct json_reader *reader, const struct member *member)
{
    if (member->number != NULL) {
        return read_number(reader, member->number);
    }
    if (member->class != NULL) {
        return read_class(reader, member->class);
    }
    struct json_string string;
    if (!json_read_string(reader, &string)) {
        return false;
    }
    *member->text = arena_copy(reader->arena, string.text);
    return true;
}

/* Every member must be there; others are refused, because a typing error would go unnoticed. */
static bool read_object(struct json_reader *reader, const struct member *members, size_t count)
{
    struct json_string name;
    unsigned seen = 0;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        size_t i = 0;
        while (i < count && !str_eq(name.text, str_from_c(members[i].name))) {
            i++;
        }
        if (i == count || !read_member(reader, &members[i])) {
            return false;
        }
        seen |= 1u << i;
    }
    return reader->mistake == NULL && seen == (1u << count) - 1;
}

static bool read_prices(struct json_reader *reader, struct prices *out)
{
    const struct member members[] = {
        {.name = "name", .text = &out->name},
        {.name = "date", .text = &out->date},
        {.name = "currency", .text = &out->currency},
        {.name = "note", .text = &out->note},
        {.name = "standard", .class = &out->standard},
        {.name = "infrequentAccess", .class = &out->infrequent_access},
        {.name = "streamReadMillion", .number = &out->stream_read_million},
    };
    return read_object(reader, members, COUNT_OF(members));
}

static bool read_list(struct json_reader *reader, struct prices_list *list)
{
    if (!json_enter_array(reader)) {
        return false;
    }
    while (json_next_element(reader)) {
        if (list->count == PRICES_MAX || !read_prices(reader, &list->prices[list->count])) {
            return false;
        }
        list->count++;
    }
    return reader->mistake == NULL;
}

static bool read_all(struct prices_list *list, struct str text)
{
    struct json_reader reader;
    struct json_string name;
    struct json_string value;
    json_reader_init(&reader, &list->arena, text);
    if (!json_enter_object(&reader)) {
        return false;
    }
    while (json_next_member(&reader, &name)) {
        if (str_eq(name.text, STR("default"))) {
            if (!json_read_string(&reader, &value)) {
                return false;
            }
            list->default_name = arena_copy(&list->arena, value.text);
        } else if (!str_eq(name.text, STR("prices")) || !read_list(&reader, list)) {
            return false;
        }
    }
    return json_at_end(&reader) && prices_find(list, STR_NULL) != NULL;
}

static bool read_file(struct arena *arena, struct str path, struct str *out, struct err *err)
{
    enum { FILE_BYTES_MAX = 1 << 20 };
    FILE *file = fopen(arena_copy_c(arena, path).data, "r");
    if (file == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot read the prices in %.*s: %s", STR_ARG(path),
                       strerror(errno));
    }
    char *data = arena_bytes(arena, FILE_BYTES_MAX);
    *out = str_make(data, fread(data, 1, FILE_BYTES_MAX, file));
    fclose(file);
    return true;
}

bool prices_load(struct prices_list *list, struct str path, struct err *err)
{
    struct str text = STR(built_in);
    arena_init(&list->arena);
    list->count = 0;
    if (path.len > 0 && !read_file(&list->arena, path, &text, err)) {
        return false;
    }
    return read_all(list, text) ||
           err_set(
               err, ERR_VALIDATION,
               "the prices in %.*s are not as in docs/prices.json: each entry needs name, date, "
               "currency, note, standard, infrequentAccess, streamReadMillion, and \"default\" "
               "must name one of them",
               STR_ARG(path));
}

void prices_finish(struct prices_list *list)
{
    arena_finish(&list->arena);
}

const struct prices *prices_find(const struct prices_list *list, struct str name)
{
    name = name.len == 0 ? list->default_name : name;
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->prices[i].name, name)) {
            return &list->prices[i];
        }
    }
    return NULL;
}

static void write_class(struct buf *out, const char *name, const struct class_prices *prices)
{
    buf_format(out,
               ",\"%s\":{\"readRequestMillion\":%.9g,\"writeRequestMillion\":%.9g,"
               "\"readUnitHour\":%.9g,\"writeUnitHour\":%.9g,\"storageGbMonth\":%.9g}",
               name, prices->read_request_million, prices->write_request_million,
               prices->read_unit_hour, prices->write_unit_hour, prices->storage_gb_month);
}

static void write_text(struct buf *out, const char *name, struct str text)
{
    buf_format(out, "\"%s\":", name);
    json_write_string(out, text);
}

void prices_write(struct buf *out, const struct prices_list *list)
{
    buf_add_char(out, '{');
    write_text(out, "default", list->default_name);
    JSON_PUT(out, ",\"prices\":[");
    for (size_t i = 0; i < list->count; i++) {
        const struct prices *prices = &list->prices[i];
        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        write_text(out, "name", prices->name);
        buf_add_char(out, ',');
        write_text(out, "date", prices->date);
        buf_add_char(out, ',');
        write_text(out, "currency", prices->currency);
        buf_add_char(out, ',');
        write_text(out, "note", prices->note);
        write_class(out, "standard", &prices->standard);
        write_class(out, "infrequentAccess", &prices->infrequent_access);
        buf_format(out, ",\"streamReadMillion\":%.9g}", prices->stream_read_million);
    }
    JSON_PUT(out, "]}");
}
