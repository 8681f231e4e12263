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

/* Takes an option, "--ticket-statuses"; `value` may be NULL. False: it is none, or not such a
 * value, and stderr says why. */
bool tickets_take_option(const char *name, const char *value);
/* Prints the options, for --help. */
void tickets_print_options(void);
/* The first is that of new tickets. NULL: there are no more. */
const char *tickets_status(size_t index);
/* Whether a text is one of the statuses. */
bool tickets_status_is_valid(const char *text);
/* Whether caller ids are stored as hashes: the document's "session IDs or hashed phone numbers". */
bool tickets_callers_are_hashed(void);
/* A caller's id, as somebody names it, as it is stored; a hash is itself. Shorter than
 * TICKETS_CALLER_SIZE. */
void tickets_caller_key(const char *caller, char out[TICKETS_CALLER_SIZE]);
/* The same for who is signed in: an id that looks like a hash is none, else it would be the key to
 * the tickets of another. */
void tickets_user_key(const char *user_id, char out[TICKETS_CALLER_SIZE]);

/* --- the access patterns --- */

struct tickets_opening {
    const char
        *ticket_id; /* chosen by the client, so that it can send the request again; NULL: new */
    const char *caller_id; /* as it is stored */
    const char *issue_description;
};
/* Opens a ticket and returns it; the caller destroys it. *out_is_new false: the same was opened
 * before, and this is it as it is now. GRAMME_CONDITION_FAILED: another has the id. */
struct gramme_value *tickets_create_ticket(struct gramme_db *db,
                                           const struct tickets_opening *opening, bool *out_is_new,
                                           struct gramme_error **error);
/* gramme_answer_item() is the ticket, or NULL: there is none. */
struct gramme_answer *tickets_get_ticket_status(struct gramme_db *db, const char *ticket_id,
                                                struct gramme_error **error);

struct tickets_comment {
    const char *ticket_id;
    const char *comment_id; /* as above: the comment is added once; NULL: none */
    const char *text;
};
struct tickets_author {
    const char *id;
    const char *name;
    const char *role; /* "caller" or "agent" */
};
/* Adds a comment behind those that are there, also when many do so at once, and once even if its
 * answer gets lost on the way. Returns the ticket with it; the caller destroys it.
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
/* Changes the status of a ticket that has status `from`, and adds to its history. Returns the
 * ticket. GRAMME_CONDITION_FAILED: there is none, or it has another status by now, and then
 * gramme_error_item() is it. */
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
