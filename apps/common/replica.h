/* apps/common/replica.h: a copy of a part of an application's table in memory: entries by key, read
 * once from the database, then kept up to date by the changes of the table's stream. Without a
 * stream the entries are read for each use.
 *
 * The stream's thread applies changes, worker threads read the entries; each function may be called
 * on any thread. */
#ifndef GRAMME_APPS_REPLICA_H
#define GRAMME_APPS_REPLICA_H

#include "base/arena.h"
#include "base/map.h"
#include "gramme/gramme.h"

struct replica;
struct replica_load; /* a load of the table that is under way */

struct replica_options {
    /* Returns the key of an item's entry, from the arena; STR_NULL: items of this kind have no
     * entries. */
    struct str (*key)(struct arena *arena, const struct gramme_value *item);
    /* Makes the entry of an item that has a key; NULL: the item has no entry in its present state.
     */
    void *(*make)(const struct gramme_value *item);
    void (*destroy)(void *entry);
    /* Reads the table: calls replica_take() with each item that may have an entry, on any threads.
     * False: the database failed. */
    bool (*read)(struct gramme_db *db, struct replica_load *load, struct gramme_error **error);
    size_t entries_max; /* if there are more, each replica_look() reads them */
};

/* Keeps a copy of the options. */
struct replica *replica_create(const struct replica_options *options);
/* Accepts NULL. */
void replica_destroy(struct replica *replica);

/* Applies a change of the table. NULL: there is no such item. */
void replica_apply(struct replica *replica, const struct gramme_value *old_item,
                   const struct gramme_value *new_item);
/* Call it when changes may have been missed: the next replica_look() reads everything again. */
void replica_forget(struct replica *replica);
/* Adds an item to a load. */
void replica_take(struct replica_load *load, const struct gramme_value *item);

/* Calls `look` with all entries; they are valid until it returns. `is_fresh`: all changes up to now
 * have been applied (request_sync()). False: the database failed, and `look` was not called. */
bool replica_look(struct replica *replica, struct gramme_db *db, bool is_fresh,
                  void (*look)(const struct map *entries, void *context), void *context,
                  struct gramme_error **error);

#endif
