/* apps/common/page.h: which page of a list is asked for. */
#ifndef GRAMME_APPS_PAGE_H
#define GRAMME_APPS_PAGE_H

#include "gramme/gramme.h"

struct page {
    int limit;
    const char *cursor; /* that the page before ended with; NULL: the first */
};

/* Makes a Query read this page. False: the cursor is none, and the request is not to be sent. */
bool page_apply(const struct page *page, struct gramme_request *query);

#endif
