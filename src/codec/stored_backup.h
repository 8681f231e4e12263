/* codec/stored_backup.h: a backup as the value of its catalog row:
 *
 *   version (1 byte, 1) | state (1) | kind (1) | created at, in ms (i64_le)
 *   | instant in ns (i64_le) | expires at, in ms (i64_le) | size in bytes (i64_le)
 *   | item count (i64_le) | version of the catalog that must be settled first (u64_le)
 *   | length of the name (u32_le), name | length of the target (u32_le), target
 *   | description of the table (codec/stored_table.h)
 *
 * Rows are named by the id that ends the backup's ARN and by the table, so that they stand in the
 * order of creation: ID/TABLE. */
#ifndef GRAMME_CODEC_STORED_BACKUP_H
#define GRAMME_CODEC_STORED_BACKUP_H

#include "err/err.h"
#include "model/table.h"

enum backup_state {
    BACKUP_CREATING, /* its instant is not known yet */
    BACKUP_AVAILABLE,
};

enum backup_kind {
    BACKUP_USER,
    BACKUP_SYSTEM,   /* of a table that was deleted with point-in-time recovery on */
    BACKUP_INTERNAL, /* never shown: holds the history for a restore to a point in time */
};

/* The length of an id: 14 digits, a hyphen, 8 hex digits. */
enum { BACKUP_ID_LEN = 23 };

struct backup {
    enum backup_state state;
    enum backup_kind kind;
    int64_t created_ms;
    int64_t instant_ns; /* the table's items as of then; 0: CREATING */
    int64_t expires_ms; /* 0: never */
    int64_t size_bytes;
    int64_t item_count;
    uint64_t ready_version; /* while CREATING: see table.history_since */
    struct str name;
    struct str target;  /* the table that is being restored from it; STR_NULL: none */
    struct table table; /* as it was */
};

/* Encodes a backup in `arena`. */
struct str backup_encode(struct arena *arena, const struct backup *backup);
/* Decodes a backup; *out is allocated from `arena` and borrows nothing. ERR_INTERNAL if the bytes
 * cannot be read. */
MUST_USE bool backup_decode(struct arena *arena, struct str bytes, struct backup *out,
                            struct err *err);

#endif
