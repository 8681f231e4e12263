/* The background thread that follows the changes of other servers, and answers calls that change a
 * table when all servers know the change: see follow.h. One thread per engine; calls hand over
 * their changes under a lock. */
#include "engine/follow.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"

/* Intervals of rounds: while calls or other servers wait, and else. */
enum { BUSY_MS = 20, IDLE_MS = 60 * 1000 };

/* A change that enables point-in-time recovery is answered after so long in any case. */
enum { RECOVERY_WAIT_MS_MAX = 3000 };

/* A call whose change is not yet seen by all servers, or has enabled point-in-time recovery, which
 * has not begun yet. */
struct waiting_call {
    struct waiting_call *next;
    struct engine_call *call;
    uint64_t version;
    struct table_change *recovery; /* the change; NULL: it does not wait for that */
    int64_t until_us;              /* waits for recovery up to here */
};

struct str follow_version_key(struct arena *arena)
{
    return catalog_key(arena, "version", STR(""));
}

static uint64_t version_of(struct str row)
{
    return row.len == 8 ? get_u64_be(row.data) : 0;
}

uint64_t follow_version_after(struct str row)
{
    return version_of(row) + 1;
}

struct str follow_version_row(struct arena *arena, uint64_t version)
{
    char *row = arena_bytes(arena, 8);
    put_u64_be(row, version);
    return str_make(row, 8);
}

/* --- calls that wait --- */

static void end_call(struct task *task)
{
    struct engine_call *call = CONTAINER_OF(task, struct engine_call, task);
    call->done(call);
}

static void answer(struct engine_call *call)
{
    struct engine *engine = call->engine;
    call->task.run = end_call;
    mailbox_post(call->home, &call->task);
    background_end(&engine->follow.background);
}

/* Whether recovery has begun; then the call gets the description that says so. Also if it will not
 * begin, because the table was changed again or deleted. */
static bool has_begun(struct engine *engine, struct table_change *change)
{
    const struct table *newest = table_acquire(engine, change->name);
    bool is_same = newest != NULL && memcmp(newest->id, change->table->id, sizeof(newest->id)) == 0;
    bool is_beginning = is_same && recovery_is_beginning(newest);
    if (is_same && !is_beginning && newest->recovery) {
        table_release(change->table);
        change->table = newest;
    } else {
        table_release(newest);
    }
    return !is_beginning;
}

static bool must_wait(struct engine *engine, const struct waiting_call *waiting, uint64_t seen)
{
    if (background_is_stopping(&engine->follow.background)) {
        return false;
    }
    return waiting->version > seen ||
           (waiting->recovery != NULL && clock_monotonic_us() < waiting->until_us &&
            !has_begun(engine, waiting->recovery));
}

static void answer_waiting(struct engine *engine)
{
    struct waiting_call **at = &engine->follow.waiting;
    uint64_t seen = store_slowest(engine->store).seen;
    while (*at != NULL) {
        struct waiting_call *waiting = *at;
        if (must_wait(engine, waiting, seen)) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        answer(waiting->call);
        mem_free(waiting);
    }
}

static void add_waiting(struct engine *engine, struct waiting_call call)
{
    struct waiting_call *waiting = mem_alloc(sizeof(*waiting));
    *waiting = call;
    waiting->next = engine->follow.waiting;
    engine->follow.waiting = waiting;
    follow_wake(engine);
}

void follow_finish_call(struct engine_call *call, uint64_t version)
{
    struct engine *engine = call->engine;
    if (version == 0 || version <= store_slowest(engine->store).seen) {
        answer(call);
        return;
    }
    add_waiting(engine, (struct waiting_call){.call = call, .version = version});
}

void follow_finish_recovery(struct table_change *change)
{
    add_waiting(change->call.engine,
                (struct waiting_call){
                    .call = &change->call,
                    .version = change->version,
                    .recovery = change,
                    .until_us = clock_monotonic_us() + (int64_t)RECOVERY_WAIT_MS_MAX * 1000,
                });
}

/* --- announcing --- */

static void announce(struct engine *engine)
{
    struct follow *follow = &engine->follow;
    uint64_t seen = atomic_load(&follow->seen);
    uint64_t settled = catalog_settled_version(engine, seen);
    atomic_store(&follow->settled, settled);
    store_announce(engine->store, (struct store_progress){.seen = seen, .settled = settled});
    atomic_store(&follow->slowest, store_slowest(engine->store).settled);
}

void follow_note_change(struct engine *engine, uint64_t version)
{
    struct follow *follow = &engine->follow;
    if (version == atomic_load(&follow->seen) + 1) {
        atomic_store(&follow->seen, version);
    } else if (version > atomic_load(&follow->seen)) {
        atomic_store(&follow->may_have_changed, true); /* other servers made changes before */
        follow_wake(engine);
    }
    announce(engine);
    engine_note_catalog_change(engine);
    if (follow->waiting != NULL) {
        follow_wake(engine); /* a call may wait for this change */
    }
}

bool follow_is_settled(const struct engine *engine, uint64_t version)
{
    return atomic_load(&engine->follow.slowest) >= version;
}

void follow_wake(struct engine *engine)
{
    background_wake(&engine->follow.background);
}

/* --- reading again --- */

struct version_read {
    struct catalog_read read;
    uint64_t version;
};

static bool read_version_row(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    CONTAINER_OF(range, struct version_read, read.range)->version = version_of(value);
    return false;
}

