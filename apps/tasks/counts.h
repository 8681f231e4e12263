/* apps/tasks/counts.h: how many tasks there are, by status and priority. Read once, then kept up to
 * date by the table's stream, so that asking costs nothing. */
#ifndef GRAMME_APPS_TASKS_COUNTS_H
#define GRAMME_APPS_TASKS_COUNTS_H

#include "apps/tasks/tasks.h"

struct counts;

struct counts *counts_create(void);
void counts_destroy(struct counts *counts);
/* A change of the table. */
void counts_apply(struct counts *counts, const struct gramme_value *old_item,
                  const struct gramme_value *new_item);
/* Changes may have been missed. */
void counts_forget(struct counts *counts);
/* Adds byStatus, byPriority and byStatusAndPriority to a map. `is_fresh`: all changes have been
 * applied; else, or if nothing is known yet, all tasks are read. False: the database failed. */
bool counts_show(struct counts *counts, struct gramme_db *db, bool is_fresh,
                 struct gramme_value *out, struct gramme_error **error);

#endif
