/* Puts the bad blocks of an SST file into quarantine, so that compactions can read the file. Called
 * with the turn to commit and the gate shut, when a compaction has failed and the database is to be
 * closed and opened again.
 *
 * In this order, so that a crash in between loses no knowledge of the damage:
 *  1. The format of the store becomes STORE_FORMAT_QUARANTINE: older servers, which do not know
 *     the list, refuse the store.
 *  2. The list of the blocks, with their ranges of keys, is written to the write-ahead log. From
 *     the next open on no read returns a row of the ranges.
 *  3. The bytes of the blocks are saved to files of their own.
 *  4. A copy of the SST file replaces the file. In the place of each bad block it has a harmless
 *     one, or the corrected one if a single bit was flipped, which only `gramme repair` reads.
 * After a crash before 4 the next compaction of the file fails again, and the steps are repeated.
 *
 * If no bad block is found, the disk or the memory failed only that time: compactions go on, unless
 * it has happened several times.
 *
 * Not every block can be put into quarantine; compactions then stop (faults/damage.c). All rows of
 * a range fail, also those that the block did not hold, so a range that is much larger than the
 * block is not accepted: a small block of level 0 may cover most of a table. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/image/quarantine_row.h"
#include "store/image/sst_block.h"
#include "store/image/sst_rewrite.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/faults/quarantine.h"

/* The largest range: so many bytes of SST files, or this part of the table if that is more, but
 * never more than the last. */
static const uint64_t range_bytes_min = 64 << 10;
static const uint64_t range_part = 64;
static const uint64_t range_bytes_max = 1 << 20;

/* The bad blocks of one SST file. */
struct plan {
    struct rocks *rocks;
    struct arena arena;
    struct sst_rewrite rewrite;
    struct sst_bad_block blocks[QUARANTINE_MAX];
    bool has_other_damage; /* not in a data block */
};

static uint64_t bytes_between(rocksdb_t *db, struct str lo, struct str hi)
{
    uint64_t bytes = 0;
    char *message = NULL;
    rocksdb_approximate_sizes(db, 1, &lo.data, &lo.len, &hi.data, &hi.len, &bytes, &message);
    return rocks_failed(message, "measure a range") ? UINT64_MAX : bytes;
}

/* Whether the range is narrow enough, compared with all rows of its space. */
static bool is_narrow(rocksdb_t *db, const struct sst_bad_block *block)
{
    char lo[STORE_SPACE_LEN];
    char hi[STORE_SPACE_LEN];
    put_u32_be(lo, store_key_space(block->first));
    put_u32_be(hi, store_key_space(block->first) + 1);
    uint64_t all = bytes_between(db, str_make(lo, sizeof(lo)), str_make(hi, sizeof(hi)));
    uint64_t allowed = MIN(MAX(range_bytes_min, all / range_part), range_bytes_max);
    return bytes_between(db, block->first, block->last) <= allowed;
}

/* Finding the blocks --------------------------------------------------------------------------- */

static void note_other_damage(void *context, const struct finding *finding)
{
    struct plan *plan = context;
    plan->has_other_damage = plan->has_other_damage || finding->severity == FINDING_DAMAGE;
}

/* Finds the SST file among those in use. */
static bool find_sst(struct plan *plan, struct sst_file_options *out)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(plan->rocks->db);
    bool found = false;
    for (int i = 0; i < rocksdb_livefiles_count(files) && !found; i++) {
        const char *name = rocksdb_livefiles_name(files, i); /* "/000012.sst" */
        size_t len;
        if (strtoull(name + (name[0] == '/'), NULL, 10) == plan->rewrite.number) {
            const char *key = rocksdb_livefiles_smallestkey(files, i, &len);
            out->smallest = arena_copy(&plan->arena, str_make(key, len));
            key = rocksdb_livefiles_largestkey(files, i, &len);
            out->largest = arena_copy(&plan->arena, str_make(key, len));
            out->size_bytes = rocksdb_livefiles_size(files, i);
            found = true;
        }
    }
    rocksdb_livefiles_destroy(files);
    return found;
}

/* Adds a block. Returns NULL, or why it cannot be put into quarantine. */
static const char *add_block(struct plan *plan, const struct sst_bad_block *block)
{
    const struct quarantine *quarantine = &plan->rocks->quarantine;
    if (quarantine->block_count + plan->rewrite.count >= QUARANTINE_MAX) {
        return "too many blocks are in quarantine";
    }
    if (!quarantine_accepts(block->first, block->last)) {
        return "the block holds rows of several tables, or of the store itself";
    }
    if (!is_narrow(plan->rocks->db, block)) {
        return "too many rows are in the range of keys of the block";
    }
    struct buf filler = {0};
    bool fits = block_make_filler(&filler, block->size, plan->rewrite.checksum_type, block->last);
    buf_finish(&filler);
    if (!fits && str_is_null(block->corrected)) {
        return "the block is too small";
    }
    assert(plan->rewrite.count < COUNT_OF(plan->blocks));
    struct sst_bad_block *added = &plan->blocks[plan->rewrite.count++];
    *added = *block;
    added->first = arena_copy(&plan->arena, block->first);
    added->last = arena_copy(&plan->arena, block->last);
    if (!str_is_null(block->corrected)) {
        added->corrected = arena_copy(&plan->arena, block->corrected);
    }
    return NULL;
}

/* Returns NULL, or why the blocks cannot be put into quarantine. There may be none. */
static const char *find_blocks(struct plan *plan, struct sst_file *sst)
{
    if (plan->has_other_damage || !sst_file_has_exact_index(sst)) {
        return "not only blocks with rows are damaged";
    }
    plan->rewrite.checksum_type = sst_file_checksum_type(sst);
    struct sst_bad_block block;
    while (sst_file_next_bad_block(sst, &block)) {
        const char *problem = add_block(plan, &block);
        if (problem != NULL) {
            return problem;
        }
    }
    return NULL;
}

