/* apps/reconciliation/mirror.h: the index in memory (a replica), and questions about it. */
#ifndef GRAMME_APPS_RECONCILIATION_MIRROR_H
#define GRAMME_APPS_RECONCILIATION_MIRROR_H

#include "apps/common/replica.h"
#include "apps/reconciliation/reconciliation.h"

/* An entry per pending call: struct entry. The caller destroys it with replica_destroy(). */
struct replica *mirror_create(void);

/* Which calls are looked at. */
enum mirror_age { MIRROR_CURRENT, MIRROR_ABANDONED, MIRROR_ALL };
struct mirror_filter {
    const char *tenant; /* NULL: all, also below */
    const char *status; /* "PENDING" or "FAILED": of the processing; PENDING also when only the
                           audio is missing */
    const char *audio;  /* "missing" or "received" */
    bool has_shard;     /* only those of `shard` */
    int shard;
    enum mirror_age age;
    int64_t since; /* the look-back: what is older is abandoned */
    int64_t now;
};

/* A page of calls by age, in a list of maps as items of the index are. */
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
/* Whether a text can be a cursor. */
bool mirror_cursor_is_valid(const char *text);
/* `is_fresh`: all changes have been applied. The caller destroys out->items. False: the database
 * failed. */
bool mirror_list(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                 const struct mirror_filter *filter, const struct mirror_page *page,
                 struct mirror_result *out, struct gramme_error **error);
/* The calls that a poller has taken before, whatever their age, those first that wait longest: at
 * most `limit`, and none if the index has no NotBefore. Otherwise as mirror_list(). */
bool mirror_list_tried(struct replica *mirror, struct gramme_db *db, bool is_fresh, size_t limit,
                       struct mirror_result *out, struct gramme_error **error);
/* Adds the members of GET /summary to a map. */
bool mirror_summarize(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                      const struct mirror_filter *filter, struct gramme_value *out,
                      struct gramme_error **error);

#endif
