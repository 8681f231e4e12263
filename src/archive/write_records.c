/* Writes the records of exports as lines. Called by src/transfer, on its thread. */
#include "archive/write_records.h"

#include "json/writer.h"
#include "wire/value_json.h"

void archive_write_item(struct buf *out, enum archive_format format, struct value item)
{
    switch (format) {
    case ARCHIVE_DYNAMODB_JSON:
        buf_add(out, STR("{\"Item\":"));
        value_json_write_item(out, item);
        buf_add(out, STR("}\n"));
        break;
    case ARCHIVE_ION:
        buf_add(out, STR("$ion_1_0 {Item:"));
        archive_write_ion_value(out, item);
        buf_add(out, STR("}\n"));
        break;
    }
}

/* --- changes --- */

/* Calls `write` for each key attribute of the item: {"name":value,"name":value}. */
static void write_keys(struct buf *out, const struct archive_change *change,
                       void (*write)(struct buf *out, struct str name, struct value value))
{
    const struct key_schema *key = change->key;
    buf_add_char(out, '{');
    for (size_t i = 0; i < key->hash_count + key->range_count; i++) {
        bool is_hash = i < key->hash_count;
        struct str name = is_hash ? key->hash[i].name : key->range[i - key->hash_count].name;
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write(out, name, value_map_get(change->key_item, name));
    }
    buf_add_char(out, '}');
}

static void write_json_key(struct buf *out, struct str name, struct value value)
{
    json_write_string(out, name);
    buf_add_char(out, ':');
    value_json_write(out, value);
}

static void write_json_change(struct buf *out, const struct archive_change *change)
{
    buf_format(out, "{\"Metadata\":{\"WriteTimestampMicros\":{\"N\":\"%lld\"}},\"Keys\":",
               (long long)change->time_us);
    write_keys(out, change, write_json_key);
    if (!value_is_absent(change->old_item)) {
        buf_add(out, STR(",\"OldImage\":"));
        value_json_write_item(out, change->old_item);
    }
    if (!value_is_absent(change->new_item)) {
        buf_add(out, STR(",\"NewImage\":"));
        value_json_write_item(out, change->new_item);
    }
    buf_add(out, STR("}\n"));
}

static void write_ion_key(struct buf *out, struct str name, struct value value)
{
    archive_write_ion_symbol(out, name);
    buf_add_char(out, ':');
    archive_write_ion_value(out, value);
}

static void write_ion_change(struct buf *out, const struct archive_change *change)
{
    buf_add(out, STR("$ion_1_0 {Record:{Keys:"));
    write_keys(out, change, write_ion_key);
    buf_format(out, ",Metadata:{WriteTimestampMicros:%lld.}", (long long)change->time_us);
    if (!value_is_absent(change->old_item)) {
        buf_add(out, STR(",OldImage:"));
        archive_write_ion_value(out, change->old_item);
    }
    if (!value_is_absent(change->new_item)) {
        buf_add(out, STR(",NewImage:"));
        archive_write_ion_value(out, change->new_item);
    }
    buf_add(out, STR("}}\n"));
}

void archive_write_change(struct buf *out, enum archive_format format,
                          const struct archive_change *change)
{
    if (format == ARCHIVE_ION) {
        write_ion_change(out, change);
    } else {
        write_json_change(out, change);
    }
}
