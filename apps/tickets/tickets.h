/* apps/tickets/tickets.h: tickets of a service desk: opened by a caller, commented, followed. One
 * function per access pattern of the design, in its words; an item is a ticket as the design has
 * it.
 *
 * Functions return NULL on failure and leave an error, as those of gramme.h do. */
#ifndef GRAMME_APPS_TICKETS_H
#define GRAMME_APPS_TICKETS_H

#include "apps/common/app.h"

#define TICKETS_TABLE "poc-itsm-tickets"

extern const struct app_definition tickets_app;

/* Opens a ticket and returns it; the caller destroys it. */
struct gramme_value *tickets_create_ticket(struct gramme_db *db, const char *caller_id,
                                           const char *issue_description,
                                           struct gramme_error **error);
/* gramme_answer_item() is the ticket, or NULL: there is none. */
struct gramme_answer *tickets_get_ticket_status(struct gramme_db *db, const char *ticket_id,
                                                struct gramme_error **error);
/* Adds a comment behind those that are there, also when many do so at once, and once even if its
 * answer gets lost on the way. Returns the ticket with it; the caller destroys it.
 * GRAMME_CONDITION_FAILED: there is no such ticket. */
struct gramme_value *tickets_add_comment(struct gramme_db *db, const char *ticket_id,
                                         const char *comment_text, struct gramme_error **error);

enum { TICKETS_RECENT = 10 };
/* A caller's tickets, newest first, at most TICKETS_RECENT in a page. */
struct gramme_answer *tickets_list_recent_tickets(struct gramme_db *db, const char *caller_id,
                                                  const struct page *page,
                                                  struct gramme_error **error);

/* A few tickets of two callers. */
bool tickets_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
