/* engine/history.h: earlier versions of a table's items, for backups and point-in-time recovery.
 *
 * While a table keeps its history, every write that changes an item also writes the item's row as
 * it was before, in the same update, under the item's key and the time of the update
 * (store.h, rule 8):
 *
 *   history space | h(pk) | grp(sk) time in ns (u64, big-endian)    01, the row before; just 01:
 *                                                                    there was none
 *
 * So the items as of an instant follow from the items of now: of an item that was changed since,
 * the version is in its first record after the instant; all others are as they were. Rows and
 * history are in the same order, so both are read side by side, chunk by chunk, without a snapshot:
 * if the rows are read first, whatever changes meanwhile is found in the history.
 *
 * That holds for instants from when on all calls know the history space, up to any instant that is
 * settled (store_settle()), as long as no record is trimmed that an instant needs: which instants
 * there are, the backups say (engine/backup.h). Spaces of items and history outlive their table
 * while a backup needs them. */
#ifndef GRAMME_ENGINE_HISTORY_H
#define GRAMME_ENGINE_HISTORY_H

#include "engine/engine.h"
#include "engine/background.h"

enum { HISTORY_TIME_LEN = 8 };

/* For evals: adds the record of a write that changes the item. `old_row` is the row before,
 * STR_NULL: there was none. */
void history_append(const struct item_write *write, struct str old_row, int64_t time_ns,
                    struct store_batch *batch, struct arena *arena);

/* --- keys --- */

/* The key of the records of an item's row, without the time. */
struct str history_prefix(struct arena *arena, uint32_t history_space, struct str row_key);
/* The key of the item's row in `space` that a record belongs to; STR_NULL: the key is bad. */
struct str history_row_key(struct arena *arena, uint32_t space, struct str record_key);
/* The time of a record. */
int64_t history_time_ns(struct str record_key);
/* The row before, in a record; STR_NULL: there was none. *out_good: the record can be read. */
struct str history_row_before(struct str record, bool *out_good);

/* --- reading: on a background thread --- */

/* What is read: all items as of `instant_ns`; or, if `until_ns` is not 0, the items that were
 * changed after `instant_ns` and not after `until_ns`. */
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

/* Reads a source from its first to its last key. Fill in `background` and `source`; {0} else. */
struct history_reader {
    struct background *background;
    struct history_source source;
    struct str from; /* the first row key that has not been read; STR_NULL: the first of all */
    size_t rows_max; /* of a chunk; 0: as many as are sensible */

    /* The chunk: valid until the next one is read. */
    struct history_item *items;
    size_t count;
    bool is_last;

    struct arena arena; /* its own, like the next */
    struct arena scratch;
};

/* Reads the next chunk; false: the store could not be read, and the same can be tried again. */
MUST_USE bool history_read(struct history_reader *reader);
/* Frees the memory of the chunk. */
void history_reader_finish(struct history_reader *reader);
/* 0 to 1: which part of all keys has been read. */
double history_progress(const struct history_reader *reader);

#endif
