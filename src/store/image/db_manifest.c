/* Reads RocksDB's manifest: version edits in the format of RocksDB's WAL. Called by image.c, on the
 * thread of a check or repair.
 *
 * The file has blocks of 32 KiB; records are split into fragments that do not cross blocks:
 *
 *   CRC-32C of type and data, masked (u32) | length (u16) | type (1) | data
 *
 * A version edit is a sequence of fields, each a tag and a value. */
#include "store/image/db_manifest.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "store/image/sst_block.h"

enum { LOG_BLOCK_BYTES = 32768, FRAGMENT_HEAD_LEN = 7 };
enum fragment_type { FRAGMENT_NONE, FRAGMENT_FULL, FRAGMENT_FIRST, FRAGMENT_MIDDLE, FRAGMENT_LAST };
/* Tags of fields of a version edit. */
enum {
    TAG_COMPARATOR = 1,
    TAG_LOG_NUMBER = 2,
    TAG_NEXT_FILE = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_COMPACT_CURSOR = 5,
    TAG_DELETED_FILE = 6,
    TAG_PREVIOUS_LOG_NUMBER = 9,
    TAG_MIN_LOG_NUMBER = 10,
    TAG_NEW_FILE = 103,
    TAG_COLUMN_FAMILY = 200,
    TAG_COLUMN_FAMILY_ADD = 201,
    TAG_MAX_COLUMN_FAMILY = 203,
    TAG_IN_ATOMIC_GROUP = 300,
    TAG_IGNORABLE = 1 << 13 /* bit: an unknown field with a length may be skipped */
};
enum { NEW_FILE_END = 1, NEW_FILE_MUST_KNOW = 1 << 6 };
enum { INTERNAL_KEY_TAIL = 8 };

struct reading {
    struct arena *arena;
    struct str bytes;
    struct err *err;
    struct manifest *out;
    struct buf record;
    size_t offset;
    size_t capacity;
};

static bool is_damaged(struct reading *reading, const char *what)
{
    return err_set(reading->err, ERR_INTERNAL, "offset %llu: %s",
                   (unsigned long long)reading->offset, what);
}

/* Files ---------------------------------------------------------------------------------------- */

static struct str user_key(struct reading *reading, struct str internal)
{
    if (internal.len < INTERNAL_KEY_TAIL) {
        return STR_NULL;
    }
    return arena_copy(reading->arena, str_make(internal.data, internal.len - INTERNAL_KEY_TAIL));
}

static void add_sst(struct reading *reading, struct manifest_sst sst)
{
    struct manifest *out = reading->out;
    if (out->count == reading->capacity) {
        reading->capacity = MAX(2 * reading->capacity, (size_t)64);
        out->ssts = mem_realloc(out->ssts, reading->capacity * sizeof(*out->ssts));
    }
    out->ssts[out->count++] = sst;
}

static bool remove_table(struct reading *reading, uint64_t number)
{
    struct manifest *out = reading->out;
    for (size_t i = 0; i < out->count; i++) {
        if (out->ssts[i].number == number) {
            out->ssts[i] = out->ssts[--out->count];
            return true;
        }
    }
    return is_damaged(reading, "an SST file is deleted that was never added");
}

/* Skips the custom fields of a new file: pairs of a tag and a length-prefixed value. */
static bool skip_custom_fields(struct reading *reading, struct cursor *cursor)
{
    while (!cursor->is_bad) {
        uint64_t tag = cursor_varint(cursor);
        if (tag == NEW_FILE_END) {
            return true;
        }
        struct str value = cursor_prefixed(cursor);
        if ((tag & NEW_FILE_MUST_KNOW) != 0 || str_is_null(value)) {
            return is_damaged(reading, "a field of an SST file is not understood");
        }
    }
    return false;
}

static bool read_new_file(struct reading *reading, struct cursor *cursor)
{
    struct manifest_sst sst = {.level = (uint32_t)cursor_varint(cursor)};
    sst.number = cursor_varint(cursor) & 0x3FFFFFFFFFFFFFFFULL; /* the top bits name a path */
    sst.size_bytes = cursor_varint(cursor);
    sst.smallest = user_key(reading, cursor_prefixed(cursor));
    sst.largest = user_key(reading, cursor_prefixed(cursor));
    cursor_varint(cursor); /* smallest sequence */
    sst.largest_sequence = cursor_varint(cursor);
    if (!skip_custom_fields(reading, cursor) || str_is_null(sst.smallest) ||
        str_is_null(sst.largest) || sst.level >= MANIFEST_LEVELS_MAX) {
        return is_damaged(reading, "the description of an SST file is damaged");
    }
    add_sst(reading, sst);
    return true;
}

static bool read_deleted_file(struct reading *reading, struct cursor *cursor)
{
    cursor_varint(cursor); /* level */
    uint64_t number = cursor_varint(cursor);
    return !cursor->is_bad && remove_table(reading, number);
}

/* Version edits -------------------------------------------------------------------------------- */

