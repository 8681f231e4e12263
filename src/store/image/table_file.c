/* Reads one table of RocksDB: see table_file.h. Called by image.c and store/backup, on the thread
 * of a command. */
#include "store/image/table_file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/mem.h"
#include "store/image/block.h"
#include "base/bytes.h"

/* checksum type (1) | handles of metaindex and index, padded (40) | version (u32) | magic (u64) */
enum { FOOTER_LEN = 53 };
static const uint64_t footer_magic = 0x88E241B785F4CFF7ULL;
enum { VERSION_MIN = 2, VERSION_MAX = 5 };
enum { INTERNAL_KEY_TAIL = 8 };
/* The largest block that is searched for if the index is damaged. */
static const size_t unindexed_block_max = (size_t)1 << 20;
/* Larger blocks are malformed, as in block.c. */
static const uint64_t block_bytes_max = (uint64_t)1 << 30;

struct data_block {
    struct block_handle handle;
    struct str separator; /* at least its last key, and less than the first of the next */
};

struct table_file {
    struct table_file_options options;
    char name[32];
    int fd;
    uint64_t size;
    uint8_t checksum_type;
    bool has_user_keys; /* keys of the index have no sequence number */
    bool has_delta_values;
    uint64_t entry_count; /* according to the properties */
    size_t corrected_max; /* size of the largest block that is corrected */

    struct arena arena; /* separators */
    struct data_block *blocks;
    size_t block_count;
    size_t block_capacity;
    size_t next_block;
    bool is_unindexed;
    uint64_t unindexed_offset;

    struct buf stored; /* the current block, and its contents if it was compressed */
    struct buf room;
    struct block_iter iter;
    bool is_in_block;
    struct buf previous; /* key of the last entry */
    uint64_t previous_sequence;
    uint64_t seen_count;
    bool has_lost; /* blocks were skipped, so seen_count is too small */
    uint64_t bytes_read;
};

/* Findings ------------------------------------------------------------------------------------- */

static void report(struct table_file *table, enum finding_severity severity, int64_t offset,
                   const char *text)
{
    struct finding finding = {
        .severity = severity, .file = table->name, .offset = offset, .text = text};
    table->options.report(table->options.context, &finding);
}

/* Reports that versions of rows of first <= key <= last are lost. */
static void report_lost(struct table_file *table, int64_t offset, const char *text,
                        struct str first, struct str last)
{
    struct finding finding = {.severity = FINDING_DAMAGE,
                              .file = table->name,
                              .offset = offset,
                              .text = text,
                              .has_range = true,
                              .first = first,
                              .last = last};
    table->has_lost = true;
    table->options.report(table->options.context, &finding);
}

/* Returns the smallest key that can follow the last entry; borrowed until the next entry is read.
 */
static struct str next_possible_key(struct table_file *table)
{
    if (table->seen_count == 0) {
        return table->options.smallest;
    }
    buf_reserve(&table->previous, 1)[0] = '\0';
    return str_make(table->previous.data, table->previous.len + 1);
}

/* Reports that everything behind the last entry is lost. */
static void report_rest_lost(struct table_file *table, int64_t offset, const char *text)
{
    report_lost(table, offset, text, next_possible_key(table), table->options.largest);
}

/* Blocks --------------------------------------------------------------------------------------- */

/* Reads a block with its trailer into table->stored. Returns NULL, or what is wrong with it. */
static const char *read_block(struct table_file *table, struct block_handle handle)
{
    const struct files *files = table->options.files;
    if (handle.size > MIN(table->size, block_bytes_max) ||
        handle.offset > table->size - handle.size ||
        table->size - handle.size - handle.offset < BLOCK_TRAILER_LEN) {
        return "a block is not inside the file";
    }
    size_t len = (size_t)handle.size + BLOCK_TRAILER_LEN;
    table->stored.len = 0;
    ssize_t got =
        files_read_all(files, table->fd, buf_reserve(&table->stored, len), len, handle.offset);
    if (got < 0 || (size_t)got < len) {
        return got < 0 ? strerror(errno) : "a block is cut off";
    }
    table->stored.len = len;
    table->bytes_read += len;
    switch (block_check(&table->stored, table->checksum_type, table->corrected_max)) {
    case BLOCK_GOOD:
        return NULL;
    case BLOCK_CORRECTED:
        if (table->options.is_for_repair) {
            report(table, FINDING_CORRECTED, (int64_t)handle.offset, "a flipped bit was corrected");
        } else {
            report(table, FINDING_DAMAGE, (int64_t)handle.offset,
                   "a bit is flipped: servers cannot read the block; a repair corrects it");
        }
        return NULL;
    default:
        return "a block does not have its checksum";
    }
}

