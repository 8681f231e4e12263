/* engine/history.h: earlier versions of the items of a table, for backups and point-in-time
 * recovery.
 *
 * While a table keeps its history, every write that changes an item also writes a record with the
 * previous row of the item, in the same update, under the key of the item and the time of the
 * update (store.h, rule 8):
 *
 *   history space | h(pk) | grp(sk) time in ns (u64, big-endian)    01, the row before; just 01:
 *                                                                    there was none
 *
 * So the items of an instant are derived from the current items: if an item was changed later, its
 * version of that instant is in its first record after the instant; else it is the current one.
 * Rows and history have the same order, so both are read together, chunk by chunk, without a
 * snapshot: the rows are read first, so changes that happen meanwhile are found in the history.
 *
 * This is valid for instants after all calls knew the history space, up to an instant that is
 * settled (store_settle()), while no record is trimmed that an instant needs; the backups determine
 * which instants are needed (engine/backup.h). The spaces of items and history are kept after their
 * table is deleted while a backup needs them. */
#ifndef GRAMME_ENGINE_HISTORY_H
#define GRAMME_ENGINE_HISTORY_H

#include "engine/background.h"
#include "engine/engine.h"

enum { HISTORY_TIME_LEN = 8 };

/* For evals: adds the record of a write that changes the item. `old_row` is the previous row;
 * STR_NULL: there was none. */
void history_append(const struct item_write *write, struct str old_row, int64_t time_ns,
                    struct store_batch *batch, struct arena *arena);

/* --- keys --- */

/* Returns the key of the records of an item, without the time. */
struct str history_prefix(struct arena *arena, uint32_t history_space, struct str row_key);
/* Returns the key of the item's row in `space`, from the key of a record; STR_NULL: it is
 * malformed.
 */
struct str history_row_key(struct arena *arena, uint32_t space, struct str record_key);
/* Returns the time in the key of a record. */
int64_t history_time_ns(struct str record_key);
/* Returns the previous row in a record; STR_NULL: there was none. *out_good: the record is valid.
 */
struct str history_row_before(struct str record, bool *out_good);

/* --- reading: on a background thread --- */

/* Selects what is read: all items as of `instant_ns`; or, if `until_ns` is not 0, the items that
 * were changed after `instant_ns` and not after `until_ns`. */
struct history_source {
    uint32_t space;
    uint32_t history_space;
    int64_t instant_ns;
    int64_t until_ns;
};

struct history_item {
    struct str key;    /* of the item's row */
    struct str row;    /* as of `instant_ns`; STR_NULL: there was no item */
    struct str after;  /* changes only: as of `until_ns`; STR_NULL: there was no item */
    int64_t change_ns; /* changes only: the last change until then */
};

/* Reads a source from its first to its last key. Set `background` and `source`; the rest is {0}. */
struct history_reader {
    struct background *background;
    struct history_source source;
    struct str from; /* the first row key that is not read yet; STR_NULL: the start */
    size_t rows_max; /* of a chunk; 0: a default */

    /* The chunk: valid until the next one is read. */
    struct history_item *items;
    size_t count;
    bool is_last;

    bool is_unreadable; /* several attempts in some seconds have failed on damaged rows */

    struct arena arena; /* private, as the next */
    struct arena scratch;
};

/* Reads the next chunk. False: the store could not be read; the caller may try again, unless
 * `is_unreadable`. Blocks. */
MUST_USE bool history_read(struct history_reader *reader);
/* Frees the memory of the chunk. */
void history_reader_finish(struct history_reader *reader);
/* Returns the part of the key space that was read, 0 to 1. */
double history_progress(const struct history_reader *reader);

/* --- the room that histories take --- */

struct history_size {
    struct str table_name;
    bool is_deleted; /* kept for backups; of all deleted tables of that name together */
    int64_t records;
    int64_t bytes; /* of the records in the store, before its compression */
};
/* Returns the number of histories; *out is an array of their sizes in `arena`. Zeros if the store
 * cannot be read. Blocks: not on network threads. */
size_t engine_history_sizes(struct engine *engine, struct arena *arena, struct history_size **out);

#endif
