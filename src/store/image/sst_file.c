/* Reads one SST file of RocksDB: see sst_file.h. Called by image.c and store/backup, on the thread
 * of a command. */
#include "store/image/sst_file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "store/image/sst_block.h"

/* checksum type (1) | handles of metaindex and index, padded (40) | version (u32) | magic (u64) */
enum { FOOTER_LEN = 53 };
static const uint64_t footer_magic = 0x88E241B785F4CFF7ULL;
enum { VERSION_MIN = 2, VERSION_MAX = 5 };
enum { INTERNAL_KEY_TAIL = 8 };
/* The largest block that is searched for if the index is damaged. */
static const size_t unindexed_block_max = (size_t)1 << 20;
/* Larger blocks are malformed, as in sst_block.c. */
static const uint64_t block_bytes_max = (uint64_t)1 << 30;

struct data_block {
    struct block_handle handle;
    struct str separator; /* at least its last key, and less than the first of the next */
};

struct sst_file {
    struct sst_file_options options;
    char name[32];
    int fd;
    uint64_t size;
    uint8_t checksum_type;
    bool has_user_keys; /* keys of the index have no sequence number */
    bool has_delta_values;
    uint64_t entry_count; /* according to the properties */
    size_t corrected_max; /* size of the largest block that is corrected */
    size_t tried_count;   /* bad blocks that sst_file_next_bad_block() has tried to correct */

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

static void report(struct sst_file *sst, enum finding_severity severity, int64_t offset,
                   const char *text)
{
    struct finding finding = {
        .severity = severity, .file = sst->name, .offset = offset, .text = text};
    sst->options.report(sst->options.context, &finding);
}

/* Reports that versions of rows of first <= key <= last are lost. */
static void report_lost(struct sst_file *sst, int64_t offset, const char *text, struct str first,
                        struct str last)
{
    struct finding finding = {.severity = FINDING_DAMAGE,
                              .file = sst->name,
                              .offset = offset,
                              .text = text,
                              .has_range = true,
                              .first = first,
                              .last = last};
    sst->has_lost = true;
    sst->options.report(sst->options.context, &finding);
}

/* Returns the smallest key that can follow the last entry; borrowed until the next entry is read.
 */
static struct str next_possible_key(struct sst_file *sst)
{
    if (sst->seen_count == 0) {
        return sst->options.smallest;
    }
    buf_reserve(&sst->previous, 1)[0] = '\0';
    return str_make(sst->previous.data, sst->previous.len + 1);
}

/* Reports that everything behind the last entry is lost. */
static void report_rest_lost(struct sst_file *sst, int64_t offset, const char *text)
{
    report_lost(sst, offset, text, next_possible_key(sst), sst->options.largest);
}

/* Blocks --------------------------------------------------------------------------------------- */

/* Reads a block with its trailer into sst->stored. Returns NULL, or what is wrong with it. */
static const char *read_block(struct sst_file *sst, struct block_handle handle)
{
    const struct files *files = sst->options.files;
    if (handle.size > MIN(sst->size, block_bytes_max) || handle.offset > sst->size - handle.size ||
        sst->size - handle.size - handle.offset < BLOCK_TRAILER_LEN) {
        return "a block is not inside the file";
    }
    size_t len = (size_t)handle.size + BLOCK_TRAILER_LEN;
    sst->stored.len = 0;
    ssize_t got =
        files_read_all(files, sst->fd, buf_reserve(&sst->stored, len), len, handle.offset);
    if (got < 0 || (size_t)got < len) {
        return got < 0 ? strerror(errno) : "a block is cut off";
    }
    sst->stored.len = len;
    sst->bytes_read += len;
    switch (block_check(&sst->stored, sst->checksum_type, sst->corrected_max)) {
    case BLOCK_GOOD:
        return NULL;
    case BLOCK_CORRECTED:
        if (sst->options.is_for_repair) {
            report(sst, FINDING_CORRECTED, (int64_t)handle.offset, "a flipped bit was corrected");
        } else {
            report(sst, FINDING_DAMAGE, (int64_t)handle.offset,
                   "a bit is flipped: servers cannot read the block; a repair corrects it");
        }
        return NULL;
    default:
        return "a block does not have its checksum";
    }
}

/* Reads a block and starts to iterate over it. sst->iter must be finished. */
static const char *enter_block(struct sst_file *sst, struct block_handle handle,
                               bool has_delta_values)
{
    const char *problem = read_block(sst, handle);
    if (problem != NULL) {
        return problem;
    }
    struct str contents = block_contents(buf_str(&sst->stored), &sst->room);
    if (str_is_null(contents)) {
        return "a block cannot be decompressed";
    }
    block_iter_init(&sst->iter, contents, has_delta_values);
    return NULL;
}

/* Opening -------------------------------------------------------------------------------------- */

static void add_block(struct sst_file *sst)
{
    if (sst->block_count == sst->block_capacity) {
        sst->block_capacity = MAX(2 * sst->block_capacity, (size_t)256);
        sst->blocks = mem_realloc(sst->blocks, sst->block_capacity * sizeof(*sst->blocks));
    }
    struct str key = buf_str(&sst->iter.key);
    if (!sst->has_user_keys) {
        key.len -= MIN(key.len, (size_t)INTERNAL_KEY_TAIL);
    }
    sst->blocks[sst->block_count++] = (struct data_block){
        .handle = sst->iter.handle, .separator = arena_copy_c(&sst->arena, key)};
}

static const char *read_index(struct sst_file *sst, struct block_handle handle)
{
    const char *problem = enter_block(sst, handle, sst->has_delta_values);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&sst->iter)) {
        if (!sst->has_delta_values) {
            struct cursor cursor = cursor_make(sst->iter.value);
            sst->iter.handle = block_handle_read(&cursor);
            sst->iter.is_bad = cursor.is_bad;
        }
        add_block(sst);
    }
    bool is_bad = sst->iter.is_bad;
    block_iter_finish(&sst->iter);
    return is_bad ? "the index is malformed" : NULL;
}