static bool read_version(struct engine *engine, struct arena *arena, uint64_t *out, struct err *err)
{
    struct version_read read = {.read = {.engine = engine, .err = err, .arena = arena}};
    catalog_read_part(&read.read, "version", read_version_row);
    *out = read.version;
    return err->code == ERR_NONE;
}

/* Reads the catalog after its version was read, so all changes up to that one are in it. Others
 * that are made meanwhile may be in it, too, but none after *out_newest: so what is in it is
 * settled when all servers know that version. */
static bool read_catalog(struct engine *engine, struct arena *arena, struct catalog_snapshot *out,
                         uint64_t *out_newest, struct err *err)
{
    return catalog_read_all(engine, arena, out, err) && catalog_check_all(out, err) &&
           read_version(engine, arena, out_newest, err);
}

/* Puts a catalog that was read into memory. It has all changes up to `version`, and none after
 * `newest`. */
static void publish_catalog(struct engine *engine, const struct catalog_snapshot *snapshot,
                            uint64_t version, uint64_t newest)
{
    struct follow *follow = &engine->follow;
    catalog_replace_all(engine, snapshot, newest);
    atomic_store(&follow->seen, version);
    if (newest > version) {
        atomic_store(&follow->may_have_changed, true);
    }
    background_wake(&engine->backfill);
    background_wake(&engine->recovery);
    engine_note_catalog_change(engine);
}

/* Changes by this server are published on this thread, so none is published meanwhile. If
 * `after_unknown`, one of them may have been stored without being published, and nobody else drops
 * the spaces that it has left. */
static bool read_again(struct engine *engine, bool after_unknown)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    uint64_t version;
    bool ok = read_version(engine, &arena, &version, &err);
    uint64_t seen = atomic_load(&engine->follow.seen);
    if (ok && (version > seen || (after_unknown && version == seen))) {
        struct catalog_snapshot snapshot = {0};
        uint64_t newest;
        ok = read_catalog(engine, &arena, &snapshot, &newest, &err);
        if (ok) {
            publish_catalog(engine, &snapshot, version, newest);
        }
        if (ok && after_unknown) {
            catalog_drop_left(engine, &snapshot);
        }
    }
    arena_finish(&arena);
    return ok;
}

/* --- changes of which it is not known whether they were written --- */

struct decision {
    struct background_update update;
    struct str key;
};

static bool decide_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    store_batch_put(batch, 0, follow_version_row(update->arena, version_of(rows[0])));
    return true;
}

/* Every change of the catalog declares the version row. So when another update of it is written,
 * each change before it is either written as a whole or never will be (rule 6 of store.h). */
static bool decide_unknown(struct engine *engine)
{
    struct arena arena;
    arena_init(&arena);
    struct decision decision = {.key = follow_version_key(&arena)};
    decision.update.update = (struct store_update){
        .keys = &decision.key,
        .key_count = 1,
        .arena = &arena,
        .eval = decide_eval,
        .frees = STORE_FREES_SPACES, /* the change may have deleted spaces */
    };
    bool ok = background_update(&engine->follow.background, &decision.update) == STORE_OK;
    arena_finish(&arena);
    return ok;
}

void follow_note_unknown(struct engine *engine)
{
    atomic_store(&engine->follow.is_undecided, true);
    follow_wake(engine);
}

/* --- the round --- */

/* Reads the catalog again if that is wanted; what fails is tried again in the next round. */
static void catch_up(struct engine *engine)
{
    struct follow *follow = &engine->follow;
    bool is_undecided = atomic_exchange(&follow->is_undecided, false);
    if (is_undecided && !(decide_unknown(engine) && read_again(engine, true))) {
        atomic_store(&follow->is_undecided, true);
    }
    if (atomic_exchange(&follow->may_have_changed, false) && !read_again(engine, false)) {
        atomic_store(&follow->may_have_changed, true);
    }
}

static int64_t follow_round(struct background *background)
{
    struct engine *engine = background->engine;
    struct follow *follow = &engine->follow;
    catch_up(engine);
    announce(engine);
    answer_waiting(engine);
    bool busy = follow->waiting != NULL || atomic_load(&follow->is_undecided) ||
                atomic_load(&follow->may_have_changed) ||
                atomic_load(&follow->slowest) < atomic_load(&follow->seen);
    return busy ? BUSY_MS : IDLE_MS;
}

void follow_look_again(struct engine *engine)
{
    atomic_store(&engine->follow.may_have_changed, true);
    if (atomic_load(&engine->follow.is_started)) {
        follow_wake(engine);
    }
}

/* On a thread of the store. */
static void note_news(void *context)
{
    follow_look_again(context);
}

bool follow_open(struct engine *engine, struct err *err)
{
    struct follow *follow = &engine->follow;
    struct arena arena;
    arena_init(&arena);
    store_watch(engine->store, note_news, engine);
    struct catalog_snapshot snapshot = {0};
    uint64_t version;
    uint64_t newest;
    bool ok = read_version(engine, &arena, &version, err) &&
              read_catalog(engine, &arena, &snapshot, &newest, err);
    if (ok) {
        catalog_replace_all(engine, &snapshot, newest);
        atomic_store(&follow->seen, version);
        announce(engine);
        catalog_drop_left(engine, &snapshot);
    }
    arena_finish(&arena);
    ok = ok && background_start(&follow->background, engine, "follow", follow_round, err);
    atomic_store(&follow->is_started, ok);
    return ok;
}

void follow_close(struct engine *engine)
{
    store_watch(engine->store, NULL, NULL);
    if (atomic_load(&engine->follow.is_started)) {
        background_stop(&engine->follow.background);
    }
}
