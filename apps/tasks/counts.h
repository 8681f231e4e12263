/* apps/tasks/counts.h: the number of tasks by status and priority. Status and priority of each task
 * are kept in memory (a replica), so that counting sends no requests to the database. */
#ifndef GRAMME_APPS_TASKS_COUNTS_H
#define GRAMME_APPS_TASKS_COUNTS_H

#include "apps/common/replica.h"
#include "apps/tasks/tasks.h"

/* Creates the replica, with an entry for each task. The caller destroys it with replica_destroy().
 */
struct replica *counts_create(void);
/* Adds byStatus, byPriority and byStatusAndPriority to a map. `is_fresh`: all changes have been
 * applied; else, or if nothing is known yet, all tasks are read. False: the database failed. */
bool counts_show(struct replica *counts, struct gramme_db *db, bool is_fresh,
                 struct gramme_value *out, struct gramme_error **error);

#endif
