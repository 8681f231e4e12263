/* shell/pages_internal.h: runs reads that have several pages, and prints their items. */
#ifndef GRAMME_SHELL_PAGES_INTERNAL_H
#define GRAMME_SHELL_PAGES_INTERNAL_H

#include "shell/results_internal.h"

/* One read. */
struct read {
    const char *operation;           /* Query, Scan or ExecuteStatement */
    struct gramme_value *parameters; /* changed from page to page */
    size_t items_max;                /* 0: all */
    bool is_select;                  /* it returns items */
    struct items items;              /* the hints of it; the rest is used by pages_run() */
};

/* Sends the request until all items were read, as many as the session shows at once, asking for
 * more; prints them and the usage. */
MUST_USE bool pages_run(struct session *session, struct read *read);

#endif
