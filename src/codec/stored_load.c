/* Encodes and decodes loads (imports and bulk puts) as maps of named fields, so that a later
 * version can add one. Called by src/engine, in evals and for the threads of src/transfer. */
#include "codec/stored_load.h"

#include "codec/stored_table.h"
#include "model/builder.h"

enum { LOAD_VERSION = 1 };

/* Fields are texts or numbers; numbers are kept in C as int64_t, bool or an enum. */
enum field_kind { FIELD_TEXT, FIELD_INT64, FIELD_BOOL, FIELD_ENUM };

static const struct load_field {
    struct str name;
    enum field_kind kind;
    size_t offset;
    int64_t max; /* FIELD_ENUM */
} fields[] = {
#define TEXT(name_, member_)                                                                       \
    {                                                                                              \
        STR(name_), FIELD_TEXT, offsetof(struct load, member_), 0                                  \
    }
#define INT64(name_, member_)                                                                      \
    {                                                                                              \
        STR(name_), FIELD_INT64, offsetof(struct load, member_), 0                                 \
    }
#define BOOL(name_, member_)                                                                       \
    {                                                                                              \
        STR(name_), FIELD_BOOL, offsetof(struct load, member_), 0                                  \
    }
#define ENUM(name_, member_, max_)                                                                 \
    {                                                                                              \
        STR(name_), FIELD_ENUM, offsetof(struct load, member_), max_                               \
    }
    ENUM("kind", kind, LOAD_BULK_PUT),
    ENUM("state", state, LOAD_FAILED),
    INT64("start", start_ms),
    INT64("end", end_ms),
    TEXT("token", token),
    TEXT("bucket", bucket),
    TEXT("prefix", prefix),
    ENUM("format", format, LOAD_CSV),
    ENUM("compression", compression, LOAD_ZSTD),
    INT64("delimiter", delimiter),
    TEXT("table_name", table_name),
    TEXT("table_id", table_id),
    TEXT("input_json", input_json),
    TEXT("options_json", options_json),
    TEXT("parameters_json", parameters_json),
    TEXT("output_bucket", output_bucket),
    TEXT("output_prefix", output_prefix),
    TEXT("output_sse", output_sse),
    TEXT("output_sse_key", output_sse_key),
    BOOL("reports_errors", reports_errors),
    BOOL("reports_conditions", reports_conditions),
    INT64("units_max", units_max),
    BOOL("accelerated", is_accelerated),
    INT64("total_bytes", total_bytes),
    INT64("bytes", bytes),
    INT64("items", items),
    INT64("written", written),
    INT64("errors", errors),
    INT64("conditions_failed", conditions_failed),
    INT64("table_bytes", table_bytes),
    TEXT("at_key", cursor.key),
    TEXT("at_etag", cursor.etag),
    INT64("at_offset", cursor.offset),
    INT64("at_index", cursor.index),
    BOOL("at_done", cursor.is_done),
    INT64("at_bytes", cursor.bytes),
    INT64("at_part", cursor.part),
    TEXT("failure_code", failure_code),
    TEXT("failure_message", failure_message),
#undef TEXT
#undef INT64
#undef BOOL
#undef ENUM
};

/* --- writing --- */

static int64_t field_number(const struct load *load, const struct load_field *field)
{
    const char *at = (const char *)load + field->offset;
    switch (field->kind) {
    case FIELD_INT64:
        return *(const int64_t *)at;
    case FIELD_BOOL:
        return *(const bool *)at;
    case FIELD_ENUM:
        return *(const enum load_state *)at; /* all enums have the size of an int */
    case FIELD_TEXT:
        break;
    }
    return 0;
}

static uint32_t put_fields(struct builder *builder, const struct load *load)
{
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct load_field *field = &fields[i];
        if (field->kind == FIELD_TEXT) {
            struct str text = *(const struct str *)((const char *)load + field->offset);
            if (!str_is_null(text)) {
                builder_add_key(builder, field->name);
                builder_add_string(builder, text);
                count++;
            }
        } else if (field_number(load, field) != 0) {
            builder_add_key(builder, field->name);
            builder_add_int64(builder, field_number(load, field));
            count++;
        }
    }
    return count;
}

static uint32_t put_headers(struct builder *builder, const struct load *load)
{
    if (load->header_count == 0) {
        return 0;
    }
    builder_add_key(builder, STR("headers"));
    size_t open = builder_open(builder, VALUE_L);
    for (size_t i = 0; i < load->header_count; i++) {
        builder_add_string(builder, load->headers[i]);
    }
    builder_close_list(builder, open, (uint32_t)load->header_count);
    return 1;
}

