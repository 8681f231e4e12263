/* base/huge_pages.h: larger pages for memory that is read here and there, such as a large cache. Of
 * what such a read waits for, half can be the table that says where the page is; with pages of
 * 2 MiB that table is small enough to stay near. */
#ifndef GRAMME_BASE_HUGE_PAGES_H
#define GRAMME_BASE_HUGE_PAGES_H

#include "base/base.h"

struct huge_pages {
    size_t resident; /* bytes in memory when they were last gone through, or fewer since */
    uintptr_t next;  /* where to go on; 0: all was gone through */
};

/* Goes through the memory of this process, if there is much more of it than the last time, and
 * makes its pages huge: on this thread, so that nobody else waits for the kernel to make room,
 * except who needs a page while it is being moved. Stops after a while and goes on with the next
 * call. Kernels before 6.1 cannot do it, and nothing changes. */
void huge_pages_gather(struct huge_pages *pages);

#endif
