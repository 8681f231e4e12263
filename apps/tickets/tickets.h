/* apps/tickets/tickets.h: tickets of a service desk: opened by a caller, commented, followed. One
 * function per access pattern of the design, in its words; an item is a ticket as the design has
 * it. Beyond the design a comment may have an `author`, and a ticket whose status was changed has a
 * `history`.
 *
 * Functions return NULL on failure and leave an error, as those of gramme.h do. */
#ifndef GRAMME_APPS_TICKETS_H
#define GRAMME_APPS_TICKETS_H

#include "apps/common/app.h"

#define TICKETS_TABLE "poc-itsm-tickets"

extern const struct app_definition tickets_app;

/* --- settings of this process: main() fills them before anything starts --- */

enum {
    TICKETS_STATUSES_MAX = 16,
    TICKETS_STATUS_LEN_MAX = 32,
    TICKETS_CALLER_SIZE = IDENTITY_ID_LEN_MAX + 1
};

/* Takes an option, "--ticket-statuses"; `value` may be NULL. False: the option is unknown, or its
 * value is not valid, and stderr says why. */
bool tickets_take_option(const char *name, const char *value);
/* Prints the options, for --help. */
void tickets_print_options(void);
/* Returns a status by its index; the first is that of new tickets. NULL: there are no more. */
const char *tickets_status(size_t index);
/* Whether a text is one of the statuses. */
bool tickets_status_is_valid(const char *text);
/* Whether caller ids are stored as hashes: the document's "session IDs or hashed phone numbers". */
bool tickets_callers_are_hashed(void);
/* Converts a caller's id in a request to the stored form. A text that is a hash already is not
 * changed. `caller` must be shorter than TICKETS_CALLER_SIZE. */
void tickets_caller_key(const char *caller, char out[TICKETS_CALLER_SIZE]);
/* The same for the signed-in user. An id that looks like a hash is hashed again: otherwise its user
 * would see the tickets of another user. */
void tickets_user_key(const char *user_id, char out[TICKETS_CALLER_SIZE]);

/* --- the access patterns --- */

struct tickets_opening {
    const char
        *ticket_id; /* chosen by the client, so that it can send the request again; NULL: new */
    const char *caller_id; /* in the stored form */
    const char *issue_description;
};
/* Opens a ticket and returns it; the caller destroys it. *out_is_new false: the same ticket was
 * opened before and is returned in its present state. GRAMME_CONDITION_FAILED: another ticket has
 * the id. */
struct gramme_value *tickets_create_ticket(struct gramme_db *db,
                                           const struct tickets_opening *opening, bool *out_is_new,
                                           struct gramme_error **error);
/* gramme_answer_item() is the ticket, or NULL: there is none. */
struct gramme_answer *tickets_get_ticket_status(struct gramme_db *db, const char *ticket_id,
                                                struct gramme_error **error);

struct tickets_comment {
    const char *ticket_id;
    const char *comment_id; /* chosen by the client, as ticket_id; NULL: none */
    const char *text;
};
struct tickets_author {
    const char *id;
    const char *name;
    const char *role; /* "caller" or "agent" */
};
/* Adds a comment after the existing ones; concurrent comments are all kept, and a comment whose
 * answer was lost is added once. Returns the ticket with it; the caller destroys it.
 * GRAMME_CONDITION_FAILED: there is no such ticket. */
struct gramme_value *tickets_add_comment(struct gramme_db *db,
                                         const struct tickets_comment *comment,
                                         const struct tickets_author *author,
                                         struct gramme_error **error);

struct tickets_change {
    const char *ticket_id;
    const char *from;
    const char *to;
    const char *by; /* who changes it */
};
/* Changes the status of a ticket that has status `from`, and adds an entry to its history. Returns
 * the ticket; the caller destroys it. GRAMME_CONDITION_FAILED: there is no such ticket, or it has
 * another status: then gramme_error_item() is the ticket. */
struct gramme_value *tickets_change_status(struct gramme_db *db,
                                           const struct tickets_change *change,
                                           struct gramme_error **error);

enum { TICKETS_RECENT = 10 };
/* A caller's tickets, newest first, at most TICKETS_RECENT in a page. */
struct gramme_answer *tickets_list_recent_tickets(struct gramme_db *db, const char *caller_id,
                                                  const struct page *page,
                                                  struct gramme_error **error);

/* A few tickets of two callers. */
bool tickets_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