/* Reads a block and starts to iterate over it. table->iter must be finished. */
static const char *enter_block(struct table_file *table, struct block_handle handle,
                               bool has_delta_values)
{
    const char *problem = read_block(table, handle);
    if (problem != NULL) {
        return problem;
    }
    struct str contents = block_contents(buf_str(&table->stored), &table->room);
    if (str_is_null(contents)) {
        return "a block cannot be decompressed";
    }
    block_iter_init(&table->iter, contents, has_delta_values);
    return NULL;
}

/* Opening -------------------------------------------------------------------------------------- */

static void add_block(struct table_file *table)
{
    if (table->block_count == table->block_capacity) {
        table->block_capacity = MAX(2 * table->block_capacity, (size_t)256);
        table->blocks = mem_realloc(table->blocks, table->block_capacity * sizeof(*table->blocks));
    }
    struct str key = buf_str(&table->iter.key);
    if (!table->has_user_keys) {
        key.len -= MIN(key.len, (size_t)INTERNAL_KEY_TAIL);
    }
    table->blocks[table->block_count++] = (struct data_block){
        .handle = table->iter.handle, .separator = arena_copy_c(&table->arena, key)};
}

static const char *read_index(struct table_file *table, struct block_handle handle)
{
    const char *problem = enter_block(table, handle, table->has_delta_values);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&table->iter)) {
        if (!table->has_delta_values) {
            struct cursor cursor = cursor_make(table->iter.value);
            table->iter.handle = block_handle_read(&cursor);
            table->iter.is_bad = cursor.is_bad;
        }
        add_block(table);
    }
    bool is_bad = table->iter.is_bad;
    block_iter_finish(&table->iter);
    return is_bad ? "the index is malformed" : NULL;
}

static bool property_is(const struct block_iter *iter, const char *name)
{
    return str_eq(buf_str(&iter->key), str_from_c(name));
}

static const char *read_properties(struct table_file *table, struct block_handle handle)
{
    const char *problem = enter_block(table, handle, false);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&table->iter)) {
        struct cursor cursor = cursor_make(table->iter.value);
        if (property_is(&table->iter, "rocksdb.index.key.is.user.key")) {
            table->has_user_keys = cursor_varint(&cursor) != 0;
        } else if (property_is(&table->iter, "rocksdb.index.value.is.delta.encoded")) {
            table->has_delta_values = cursor_varint(&cursor) != 0;
        } else if (property_is(&table->iter, "rocksdb.num.entries")) {
            table->entry_count = cursor_varint(&cursor);
        }
    }
    bool is_bad = table->iter.is_bad;
    block_iter_finish(&table->iter);
    return is_bad ? "the properties are malformed" : NULL;
}

enum { META_BLOCKS_MAX = 16 };
struct meta_blocks {
    struct block_handle others[META_BLOCKS_MAX]; /* filters and the like */
    size_t other_count;
    struct block_handle properties;
    bool has_properties;
};

static const char *read_metaindex(struct table_file *table, struct block_handle handle,
                                  struct meta_blocks *out)
{
    const char *problem = enter_block(table, handle, false);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&table->iter) && out->other_count < META_BLOCKS_MAX) {
        struct cursor cursor = cursor_make(table->iter.value);
        struct block_handle block = block_handle_read(&cursor);
        table->iter.is_bad = cursor.is_bad;
        if (property_is(&table->iter, "rocksdb.properties")) {
            out->properties = block;
            out->has_properties = true;
        } else {
            out->others[out->other_count++] = block;
        }
    }
    bool is_bad = table->iter.is_bad;
    block_iter_finish(&table->iter);
    return is_bad || !out->has_properties ? "the list of meta blocks is malformed" : NULL;
}

/* Reads everything but data blocks. A damaged filter loses no row; without properties the index is
 * assumed to have the format that this version writes. */
static const char *read_meta(struct table_file *table, const struct block_handle handles[2])
{
    struct meta_blocks meta = {0};
    const char *problem = read_metaindex(table, handles[0], &meta);
    if (problem == NULL) {
        problem = read_properties(table, meta.properties);
    }
    if (problem != NULL) {
        report(table, FINDING_DAMAGE, (int64_t)handles[0].offset, problem);
    }
    for (size_t i = 0; i < meta.other_count; i++) {
        problem = read_block(table, meta.others[i]);
        if (problem != NULL) {
            report(table, FINDING_DAMAGE, (int64_t)meta.others[i].offset,
                   "a filter is damaged; no row is lost by that");
        }
    }
    table->corrected_max = BLOCK_CORRECTED_INDEX_MAX;
    problem = read_index(table, handles[1]);
    table->corrected_max = BLOCK_CORRECTED_MAX;
    return problem;
}