static bool property_is(const struct block_iter *iter, const char *name)
{
    return str_eq(buf_str(&iter->key), str_from_c(name));
}

static const char *read_properties(struct sst_file *sst, struct block_handle handle)
{
    const char *problem = enter_block(sst, handle, false);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&sst->iter)) {
        struct cursor cursor = cursor_make(sst->iter.value);
        if (property_is(&sst->iter, "rocksdb.index.key.is.user.key")) {
            sst->has_user_keys = cursor_varint(&cursor) != 0;
        } else if (property_is(&sst->iter, "rocksdb.index.value.is.delta.encoded")) {
            sst->has_delta_values = cursor_varint(&cursor) != 0;
        } else if (property_is(&sst->iter, "rocksdb.num.entries")) {
            sst->entry_count = cursor_varint(&cursor);
        }
    }
    bool is_bad = sst->iter.is_bad;
    block_iter_finish(&sst->iter);
    return is_bad ? "the properties are malformed" : NULL;
}

enum { META_BLOCKS_MAX = 16 };
struct meta_blocks {
    struct block_handle others[META_BLOCKS_MAX]; /* filters and the like */
    size_t other_count;
    struct block_handle properties;
    bool has_properties;
};

static const char *read_metaindex(struct sst_file *sst, struct block_handle handle,
                                  struct meta_blocks *out)
{
    const char *problem = enter_block(sst, handle, false);
    if (problem != NULL) {
        return problem;
    }
    while (block_iter_next(&sst->iter) && out->other_count < META_BLOCKS_MAX) {
        struct cursor cursor = cursor_make(sst->iter.value);
        struct block_handle block = block_handle_read(&cursor);
        sst->iter.is_bad = cursor.is_bad;
        if (property_is(&sst->iter, "rocksdb.properties")) {
            out->properties = block;
            out->has_properties = true;
        } else {
            out->others[out->other_count++] = block;
        }
    }
    bool is_bad = sst->iter.is_bad;
    block_iter_finish(&sst->iter);
    return is_bad || !out->has_properties ? "the list of meta blocks is malformed" : NULL;
}

