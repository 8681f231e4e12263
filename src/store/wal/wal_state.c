/* Reads and writes wal.state: see wal_state.h. The state is written as two copies, each with a
 * sequence number and a checksum, so that one of them is always intact; marks are written without a
 * sync. Called by the other files of the WAL: on the thread that opens the store, then on the
 * committing thread. wal_state_read() also by `gramme check`. */
#include "store/wal/wal_state.h"

#include <errno.h>
#include <fcntl.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/wal/wal_format.h"

static const char state_magic[] = "GRAMMEWS";
static const char mark_magic[] = "GRAMMEMK";

enum { STATE_LEN = 192, MARK_LEN = 64, FILE_BYTES = 4 * WAL_BLOCK_BYTES };
enum { FLAG_CLEAN = 1 };

/* Offsets in a state, and in a mark, which begins in the same way. */
enum {
    AT_STORE_ID = 8,
    AT_SEQUENCE = 24,
    AT_SEGMENT = 32,
    AT_VOID_FROM = 40,
    AT_FLAGS = 48,
    AT_LAST = 56,
    AT_LAST_CHECKSUM = 64,
    AT_STORED = 72,
    AT_MANIFEST_BYTES = 80,
    AT_MANIFEST_HASH = 88,
    AT_MANIFEST = 96
};
enum { MARK_AT_NUMBER = 24 };
static_assert(AT_STORE_ID + STORE_ID_LEN == AT_SEQUENCE, "the sequence follows the id");
static_assert(AT_STORE_ID + STORE_ID_LEN == MARK_AT_NUMBER, "the number follows the id");
static_assert(AT_MANIFEST + WAL_MANIFEST_NAME_MAX + CHECKSUM_LEN <= STATE_LEN, "a state has room");
static_assert(MARK_AT_NUMBER + 8 + CHECKSUM_LEN <= MARK_LEN, "a mark has room");
static_assert((int)STATE_LEN <= (int)WAL_BLOCK_BYTES, "a copy has a block of its own");

struct wal_state_file {
    const struct files *files;
    int fd;
    uint8_t store_id[STORE_ID_LEN];
    uint64_t sequence;
    int good_copy; /* the copy that is known to be on disk; written second */
};

static void path_of(const char *directory, const char *name, struct buf *out)
{
    out->len = 0;
    buf_format(out, "%s/%s", directory, name);
}

/* Bytes -------------------------------------------------------------------------------------- */

static void encode_state(const struct wal_state *state, const uint8_t *store_id, uint64_t sequence,
                         uint8_t out[STATE_LEN])
{
    memset(out, 0, STATE_LEN);
    memcpy(out, state_magic, 8);
    memcpy(out + AT_STORE_ID, store_id, STORE_ID_LEN);
    put_u64_le(out + AT_SEQUENCE, sequence);
    put_u64_le(out + AT_SEGMENT, state->segment);
    put_u64_le(out + AT_VOID_FROM, state->void_from);
    put_u32_le(out + AT_FLAGS, state->is_clean ? FLAG_CLEAN : 0);
    put_u64_le(out + AT_LAST, state->last);
    put_u64_le(out + AT_LAST_CHECKSUM, state->last_checksum);
    put_u64_le(out + AT_STORED, state->ssts.stored);
    put_u64_le(out + AT_MANIFEST_BYTES, state->ssts.manifest_bytes);
    put_u64_le(out + AT_MANIFEST_HASH, state->ssts.manifest_hash);
    memcpy(out + AT_MANIFEST, state->ssts.manifest, strlen(state->ssts.manifest));
    checksum_write(out, STATE_LEN);
}

static bool decode_state(uint8_t *bytes, const uint8_t *store_id, struct wal_state *out,
                         uint64_t *out_sequence, bool *out_corrected)
{
    enum checksum_result check = checksum_check(bytes, STATE_LEN);
    if (check == CHECKSUM_BAD || memcmp(bytes, state_magic, 8) != 0 ||
        memcmp(bytes + AT_STORE_ID, store_id, STORE_ID_LEN) != 0) {
        return false;
    }
    *out_corrected = check == CHECKSUM_CORRECTED;
    *out_sequence = get_u64_le(bytes + AT_SEQUENCE);
    *out = (struct wal_state){
        .segment = get_u64_le(bytes + AT_SEGMENT),
        .void_from = get_u64_le(bytes + AT_VOID_FROM),
        .is_clean = (get_u32_le(bytes + AT_FLAGS) & FLAG_CLEAN) != 0,
        .last = get_u64_le(bytes + AT_LAST),
        .last_checksum = get_u64_le(bytes + AT_LAST_CHECKSUM),
        .ssts = {.stored = get_u64_le(bytes + AT_STORED),
                 .manifest_bytes = get_u64_le(bytes + AT_MANIFEST_BYTES),
                 .manifest_hash = get_u64_le(bytes + AT_MANIFEST_HASH)},
    };
    memcpy(out->ssts.manifest, bytes + AT_MANIFEST, WAL_MANIFEST_NAME_MAX);
    return true;
}

static uint64_t decode_mark(uint8_t *bytes, const uint8_t *store_id)
{
    if (checksum_check(bytes, MARK_LEN) == CHECKSUM_BAD || memcmp(bytes, mark_magic, 8) != 0 ||
        memcmp(bytes + AT_STORE_ID, store_id, STORE_ID_LEN) != 0) {
        return 0;
    }
    return get_u64_le(bytes + MARK_AT_NUMBER);
}

/* Reading ------------------------------------------------------------------------------------ */