static const char *read_footer(struct table_file *table, struct block_handle out[2])
{
    uint8_t footer[FOOTER_LEN];
    if (table->size < FOOTER_LEN) {
        return "the file is too short for a table";
    }
    ssize_t got = files_read_all(table->options.files, table->fd, footer, FOOTER_LEN,
                                 table->size - FOOTER_LEN);
    if (got != FOOTER_LEN) {
        return got < 0 ? strerror(errno) : "the footer is cut off";
    }
    uint32_t version = get_u32_le(footer + 41);
    struct cursor cursor = cursor_make(str_make(footer + 1, 40));
    out[0] = block_handle_read(&cursor);
    out[1] = block_handle_read(&cursor);
    if (get_u64_le(footer + 45) != footer_magic || version < VERSION_MIN || version > VERSION_MAX ||
        cursor.is_bad) {
        return "the footer is damaged";
    }
    while (cursor.at < cursor.end) {
        if (*cursor.at++ != 0) {
            report(table, FINDING_DAMAGE, (int64_t)(table->size - FOOTER_LEN),
                   "the padding of the footer is not zero; no row is lost by that");
            break;
        }
    }
    table->checksum_type = footer[0];
    table->bytes_read += FOOTER_LEN;
    return NULL;
}

/* Opens the file and checks its size and footer. False: nothing of it can be read. */
static bool open_file(struct table_file *table)
{
    const struct files *files = table->options.files;
    struct buf path = {0};
    buf_format(&path, "%s/%s", table->options.directory, table->name);
    table->fd = files->open(files, path.data, O_RDONLY);
    buf_finish(&path);
    int64_t size = table->fd < 0 ? -1 : files->size(files, table->fd);
    if (size < 0) {
        report_lost(table, -1,
                    table->fd < 0 && errno == ENOENT ? "the table is missing" : strerror(errno),
                    table->options.smallest, table->options.largest);
        return false;
    }
    table->size = (uint64_t)size;
    if (table->options.size_bytes != 0 && table->options.size_bytes != table->size) {
        report(table, FINDING_DAMAGE, -1,
               "the table does not have the length that the manifest says");
    }
    return true;
}

