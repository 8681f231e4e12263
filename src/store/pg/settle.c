/* store_settle() of this store: waits until every transaction that has read an earlier time has
 * ended. A transaction first locks the marker row of its writer, then reads the server's clock, and
 * holds the lock until it ends. So a settle reads the clock, lists the marker rows of all members,
 * and locks each of them once: a transaction with an earlier time has ended when its marker row can
 * be locked. It locks one marker row at a time, each in its own update, so that no writer waits for
 * the long transaction of another one. Only one settle runs at a time, because two could wait for
 * each other's writers. If the table is distributed, each step also takes the advisory lock of the
 * writer, and the last one runs RECOVER: see distributed.h. The steps are ordinary requests of this
 * store, on the thread of `home`. */
#include "base/mem.h"
#include "store/pg/pg_internal.h"

struct settling {
    struct settling *next; /* the next settle that waits */
    struct store_settle *settle;
    struct pg *pg;
    struct store_range range;
    struct arena range_arena;
    struct str *markers;
    size_t count;
    size_t capacity;
    size_t at; /* index of the next marker to lock */
};

static void start(struct settling *settling);

/* Starts the next settle, if one waits. */
static void pass_turn(struct settling *settling)
{
    struct pg *pg = settling->pg;
    pthread_mutex_lock(&pg->settle_mutex);
    assert(pg->settlings == settling);
    pg->settlings = settling->next;
    struct settling *next = pg->settlings;
    pthread_mutex_unlock(&pg->settle_mutex);
    if (next != NULL) {
        start(next);
    }
}

/* Adds the settle to the list. Returns whether it may start at once. */
static bool take_turn(struct settling *settling)
{
    struct pg *pg = settling->pg;
    pthread_mutex_lock(&pg->settle_mutex);
    struct settling **last = &pg->settlings;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = settling;
    bool is_first = pg->settlings == settling;
    pthread_mutex_unlock(&pg->settle_mutex);
    return is_first;
}

static void finish(struct settling *settling, enum store_status status)
{
    struct store_settle *settle = settling->settle;
    pass_turn(settling);
    arena_finish(&settling->range_arena);
    mem_free(settling->markers);
    mem_free(settling);
    settle->status = status;
    settle->done(settle);
}

static bool write_nothing(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    (void)update;
    (void)rows;
    (void)batch;
    return false;
}

static void locked(struct store_update *update);

static void lock_next(struct settling *settling)
{
    struct store_settle *settle = settling->settle;
    if (settling->at == settling->count) {
        finish(settling, STORE_OK);
        return;
    }
    /* If the table is distributed, the last key is OWN_RECOVERY. */
    settle->update = (struct store_update){
        .keys = &settling->markers[settling->at++],
        .key_count = 1,
        .arena = settle->arena,
        .home = settle->home,
        .eval = write_nothing,
        .done = locked,
    };
    pg_update(&settling->pg->store, &settle->update, true);
}

static void locked(struct store_update *update)
{
    struct store_settle *settle = CONTAINER_OF(update, struct store_settle, update);
    if (update->status == STORE_NO_WRITE) {
        lock_next(settle->internal);
    } else {
        finish(settle->internal, update->status);
    }
}

static bool keep_marker(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct settling *settling = CONTAINER_OF(range, struct settling, range);
    if (settling->count == settling->capacity) {
        settling->capacity = MAX(2 * settling->capacity, (size_t)32);
        settling->markers =
            mem_realloc(settling->markers, settling->capacity * sizeof(*settling->markers));
    }
    settling->markers[settling->count++] = arena_copy(settling->settle->arena, key);
    return true;
}

static void listed(struct store_range *range)
{
    struct settling *settling = CONTAINER_OF(range, struct settling, range);
    if (range->status != STORE_OK) {
        finish(settling, range->status);
        return;
    }
    if (settling->pg->is_distributed) {
        uint8_t key[OWN_KEY_MAX];
        size_t len = pg_own_key(key, OWN_RECOVERY, STR(""));
        (void)keep_marker(range, str_make(key, len), STR(""));
    }
    lock_next(settling);
}

static void list_markers(struct store_update *update)
{
    struct store_settle *settle = CONTAINER_OF(update, struct store_settle, update);
    struct settling *settling = settle->internal;
    if (update->status != STORE_NO_WRITE) {
        finish(settling, update->status);
        return;
    }
    settle->time_ns = update->time_ns;
    uint8_t key[OWN_KEY_MAX];
    size_t len = pg_own_key(key, OWN_MARKER, STR(""));
    struct str lo = arena_copy(settle->arena, str_make(key, len));
    key[len - 1]++;
    settling->range = (struct store_range){
        .lo = lo,
        .hi = arena_copy(settle->arena, str_make(key, len)),
        .arena = &settling->range_arena,
        .home = settle->home,
        .row = keep_marker,
        .done = listed,
        .before_serving = true,
    };
    pg_range(&settling->pg->store, &settling->range);
}

static void start(struct settling *settling)
{
    struct store_settle *settle = settling->settle;
    settle->update = (struct store_update){
        .arena = settle->arena,
        .home = settle->home,
        .eval = write_nothing,
        .done = list_markers,
        .wants_time = true,
    };
    pg_update(&settling->pg->store, &settle->update, true);
}

void pg_settle(struct store *store, struct store_settle *settle)
{
    struct settling *settling = mem_zalloc(sizeof(*settling));
    settling->settle = settle;
    settling->pg = pg_of(store);
    arena_init(&settling->range_arena);
    settle->internal = settling;
    if (take_turn(settling)) {
        start(settling);
    }
}