/* Reads everything but data blocks. A damaged filter loses no row; without properties the index is
 * assumed to have the format that this version writes. */
static const char *read_meta(struct sst_file *sst, const struct block_handle handles[2])
{
    struct meta_blocks meta = {0};
    const char *problem = read_metaindex(sst, handles[0], &meta);
    if (problem == NULL) {
        problem = read_properties(sst, meta.properties);
    }
    if (problem != NULL) {
        report(sst, FINDING_DAMAGE, (int64_t)handles[0].offset, problem);
    }
    for (size_t i = 0; i < meta.other_count; i++) {
        problem = read_block(sst, meta.others[i]);
        if (problem != NULL) {
            report(sst, FINDING_DAMAGE, (int64_t)meta.others[i].offset,
                   "a filter is damaged; no row is lost by that");
        }
    }
    sst->corrected_max = sst->options.never_corrects ? 0 : BLOCK_CORRECTED_INDEX_MAX;
    problem = read_index(sst, handles[1]);
    sst->corrected_max = sst->options.never_corrects ? 0 : BLOCK_CORRECTED_MAX;
    return problem;
}

static const char *read_footer(struct sst_file *sst, struct block_handle out[2])
{
    uint8_t footer[FOOTER_LEN];
    if (sst->size < FOOTER_LEN) {
        return "the file is too short for an SST file";
    }
    ssize_t got =
        files_read_all(sst->options.files, sst->fd, footer, FOOTER_LEN, sst->size - FOOTER_LEN);
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
            report(sst, FINDING_DAMAGE, (int64_t)(sst->size - FOOTER_LEN),
                   "the padding of the footer is not zero; no row is lost by that");
            break;
        }
    }
    sst->checksum_type = footer[0];
    sst->bytes_read += FOOTER_LEN;
    return NULL;
}

/* Opens the file and checks its size and footer. False: nothing of it can be read. */
static bool open_file(struct sst_file *sst)
{
    const struct files *files = sst->options.files;
    struct buf path = {0};
    buf_format(&path, "%s/%s", sst->options.directory, sst->name);
    sst->fd = files->open(files, path.data, O_RDONLY);
    buf_finish(&path);
    int64_t size = sst->fd < 0 ? -1 : files->size(files, sst->fd);
    if (size < 0) {
        report_lost(sst, -1,
                    sst->fd < 0 && errno == ENOENT ? "the SST file is missing" : strerror(errno),
                    sst->options.smallest, sst->options.largest);
        return false;
    }
    sst->size = (uint64_t)size;
    if (sst->options.size_bytes != 0 && sst->options.size_bytes != sst->size) {
        report(sst, FINDING_DAMAGE, -1,
               "the SST file does not have the length that the manifest says");
    }
    return true;
}

