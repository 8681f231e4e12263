/* Keeps patterns across restarts: as notes in the store (engine/notes.h), which are written every
 * few seconds if they have changed, and at the end. On the collector's thread.
 *
 * Servers that share a store share the notes: each note is the sum of all servers. A server adds
 * what it has counted since its last write (`unsaved`), provided that the note is still as it knows
 * it; if not, the write is refused, the server takes over the note as found, and tries again.
 *
 * "meter" is when counting began; every write checks it. A server that finds another time than it
 * knows starts anew, because another one was reset. "observed" is for how long traffic was
 * observed, and up to when. A store that does not say whether it has written a note (STORE_UNKNOWN)
 * may count the calls of a few seconds twice. */
#include "meter/meter_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/notes.h"

enum { NOTES_PER_WRITE = 64, ATTEMPTS = 8, OBSERVED_MS = 10 * 60 * 1000 };

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

/* --- taking over notes; the mutex is held --- */

static void add_arms(struct meter *meter, struct pattern *pattern, const struct kept_pattern *kept)
{
    for (size_t i = 0; i < kept->arm_count; i++) {
        struct arm *arm = meter_pattern_arm(meter, pattern, kept->arms[i].name);
        if (arm != NULL) {
            arm->read_units += kept->arms[i].read_units;
            arm->write_units += kept->arms[i].write_units;
        } else {
            pattern->sums.table_units += kept->arms[i].read_units + kept->arms[i].write_units;
        }
    }
}

/* Sets a pattern to the sums of its note, and what is not in it yet. */
static void take_sums(struct meter *meter, struct pattern *pattern, const struct kept_pattern *kept)
{
    meter_account(meter, pattern, false);
    pattern->sums = kept->sums;
    if (pattern->unsaved != NULL) {
        pattern_sums_add(&pattern->sums, pattern->unsaved);
    }
    for (size_t i = 0; i < pattern->arms.count; i++) {
        struct arm *arm = &pattern->arms.arms[i];
        arm->read_units = arm->unsaved_read;
        arm->write_units = arm->unsaved_write;
    }
    add_arms(meter, pattern, kept);
    if (str_eq(pattern->text.operation, STR("other")) && !pattern->is_other) {
        pattern->is_other = true;
        meter->other_count++;
    }
    meter_account(meter, pattern, true);
}

/* Takes over the note of a pattern; false if it is not well-formed. */
static bool take_pattern(struct meter *meter, struct str value)
{
    struct kept_pattern kept;
    struct arena arena;
    arena_init(&arena);
    bool good = pattern_parse(&arena, value, &kept);
    bool is_stale = kept.since_ms == 0 ? meter->is_reset : kept.since_ms != meter->since_ms;
    struct pattern *pattern = good ? meter_pattern(meter, kept.text.id) : NULL;
    if (is_stale) {
        meter->has_stale_notes = true; /* from before a reset */
        kept.sums = (struct pattern_sums){0};
        kept.arm_count = 0;
    } else if (good && pattern == NULL) {
        pattern = meter_pattern_for(meter, &kept.text);
        if (pattern->text.id != kept.text.id) { /* it stays in the store */
            meter->unshown_count++;
            pattern = NULL;
        }
    }
    if (pattern != NULL && pattern->stored != note_hash(value)) {
        pattern->stored = note_hash(value);
        take_sums(meter, pattern, &kept);
    }
    arena_finish(&arena);
    return good;
}

/* A note that this server expected is not there: another server added its sums to "other". */
static void take_absence(struct meter *meter, struct pattern *pattern)
{
    static const struct kept_pattern none;
    pattern->stored = 0;
    take_sums(meter, pattern, &none);
}

static int64_t number_at(const char **at)
{
    char *end;
    int64_t number = strtoll(*at, &end, 10);
    *at = end;
    return number;
}