struct table_file *table_file_open(const struct table_file_options *options)
{
    struct table_file *table = mem_zalloc(sizeof(*table));
    table->options = *options;
    arena_init(&table->arena);
    struct buf name = {0};
    buf_format(&name, "%06llu.sst", (unsigned long long)options->number);
    memcpy(table->name, name.data, MIN(name.len + 1, sizeof(table->name) - 1));
    buf_finish(&name);
    table->checksum_type = 4;
    table->corrected_max = BLOCK_CORRECTED_MAX;
    table->has_user_keys = true;
    table->has_delta_values = true;
    if (!open_file(table)) {
        return table;
    }
    struct block_handle handles[2];
    const char *problem = read_footer(table, handles);
    if (problem == NULL) {
        problem = read_meta(table, handles);
    }
    if (problem != NULL) {
        report(table, FINDING_DAMAGE, (int64_t)table->size, problem);
        table->block_count = 0;
        table->is_unindexed = true;
    }
    return table;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Finds the size of the block at table->unindexed_offset: the smallest for which the bytes behind
 * it are a valid trailer. Most sizes are excluded without hashing, by their compression type. */
static bool find_block(struct table_file *table, struct block_handle *out)
{
    size_t len = (size_t)MIN(table->size - table->unindexed_offset, (uint64_t)unindexed_block_max);
    table->stored.len = 0;
    ssize_t got = files_read_all(table->options.files, table->fd, buf_reserve(&table->stored, len),
                                 len, table->unindexed_offset);
    for (size_t size = 8; got > 0 && size + BLOCK_TRAILER_LEN <= (size_t)got; size++) {
        uint8_t compression = (uint8_t)table->stored.data[size];
        if ((compression == 0 || compression == 4) &&
            block_is_intact(str_make(table->stored.data, size + BLOCK_TRAILER_LEN),
                            table->checksum_type)) {
            *out = (struct block_handle){.offset = table->unindexed_offset, .size = size};
            table->unindexed_offset += size + BLOCK_TRAILER_LEN;
            return true;
        }
    }
    return false;
}

/* Whether a block holds data: its keys are internal keys; those of other blocks are text. */
static bool looks_like_data(struct table_file *table)
{
    struct block_iter probe;
    struct str contents = block_contents(buf_str(&table->stored), &table->room);
    block_iter_init(&probe, contents, false);
    bool good = block_iter_next(&probe) && probe.key.len >= INTERNAL_KEY_TAIL &&
                !str_starts_with(buf_str(&probe.key), STR("rocksdb.")) &&
                !str_starts_with(buf_str(&probe.key), STR("fullfilter."));
    block_iter_finish(&probe);
    return good;
}

static bool enter_unindexed_block(struct table_file *table)
{
    struct block_handle handle;
    bool found = find_block(table, &handle);
    if (found && enter_block(table, handle, false) == NULL && looks_like_data(table)) {
        return true;
    }
    block_iter_finish(&table->iter);
    table->is_unindexed = false;
    if (found && table->entry_count > 0 && table->seen_count == table->entry_count) {
        return false;
    }
    report_rest_lost(table, (int64_t)table->unindexed_offset,
                     "without an index only the blocks before this place can be read");
    return false;
}

/* Moves to the next block that can be read. */
static bool enter_next_block(struct table_file *table)
{
    if (table->is_unindexed) {
        return enter_unindexed_block(table);
    }
    while (table->next_block < table->block_count) {
        size_t i = table->next_block++;
        const struct data_block *block = &table->blocks[i];
        const char *problem = enter_block(table, block->handle, false);
        if (problem == NULL) {
            return true;
        }
        struct str first = table->options.smallest;
        if (i > 0) { /* with the NUL behind it, it is the next possible key */
            first = table->blocks[i - 1].separator;
            first.len++;
        }
        report_lost(table, (int64_t)block->handle.offset, problem, first,
                    i + 1 < table->block_count ? block->separator : table->options.largest);
    }
    return false;
}

static bool is_ordered(const struct table_file *table, const struct table_entry *entry)
{
    int order = str_cmp(buf_str(&table->previous), entry->key);
    return table->seen_count == 0 || order < 0 ||
           (order == 0 && entry->sequence < table->previous_sequence);
}

/* Returns the current entry of the iterator. False: the block is malformed although its checksum is
 * right, so it was written like that; the rest of it is skipped. */
static bool take_entry(struct table_file *table, struct table_entry *out)
{
    struct str key = buf_str(&table->iter.key);
    if (key.len < INTERNAL_KEY_TAIL) {
        return false;
    }
    key.len -= INTERNAL_KEY_TAIL;
    uint64_t packed = get_u64_le((const uint8_t *)key.data + key.len);
    *out = (struct table_entry){
        .key = key, .value = table->iter.value, .sequence = packed >> 8, .type = (uint8_t)packed};
    if (!is_ordered(table, out)) {
        return false;
    }
    table->previous.len = 0;
    buf_add(&table->previous, key);
    table->previous_sequence = out->sequence;
    table->seen_count++;
    return true;
}

static void check_count(struct table_file *table)
{
    if (!table->has_lost && table->entry_count != table->seen_count) {
        report(table, FINDING_DAMAGE, -1, "the table does not have as many entries as it says");
        table->has_lost = true;
    }
}

bool table_file_next(struct table_file *table, struct table_entry *out)
{
    if (table->fd < 0) {
        return false;
    }
    while (true) {
        if (!table->is_in_block && !enter_next_block(table)) {
            check_count(table);
            return false;
        }
        table->is_in_block = true;
        bool has_entry = block_iter_next(&table->iter);
        if (has_entry && take_entry(table, out)) {
            return true;
        }
        bool is_malformed = has_entry || table->iter.is_bad;
        block_iter_finish(&table->iter);
        table->is_in_block = false;
        if (is_malformed) {
            struct str last = table->next_block < table->block_count
                                  ? table->blocks[table->next_block - 1].separator
                                  : table->options.largest;
            report_lost(table, -1, "a block is malformed, or its keys are not in order",
                        next_possible_key(table), last);
        }
    }
}

uint64_t table_file_bytes_read(const struct table_file *table)
{
    return table->bytes_read;
}

void table_file_close(struct table_file *table)
{
    if (table->fd >= 0) {
        files_close(table->options.files, table->fd);
    }
    if (table->is_in_block) {
        block_iter_finish(&table->iter);
    }
    arena_finish(&table->arena);
    buf_finish(&table->stored);
    buf_finish(&table->room);
    buf_finish(&table->previous);
    mem_free(table->blocks);
    mem_free(table);
}
