/* A cache of the values of counters, by key: see counters.h. join.c adds to them, group_commit.c
 * writes the changed ones with the group and then settles them, or empties the cache if the group
 * was not written: the values in it would be those of updates that did not happen. With the turn to
 * commit. */
#include "store/rocks/commit/counters.h"

#include "base/arena.h"
#include "base/mem.h"
#include "store/rocks/commit/overlay.h"

enum { KNOWN_MAX = 4096 };

struct counters {
    struct overlay *by_key; /* the value is the struct counter itself, in `arena` */
    struct arena arena;
    size_t known_count;
    struct counter *listed;
};

struct counters *counters_create(void)
{
    struct counters *counters = mem_zalloc(sizeof(*counters));
    counters->by_key = overlay_create();
    arena_init(&counters->arena);
    return counters;
}

void counters_destroy(struct counters *counters)
{
    overlay_destroy(counters->by_key);
    arena_finish(&counters->arena);
    mem_free(counters);
}

struct counter *counters_find(const struct counters *counters, struct str key)
{
    struct str found;
    return overlay_get(counters->by_key, key, &found) ? (struct counter *)found.data : NULL;
}

struct counter *counters_learn(struct counters *counters, struct str key, struct str row)
{
    struct counter *counter = ARENA_NEW(&counters->arena, struct counter);
    assert(counters_find(counters, key) == NULL); /* else one of two values would be lost */
    assert(str_is_null(row) || row.len == STORE_COUNT_LEN);
    counter->key = arena_copy(&counters->arena, key);
    counter->value = store_count_value(row);
    overlay_set(counters->by_key, counter->key, str_make(counter, sizeof(*counter)));
    counters->known_count++;
    return counter;
}

static void note_change(struct counters *counters, struct counter *counter)
{
    counter->changed = true;
    if (!counter->is_listed) {
        counter->is_listed = true;
        counter->next_listed = counters->listed;
        counters->listed = counter;
    }
}

void counters_add(struct counters *counters, struct counter *counter, struct store_count delta)
{
    /* Unsigned: the sum may wrap, and signed overflow is undefined. */
    counter->value.count = (int64_t)((uint64_t)counter->value.count + (uint64_t)delta.count);
    counter->value.bytes = (int64_t)((uint64_t)counter->value.bytes + (uint64_t)delta.bytes);
    note_change(counters, counter);
}

void counters_replace(struct counters *counters, struct str key, struct str row)
{
    struct counter *counter = counters_find(counters, key);
    if (UNLIKELY(counter != NULL)) {
        counter->value = store_count_value(row);
        counter->changed = false; /* the new row replaces what was added before */
    }
}

struct counter *counters_listed(const struct counters *counters)
{
    return counters->listed;
}

void counters_settle(struct counters *counters)
{
    for (; counters->listed != NULL; counters->listed = counters->listed->next_listed) {
        assert(counters->listed->is_listed);
        counters->listed->changed = false;
        counters->listed->is_listed = false;
    }
    if (UNLIKELY(counters->known_count > KNOWN_MAX)) {
        counters_forget(counters);
    }
}

void counters_forget(struct counters *counters)
{
    overlay_clear(counters->by_key);
    arena_reset(&counters->arena);
    counters->known_count = 0;
    counters->listed = NULL;
}