/* Takes over when counting began. */
static void take_since(struct meter *meter, struct str value)
{
    char digits[32] = {0};
    const char *at = digits;
    memcpy(digits, value.data, MIN(value.len, sizeof(digits) - 1));
    int64_t since_ms = number_at(&at);
    bool is_reset_there = meter->kept_since_ms != 0 && since_ms != meter->kept_since_ms;
    meter->kept_since = note_hash(value);
    if (since_ms <= 0 || (meter->is_reset && since_ms < meter->since_ms)) {
        return; /* the newer reset, of this server, is written next */
    }
    meter->is_reset = false;
    if (is_reset_there) {
        meter_restart(meter, since_ms);
    }
    if (meter->kept_since_ms == 0 && meter->observed_ms == 0) {
        /* by a version that did not record it; the note "observed" comes later */
        meter->observed_ms = MAX(meter->started_ms - since_ms, 0);
    }
    meter->since_ms = meter->kept_since_ms = since_ms;
}

static void take_observed(struct meter *meter, struct str value)
{
    char digits[64] = {0};
    const char *at = digits;
    memcpy(digits, value.data, MIN(value.len, sizeof(digits) - 1));
    int64_t observed_ms = number_at(&at);
    int64_t at_ms = number_at(&at);
    meter->kept_observed = note_hash(value);
    if (!meter->is_reset) { /* else the note is from before that */
        meter->observed_ms = MAX(observed_ms, 0);
        meter->observed_at_ms = MAX(at_ms, 0);
    }
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
        take_since(meter, value);
    } else if (str_eq(name, STR("observed"))) {
        take_observed(meter, value);
    } else if (str_starts_with(name, STR(PATTERN_PREFIX)) && !take_pattern(meter, value)) {
        loading->bad++;
    }
    pthread_mutex_unlock(&meter->mutex);
}

static bool read_notes(struct meter *meter, struct loading *loading, struct arena *arena)
{
    struct waiting waiting = {0};
    loading->read.call = waiting_call(meter, arena, &waiting);
    loading->read.prefix = STR("");
    engine_read_notes(&loading->read);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    return loading->read.call.err.code == ERR_NONE;
}

void meter_load(struct meter *meter)
{
    struct arena arena;
    struct loading loading = {.meter = meter, .read = {.emit = load_note}};
    bool is_first = meter->refreshed_ms == 0;
    if (!meter->options.keep) {
        return;
    }
    arena_init(&arena);
    pthread_mutex_lock(&meter->mutex);
    meter->unshown_count = 0;
    pthread_mutex_unlock(&meter->mutex);
    if (!read_notes(meter, &loading, &arena) && is_first) {
        log_write(LOG_WARN, "meter",
                  "access patterns in the store are not readable now; they stay as they are, and "
                  "new counts are not kept until the server is started again");
        pthread_mutex_lock(&meter->mutex);
        meter->options.keep = false; /* `unsaved` would grow stale */
        pthread_mutex_unlock(&meter->mutex);
    }
    if (loading.bad > 0 && is_first) {
        log_write(LOG_WARN, "meter", "%zu access patterns in the store are not readable",
                  loading.bad);
    }
    meter->refreshed_ms = clock_monotonic_us() / 1000;
    arena_finish(&arena);
}

/* --- writing --- */

/* What a note takes from its pattern while it is written. */
struct taken {
    uint64_t id;
    struct pattern_sums *unsaved; /* or NULL */
    struct arm *arms;             /* their unsaved parts */
    size_t arm_count;
};

/* Notes that are written together. The first one is "meter". */
struct batch {
    struct arena arena;
    struct note notes[1 + NOTES_PER_WRITE];
    struct taken taken[NOTES_PER_WRITE];
    size_t count; /* of patterns */
    int64_t since_ms;
};

enum outcome { OUTCOME_DONE, OUTCOME_AGAIN, OUTCOME_FAILED };

/* The mutex is held, as in the functions up to write_batch(). */
static void begin_batch(struct meter *meter, struct batch *batch)
{
    arena_reset(&batch->arena);
    batch->count = 0;
    batch->since_ms = meter->since_ms;
    batch->notes[0] = (struct note){
        .name = STR("meter"),
        .value = arena_format(&batch->arena, "%lld", (long long)meter->since_ms),
        .expected = meter->kept_since,
    };
}