/* Reads the SST file. Returns NULL, or why its blocks cannot be put into quarantine. */
static const char *make_plan(struct plan *plan)
{
    struct rocks *rocks = plan->rocks;
    if (rocks->env != NULL || rocks->db == NULL || plan->rewrite.number == 0) {
        return "the SST file is not known";
    }
    struct sst_file_options options = {.files = rocks->files,
                                       .directory = rocks->path,
                                       .number = plan->rewrite.number,
                                       .never_corrects = true,
                                       .report = note_other_damage,
                                       .context = plan};
    if (!find_sst(plan, &options)) {
        return "the SST file is not in use";
    }
    struct sst_file *sst = sst_file_open(&options);
    const char *problem = find_blocks(plan, sst);
    sst_file_close(sst);
    return problem;
}

/* Carrying it out ------------------------------------------------------------------------------ */

static bool raise_format(struct rocks *rocks, struct err *err)
{
    assert(rocks->identity.format <= STORE_FORMAT_QUARANTINE);
    if (rocks->identity.format == STORE_FORMAT_QUARANTINE) {
        return true;
    }
    struct identity identity = rocks->identity;
    identity.format = STORE_FORMAT_QUARANTINE;
    if (!identity_write(rocks->files, rocks->path, &identity, err)) {
        return false;
    }
    rocks->identity = identity;
    return true;
}

/* Writes the list to the write-ahead log. A block that is in the list already, because a crash has
 * interrupted the steps, keeps its row. */
static bool write_rows(const struct plan *plan, struct err *err)
{
    struct rocks *rocks = plan->rocks;
    assert(rocks->identity.format == STORE_FORMAT_QUARANTINE);
    rocksdb_writebatch_t *writes = rocksdb_writebatch_create();
    struct buf value = {0};
    for (size_t i = 0; i < plan->rewrite.count; i++) {
        const struct sst_bad_block *block = &plan->blocks[i];
        if (quarantine_has_block(&rocks->quarantine, plan->rewrite.number, block->offset)) {
            continue;
        }
        struct quarantine_row row = {.sst = plan->rewrite.number,
                                     .offset = block->offset,
                                     .first = block->first,
                                     .last = block->last,
                                     .is_corrected = !str_is_null(block->corrected)};
        char key[QUARANTINE_KEY_LEN];
        quarantine_row_encode(&row, key, &value);
        rocksdb_writebatch_put(writes, key, sizeof(key), value.data, value.len);
    }
    bool good = rocksdb_writebatch_count(writes) == 0 || rocks_write_to_wal(rocks, writes);
    rocksdb_writebatch_destroy(writes);
    buf_finish(&value);
    return good || err_set(err, ERR_INTERNAL, "the write-ahead log cannot be written");
}

static void log_blocks(const struct plan *plan)
{
    for (size_t i = 0; i < plan->rewrite.count; i++) {
        rocks_note_damage(plan->rocks, plan->rewrite.number, (int64_t)plan->blocks[i].offset,
                          "a bad block");
    }
    log_write(LOG_WARN, "store",
              "%zu bad blocks of %s/%06llu.sst were replaced and their ranges of keys are in "
              "quarantine: requests for rows there fail, compactions and everything else go on; "
              "the bytes of the blocks are in quarantine-%06llu-OFFSET.block",
              plan->rewrite.count, plan->rocks->path, (unsigned long long)plan->rewrite.number,
              (unsigned long long)plan->rewrite.number);
}

/* The SST file has no bad block. Returns NULL if compactions may go on, or why not. */
static const char *try_again(struct rocks *rocks)
{
    return rocks_note_unconfirmed(rocks) ? NULL
                                         : "reading it failed again and again, although no bad "
                                           "block was found in it";
}

/* Closes the database and carries out the plan. Returns NULL, or why that failed; in `arena`. */
static const char *carry_out(struct plan *plan)
{
    struct rocks *rocks = plan->rocks;
    struct err err = ERR_INIT(&plan->arena);
    assert(plan->rewrite.count > 0);
    assert(!plan->has_other_damage);
    rocks_close_database(rocks);
    assert(rocks->db == NULL); /* nobody reads the file while it is replaced */
    if (raise_format(rocks, &err) && write_rows(plan, &err) &&
        sst_save_blocks(&plan->rewrite, &err) && sst_replace_blocks(&plan->rewrite, &err)) {
        log_blocks(plan);
        return NULL;
    }
    return arena_copy_c(&plan->arena, err.message).data;
}

void rocks_close_damaged(struct rocks *rocks)
{
    struct damage *damage = &rocks->damage;
    if (damage->failure == NULL) {
        rocks_close_database(rocks);
        return;
    }
    struct plan *plan = mem_zalloc(sizeof(*plan));
    arena_init(&plan->arena);
    plan->rocks = rocks;
    plan->rewrite = (struct sst_rewrite){.files = rocks->files,
                                         .directory = rocks->path,
                                         .number = damage->failed_sst,
                                         .blocks = plan->blocks};
    const char *problem = make_plan(plan);
    if (problem == NULL) {
        problem = plan->rewrite.count > 0 ? carry_out(plan) : try_again(rocks);
    }
    if (problem != NULL) {
        rocks_stop_compactions(rocks, problem);
    }
    rocks_close_database(rocks);
    mem_free(damage->failure);
    damage->failure = NULL;
    arena_finish(&plan->arena);
    mem_free(plan);
}