static bool read_field(struct reading *reading, struct cursor *cursor)
{
    uint64_t tag = cursor_varint(cursor);
    switch (tag) {
    case TAG_LOG_NUMBER:
    case TAG_NEXT_FILE:
    case TAG_PREVIOUS_LOG_NUMBER:
    case TAG_MIN_LOG_NUMBER:
    case TAG_MAX_COLUMN_FAMILY:
    case TAG_IN_ATOMIC_GROUP:
        cursor_varint(cursor);
        return true;
    case TAG_LAST_SEQUENCE:
        reading->out->last_sequence = cursor_varint(cursor);
        return true;
    case TAG_COMPARATOR:
        cursor_prefixed(cursor);
        return true;
    case TAG_COMPACT_CURSOR:
        cursor_varint(cursor);
        cursor_prefixed(cursor);
        return true;
    case TAG_DELETED_FILE:
        return read_deleted_file(reading, cursor);
    case TAG_NEW_FILE:
        return read_new_file(reading, cursor);
    case TAG_COLUMN_FAMILY:
        return cursor_varint(cursor) == 0 || is_damaged(reading, "there is a column family");
    default:
        if ((tag & TAG_IGNORABLE) == 0) {
            return is_damaged(reading, "a field is not understood");
        }
        cursor_prefixed(cursor);
        return true;
    }
}

static bool read_edit(struct reading *reading)
{
    struct cursor cursor = cursor_make(buf_str(&reading->record));
    while (cursor.at < cursor.end) {
        if (!read_field(reading, &cursor)) {
            return is_damaged(reading, "a record is damaged");
        }
    }
    return !cursor.is_bad || is_damaged(reading, "a record is cut off");
}

/* The file --------------------------------------------------------------------------------------
 */

struct fragment {
    uint8_t type;
    struct str data;
};

/* Reads the fragment at reading->offset and moves behind it. FRAGMENT_NONE: there are no more. */
static bool read_fragment(struct reading *reading, struct fragment *out)
{
    *out = (struct fragment){.type = FRAGMENT_NONE};
    size_t left_in_block = LOG_BLOCK_BYTES - reading->offset % LOG_BLOCK_BYTES;
    if (left_in_block < FRAGMENT_HEAD_LEN) {
        reading->offset += left_in_block;
        left_in_block = LOG_BLOCK_BYTES;
    }
    if (reading->offset >= reading->bytes.len) {
        return true;
    }
    size_t left = MIN(left_in_block, reading->bytes.len - reading->offset);
    const uint8_t *head = (const uint8_t *)reading->bytes.data + reading->offset;
    if (left < FRAGMENT_HEAD_LEN) {
        return is_damaged(reading, "a record is cut off");
    }
    size_t len = get_u16_le(head + 4);
    if (head[6] == 0 && len == 0 && get_u32_le(head) == 0) {
        return true; /* preallocated */
    }
    if (len > left - FRAGMENT_HEAD_LEN ||
        crc32c_masked(str_make(head + 6, len + 1)) != get_u32_le(head)) {
        return is_damaged(reading, "a record does not have its checksum");
    }
    *out = (struct fragment){.type = head[6], .data = str_make(head + FRAGMENT_HEAD_LEN, len)};
    reading->offset += FRAGMENT_HEAD_LEN + len;
    return true;
}

static bool add_fragment(struct reading *reading, const struct fragment *fragment)
{
    bool starts = fragment->type == FRAGMENT_FULL || fragment->type == FRAGMENT_FIRST;
    bool ends = fragment->type == FRAGMENT_FULL || fragment->type == FRAGMENT_LAST;
    if (fragment->type > FRAGMENT_LAST || starts != (reading->record.len == 0)) {
        return is_damaged(reading, "a record is not continued");
    }
    buf_add(&reading->record, fragment->data);
    if (!ends) {
        return true;
    }
    bool good = read_edit(reading);
    reading->record.len = 0;
    return good;
}

static bool read_records(struct reading *reading)
{
    struct fragment fragment;
    bool good;
    while ((good = read_fragment(reading, &fragment)) && fragment.type != FRAGMENT_NONE) {
        if (!add_fragment(reading, &fragment)) {
            return false;
        }
    }
    return good && (reading->record.len == 0 || is_damaged(reading, "the last record is cut off"));
}

static int compare_age(const void *a, const void *b)
{
    const struct manifest_sst *left = a;
    const struct manifest_sst *right = b;
    if (left->level != right->level) {
        return left->level < right->level ? -1 : 1;
    }
    if (left->level > 0) {
        return str_cmp(left->smallest, right->smallest);
    }
    if (left->largest_sequence != right->largest_sequence) {
        return left->largest_sequence > right->largest_sequence ? -1 : 1;
    }
    return (left->number < right->number) - (left->number > right->number);
}

bool manifest_read(struct arena *arena, struct str bytes, struct manifest *out, struct err *err)
{
    *out = (struct manifest){0};
    struct reading reading = {.arena = arena, .bytes = bytes, .err = err, .out = out};
    bool good = read_records(&reading);
    buf_finish(&reading.record);
    struct manifest_sst *ssts = ARENA_ARRAY(arena, struct manifest_sst, out->count + 1);
    if (out->count > 0) {
        memcpy(ssts, out->ssts, out->count * sizeof(*ssts));
        qsort(ssts, out->count, sizeof(*ssts), compare_age);
    }
    mem_free(out->ssts);
    out->ssts = ssts;
    return good;
}