/* Adds a pattern's note; `value` STR_NULL erases it. */
static void add_to_batch(struct batch *batch, struct pattern *pattern, struct str value)
{
    struct taken *taken = &batch->taken[batch->count];
    *taken = (struct taken){
        .id = pattern->text.id, .unsaved = pattern->unsaved, .arm_count = pattern->arms.count};
    taken->arms = ARENA_ARRAY(&batch->arena, struct arm, taken->arm_count);
    for (size_t i = 0; i < taken->arm_count; i++) {
        struct arm *arm = &pattern->arms.arms[i];
        taken->arms[i] = *arm;
        taken->arms[i].name = arena_copy(&batch->arena, arm->name);
        arm->unsaved_read = arm->unsaved_write = 0;
    }
    pattern->unsaved = NULL;
    pattern->is_dirty = false;
    batch->notes[1 + batch->count++] = (struct note){
        .name = arena_format(&batch->arena, PATTERN_PREFIX "%016llx",
                             (unsigned long long)pattern->text.id),
        .value = value,
        .expected = pattern->stored,
    };
}

/* After a write that was not carried out. */
static void give_back(struct meter *meter, const struct batch *batch, struct taken *taken)
{
    struct pattern *pattern = meter_pattern(meter, taken->id);
    if (pattern == NULL || meter->since_ms != batch->since_ms) {
        return; /* everything was reset meanwhile */
    }
    pattern->is_dirty = true;
    if (taken->unsaved != NULL) {
        pattern_add_unsaved(pattern, taken->unsaved);
    }
    for (size_t i = 0; i < taken->arm_count; i++) {
        struct arm *arm = meter_pattern_arm(meter, pattern, taken->arms[i].name);
        if (arm != NULL) {
            arm->unsaved_read += taken->arms[i].unsaved_read;
            arm->unsaved_write += taken->arms[i].unsaved_write;
        }
    }
}

/* Takes over the notes that were not as expected. */
static void take_found(struct meter *meter, const struct batch *batch)
{
    if (batch->notes[0].is_changed && !str_is_null(batch->notes[0].found)) {
        take_since(meter, batch->notes[0].found);
    } else if (batch->notes[0].is_changed) {
        meter->kept_since = 0;
    }
    for (size_t i = 0; i < batch->count; i++) {
        const struct note *note = &batch->notes[1 + i];
        struct pattern *pattern = meter_pattern(meter, batch->taken[i].id);
        if (!note->is_changed || pattern == NULL) {
            continue;
        }
        if (str_is_null(note->found)) {
            take_absence(meter, pattern);
        } else if (!take_pattern(meter, note->found)) {
            pattern->stored = note_hash(note->found); /* not well-formed: replaces it */
        }
    }
}

static void end_batch(struct meter *meter, struct batch *batch)
{
    if (meter->since_ms == batch->since_ms) {
        meter->kept_since = note_hash(batch->notes[0].value);
        meter->kept_since_ms = batch->since_ms;
        meter->is_reset = false;
        for (size_t i = 0; i < batch->count; i++) {
            struct pattern *pattern = meter_pattern(meter, batch->taken[i].id);
            if (pattern != NULL) {
                pattern->stored = note_hash(batch->notes[1 + i].value);
            }
        }
    }
}

/* Writes the batch; without the mutex. */
static enum outcome write_batch(struct meter *meter, struct batch *batch)
{
    struct waiting waiting = {0};
    struct notes_write write = {.call = waiting_call(meter, &batch->arena, &waiting),
                                .notes = batch->notes,
                                .count = 1 + batch->count};
    engine_write_notes(&write);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    bool is_written = write.call.err.code == ERR_NONE && !write.is_refused;
    pthread_mutex_lock(&meter->mutex);
    if (is_written) {
        end_batch(meter, batch);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!is_written) {
            give_back(meter, batch, &batch->taken[i]);
        }
        mem_free(batch->taken[i].unsaved);
    }
    if (write.is_refused) {
        take_found(meter, batch);
    }
    pthread_mutex_unlock(&meter->mutex);
    return is_written ? OUTCOME_DONE : write.is_refused ? OUTCOME_AGAIN : OUTCOME_FAILED;
}

