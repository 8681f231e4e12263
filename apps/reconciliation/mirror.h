/* apps/reconciliation/mirror.h: the index in memory (a replica): lists and totals of pending calls.
 */
#ifndef GRAMME_APPS_RECONCILIATION_MIRROR_H
#define GRAMME_APPS_RECONCILIATION_MIRROR_H

#include "apps/common/replica.h"
#include "apps/reconciliation/reconciliation.h"

/* Creates the replica, with a struct entry for each pending call. The caller destroys it with
 * replica_destroy(). */
struct replica *mirror_create(void);

/* The calls of a list or of totals. */
enum mirror_age { MIRROR_CURRENT, MIRROR_ABANDONED, MIRROR_ALL };
struct mirror_filter {
    const char *tenant; /* NULL: all, also below */
    const char *status; /* "PENDING" or "FAILED": of the processing; PENDING also when only the
                           audio is missing */
    const char *audio;  /* "missing" or "received" */
    bool has_shard;     /* only those of `shard` */
    int shard;
    enum mirror_age age;
    int64_t since; /* the look-back: older calls are abandoned */
    int64_t now;
};

/* A page of calls by age. */
struct mirror_page {
    bool newest_first;
    const char *after; /* the cursor of the page before; NULL: the first */
    size_t limit;
};
struct mirror_result {
    struct gramme_value *items;
    size_t total;       /* of all pages */
    const char *cursor; /* NULL: this was the last; lives as long as `items` */
};
/* Returns whether a text can be a cursor. */
bool mirror_cursor_is_valid(const char *text);
/* Lists a page of calls: out->items is a map whose "items" are like items of the index. `is_fresh`:
 * all changes have been applied. The caller destroys out->items. False: the database failed. */
bool mirror_list(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                 const struct mirror_filter *filter, const struct mirror_page *page,
                 struct mirror_result *out, struct gramme_error **error);
/* Lists pending calls that a poller has tried, of any age, the latest NotBefore first: at most
 * `limit`, and none if the index has no NotBefore. Otherwise as mirror_list(). */
bool mirror_list_tried(struct replica *mirror, struct gramme_db *db, bool is_fresh, size_t limit,
                       struct mirror_result *out, struct gramme_error **error);
/* Adds the members of GET /summary to a map. */
bool mirror_summarize(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                      const struct mirror_filter *filter, struct gramme_value *out,
                      struct gramme_error **error);

#endif
