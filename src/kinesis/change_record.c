/* Writes records for Kinesis streams. Called by deliver.c on a delivery thread. */
#include "kinesis/change_record.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "json/writer.h"
#include "wire/value_json.h"

/* --- values: as in responses, but binaries are encoded twice --- */

static void write_binary(struct buf *out, struct str bytes)
{
    struct buf once = {0};
    size_t len = BASE64_ENCODED_LEN(bytes.len);
    base64_encode(bytes, buf_reserve(&once, len + 1));
    buf_added(&once, len);
    json_write_base64(out, buf_str(&once));
    buf_finish(&once);
}

static void write_item(struct buf *out, struct value item);

static void write_value(struct buf *out, struct value value)
{
    enum value_type type = value_type(value);
    struct value_iter iter;
    struct value element;
    const char *separator = "[";
    switch (type) {
    case VALUE_B:
        JSON_PUT(out, "{\"B\":");
        write_binary(out, value_bytes(value));
        break;
    case VALUE_BS:
    case VALUE_L:
        buf_format(out, "{\"%s\":", value_type_name(type));
        iter = value_iter(value);
        while (value_next(&iter, &element)) {
            buf_add(out, str_from_c(separator));
            separator = ",";
            if (type == VALUE_BS) {
                write_binary(out, value_bytes(element));
            } else {
                write_value(out, element);
            }
        }
        buf_add(out, value_count(value) == 0 ? STR("[]") : STR("]"));
        break;
    case VALUE_M:
        JSON_PUT(out, "{\"M\":");
        write_item(out, value);
        break;
    default:
        value_json_write(out, value);
        return;
    }
    buf_add_char(out, '}');
}

static void write_item(struct buf *out, struct value item)
{
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    buf_add_char(out, '{');
    for (bool first = true; value_next_entry(&iter, &name, &value); first = false) {
        buf_add(out, first ? STR("") : STR(","));
        json_write_string(out, name.text);
        buf_add_char(out, ':');
        write_value(out, value);
    }
    buf_add_char(out, '}');
}

/* --- records --- */

/* Writes a UUID that is computed from the record's position in the store. */
static void write_event_id(struct buf *out, const struct record_source *source,
                           const struct feed_record *record)
{
    char place[16];
    uint8_t id[16];
    put_u32_be(place, source->space);
    put_u32_be(place + 4, record->slot);
    put_u64_be(place + 8, record->stamp);
    hash_128(str_make(place, sizeof(place)), source->seed, id);
    id[6] = (uint8_t)(0x40 | (id[6] & 0x0f));
    id[8] = (uint8_t)(0x80 | (id[8] & 0x3f));
    for (size_t i = 0; i < sizeof(id); i++) {
        buf_format(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
    }
}

static void write_image(struct buf *out, const char *name, struct value image)
{
    if (!value_is_absent(image)) {
        buf_format(out, ",\"%s\":", name);
        write_item(out, image);
    }
}

static void write_change(struct buf *out, const struct stream_record *change, bool in_micros)
{
    long long time =
        in_micros ? (long long)change->time_ms * 1000 + change->micros : (long long)change->time_ms;
    buf_format(out, "{\"ApproximateCreationDateTime\":%lld,\"Keys\":", time);
    write_item(out, change->keys);
    write_image(out, "NewImage", change->new_image);
    write_image(out, "OldImage", change->old_image);
    buf_format(out, ",\"SizeBytes\":%zu", change->size);
    if (in_micros) {
        JSON_PUT(out, ",\"ApproximateCreationDateTimePrecision\":\"MICROSECOND\"");
    }
    buf_add_char(out, '}');
}

void record_write(struct buf *out, const struct record_source *source,
                  const struct feed_record *record)
{
    static const char *const events[] = {
        [STREAM_INSERT] = "INSERT",
        [STREAM_MODIFY] = "MODIFY",
        [STREAM_REMOVE] = "REMOVE",
    };
    const struct stream_record *change = &record->change;
    buf_format(out, "{\"awsRegion\":\"%.*s\",\"eventID\":\"", STR_ARG(source->region));
    write_event_id(out, source, record);
    buf_format(out, "\",\"eventName\":\"%s\",\"userIdentity\":", events[change->event]);
    if (change->by_expiry) {
        JSON_PUT(out, "{\"principalId\":\"dynamodb.amazonaws.com\",\"type\":\"Service\"}");
    } else {
        JSON_PUT(out, "null");
    }
    buf_format(out, ",\"recordFormat\":\"application/json\",\"tableName\":\"%.*s\",\"dynamodb\":",
               STR_ARG(source->table_name));
    write_change(out, change, source->precision == PRECISION_MICROSECOND);
    JSON_PUT(out, ",\"eventSource\":\"aws:dynamodb\"}");
}

void record_partition_key(const struct feed_record *record, char out[PARTITION_KEY_LEN])
{
    static const char digits[] = "0123456789ABCDEF";
    const struct value keys = record->change.keys;
    uint8_t hash[PARTITION_KEY_LEN / 2];
    hash_128(str_make(keys.data, keys.len), 0, hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
}
