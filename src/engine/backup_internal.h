/* engine/backup_internal.h: what the files about backups share, and what the catalog and the
 * recovery thread need of backups. */
#ifndef GRAMME_ENGINE_BACKUP_INTERNAL_H
#define GRAMME_ENGINE_BACKUP_INTERNAL_H

#include "engine/background.h"
#include "engine/backup.h"

/* The key of a backup's row. */
struct str backup_key(struct arena *arena, struct str row_name);
/* The key of the row that describes a deleted table whose items are in `space`. */
struct str kept_key(struct arena *arena, uint32_t space);

/* Returns the name of a row: 14 digits of milliseconds, a number that makes it unique (0 for system
 * backups), and the table. */
struct str backup_make_row_name(struct arena *arena, int64_t created_ms, uint32_t number,
                                struct str table_name);
/* The same with a random number, for a new row. */
struct str backup_new_row_name(struct arena *arena, int64_t created_ms, struct str table_name);
/* Returns a time as messages have it, in UTC: 2024-05-06T07:08:09.123Z. */
struct str backup_iso_time(struct arena *arena, int64_t ms);
/* Sets ERR_BACKUP_NOT_FOUND, with the ARN, in a call; returns false. */
bool backup_refuse_missing(struct engine_call *call, struct str row_name);

/* For `change` of a table_change: returns a copy of the description, to be changed. */
struct table *backup_copy_table(struct table_change *change, const struct table *table);
/* For `change` of a table_change: gives the table a history, unless it has one. */
void backup_begin_history(struct table_change *change, struct table *table);
/* For `change` of a table_change: ends the history if no backup and no recovery needs it. */
void backup_end_history(struct table_change *change, struct table *table);

/* recovery.c. For `change` of a table_change: makes an internal backup of the table `made` (the new
 * description) as of an instant, and returns the name of its row. 0: the recovery thread finds an
 * instant as soon as the history has begun. */
struct str backup_add_pin(struct table_change *change, struct table *made, int64_t instant_ns,
                          struct str name);

/* backup_restore.c and backup_delete.c, for evals. */

/* A new table is to be restored from the backup in `row`: notes that in the backup, the fourth
 * declared key. False: create->call.err. */
MUST_USE bool backup_begin_restore(struct table_create *create, struct str row,
                                   struct store_batch *batch);
/* The table of a restore that has failed is deleted: the backup in `row`, the third declared key,
 * may be used again. False: remove->call.err. */
MUST_USE bool backup_end_failed_restore(struct table_delete *remove, struct str row,
                                        struct store_batch *batch);
/* A table with a history is deleted: keeps its description, and makes the system backup if
 * point-in-time recovery is on. */
void backup_keep_deleted(struct table_delete *remove, struct table *table,
                         struct store_batch *batch);

/* recovery.c: whether point-in-time recovery is enabled, but the table cannot be restored yet. */
bool recovery_is_beginning(const struct table *table);

/* restore.c: copies the next items of a table that is being restored, or ends the restore. */
struct restoring;
enum restore_result {
    RESTORE_MORE,
    RESTORE_LATER,      /* --table-delay-ms is not over */
    RESTORE_FAILED,     /* the store failed: the step can be repeated */
    RESTORE_UNREADABLE, /* items are in damaged blocks: the restore cannot end */
    RESTORE_OVER
};
/* Takes the next step. `*state` is NULL at first, and private to the function. */
MUST_USE enum restore_result restore_step(struct background *background, const struct table *table,
                                          struct restoring **state);
/* The number of the table's space: which restore a state belongs to. */
uint32_t restoring_space(const struct restoring *state);
/* Frees a state. Accepts NULL. */
void restoring_destroy(struct restoring *state);

/* history_trim.c: erases records that no instant needs, where a pass is due. Called by the
 * housekeeper. */
void history_trim(struct background *background);
/* Frees what is known from one pass to the next. */
void history_forget_trims(struct engine *engine);

/* history_size.c: reads the descriptions of deleted tables whose history is kept, at most 512, to
 * an array in `arena`. Returns their number; 0 also if the store cannot be read. Blocks. */
size_t history_kept_tables(struct background *background, struct arena *arena, struct table **out);

/* Requests that are waited for, on the background thread. */
/* The rows and bytes of a space; zeros if the store cannot be read. */
struct store_count background_space_size(struct background *background, uint32_t space,
                                         struct arena *arena);
/* store_settle(); 0: not known. */
int64_t background_settle(struct background *background, struct arena *arena);

#endif