/* Puts patterns that have changed into the batch, from number *at on. */
static void gather(struct meter *meter, struct batch *batch, size_t *at)
{
    struct buf json = {0};
    begin_batch(meter, batch);
    for (; *at < meter->pattern_count && batch->count < NOTES_PER_WRITE; (*at)++) {
        struct pattern *pattern = meter->patterns[*at];
        if (pattern->is_dirty) {
            json.len = 0;
            pattern_write(&json, meter, pattern, PATTERN_KEPT);
            add_to_batch(batch, pattern, arena_copy(&batch->arena, buf_str(&json)));
        }
    }
    buf_finish(&json);
}

/* Stores the patterns that have changed. Returns whether any was, and all were. */
static bool save_patterns(struct meter *meter, struct batch *batch)
{
    size_t at = 0;
    int attempts = 0;
    bool any = false;
    for (bool more = true; more && attempts < ATTEMPTS;) {
        pthread_mutex_lock(&meter->mutex);
        size_t start = at;
        gather(meter, batch, &at);
        more = at < meter->pattern_count;
        bool is_reset = meter->is_reset;
        pthread_mutex_unlock(&meter->mutex);
        if (batch->count == 0 && !is_reset) {
            continue;
        }
        enum outcome outcome = write_batch(meter, batch);
        if (outcome == OUTCOME_FAILED) {
            return false; /* the store does not accept writes now */
        }
        attempts = outcome == OUTCOME_AGAIN ? attempts + 1 : 0;
        if (outcome == OUTCOME_AGAIN) {
            at = start;
            more = true;
        }
        any = true;
    }
    return any;
}

/* Fills a batch with the note for how long traffic was observed. */
static void note_observed(struct meter *meter, struct batch *batch)
{
    pthread_mutex_lock(&meter->mutex);
    begin_batch(meter, batch);
    int64_t observed_ms = meter_observed_ms(meter);
    int64_t at_ms = clock_wall_ms();
    batch->notes[1] = (struct note){
        .name = STR("observed"),
        .value = arena_format(&batch->arena, "%lld %lld", (long long)observed_ms, (long long)at_ms),
        .expected = meter->kept_observed,
    };
    pthread_mutex_unlock(&meter->mutex);
}

/* Keeps what is stored now, after such a batch was written or refused. */
static void take_stored(struct meter *meter, struct batch *batch, const struct notes_write *write)
{
    const struct note *note = &batch->notes[1];
    bool is_written = write->call.err.code == ERR_NONE && !write->is_refused;
    pthread_mutex_lock(&meter->mutex);
    if (is_written && meter->since_ms == batch->since_ms) {
        take_observed(meter, note->value);
        meter->observing_ms = clock_monotonic_us() / 1000;
    } else if (write->is_refused) {
        take_found(meter, batch);
        if (note->is_changed && !str_is_null(note->found)) {
            take_observed(meter, note->found);
        } else if (note->is_changed) {
            meter->kept_observed = 0;
        }
    }
    pthread_mutex_unlock(&meter->mutex);
}

/* Stores for how long traffic was observed. */
static void save_observed(struct meter *meter, struct batch *batch)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        note_observed(meter, batch);
        struct waiting waiting = {0};
        struct notes_write write = {.call = waiting_call(meter, &batch->arena, &waiting),
                                    .notes = batch->notes,
                                    .count = 2};
        engine_write_notes(&write);
        waiting_mailbox_run(meter->mailbox, &waiting.done);
        take_stored(meter, batch, &write);
        if (!write.is_refused) {
            return;
        }
    }
}

/* Puts the deletion of patterns into the batch, from number *at on. */
static void gather_removed(struct meter *meter, struct batch *batch, const uint64_t *ids,
                           size_t count, size_t *at)
{
    begin_batch(meter, batch);
    for (; *at < count && batch->count < NOTES_PER_WRITE; (*at)++) {
        struct pattern *pattern = meter_pattern(meter, ids[*at]);
        if (pattern != NULL) {
            add_to_batch(batch, pattern, STR_NULL);
        }
    }
}

