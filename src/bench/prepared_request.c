/* Builds prepared requests, and overwrites their slots before each use. Each worker thread has its
 * own; bench.c fills in one for the first item. */
#include "bench/prepared_request_internal.h"

#include <stdarg.h>

#include "base/format.h"
#include "base/mem.h"

enum { FIELD_TEXT_BYTES = 1 << 20 };

struct field_text {
    char bytes[FIELD_TEXT_BYTES];
};

struct field_text *field_text_create(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct field_text *text = mem_alloc(sizeof(*text));
    struct random random;
    random_init(&random);
    for (size_t i = 0; i < sizeof(text->bytes); i++) {
        text->bytes[i] = alphabet[random_next(&random) >> 58];
    }
    return text;
}

void field_text_destroy(struct field_text *text)
{
    mem_free(text);
}

/* Building ------------------------------------------------------------------------------------ */

void request_init(struct request *request)
{
    *request = (struct request){.answer_max = UINT64_MAX};
}

void request_destroy(struct request *request)
{
    buf_finish(&request->bytes);
    mem_free(request->slots);
    *request = (struct request){0};
}

void request_add(struct request *request, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_add(&request->bytes, format, args);
    va_end(args);
}

void request_add_slot(struct request *request, enum slot_kind kind, int item, int detail,
                      size_t width)
{
    if (request->slot_count == request->slot_capacity) {
        request->slot_capacity = MAX(request->slot_capacity * 2, (size_t)16);
        request->slots =
            mem_realloc(request->slots, request->slot_capacity * sizeof(*request->slots));
    }
    request->slots[request->slot_count++] = (struct slot){
        .kind = kind, .item = item, .detail = detail, .offset = request->bytes.len, .width = width};
    request->item_count = MAX(request->item_count, item + 1);
    memset(buf_reserve(&request->bytes, width), '0', width);
    buf_added(&request->bytes, width);
}

void request_finish(struct request *request, const struct target *target, struct str operation)
{
    struct buf body = request->bytes;
    request->bytes = (struct buf){0};
    target_add_request(target, operation, buf_str(&body), true, &request->bytes);
    for (size_t i = 0; i < request->slot_count; i++) {
        request->slots[i].offset += request->bytes.len - body.len;
    }
    buf_finish(&body);
}

void request_add_key(struct request *request, int item)
{
    request_add(request, "{\"pk\":{\"S\":\"");
    request_add_slot(request, SLOT_PARTITION, item, 0, KEY_WIDTH);
    request_add(request, "\"},\"sk\":{\"S\":\"");
    request_add_slot(request, SLOT_SORT, item, 0, KEY_WIDTH);
    request_add(request, "\"}}");
}

void request_add_item(struct request *request, const struct test_table *table, int item)
{
    request_add_key(request, item);
    request->bytes.len--; /* the opening brace */
    request_add(request, ",\"count\":{\"N\":\"0\"},\"made\":{\"N\":\"");
    request_add_slot(request, SLOT_MADE, item, 0, KEY_WIDTH);
    for (int i = 0; i < table->gsi_count; i++) {
        request_add(request, "\"},\"o%d\":{\"S\":\"", i);
        request_add_slot(request, SLOT_OWNER, item, i, OWNER_WIDTH);
    }
    for (int i = 0; i < table->field_count; i++) {
        request_add(request, "\"},\"field%d\":{\"S\":\"", i);
        request_add_slot(request, SLOT_FIELD, item, 0, table->field_bytes);
    }
    request_add(request, "\"}}");
}

/* Filling ------------------------------------------------------------------------------------- */

/* Writes the last `width` digits, padded with blanks or zeros. */
static void write_number(char *out, size_t width, uint64_t value, char front)
{
    size_t i = width;
    do {
        out[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (i > 0 && value > 0);
    memset(out, front, i);
}

static void write_field(char *out, size_t width, const struct field_text *text,
                        struct random *random)
{
    size_t start = random_next(random) % (FIELD_TEXT_BYTES / 2);
    while (width > 0) {
        size_t copied = MIN(width, FIELD_TEXT_BYTES - start);
        memcpy(out, text->bytes + start, copied);
        out += copied;
        width -= copied;
        start = 0;
    }
}

/* Each index has different owners, so that the entries of one item are not adjacent. */
static uint64_t owner_of(const struct test_table *table, uint64_t item, int index)
{
    return (item / (uint64_t)(index + 1)) % table->owner_count;
}

static void fill_slot(const struct request *request, const struct slot *slot,
                      const struct test_table *table, const struct request_values *values)
{
    char *out = request->bytes.data + slot->offset;
    uint64_t item = values->items[slot->item];
    switch (slot->kind) {
    case SLOT_PARTITION:
        write_number(out, slot->width, item / table->per_partition, '0');
        break;
    case SLOT_SORT:
        write_number(out, slot->width, item, '0');
        break;
    case SLOT_MADE:
        write_number(out, slot->width, MADE_BASE + item, '0');
        break;
    case SLOT_OWNER:
        write_number(out, slot->width, owner_of(table, item, slot->detail), '0');
        break;
    case SLOT_LIMIT:
        write_number(out, slot->width, values->limit, ' ');
        break;
    case SLOT_SEGMENT:
        write_number(out, slot->width, values->segment, ' ');
        break;
    case SLOT_START_PARTITION:
        memcpy(out, values->start_partition, slot->width);
        break;
    case SLOT_START_SORT:
        memcpy(out, values->start_sort, slot->width);
        break;
    case SLOT_FIELD:
        break; /* the caller's */
    }
}

void request_fill(struct request *request, const struct test_table *table,
                  const struct request_values *values, const struct field_text *text,
                  struct random *random)
{
    for (size_t i = 0; i < request->slot_count; i++) {
        const struct slot *slot = &request->slots[i];
        if (slot->kind == SLOT_FIELD) {
            write_field(request->bytes.data + slot->offset, slot->width, text, random);
        } else {
            fill_slot(request, slot, table, values);
        }
    }
}
