/* engine/backup_internal.h: what the catalog and the recovery thread need of backups. */
#ifndef GRAMME_ENGINE_BACKUP_INTERNAL_H
#define GRAMME_ENGINE_BACKUP_INTERNAL_H

#include "engine/background.h"
#include "engine/backup.h"

/* The key of a backup's row. */
struct str backup_key(struct arena *arena, struct str row_name);
/* The key of the row that describes a deleted table whose items are in `space`. */
struct str kept_key(struct arena *arena, uint32_t space);

/* The name of a new row: 14 digits of milliseconds, and a random number that makes it unique. */
struct str backup_new_row_name(struct arena *arena, int64_t created_ms, struct str table_name);

/* For `change` of a table_change: makes an internal backup of the table `made` (the new
 * description) as of an instant, and returns the name of its row. 0: the recovery thread finds an
 * instant as soon as the history has begun. */
struct str backup_add_pin(struct table_change *change, struct table *made, int64_t instant_ns,
                          struct str name);

/* For evals. */

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

/* Whether point-in-time recovery is enabled, but the table cannot be restored yet. */
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
