/* Keeps patterns across restarts: as notes in the store, which are written every few seconds if
 * they have changed, and at the end. On the collector's thread. */
#include "meter/meter_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/notes.h"

enum { NOTES_PER_WRITE = 64, NOTE_NAME_LEN = 24 };

#define PATTERN_PREFIX "pattern/"

/* A call of the engine that is waited for. */
struct waiting {
    bool done;
};

static void call_done(struct engine_call *call)
{
    struct waiting *waiting = call->owner;
    waiting->done = true;
}

static struct engine_call waiting_call(struct meter *meter, struct arena *arena,
                                       struct waiting *waiting)
{
    return (struct engine_call){
        .engine = meter->engine,
        .arena = arena,
        .home = waiting_mailbox_box(meter->mailbox),
        .err = ERR_INIT(arena),
        .done = call_done,
        .owner = waiting,
    };
}

/* --- reading --- */

struct loading {
    struct notes_read read;
    struct meter *meter;
    size_t bad;
};

static void load_note(struct notes_read *read, struct str name, struct str value)
{
    struct loading *loading = CONTAINER_OF(read, struct loading, read);
    struct meter *meter = loading->meter;
    pthread_mutex_lock(&meter->mutex);
    if (str_eq(name, STR("meter"))) {
        char digits[32] = {0};
        memcpy(digits, value.data, MIN(value.len, sizeof(digits) - 1));
        int64_t since_ms = strtoll(digits, NULL, 10);
        meter->since_ms = since_ms > 0 ? MIN(since_ms, meter->since_ms) : meter->since_ms;
        meter->kept_since_ms = since_ms;
    } else if (str_starts_with(name, STR(PATTERN_PREFIX)) && !pattern_read(meter, value)) {
        loading->bad++;
    }
    pthread_mutex_unlock(&meter->mutex);
}

void meter_load(struct meter *meter)
{
    struct arena arena;
    struct waiting waiting = {0};
    if (!meter->options.keep) {
        return;
    }
    arena_init(&arena);
    struct loading loading = {
        .meter = meter,
        .read = {.call = waiting_call(meter, &arena, &waiting),
                 .prefix = STR(""),
                 .emit = load_note},
    };
    engine_read_notes(&loading.read);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    if (loading.read.call.err.code != ERR_NONE) {
        log_write(LOG_WARN, "meter",
                  "access patterns in the store are not readable now; they stay as they are, and "
                  "new counts are not kept until the server is started again");
        pthread_mutex_lock(&meter->mutex);
        meter->options.keep = false; /* else small new counts would replace those in the store */
        pthread_mutex_unlock(&meter->mutex);
    }
    if (loading.bad > 0) {
        log_write(LOG_WARN, "meter", "%zu access patterns in the store are not readable",
                  loading.bad);
    }
    arena_finish(&arena);
}

/* --- writing --- */

/* Puts patterns that have changed into `notes`, from number *at on; returns how many. */
static size_t gather(struct meter *meter, struct arena *arena, size_t *at, struct note *notes)
{
    size_t count = 0;
    struct buf json = {0};
    for (; *at < meter->pattern_count && count < NOTES_PER_WRITE; (*at)++) {
        struct pattern *pattern = meter->patterns[*at];
        if (!pattern->is_dirty) {
            continue;
        }
        json.len = 0;
        pattern_write(&json, pattern, true);
        notes[count].name =
            arena_format(arena, PATTERN_PREFIX "%016llx", (unsigned long long)pattern->text.id);
        notes[count].value = arena_copy(arena, buf_str(&json));
        pattern->is_dirty = false;
        count++;
    }
    buf_finish(&json);
    return count;
}

static bool write_notes(struct meter *meter, struct arena *arena, const struct note *notes,
                        size_t count)
{
    struct waiting waiting = {0};
    struct notes_write write = {
        .call = waiting_call(meter, arena, &waiting), .notes = notes, .count = count};
    engine_write_notes(&write);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    return write.call.err.code == ERR_NONE;
}

/* After a write that failed: all are to be written again. */
static void mark_all(struct meter *meter)
{
    pthread_mutex_lock(&meter->mutex);
    for (size_t i = 0; i < meter->pattern_count; i++) {
        meter->patterns[i]->is_dirty = true;
    }
    pthread_mutex_unlock(&meter->mutex);
}

void meter_erase(struct meter *meter, uint64_t id)
{
    if (!meter->options.keep) {
        return;
    }
    if ((meter->erased_count & (meter->erased_count - 1)) == 0) { /* 0 or a power of two: full */
        size_t room = MAX(meter->erased_count * 2, (size_t)1);
        meter->erased = mem_realloc(meter->erased, room * sizeof(*meter->erased));
    }
    meter->erased[meter->erased_count++] = id;
}

/* Erases what was kept, after a reset. */
static void erase_kept(struct meter *meter)
{
    struct arena arena;
    struct note note;
    arena_init(&arena);
    for (;;) {
        pthread_mutex_lock(&meter->mutex);
        bool any = meter->erased_count > 0;
        uint64_t id = any ? meter->erased[--meter->erased_count] : 0;
        /* it has been recorded again meanwhile */
        bool is_new = any && meter_pattern(meter, id) != NULL;
        pthread_mutex_unlock(&meter->mutex);
        if (!any) {
            break;
        }
        note.name = arena_format(&arena, PATTERN_PREFIX "%016llx", (unsigned long long)id);
        note.value = STR_NULL;
        if (!is_new && !write_notes(meter, &arena, &note, 1)) {
            pthread_mutex_lock(&meter->mutex);
            meter_erase(meter, id); /* again next time */
            pthread_mutex_unlock(&meter->mutex);
            break;
        }
        arena_reset(&arena);
    }
    arena_finish(&arena);
}

void meter_save(struct meter *meter)
{
    struct note notes[NOTES_PER_WRITE + 1];
    struct arena arena;
    size_t at = 0;
    bool more = meter->options.keep;
    if (!more) {
        return;
    }
    erase_kept(meter);
    arena_init(&arena);
    while (more) {
        pthread_mutex_lock(&meter->mutex);
        size_t count = gather(meter, &arena, &at, notes);
        more = at < meter->pattern_count;
        notes[count].name = STR("meter");
        int64_t since_ms = meter->since_ms;
        notes[count].value = arena_format(&arena, "%lld", (long long)since_ms);
        pthread_mutex_unlock(&meter->mutex);
        bool is_reset = meter->kept_since_ms != 0 && meter->kept_since_ms != since_ms;
        if (count > 0 || is_reset) {
            if (!write_notes(meter, &arena, notes, count + 1)) {
                mark_all(meter); /* the store does not accept writes now */
                break;
            }
            meter->kept_since_ms = since_ms;
        }
        arena_reset(&arena);
    }
    arena_finish(&arena);
}
