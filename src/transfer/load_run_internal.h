/* transfer/load_run_internal.h: one import or bulk put that is running, on its own thread.
 *
 * Records are read into a batch while the batches before it are being written. When one has been
 * written the load's counts and cursor advance to its end; from time to time they are stored with
 * load_save(). After a restart the load continues at the stored cursor, so records after it may be
 * written twice. For puts without conditions that makes no difference; see load_is_replay() for the
 * others. */
#ifndef GRAMME_TRANSFER_LOAD_RUN_INTERNAL_H
#define GRAMME_TRANSFER_LOAD_RUN_INTERNAL_H

#include "archive/record.h"
#include "base/buf.h"
#include "engine/load.h"
#include "objects/objects.h"

enum {
    BATCHES = 4,                   /* one is filled while the others are being written */
    BATCH_ITEMS = 1024,            /* most items of a batch */
    BATCH_RECORDS = 4096,          /* and records, also those that are not written */
    BATCH_BYTES = 2 * 1024 * 1024, /* and about how many bytes of items */
    TEXT_BYTES = 8 * 1024 * 1024,  /* and of the text that was read for it, decompressed */
    GROUP_ITEMS = 64,              /* items of one update of the store */
    SAVE_ITEMS = 50 * 1000,        /* records after which progress is stored */
    SAVE_US = 500 * 1000,          /* and the time; a batch is not filled for longer either */
    REPORT_BYTES = 1024 * 1024,    /* of an object with reports */
    BATCHES_PER_SECOND = 4,        /* at least, with a rate */
    LOGGED_MAX = 100,              /* errors of one load that are logged */
    OBJECTS_MAX = 50 * 1000,       /* that one load reads */
};

/* The position in the objects at which a batch ends. */
struct load_place {
    struct buf key;
    struct buf etag;
    int64_t offset;
    int64_t index;
    int64_t bytes;       /* of the object, as it is stored */
    int64_t total_bytes; /* of all objects up to there */
    bool is_done;
};

/* Where one record stands, for reports. */
struct load_pointer {
    struct str key;
    int64_t index;
};

enum load_report { REPORT_ERROR, REPORT_CONDITION, REPORT_KINDS };

/* Records that are written together. */
struct load_batch {
    struct arena arena;
    const struct table *table; /* acquired */
    struct item_write *writes;
    struct load_pointer *pointers; /* of the writes */
    size_t count;
    size_t bytes;
    size_t text_bytes; /* that were read while it was filled: parsing takes memory for them */
    int64_t begin_us;
    double units; /* of the table, about */
    struct items_write **groups;
    size_t group_count;
    struct buf object_key; /* that the newest record is of */
    struct str object_key_copy;

    int64_t records; /* also those that are not written */
    int64_t errors;
    struct buf reports[REPORT_KINDS];
    struct load_place end;

    bool is_started;
    size_t waiting; /* for so many groups */
    bool done;
};

/* How a run ends. */
enum load_result {
    LOAD_RUN_ON,    /* not ended: continue */
    LOAD_RUN_ENDED, /* the row says how */
    LOAD_RUN_LATER, /* the store failed, or this server is to stop: the row stays as it is */
    LOAD_RUN_FAIL,  /* it must fail, with failure_code and failure_message of `load` */
    LOAD_RUN_CANCEL,
};

struct load_run {
    struct background *background;
    struct engine *engine;
    struct objects *objects;
    struct arena arena;   /* as long as the run */
    struct arena scratch; /* of one step */
    struct str row_name;
    struct str arn;
    struct str report_folder;           /* the keys of all objects with reports begin so */
    struct load load;                   /* as it was stored or is to be stored next */
    struct load_batch batches[BATCHES]; /* a ring */
    size_t filling;                     /* the batch into which records are read */
    size_t writing;                     /* how many before it are being written */
    struct load_place at;               /* of the reader */
    struct buf key;                     /* the bytes that load.cursor borrows */
    struct buf etag;
    int64_t *index_bytes; /* load.index_bytes, not const */
    int64_t replay_items; /* records up to this number may have been written by an earlier run */
    int64_t saved_items;  /* when progress was stored last */
    int64_t saved_us;
    int64_t paused_until_us; /* for the rate */
    int64_t logged;
    struct expr_cache *cache;
    struct buf reports[REPORT_KINDS];
};

/* load_run.c: runs a load until it ends, or must be continued by another run. On the thread of
 * `background`. */
enum load_result load_run(struct background *background, struct objects *objects,
                          struct str row_name, const struct load *load);
/* Makes the load fail. Returns LOAD_RUN_FAIL. */
enum load_result load_fail(struct load_run *run, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The same because the table was deleted. */
enum load_result load_fail_without_table(struct load_run *run);
/* The same for a failure of objects; LOAD_RUN_LATER if the server is to stop. */
enum load_result load_fail_objects(struct load_run *run, const struct object_error *error);

/* load_read.c: reads all objects behind the cursor into batches. */
enum load_result load_read_objects(struct load_run *run);

/* load_batch.c */
/* Adds a record to the batch that is being filled. False: it is bad, *err. */
MUST_USE bool load_batch_add(struct load_run *run, const struct record *record, struct err *err);
/* Starts writing the batch, and completes the oldest one if there is no other to fill. */
enum load_result load_batch_flush(struct load_run *run);
/* Completes all batches. */
enum load_result load_batch_drain(struct load_run *run);
/* Completes the batches that are being written; the batch that is being filled is not written. */
enum load_result load_batch_settle(struct load_run *run);
/* The batch into which records are read, ready to take one. */
struct load_batch *load_batch_filling(struct load_run *run);
/* Frees what a batch has. */
void load_batch_finish(struct load_batch *batch);
/* Whether a condition that does not hold may be due to a write of an earlier run: the run resumed
 * before this record, and the stored item is equal to the one that the record writes. */
bool load_is_replay(const struct load_run *run, const struct item_write *write);

/* load_report.c */
/* Notes that a record of `batch` cannot be written. */
void load_report_error(struct load_run *run, struct load_batch *batch,
                       const struct load_pointer *pointer, struct str message);
/* Notes that a condition does not hold. */
void load_report_condition(struct load_run *run, struct load_batch *batch,
                           const struct load_pointer *pointer, const struct item_write *write);
/* Returns what the keys of all objects with reports begin with. */
struct str load_report_folder(struct load_run *run);
/* Writes the collected reports as objects. Reports that cannot be written are discarded. */
enum load_result load_report_flush(struct load_run *run);
/* Whether an object is one with reports of this load. Such objects may have the prefix of the
 * input, but must not be read as input: a report contains items that were not written. */
bool load_report_is_own(const struct load_run *run, struct str key);

/* load_condition.c: the condition of a record; NULL: it has none. False: *err. */
MUST_USE bool load_condition(struct load_run *run, const struct record *record, struct arena *arena,
                             const struct condition **out, struct err *err);

#endif