bool meter_unkeep(struct meter *meter, const uint64_t *ids, size_t count)
{
    struct batch *batch = mem_zalloc(sizeof(*batch));
    size_t at = 0;
    enum outcome outcome = OUTCOME_DONE;
    arena_init(&batch->arena);
    for (int attempts = 0; meter->options.keep && at < count && attempts < ATTEMPTS;) {
        size_t start = at;
        pthread_mutex_lock(&meter->mutex);
        gather_removed(meter, batch, ids, count, &at);
        pthread_mutex_unlock(&meter->mutex);
        outcome = write_batch(meter, batch);
        if (outcome == OUTCOME_FAILED) {
            break;
        }
        attempts = outcome == OUTCOME_AGAIN ? attempts + 1 : 0;
        at = outcome == OUTCOME_AGAIN ? start : at;
    }
    arena_finish(&batch->arena);
    mem_free(batch);
    return outcome == OUTCOME_DONE;
}

/* --- notes from before a reset --- */

struct cleaning {
    struct notes_read read;
    const struct meter *meter;
    struct note *notes;
    size_t count;
};

static void find_stale(struct notes_read *read, struct str name, struct str value)
{
    struct cleaning *cleaning = CONTAINER_OF(read, struct cleaning, read);
    struct kept_pattern kept;
    struct arena *arena = read->call.arena;
    struct arena_mark mark = arena_mark(arena);
    bool good = pattern_parse(arena, value, &kept);
    arena_rewind(arena, mark);
    if (good && kept.since_ms >= cleaning->meter->kept_since_ms) {
        return;
    }
    if ((cleaning->count & (cleaning->count - 1)) == 0) { /* 0 or a power of two: full */
        size_t room = MAX(cleaning->count * 2, (size_t)1);
        cleaning->notes = mem_realloc(cleaning->notes, room * sizeof(*cleaning->notes));
    }
    cleaning->notes[cleaning->count++] =
        (struct note){.name = arena_copy(arena, name), .expected = note_hash(value)};
}

static bool erase_notes(struct meter *meter, struct note *notes, size_t count)
{
    struct arena arena;
    struct waiting waiting = {0};
    arena_init(&arena);
    struct notes_write write = {
        .call = waiting_call(meter, &arena, &waiting), .notes = notes, .count = count};
    engine_write_notes(&write);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    bool good = write.call.err.code == ERR_NONE && !write.is_refused;
    arena_finish(&arena);
    return good;
}

/* Erases notes from before a reset. */
static void clean(struct meter *meter)
{
    struct arena arena;
    struct waiting waiting = {0};
    arena_init(&arena);
    struct cleaning cleaning = {.meter = meter,
                                .read = {.call = waiting_call(meter, &arena, &waiting),
                                         .prefix = STR(PATTERN_PREFIX),
                                         .emit = find_stale}};
    engine_read_notes(&cleaning.read);
    waiting_mailbox_run(meter->mailbox, &waiting.done);
    bool good = cleaning.read.call.err.code == ERR_NONE;
    for (size_t i = 0; good && i < cleaning.count; i += NOTES_PER_WRITE) {
        good = erase_notes(meter, &cleaning.notes[i],
                           MIN(cleaning.count - i, (size_t)NOTES_PER_WRITE));
    }
    pthread_mutex_lock(&meter->mutex);
    meter->has_stale_notes = !good; /* else again next time */
    pthread_mutex_unlock(&meter->mutex);
    mem_free(cleaning.notes);
    arena_finish(&arena);
}

void meter_save(struct meter *meter, bool is_last)
{
    if (!meter->options.keep) {
        return;
    }
    struct batch *batch = mem_zalloc(sizeof(*batch));
    arena_init(&batch->arena);
    bool any = save_patterns(meter, batch);
    pthread_mutex_lock(&meter->mutex);
    bool is_late = clock_monotonic_us() / 1000 - meter->observing_ms >= OBSERVED_MS;
    bool must_clean = meter->has_stale_notes && !meter->is_reset && meter->kept_since_ms != 0;
    pthread_mutex_unlock(&meter->mutex);
    if (any || is_late || is_last) {
        save_observed(meter, batch);
    }
    if (must_clean) {
        clean(meter);
    }
    arena_finish(&batch->arena);
    mem_free(batch);
}
