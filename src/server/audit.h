/* server/audit.h: the record of who did what: one JSON object per line, for each refused request
 * and each change of tables, users or policies; of all requests if that is wanted. Never item data.
 */
#ifndef GRAMME_SERVER_AUDIT_H
#define GRAMME_SERVER_AUDIT_H

#include "err/err.h"

struct audit;

/* Opens the file for appending; it is made (0600) if it is not there. `everything`: requests that
 * read and write items are recorded, too. */
MUST_USE bool audit_open(struct str path, bool everything, struct audit **out, struct err *err);
/* SIGHUP: begins a new file if the old one was renamed. */
MUST_USE bool audit_reopen(struct audit *audit, struct err *err);
/* Accepts NULL. */
void audit_close(struct audit *audit);

struct audit_entry {
    struct str caller;    /* ARN; STR_NULL: not known */
    struct str key_id;    /* as claimed; STR_NULL: none */
    struct str source;    /* the client's address */
    struct str service;   /* "dynamodb", "sts", "gramme" */
    struct str operation; /* STR_NULL: none */
    struct str resource;  /* ARN or name; STR_NULL: not known */
    struct str error;     /* its name; STR_NULL: it went well */
    struct str request_id;
    int status;      /* HTTP */
    bool is_change;  /* of tables, users or policies */
    bool is_refusal; /* signature or policy */
};

/* Writes a line if the entry is of a kind that is recorded. Any thread. Accepts NULL. */
void audit_write(struct audit *audit, const struct audit_entry *entry);

#endif
