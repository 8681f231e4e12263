/* http/slow_queue_internal.h: the order in which slow threads serve connections: the one that has
 * used the least processor time comes first (start-time fair queueing).
 *
 * The queue has a virtual time: the latest start of an entry that was taken. An entry that is
 * pushed starts at the end of its connection's previous one, or at the virtual time if that is
 * later, so a connection that was idle has no advantage over others that begin now. Entries with
 * the same start are taken in the order in which they were pushed.
 *
 * An entry is light or heavy; heavy ones can be left in the queue, so that they do not occupy all
 * threads. */
#ifndef GRAMME_HTTP_SLOW_QUEUE_INTERNAL_H
#define GRAMME_HTTP_SLOW_QUEUE_INTERNAL_H

#include "base/base.h"

/* Embedded in what is queued. */
struct slow_entry {
    bool is_heavy;    /* set by the caller */
    int64_t start_ns; /* set by slow_queue_push(), as the next */
    uint64_t number;
};

struct slow_heap {
    struct slow_entry **entries; /* the first one has the smallest start */
    size_t count;
    size_t capacity;
};

/* {0} is an empty queue. */
struct slow_queue {
    struct slow_heap light;
    struct slow_heap heavy;
    int64_t now_ns; /* the virtual time */
    uint64_t pushed_count;
};

/* Adds an entry. `end_ns`: the end of the connection's previous entry, which is its start_ns and
 * the processor time that it has used; 0: it has had none. */
void slow_queue_push(struct slow_queue *queue, struct slow_entry *entry, int64_t end_ns);
/* Takes the next entry, a heavy one only if `heavy_too`; NULL: there is none. */
MUST_USE struct slow_entry *slow_queue_take(struct slow_queue *queue, bool heavy_too);
/* Returns whether the queue has no entry. */
MUST_USE bool slow_queue_is_empty(const struct slow_queue *queue);
/* Frees the memory of the queue. */
void slow_queue_finish(struct slow_queue *queue);

#endif
