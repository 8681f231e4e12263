/* store/work.h: which updates are too expensive for the thread that evaluates all others. */
#ifndef GRAMME_STORE_WORK_H
#define GRAMME_STORE_WORK_H

#include "store/store.h"

/* Returns whether an update must be evaluated on a slow thread: bytes of its rows times passes over
 * them. Rows that do not exist, or are short, count as well, because a condition may take long for
 * the values of the request alone. */
static inline bool work_is_expensive(const struct store_update *update, size_t row_bytes)
{
    const size_t work_max = (size_t)4 << 20;
    const size_t row_bytes_min = 64;
    return MAX(row_bytes, row_bytes_min) * MAX(update->weight, (size_t)1) > work_max;
}

#endif
