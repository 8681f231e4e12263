/* apps/common/page.h: the requested page of a list. */
#ifndef GRAMME_APPS_PAGE_H
#define GRAMME_APPS_PAGE_H

#include "gramme/gramme.h"

struct page {
    int limit;
    const char *cursor; /* of the previous page; NULL: the first page */
};

/* Sets limit and cursor of a Query. False: the cursor is not valid, and the request must not be
 * sent. */
bool page_apply(const struct page *page, struct gramme_request *query);

#endif