struct sst_file *sst_file_open(const struct sst_file_options *options)
{
    struct sst_file *sst = mem_zalloc(sizeof(*sst));
    sst->options = *options;
    arena_init(&sst->arena);
    struct buf name = {0};
    buf_format(&name, "%06llu.sst", (unsigned long long)options->number);
    memcpy(sst->name, name.data, MIN(name.len + 1, sizeof(sst->name) - 1));
    buf_finish(&name);
    sst->checksum_type = 4;
    sst->corrected_max = options->never_corrects ? 0 : BLOCK_CORRECTED_MAX;
    sst->has_user_keys = true;
    sst->has_delta_values = true;
    if (!open_file(sst)) {
        return sst;
    }
    struct block_handle handles[2];
    const char *problem = read_footer(sst, handles);
    if (problem == NULL) {
        problem = read_meta(sst, handles);
    }
    if (problem != NULL) {
        report(sst, FINDING_DAMAGE, (int64_t)sst->size, problem);
        sst->block_count = 0;
        sst->is_unindexed = true;
    }
    return sst;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Finds the size of the block at sst->unindexed_offset: the smallest for which the bytes behind
 * it are a valid trailer. Most sizes are excluded without hashing, by their compression type. */
static bool find_block(struct sst_file *sst, struct block_handle *out)
{
    size_t len = (size_t)MIN(sst->size - sst->unindexed_offset, (uint64_t)unindexed_block_max);
    sst->stored.len = 0;
    ssize_t got = files_read_all(sst->options.files, sst->fd, buf_reserve(&sst->stored, len), len,
                                 sst->unindexed_offset);
    for (size_t size = 8; got > 0 && size + BLOCK_TRAILER_LEN <= (size_t)got; size++) {
        uint8_t compression = (uint8_t)sst->stored.data[size];
        if ((compression == 0 || compression == 4) &&
            block_is_intact(str_make(sst->stored.data, size + BLOCK_TRAILER_LEN),
                            sst->checksum_type)) {
            *out = (struct block_handle){.offset = sst->unindexed_offset, .size = size};
            sst->unindexed_offset += size + BLOCK_TRAILER_LEN;
            return true;
        }
    }
    return false;
}

/* Whether a block holds data: its keys are internal keys; those of other blocks are text. */
static bool looks_like_data(struct sst_file *sst)
{
    struct block_iter probe;
    struct str contents = block_contents(buf_str(&sst->stored), &sst->room);
    block_iter_init(&probe, contents, false);
    bool good = block_iter_next(&probe) && probe.key.len >= INTERNAL_KEY_TAIL &&
                !str_starts_with(buf_str(&probe.key), STR("rocksdb.")) &&
                !str_starts_with(buf_str(&probe.key), STR("fullfilter."));
    block_iter_finish(&probe);
    return good;
}

static bool enter_unindexed_block(struct sst_file *sst)
{
    struct block_handle handle;
    bool found = find_block(sst, &handle);
    if (found && enter_block(sst, handle, false) == NULL && looks_like_data(sst)) {
        return true;
    }
    block_iter_finish(&sst->iter);
    sst->is_unindexed = false;
    if (found && sst->entry_count > 0 && sst->seen_count == sst->entry_count) {
        return false;
    }
    report_rest_lost(sst, (int64_t)sst->unindexed_offset,
                     "without an index only the blocks before this place can be read");
    return false;
}

/* Finds the keys that data block number `i` may hold: from just behind the separator before it to
 * its own. */
static void find_range(const struct sst_file *sst, size_t i, struct str *out_first,
                       struct str *out_last)
{
    *out_first = sst->options.smallest;
    if (i > 0) { /* with the NUL behind it, it is the next possible key */
        *out_first = sst->blocks[i - 1].separator;
        out_first->len++;
    }
    *out_last = i + 1 < sst->block_count ? sst->blocks[i].separator : sst->options.largest;
}

/* Moves to the next block that can be read. */
static bool enter_next_block(struct sst_file *sst)
{
    if (sst->is_unindexed) {
        return enter_unindexed_block(sst);
    }
    while (sst->next_block < sst->block_count) {
        size_t i = sst->next_block++;
        const struct data_block *block = &sst->blocks[i];
        const char *problem = enter_block(sst, block->handle, false);
        if (problem == NULL) {
            return true;
        }
        struct str first;
        struct str last;
        find_range(sst, i, &first, &last);
        report_lost(sst, (int64_t)block->handle.offset, problem, first, last);
    }
    return false;
}

static bool is_ordered(const struct sst_file *sst, const struct sst_entry *entry)
{
    int order = str_cmp(buf_str(&sst->previous), entry->key);
    return sst->seen_count == 0 || order < 0 ||
           (order == 0 && entry->sequence < sst->previous_sequence);
}

/* Returns the current entry of the iterator. False: the block is malformed although its checksum is
 * right, so it was written like that; the rest of it is skipped. */
static bool take_entry(struct sst_file *sst, struct sst_entry *out)
{
    struct str key = buf_str(&sst->iter.key);
    if (key.len < INTERNAL_KEY_TAIL) {
        return false;
    }
    key.len -= INTERNAL_KEY_TAIL;
    uint64_t packed = get_u64_le((const uint8_t *)key.data + key.len);
    *out = (struct sst_entry){
        .key = key, .value = sst->iter.value, .sequence = packed >> 8, .type = (uint8_t)packed};
    if (!is_ordered(sst, out)) {
        return false;
    }
    sst->previous.len = 0;
    buf_add(&sst->previous, key);
    sst->previous_sequence = out->sequence;
    sst->seen_count++;
    /* A deletion with a value takes the place of a bad block: see block_make_filler(). */
    sst->has_lost = sst->has_lost || (out->type == ENTRY_DELETION && out->value.len > 0);
    return true;
}

static void check_count(struct sst_file *sst)
{
    if (!sst->has_lost && sst->entry_count != sst->seen_count) {
        report(sst, FINDING_DAMAGE, -1, "the SST file does not have as many entries as it says");
        sst->has_lost = true;
    }
}

bool sst_file_next(struct sst_file *sst, struct sst_entry *out)
{
    if (sst->fd < 0) {
        return false;
    }
    while (true) {
        if (!sst->is_in_block && !enter_next_block(sst)) {
            check_count(sst);
            return false;
        }
        sst->is_in_block = true;
        bool has_entry = block_iter_next(&sst->iter);
        if (has_entry && take_entry(sst, out)) {
            return true;
        }
        bool is_malformed = has_entry || sst->iter.is_bad;
        block_iter_finish(&sst->iter);
        sst->is_in_block = false;
        if (is_malformed) {
            struct str last = sst->next_block < sst->block_count
                                  ? sst->blocks[sst->next_block - 1].separator
                                  : sst->options.largest;
            report_lost(sst, -1, "a block is malformed, or its keys are not in order",
                        next_possible_key(sst), last);
        }
    }
}

bool sst_file_has_exact_index(const struct sst_file *sst)
{
    return sst->fd >= 0 && !sst->is_unindexed && sst->has_user_keys && sst->block_count > 0;
}

/* Corrects a flipped bit of the block that was read last, which is bad. STR_NULL: that does not
 * help. */
static struct str correct_block(struct sst_file *sst)
{
    enum { TRIES_MAX = 16 };
    if (sst->tried_count++ >= TRIES_MAX ||
        block_check(&sst->stored, sst->checksum_type, BLOCK_CORRECTED_MAX) != BLOCK_CORRECTED ||
        str_is_null(block_contents(buf_str(&sst->stored), &sst->room))) {
        return STR_NULL;
    }
    return arena_copy(&sst->arena, buf_str(&sst->stored));
}

bool sst_file_next_bad_block(struct sst_file *sst, struct sst_bad_block *out)
{
    while (sst->next_block < sst->block_count) {
        size_t i = sst->next_block++;
        struct block_handle handle = sst->blocks[i].handle;
        if (enter_block(sst, handle, false) == NULL) {
            block_iter_finish(&sst->iter);
            continue;
        }
        *out = (struct sst_bad_block){
            .offset = handle.offset, .size = handle.size, .corrected = correct_block(sst)};
        find_range(sst, i, &out->first, &out->last);
        return true;
    }
    return false;
}

uint8_t sst_file_checksum_type(const struct sst_file *sst)
{
    return sst->checksum_type;
}

uint64_t sst_file_bytes_read(const struct sst_file *sst)
{
    return sst->bytes_read;
}

void sst_file_close(struct sst_file *sst)
{
    if (sst->fd >= 0) {
        files_close(sst->options.files, sst->fd);
    }
    if (sst->is_in_block) {
        block_iter_finish(&sst->iter);
    }
    arena_finish(&sst->arena);
    buf_finish(&sst->stored);
    buf_finish(&sst->room);
    buf_finish(&sst->previous);
    mem_free(sst->blocks);
    mem_free(sst);
}
