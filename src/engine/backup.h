/* engine/backup.h: backups of tables, restoring them, and point-in-time recovery.
 *
 *   catalog | "backup" | ID/TABLE    a backup (codec/stored_backup.h)
 *
 * A backup is an instant of a table: nothing is copied. While a table has backups or point-in-time
 * recovery it keeps its history (engine/history.h), from which the items of that instant can be
 * derived. So creating a backup takes the same time for tables of all sizes, and needs space only
 * for later changes. The description of the table counts the backups that need its history
 * (`history_holds`). When the table is deleted, its description is kept in a row "kept" of the
 * catalog, and its items and history are kept until the last backup is deleted.
 *
 * A restore creates a table in the state CREATING, with the row of the backup as its source. The
 * recovery thread copies the items chunk by chunk and stores a cursor, so that it continues after a
 * restart; indexes are derived from the items. A restore to a point in time first creates an
 * internal backup of that instant, so that there is only one kind of restore. */
#ifndef GRAMME_ENGINE_BACKUP_H
#define GRAMME_ENGINE_BACKUP_H

#include "codec/stored_backup.h"
#include "engine/catalog_list.h"
#include "engine/engine.h"

enum { RECOVERY_DAYS_MAX = 35, RESTORES_MAX = 50 };

/* Returns the ARN of a backup; `row_name` is ID/TABLE. */
struct str backup_arn(const struct engine *engine, struct arena *arena, struct str row_name);
/* Returns the row name ID/TABLE, from the two parts of an ARN. */
struct str backup_row_name(struct arena *arena, struct str id, struct str table_name);
/* Returns the id in a row name; of a request's ARN it has any length. */
struct str backup_id(struct str row_name);
/* Returns the table's name in a row name. */
struct str backup_table_name(struct str row_name);

/* --- CreateBackup --- */

/* Fill in change.call, change.name and the inputs. */
struct backup_create {
    struct table_change change;
    struct str name; /* of the backup */
    int64_t size_bytes;
    int64_t item_count;

    struct str row_name; /* set by the engine, like the next */
    struct backup backup;
};
/* Creates a backup. */
void engine_create_backup(struct backup_create *create);

/* --- DescribeBackup, ListBackups --- */

struct backup_get {
    struct engine_call call; /* ERR_BACKUP_NOT_FOUND */
    struct str row_name;
    struct backup backup; /* in call.arena */
    struct store_get get;
    struct str key;
};
/* Reads the description of a backup. */
void engine_get_backup(struct backup_get *get);

struct backup_entry {
    struct str row_name;
    struct backup backup;
};

/* Backups in the order of their creation. */
struct backup_list {
    struct engine_call call;
    struct str after;      /* a row name, which need not exist; STR_NULL: from the first */
    struct str table_name; /* STR_NULL: of all tables */
    bool user;             /* include backups of this kind, as the next two */
    bool system;
    bool internal;
    int64_t from_ms;  /* created at this time or later; 0: any */
    int64_t until_ms; /* created before this time; 0: any */
    size_t limit;

    struct backup_entry *entries;
    size_t count;
    bool more;
    struct catalog_list rows; /* the engine's own */
};
/* Lists backups. */
void engine_list_backups(struct backup_list *list);

/* --- DeleteBackup --- */

struct backup_delete {
    struct engine_call call;
    struct str row_name;
    bool by_expiry; /* also system and internal backups */

    struct backup backup;     /* its last description */
    struct backup_get get;    /* private to the engine, as all below */
    struct table_change live; /* if the table exists */
    struct store_update kept; /* if the table was deleted */
    struct str keys[2];
    uint32_t dropped[2];
    size_t dropped_count;
    int attempts;
};
/* Deletes a backup. */
void engine_delete_backup(struct backup_delete *remove);

/* --- restoring --- */

/* Returns the number of tables that are being restored. */
MUST_USE size_t engine_count_restores(struct engine *engine);

/* Prepares engine_create_table() for a restore: changes *table, a copy of the backup's description,
 * to that of the new table, and sets create->backup_key. Settings that are not restored are reset.
 */
void backup_prepare_restore(struct table_create *create, struct table *table, struct str row_name,
                            const struct backup *backup);

/* An internal backup of a table as of `instant_ms`, for a restore to that time; -1: the latest.
 * Set change.call, change.name and instant_ms. Errors: ERR_RECOVERY_UNAVAILABLE,
 * ERR_INVALID_RESTORE_TIME, ERR_CONTINUOUS_BACKUPS_UNAVAILABLE. */
struct recovery_pin {
    struct table_change change;
    int64_t instant_ms;

    struct str row_name; /* set by the engine, as the next */
    struct backup backup;
};
/* Creates an internal backup. */
void engine_pin_instant(struct recovery_pin *pin);

/* --- point-in-time recovery --- */

/* The restorable window of a table with point-in-time recovery. */
struct recovery_window {
    int64_t earliest_ms;
    int64_t latest_ms;
};
/* Returns the restorable window of a table at the time `now_ms`. */
struct recovery_window recovery_window(const struct engine *engine, const struct table *table,
                                       int64_t now_ms);
/* Returns whether the times of updates are ahead of the clock by more than five minutes, because
 * the clock was ahead and was set back. Until the clock has passed `update_ns`, the time of the
 * newest update, updates get times just after it, so the items of an earlier time miss the writes
 * that were made since. */
MUST_USE bool recovery_is_ahead(const struct engine *engine, int64_t update_ns);

/* For `change` of a table_change: switches point-in-time recovery on. `days` 0: as before, or 35.
 * The change is done when the table can be restored, or after three seconds. */
void recovery_enable(struct table_change *change, struct table *table, uint32_t days);
/* For `change` of a table_change: switches point-in-time recovery off. */
void recovery_disable(struct table_change *change, struct table *table);

#endif
