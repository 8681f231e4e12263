/* server/audit.h: the audit log: one JSON object per line, for each refused request, each change of
 * tables, users, policies, the simulation or the clock, each client certificate and each part of
 * the configuration that SIGHUP reads again, and with --audit-all for all requests. It never
 * contains item data. */
#ifndef GRAMME_SERVER_AUDIT_H
#define GRAMME_SERVER_AUDIT_H

#include "api/api.h"

struct audit;

/* Opens the file for appending; creates it with mode 0600 if it is missing. `everything`: requests
 * that read and write items are recorded, too. Close it with audit_close(). */
MUST_USE bool audit_open(struct str path, bool everything, struct audit **out, struct err *err);
/* Whether requests that read and write items are recorded. Accepts NULL. */
MUST_USE bool audit_records_all(const struct audit *audit);
/* Opens the file again, on SIGHUP: begins a new one if the old one was renamed. */
MUST_USE bool audit_reopen(struct audit *audit, struct err *err);
/* Closes the file. Accepts NULL. */
void audit_close(struct audit *audit);

struct audit_entry {
    struct str caller;    /* ARN; STR_NULL: not known */
    struct str key_id;    /* as the request claims; STR_NULL: none */
    struct str source;    /* the client's address */
    struct str service;   /* "dynamodb", "sts", "gramme", "http", "tls" */
    struct str operation; /* STR_NULL: none */
    /* ARN or name, of the first denied resource if one was denied; STR_NULL: not known */
    struct str resource;
    struct resource_list resources; /* all of them; written if there are several */
    struct resource_list denied;    /* all that policies denied; likewise */
    /* Name of the error; STR_NULL: success. If only a statement of BatchExecuteStatement was
     * denied: the error of the statement. */
    struct str error;
    struct str reason;  /* more about `error` of what is no request; STR_NULL: none */
    struct str warning; /* --auth warn: the error with which `on` refuses it; STR_NULL: none */
    struct str request_id;
    int status;      /* HTTP */
    bool is_change;  /* of tables, users, policies or settings, or a client that connects */
    bool is_refusal; /* by a signature, a policy, a limit, or the names of host and origin */
};

/* Writes a line if entries of this kind are recorded. Any thread. Accepts NULL. */
void audit_write(struct audit *audit, const struct audit_entry *entry);

#endif
