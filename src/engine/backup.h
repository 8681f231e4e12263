/* engine/backup.h: backups of tables, restoring them, and point-in-time recovery.
 *
 *   catalog | "backup" | ID/TABLE    a backup (codec/backup.h)
 *
 * A backup is an instant of a table: nothing is copied. While a table has backups or point-in-time
 * recovery it keeps its history (engine/history.h), from which the items of the instant follow. So
 * making a backup takes as long for a large table as for a small one, and needs room only for what
 * is changed later. The table's description counts the backups that need its history
 * (`history_holds`); when its table is deleted, the description stays in a row "kept" of the
 * catalog, and items and history stay with it until the last backup is deleted.
 *
 * A restore makes a new table, CREATING, with the backup's row as its source. The recovery thread
 * copies the items chunk by chunk and stores how far it has come, so it goes on after a restart;
 * indexes follow from the items. A restore to a point in time makes an internal backup of that
 * instant first, so there is one way to restore and one way to hold what is needed. */
#ifndef GRAMME_ENGINE_BACKUP_H
#define GRAMME_ENGINE_BACKUP_H

#include "codec/backup.h"
#include "engine/engine.h"

enum { RECOVERY_DAYS_MAX = 35, RESTORES_MAX = 50 };

/* The ARN of a backup, from the name of its row: ID/TABLE. */
struct str backup_arn(const struct engine *engine, struct arena *arena, struct str row_name);
/* The name of the row, from the two parts of an ARN. */
struct str backup_row_name(struct arena *arena, struct str id, struct str table_name);
/* The part of a row's name that is the id. */
struct str backup_id(struct str row_name);

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
void engine_create_backup(struct backup_create *create);

/* --- DescribeBackup, ListBackups --- */

struct backup_get {
    struct engine_call call; /* ERR_BACKUP_NOT_FOUND */
    struct str row_name;
    struct backup backup; /* in call.arena */
    struct store_get get;
    struct str key;
};
void engine_get_backup(struct backup_get *get);

struct backup_entry {
    struct str row_name;
    struct backup backup;
};

/* Backups in the order of their creation. */
struct backup_list {
    struct engine_call call;
    struct str after;      /* a row's name, which need not exist; STR_NULL: from the first */
    struct str table_name; /* STR_NULL: of all tables */
    bool user;             /* which kinds are wanted */
    bool system;
    bool internal;
    int64_t from_ms;  /* created not before; 0: any */
    int64_t until_ms; /* and before; 0: any */
    size_t limit;

    struct backup_entry *entries;
    size_t count;
    bool more;
    struct store_range range; /* the engine's own, like the next */
    struct arena scratch;
};
void engine_list_backups(struct backup_list *list);

/* --- DeleteBackup --- */

struct backup_delete {
    struct engine_call call;
    struct str row_name;
    bool by_expiry; /* also system and internal backups */

    struct backup backup;     /* as it was */
    struct backup_get get;    /* the engine's own, like all below */
    struct table_change live; /* if the table is there */
    struct store_update kept; /* if it was deleted */
    struct str keys[2];
    uint32_t dropped[2];
    size_t dropped_count;
    int attempts;
};
void engine_delete_backup(struct backup_delete *remove);

/* --- restoring --- */

/* How many tables are being restored. */
MUST_USE size_t engine_count_restores(struct engine *engine);

/* For CreateTable's call: makes *table, a copy of the backup's description, that of a table that is
 * to be restored, and fills in create->backup_key. Settings that are not restored are reset. */
void backup_prepare_restore(struct table_create *create, struct table *table, struct str row_name,
                            const struct backup *backup);

/* An internal backup of a table as of `instant_ms`, for a restore to that time; -1: the latest.
 * Fill in change.call, change.name and the inputs. Fails with ERR_RECOVERY_UNAVAILABLE,
 * ERR_INVALID_RESTORE_TIME, ERR_CONTINUOUS_BACKUPS_UNAVAILABLE. */
struct recovery_pin {
    struct table_change change;
    int64_t instant_ms;

    struct str row_name; /* set by the engine, like the next */
    struct backup backup;
};
void engine_pin_instant(struct recovery_pin *pin);

/* --- point-in-time recovery --- */

/* The restorable window of a table with point-in-time recovery. */
struct recovery_window {
    int64_t earliest_ms;
    int64_t latest_ms;
};
struct recovery_window recovery_window(const struct engine *engine, const struct table *table,
                                       int64_t now_ms);

/* For `change` of a table_change: switch point-in-time recovery on or off. `days` 0: as it was, or
 * 35. */
void recovery_enable(struct table_change *change, struct table *table, uint32_t days);
void recovery_disable(struct table_change *change, struct table *table);

#endif
