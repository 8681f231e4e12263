/* engine/records.h: small documents of the server in the store, such as users: a text for each kind
 * and name. All records together have a revision, which every change increments, so that several
 * servers on one store detect each other's changes.
 *
 * All functions block. Any thread that may block. */
#ifndef GRAMME_ENGINE_RECORDS_H
#define GRAMME_ENGINE_RECORDS_H

#include "engine/engine.h"

enum { RECORD_KIND_MAX = 15, RECORD_CHANGES_MAX = 8 };

struct record_change {
    const char *kind; /* at most RECORD_KIND_MAX letters */
    struct str name;
    struct str value; /* STR_NULL: the record is erased */
};

enum records_status {
    RECORDS_CHANGED,
    RECORDS_STALE,  /* the revision is not the newest; nothing was written */
    RECORDS_FAILED, /* *err says why */
};

/* Writes all changes or none. `revision` is that from which the changes were derived. */
MUST_USE enum records_status engine_change_records(struct engine *engine, int64_t revision,
                                                   const struct record_change *changes,
                                                   size_t change_count, struct err *err);

/* Reads the revision of all records; 0: there are none. */
MUST_USE bool engine_records_revision(struct engine *engine, int64_t *out, struct err *err);

/* Gets one record. The texts are valid until it returns. Returns false to end the read with *err.
 */
typedef bool record_visitor(void *context, const char *kind, struct str value, struct err *err);

/* Visits all records of the kinds (an array that ends with NULL), in that order, as they were at
 * one revision. If they change meanwhile, calls restart(context) and begins again. */
MUST_USE bool engine_read_records(struct engine *engine, const char *const *kinds,
                                  record_visitor *visit, void (*restart)(void *context),
                                  void *context, int64_t *out_revision, struct err *err);

#endif
