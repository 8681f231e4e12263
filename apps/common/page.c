/* Limit and cursor of a page, put into a Query. Called by the data layers on worker threads. */
#include "apps/common/page.h"

bool page_apply(const struct page *page, struct gramme_request *query)
{
    gramme_request_limit(query, page->limit);
    return page->cursor == NULL || gramme_request_cursor(query, page->cursor);
}