static uint32_t put_index_bytes(struct builder *builder, const struct load *load)
{
    if (load->index_count == 0) {
        return 0;
    }
    builder_add_key(builder, STR("index_bytes"));
    size_t open = builder_open(builder, VALUE_M);
    for (size_t i = 0; i < load->index_count; i++) {
        builder_add_key(builder, load->index_names[i]);
        builder_add_int64(builder, load->index_bytes[i]);
    }
    builder_close_map(builder, open, (uint32_t)load->index_count);
    return 1;
}

struct str load_encode(struct arena *arena, const struct load *load)
{
    struct builder builder;
    struct str table = load->table == NULL ? STR_NULL : table_encode(arena, load->table);
    builder_init(&builder, arena, 1024);
    size_t open = builder_open(&builder, VALUE_M);
    uint32_t count = put_fields(&builder, load);
    count += put_headers(&builder, load);
    count += put_index_bytes(&builder, load);
    if (!str_is_null(table)) {
        builder_add_key(&builder, STR("table"));
        builder_add_binary(&builder, table);
        count++;
    }
    builder_close_map(&builder, open, count);
    struct value map = builder_finish(&builder);
    char *row = arena_bytes(arena, 1 + map.len);
    row[0] = LOAD_VERSION;
    memcpy(row + 1, map.data, map.len);
    return str_make(row, 1 + map.len);
}

/* --- reading --- */

static bool set_number(struct load *load, const struct load_field *field, int64_t number)
{
    char *at = (char *)load + field->offset;
    switch (field->kind) {
    case FIELD_INT64:
        *(int64_t *)at = number;
        return true;
    case FIELD_BOOL:
        *(bool *)at = number != 0;
        return true;
    case FIELD_ENUM:
        *(enum load_state *)at = (enum load_state)number;
        return number >= 0 && number <= field->max;
    case FIELD_TEXT:
        break;
    }
    return false;
}

static bool get_fields(struct arena *arena, struct value map, struct load *out)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct load_field *field = &fields[i];
        struct value value = value_map_get(map, field->name);
        int64_t number;
        if (value_is_absent(value)) {
            continue;
        }
        if (field->kind == FIELD_TEXT && value_type(value) == VALUE_S) {
            *(struct str *)((char *)out + field->offset) = arena_copy(arena, value_bytes(value));
        } else if (value_type(value) != VALUE_N || !number_to_int64(value_bytes(value), &number) ||
                   !set_number(out, field, number)) {
            return false;
        }
    }
    return true;
}

static void get_headers(struct arena *arena, struct value list, struct load *out)
{
    if (value_type(list) != VALUE_L) {
        return;
    }
    struct str *headers = ARENA_ARRAY(arena, struct str, value_count(list) + 1);
    struct value_iter iter = value_iter(list);
    struct value value;
    while (value_next(&iter, &value)) {
        headers[out->header_count++] =
            value_type(value) == VALUE_S ? arena_copy(arena, value_bytes(value)) : STR("");
    }
    out->headers = headers;
}

static void get_index_bytes(struct arena *arena, struct value map, struct load *out)
{
    if (value_type(map) != VALUE_M) {
        return;
    }
    struct str *names = ARENA_ARRAY(arena, struct str, value_count(map) + 1);
    int64_t *bytes = ARENA_ARRAY(arena, int64_t, value_count(map) + 1);
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        size_t i = out->index_count++;
        names[i] = arena_copy(arena, name.text);
        if (value_type(value) != VALUE_N || !number_to_int64(value_bytes(value), &bytes[i])) {
            bytes[i] = 0;
        }
    }
    out->index_names = names;
    out->index_bytes = bytes;
}

static bool get_table(struct arena *arena, struct value value, struct load *out, struct err *err)
{
    if (value_type(value) != VALUE_B) {
        return true;
    }
    struct table *table = ARENA_NEW(arena, struct table);
    out->table = table;
    return table_decode(arena, value_bytes(value), table, err);
}

bool load_decode(struct arena *arena, struct str bytes, struct load *out, struct err *err)
{
    *out = (struct load){0};
    bool is_map = bytes.len >= 2 && bytes.data[0] == LOAD_VERSION &&
                  value_is_valid(str_skip(bytes, 1)) &&
                  ((uint8_t)bytes.data[1] & VALUE_TYPE_MASK) == VALUE_M;
    struct value map = {(const uint8_t *)bytes.data + 1, is_map ? bytes.len - 1 : 0};
    if (!is_map || !get_fields(arena, map, out) ||
        !get_table(arena, value_map_get(map, STR("table")), out, err)) {
        return err_set(err, ERR_INTERNAL,
                       "an import or bulk operation in the store cannot be read: another version "
                       "of Gramme wrote it, or it is damaged");
    }
    get_headers(arena, value_map_get(map, STR("headers")), out);
    get_index_bytes(arena, value_map_get(map, STR("index_bytes")), out);
    return true;
}