/* Decodes both copies; of two intact ones the newer counts. */
static bool decode_copies(uint8_t *bytes, const uint8_t *store_id, struct wal_state_found *out)
{
    bool is_found = false;
    for (int copy = 0; copy < 2; copy++) {
        struct wal_state state;
        uint64_t sequence;
        bool corrected = false;
        if (!decode_state(bytes + (size_t)copy * WAL_BLOCK_BYTES, store_id, &state, &sequence,
                          &corrected)) {
            out->bad_copies++;
            continue;
        }
        out->bad_copies += corrected;
        if (!is_found || sequence > out->sequence) {
            out->state = state;
            out->sequence = sequence;
            out->good_copy = copy;
        }
        is_found = true;
    }
    return is_found;
}

static void refuse(const char *directory, const char *why, struct err *err)
{
    err_set(
        err, ERR_INTERNAL,
        "%s/wal.state cannot be read: %s; nothing was changed; look with `gramme check %s`, save "
        "what is left with `gramme repair %s %s-repaired`",
        directory, why, directory, directory, directory);
}

bool wal_state_read(const struct files *files, const char *directory,
                    const uint8_t store_id[STORE_ID_LEN], struct wal_state_found *out,
                    struct err *err)
{
    *out = (struct wal_state_found){0};
    struct buf path = {0};
    struct buf bytes = {0};
    path_of(directory, "wal.state", &path);
    bool good = files_read_file(files, path.data, &bytes);
    if (!good) {
        refuse(directory, strerror(errno), err);
    } else {
        size_t len = bytes.len; /* in a truncated file some copies are bad */
        memset(buf_reserve(&bytes, FILE_BYTES), 0, FILE_BYTES);
        good = len > 0 && decode_copies((uint8_t *)bytes.data, store_id, out);
        if (!good) {
            refuse(directory, "both copies of the write-ahead log's state are bad", err);
        }
    }
    if (good) {
        uint8_t *marks = (uint8_t *)bytes.data + (size_t)2 * WAL_BLOCK_BYTES;
        out->acknowledged =
            MAX(decode_mark(marks, store_id), decode_mark(marks + WAL_BLOCK_BYTES, store_id));
    }
    buf_finish(&bytes);
    buf_finish(&path);
    return good;
}

/* Writing ------------------------------------------------------------------------------------ */

static bool write_at(const struct wal_state_file *file, const uint8_t *bytes, size_t len,
                     uint64_t offset)
{
    struct iovec part = {(void *)bytes, len};
    return files_write_all(file->files, file->fd, &part, 1, offset);
}

static bool write_copy(const struct wal_state_file *file, int copy, const struct wal_state *state)
{
    uint8_t bytes[STATE_LEN];
    encode_state(state, file->store_id, file->sequence, bytes);
    return write_at(file, bytes, sizeof(bytes), (uint64_t)copy * WAL_BLOCK_BYTES) &&
           files_sync(file->files, file->fd);
}

bool wal_state_write(struct wal_state_file *file, const struct wal_state *state)
{
    assert(strlen(state->ssts.manifest) <= WAL_MANIFEST_NAME_MAX);
    file->sequence++;
    int first = 1 - file->good_copy;
    if (!write_copy(file, first, state)) {
        return false; /* the good copy was not touched */
    }
    file->good_copy = first;
    return write_copy(file, 1 - first, state);
}

void wal_state_mark(struct wal_state_file *file, uint64_t number)
{
    assert(number > 0); /* records are counted from 1; 0 means that there is no mark */
    uint8_t bytes[MARK_LEN] = {0};
    memcpy(bytes, mark_magic, 8);
    memcpy(bytes + AT_STORE_ID, file->store_id, STORE_ID_LEN);
    put_u64_le(bytes + MARK_AT_NUMBER, number);
    checksum_write(bytes, sizeof(bytes));
    if (!write_at(file, bytes, sizeof(bytes), (2 + number % 2) * WAL_BLOCK_BYTES)) {
        return;
    }
}

/* Writes all four blocks, so that none needs disk space later. */
static bool create_file(struct wal_state_file *file)
{
    uint8_t *zeroes = mem_zalloc(FILE_BYTES);
    bool good = write_at(file, zeroes, FILE_BYTES, 0);
    mem_free(zeroes);
    return good && wal_state_write(file, &(struct wal_state){0});
}

bool wal_state_create(const struct files *files, const char *directory,
                      const uint8_t store_id[STORE_ID_LEN], struct err *err)
{
    struct buf path = {0};
    path_of(directory, "wal.state", &path);
    struct wal_state_file file = {.files = files};
    memcpy(file.store_id, store_id, STORE_ID_LEN);
    file.fd = files->open(files, path.data, O_CREAT | O_TRUNC | O_RDWR);
    bool good = file.fd >= 0 && create_file(&file) && files->sync_directory(files, directory) == 0;
    if (!good) {
        err_set(err, ERR_INTERNAL, "cannot write %s: %s", path.data, strerror(errno));
    }
    if (file.fd >= 0) {
        files_close(files, file.fd);
    }
    buf_finish(&path);
    return good;
}

struct wal_state_file *wal_state_open(const struct files *files, const char *directory,
                                      const uint8_t store_id[STORE_ID_LEN],
                                      const struct wal_state_found *found)
{
    struct buf path = {0};
    path_of(directory, "wal.state", &path);
    int fd = files->open(files, path.data, O_RDWR);
    buf_finish(&path);
    if (fd < 0) {
        return NULL;
    }
    struct wal_state_file *file = mem_zalloc(sizeof(*file));
    file->files = files;
    file->fd = fd;
    memcpy(file->store_id, store_id, STORE_ID_LEN);
    file->sequence = found->sequence;
    file->good_copy = found->good_copy;
    return file;
}

void wal_state_close(struct wal_state_file *file)
{
    if (file != NULL) {
        files_close(file->files, file->fd);
        mem_free(file);
    }
}
