/* Simulates runs (open, write, crash) of the write-ahead log on a file system in memory
 * (sim_files.h) and checks each state that a crash could leave, at every system call that changes
 * something:
 *  - recovery succeeds and gives exactly the committed records after those that SST files hold, in
 *    order, byte by byte; also, perhaps, the one that was being written;
 *  - what was discarded, or was once found absent, never appears;
 *  - the WAL can be written on, crashes again, and is still right.
 * Then calls fail, also those that read (EIO, ENOSPC, EINTR, short ones) at every place in turn,
 * and files are damaged: bits flipped, sectors overwritten, files truncated and deleted. A damaged
 * WAL must be refused or give exactly the right records. An older wal.state, which does not name
 * the newest segment, must be refused.
 *
 *     sim_log [--seed N] [--states N] [--life N] [--bug skip-sync|skip-some-syncs|skip-state-sync|
 *             skip-directory-sync]
 *
 * Everything follows from the seed; a life that is printed can be run alone. Exits with 1 if there
 * was a violation. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim_files.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/wal/wal.h"
#include "store/wal/wal_state.h"

enum { IDS_MAX = 4096, VIOLATIONS_MAX = 5 };
/* How long a life is, and how many states are tried before each call in it. */
enum { LIFE_STEPS = 60, STATES_PER_CALL = 4 };

/* What the WAL must hold. */
struct model {
    uint64_t ids[IDS_MAX]; /* of committed records, by number - 1 */
    uint64_t count;
    uint64_t stored;   /* records up to this number are in SST files */
    uint64_t maybe[2]; /* ids that may be found as record count + 1 */
};

struct totals {
    uint64_t seed;
    uint64_t states;
    uint64_t states_wanted;
    uint64_t lives;
    uint64_t failing_lives;
    uint64_t damages[4];
    uint64_t refused[4];
    uint64_t old_states;
    uint64_t violations;
};

static struct totals totals;
static enum sim_bug planted_bug;
static uint64_t next_id = 1;

/* Where we are, for messages. */
static uint64_t life_seed;
static uint64_t life_call;

static void violation(const char *text, uint64_t number)
{
    totals.violations++;
    if (totals.violations <= VIOLATIONS_MAX) {
        printf("violation: %s (record %" PRIu64 "); seed %" PRIu64 ", life %" PRIu64
               ", call %" PRIu64 "\n",
               text, number, totals.seed, life_seed, life_call);
    }
}

/* Records ------------------------------------------------------------------------------------ */

/* Mostly within a block, some over several, a few larger than a segment. */
static size_t payload_len(uint64_t id)
{
    uint64_t mixed = id * 0x9E3779B97F4A7C15U >> 32;
    switch (mixed % 16) {
    case 0:
        return 8 + mixed % 40000;
    case 1:
    case 2:
        return 4048 - 4 + mixed % 8; /* around the end of a block */
    case 3:
        return 8 + mixed % 12000;
    default:
        return 8 + mixed % 2000;
    }
}

static struct str make_payload(uint64_t id, struct buf *out)
{
    size_t len = payload_len(id);
    out->len = 0;
    char *at = buf_reserve(out, len);
    for (size_t i = 0; i < len; i++) {
        at[i] = (char)(id * 31 + i * 7 + (i >> 8));
    }
    memcpy(at, &id, sizeof(id));
    return str_make(at, len);
}

static bool is_payload_of(uint64_t id, struct str payload)
{
    static struct buf expected;
    return id != 0 && str_eq(payload, make_payload(id, &expected));
}

/* Recovery ----------------------------------------------------------------------------------- */

static struct wal_options options_of(struct sim_files *sim)
{
    return (struct wal_options){.files = &sim->files,
                                .directory = "sim",
                                .store_id = "0123456789abcde",
                                .filled_bytes = 6 * WAL_BLOCK_BYTES,
                                .growing_bytes = 4 * WAL_BLOCK_BYTES,
                                .salt_seed = random_next(&sim->random) | 1};
}

struct recovery {
    const struct model *model;
    uint64_t next;
    uint64_t found_maybe; /* id; 0: none */
    bool is_wrong;
};

static bool take_record(void *context, uint64_t number, struct str payload, struct err *err)
{
    (void)err;
    struct recovery *recovery = context;
    const struct model *model = recovery->model;
    bool good = number == recovery->next;
    if (number <= model->count) {
        good = good && is_payload_of(model->ids[number - 1], payload);
    } else {
        recovery->found_maybe = is_payload_of(model->maybe[0], payload)   ? model->maybe[0]
                                : is_payload_of(model->maybe[1], payload) ? model->maybe[1]
                                                                          : 0;
        good = good && number == model->count + 1 && recovery->found_maybe != 0;
    }
    recovery->is_wrong = recovery->is_wrong || !good;
    recovery->next++;
    return true;
}

enum outcome { RECOVERED, REFUSED, WRONG };

/* Recovers, compares, and brings the model up to date. */
static enum outcome recover(struct wal *wal, struct model *model, char *message, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct recovery recovery = {.model = model, .next = model->stored + 1};
    bool good = wal_recover(wal, model->stored, take_record, &recovery, &err);
    if (message != NULL) {
        snprintf(message, size, "%.*s", STR_ARG(err.message));
    }
    arena_finish(&arena);
    if (!good) {
        return REFUSED;
    }
    if (recovery.is_wrong || recovery.next <= model->count || wal_next(wal) != recovery.next) {
        return WRONG;
    }
    if (recovery.found_maybe != 0) {
        model->ids[model->count++] = recovery.found_maybe;
    }
    model->maybe[0] = model->maybe[1] = 0;
    return RECOVERED;
}

static bool append_one(struct wal *wal, struct model *model)
{
    static struct buf payload;
    uint64_t id = next_id++;
    if (!wal_append(wal, make_payload(id, &payload))) {
        return false;
    }
    model->ids[model->count++] = id;
    wal_commit(wal);
    return true;
}

/* Opens a crashed state, writes on, lets it crash again, opens it again. Owns `sim`. */
static enum outcome check_state(struct sim_files *sim, const struct model *model,
                                struct random *random, char *message, size_t size)
{
    struct model expected = *model;
    enum outcome outcome = RECOVERED;
    for (int round = 0; round < 2 && outcome == RECOVERED; round++) {
        struct wal_options options = options_of(sim);
        struct wal *wal = wal_create(&options);
        outcome = recover(wal, &expected, message, size);
        for (uint64_t i = sim_below(random, 3); i > 0 && outcome == RECOVERED && round == 0; i--) {
            outcome = append_one(wal, &expected) ? RECOVERED : WRONG;
        }
        struct sim_files *crashed = NULL;
        if (outcome == RECOVERED && round == 0) {
            crashed =
                sim_crashed(sim, sim_below(random, 2) == 0 ? SIM_KILL : SIM_POWER_CUT, random);
        }
        wal_destroy(wal);
        if (crashed != NULL) {
            sim_destroy(sim);
            sim = crashed;
        }
    }
    sim_destroy(sim);
    return outcome;
}

/* A life ------------------------------------------------------------------------------------- */

struct life {
    struct sim_files *sim;
    struct wal *wal;
    struct model model;
    struct random random;
    uint64_t states_per_call;
    bool may_fail;        /* calls fail now and then */
    struct buf old_state; /* wal.state at some step before; empty: none */
    uint64_t old_segment; /* which it names */
};

static void check_crash(struct life *life, enum sim_crash kind)
{
    char message[300] = "";
    struct sim_files *crashed = sim_crashed(life->sim, kind, &life->random);
    totals.states++;
    switch (check_state(crashed, &life->model, &life->random, message, sizeof(message))) {
    case RECOVERED:
        break;
    case REFUSED:
        violation(message, life->model.count);
        break;
    case WRONG:
        violation(kind == SIM_KILL ? "records differ after a kill"
                                   : "records differ after a power cut",
                  life->model.count);
        break;
    }
}

static void before_call(void *context)
{
    struct life *life = context;
    life_call = life->sim->call_count + 1;
    for (uint64_t i = 0; i < life->states_per_call; i++) {
        check_crash(life, sim_below(&life->random, 8) == 0 ? SIM_KILL : SIM_POWER_CUT);
    }
}

static bool is_failing(const struct life *life)
{
    const struct sim_files *sim = life->sim;
    return life->may_fail && sim->fail_at != 0 && sim->call_count + 1 >= sim->fail_at;
}

/* A fresh process on the same files. */
static bool start(struct life *life)
{
    char message[300];
    wal_destroy(life->wal);
    for (;;) {
        struct wal_options options = options_of(life->sim);
        life->wal = wal_create(&options);
        enum outcome outcome = recover(life->wal, &life->model, message, sizeof(message));
        if (outcome == RECOVERED) {
            return true;
        }
        if (outcome == WRONG || !is_failing(life)) {
            violation(outcome == WRONG ? "records differ after a restart" : message,
                      life->model.count);
            return false;
        }
        life->sim->fail_at = 0; /* the disk works again */
        wal_destroy(life->wal);
    }
}

static void discard(struct life *life)
{
    if (wal_discard(life->wal)) {
        life->model.maybe[1] = 0;
    } else {
        life->model.maybe[0] = life->model.maybe[1];
        life->model.maybe[1] = 0;
    }
}

static void append(struct life *life)
{
    static struct buf payload;
    struct model *model = &life->model;
    uint64_t id = next_id++;
    bool is_refused = sim_below(&life->random, 20) == 0; /* as when RocksDB fails */
    model->maybe[1] = id;
    bool good = wal_append(life->wal, make_payload(id, &payload));
    if (good && !is_refused) {
        model->ids[model->count++] = id;
        model->maybe[0] = model->maybe[1] = 0;
        wal_commit(life->wal);
    } else {
        discard(life);
    }
}

static void close_cleanly(struct life *life)
{
    struct wal_sst_state ssts = {.stored = life->model.stored, .manifest = "MANIFEST-000007"};
    wal_close_cleanly(life->wal, &ssts);
}

static bool crash_for_real(struct life *life)
{
    enum sim_crash kind = sim_below(&life->random, 2) == 0 ? SIM_KILL : SIM_POWER_CUT;
    struct sim_files *crashed = sim_crashed(life->sim, kind, &life->random);
    crashed->before = life->sim->before;
    crashed->context = life;
    wal_destroy(life->wal);
    life->wal = NULL;
    sim_destroy(life->sim);
    life->sim = crashed;
    return start(life);
}

static bool step(struct life *life)
{
    struct model *model = &life->model;
    uint64_t choice = sim_below(&life->random, 100);
    if (choice < 82) {
        append(life);
    } else if (choice < 91) {
        model->stored += sim_below(&life->random, model->count - model->stored + 1);
        wal_release(life->wal, model->stored);
    } else if (choice < 94) {
        return start(life);
    } else if (choice < 96) {
        char message[300];
        enum outcome outcome = recover(life->wal, model, message, sizeof(message));
        if (outcome == RECOVERED) {
            return true;
        }
        if (outcome == WRONG || !is_failing(life)) {
            violation(outcome == WRONG ? "records differ after recovering in place" : message,
                      model->count);
            return false;
        }
        return start(life);
    } else if (choice < 98) {
        close_cleanly(life);
        return start(life);
    } else {
        return crash_for_real(life);
    }
    return true;
}

static bool life_begin(struct life *life, uint64_t seed)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    life_seed = seed;
    next_id = 1;
    random_init_seed(&life->random, seed);
    life->sim = sim_create(random_next(&life->random), planted_bug);
    struct wal_options options = options_of(life->sim);
    bool good = wal_initialize(&options, &err);
    arena_finish(&arena);
    return good && start(life);
}

static void life_end(struct life *life)
{
    buf_finish(&life->old_state);
    wal_destroy(life->wal);
    sim_destroy(life->sim);
}

/* Damage ------------------------------------------------------------------------------------- */

enum damage { FLIP_BIT, SCRAMBLE_SECTOR, TRUNCATE, DELETE, DAMAGE_KINDS };

static void do_damage(struct sim_files *sim, enum damage damage, struct random *random)
{
    size_t file = sim_below(random, sim_file_count(sim));
    uint64_t bytes = sim_file_bytes(sim, file);
    if (bytes == 0) {
        return;
    }
    switch (damage) {
    case FLIP_BIT:
        sim_flip_bit(sim, file, sim_below(random, 8 * bytes));
        break;
    case SCRAMBLE_SECTOR:
        sim_scramble_sector(sim, file, sim_below(random, (bytes + 511) / 512));
        break;
    case TRUNCATE:
        sim_truncate(sim, file, sim_below(random, bytes));
        break;
    default:
        sim_delete(sim, file);
    }
}

/* Of a store that was closed or killed, also of one that lost power if it is a flipped bit. */
static void damage_states(struct life *life, enum sim_crash kind, uint64_t count)
{
    char message[300];
    for (uint64_t i = 0; i < count; i++) {
        enum damage damage = kind == SIM_KILL ? (enum damage)(i % DAMAGE_KINDS) : FLIP_BIT;
        struct sim_files *copy = sim_crashed(life->sim, kind, &life->random);
        do_damage(copy, damage, &life->random);
        enum outcome outcome =
            check_state(copy, &life->model, &life->random, message, sizeof(message));
        totals.damages[damage]++;
        totals.refused[damage] += outcome == REFUSED;
        if (outcome == WRONG) {
            violation(damage == FLIP_BIT          ? "wrong records after a flipped bit"
                      : damage == SCRAMBLE_SECTOR ? "wrong records after a bad sector"
                      : damage == TRUNCATE        ? "wrong records after a truncation"
                                                  : "wrong records after a deletion",
                      life->model.count);
        }
    }
}

/* Returns the segment that wal.state names. */
static uint64_t named_segment(struct sim_files *sim)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct wal_state_found found;
    struct wal_options options = options_of(sim);
    bool good = wal_state_read(&sim->files, "sim", options.store_id, &found, &err);
    assert(good);
    arena_finish(&arena);
    return found.state.segment;
}

static void keep_state(struct life *life)
{
    bool good = files_read_file(&life->sim->files, "sim/wal.state", &life->old_state);
    assert(good);
    life->old_segment = named_segment(life->sim);
}

/* Puts the kept wal.state back. If a newer segment has been named since, that has a record. */
static void check_old_state(struct life *life)
{
    char message[300] = "";
    if (life->old_state.len == 0 || life->old_segment >= named_segment(life->sim)) {
        return;
    }
    struct sim_files *copy = sim_crashed(life->sim, SIM_KILL, &life->random);
    int fd = copy->files.open(&copy->files, "sim/wal.state", O_RDWR);
    struct iovec all = {life->old_state.data, life->old_state.len};
    bool good = files_write_all(&copy->files, fd, &all, 1, 0);
    assert(good);
    files_close(&copy->files, fd);
    totals.old_states++;
    if (check_state(copy, &life->model, &life->random, message, sizeof(message)) != REFUSED) {
        violation("an older wal.state was accepted", life->model.count);
    }
}

/* Runs --------------------------------------------------------------------------------------- */

static void run_life(uint64_t seed, uint64_t steps, uint64_t states_per_call)
{
    struct life *life = mem_zalloc(sizeof(*life));
    life->states_per_call = states_per_call;
    if (life_begin(life, seed)) {
        life->sim->before = before_call;
        life->sim->context = life;
        bool good = true;
        for (uint64_t i = 0; i < steps && good && totals.violations < VIOLATIONS_MAX; i++) {
            good = step(life);
            if (good && i % 8 == 0) {
                keep_state(life);
            }
            if (good && i % 8 == 7 && planted_bug == SIM_NO_BUG) {
                check_old_state(life);
            }
        }
        life->states_per_call = 0;
        if (good && planted_bug == SIM_NO_BUG) {
            damage_states(life, SIM_KILL, 80);
            damage_states(life, SIM_POWER_CUT, 40);
            close_cleanly(life);
            damage_states(life, SIM_KILL, 80);
        }
    }
    life_end(life);
    mem_free(life);
    totals.lives++;
}

/* The same life, in which call `fail_at` and the next ones fail. Returns how many calls it made. */
static uint64_t run_failing_life(uint64_t seed, uint64_t fail_at, uint64_t fail_count,
                                 enum sim_failure failure)
{
    struct life *life = mem_zalloc(sizeof(*life));
    if (life_begin(life, seed)) {
        uint64_t calls_before = life->sim->call_count;
        life->may_fail = true;
        life->sim->fail_at = fail_at == 0 ? 0 : calls_before + fail_at;
        life->sim->fail_count = fail_count;
        life->sim->failure = failure;
        life->sim->context = life;
        for (int i = 0; i < 12 && totals.violations < VIOLATIONS_MAX; i++) {
            append(life);
            life_call = life->sim->call_count;
            if (i % 4 == 3) {
                life->model.stored = life->model.count - life->model.count % 3;
                life->model.stored = MIN(life->model.stored, life->model.count);
                wal_release(life->wal, life->model.stored);
            }
            check_crash(life, SIM_KILL);
            check_crash(life, SIM_POWER_CUT);
            if (i == 5 && !start(life)) { /* reads may fail */
                break;
            }
        }
        close_cleanly(life);
        check_crash(life, SIM_KILL);
        check_crash(life, SIM_POWER_CUT);
        start(life);
        fail_at = life->sim->call_count - calls_before;
    }
    life_end(life);
    mem_free(life);
    totals.failing_lives++;
    return fail_at;
}

static void run_failures(uint64_t seed)
{
    static const uint64_t fail_counts[] = {1, 2, 5, 1000000};
    uint64_t calls = run_failing_life(seed, 0, 0, SIM_FAIL_EIO);
    for (uint64_t at = 1; at <= calls && totals.violations < VIOLATIONS_MAX; at++) {
        for (int failure = 0; failure < SIM_FAIL_KINDS; failure++) {
            uint64_t count = fail_counts[(at + (uint64_t)failure) % COUNT_OF(fail_counts)];
            count = failure == SIM_FAIL_EINTR ? MIN(count, (uint64_t)5) : count;
            run_failing_life(seed, at, count, (enum sim_failure)failure);
        }
    }
}

static void print_totals(double seconds)
{
    printf("%" PRIu64 " crash states in %" PRIu64 " lives and %" PRIu64
           " with failing calls, %.0f s; damage (refused/all): bits %" PRIu64 "/%" PRIu64
           ", sectors %" PRIu64 "/%" PRIu64 ", truncations %" PRIu64 "/%" PRIu64
           ", deletions %" PRIu64 "/%" PRIu64 ", old states %" PRIu64 "; %" PRIu64 " violations\n",
           totals.states, totals.lives, totals.failing_lives, seconds, totals.refused[FLIP_BIT],
           totals.damages[FLIP_BIT], totals.refused[SCRAMBLE_SECTOR],
           totals.damages[SCRAMBLE_SECTOR], totals.refused[TRUNCATE], totals.damages[TRUNCATE],
           totals.refused[DELETE], totals.damages[DELETE], totals.old_states, totals.violations);
}

static enum sim_bug bug_named(const char *name)
{
    return strcmp(name, "skip-sync") == 0         ? SIM_SKIP_SYNC
           : strcmp(name, "skip-some-syncs") == 0 ? SIM_SKIP_SOME_SYNCS
           : strcmp(name, "skip-state-sync") == 0 ? SIM_SKIP_STATE_SYNC
                                                  : SIM_SKIP_DIRECTORY_SYNC;
}

int main(int argc, char **argv)
{
    totals.seed = (uint64_t)time(NULL);
    totals.states_wanted = 20000;
    uint64_t only_life = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) {
            totals.seed = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--states") == 0) {
            totals.states_wanted = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--life") == 0) {
            only_life = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--bug") == 0) {
            planted_bug = bug_named(argv[i + 1]);
        }
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    printf("seed %" PRIu64 "\n", totals.seed);
    time_t begin = time(NULL);
    struct random random;
    random_init_seed(&random, totals.seed);
    if (only_life != 0) {
        run_life(only_life, LIFE_STEPS, STATES_PER_CALL);
        totals.states_wanted = 0;
    }
    while (totals.states < totals.states_wanted && totals.violations < VIOLATIONS_MAX) {
        for (int i = 0; i < 4 && totals.states < totals.states_wanted; i++) {
            run_life(random_next(&random) >> 1, LIFE_STEPS, STATES_PER_CALL);
        }
        run_failures(random_next(&random) >> 1);
    }
    print_totals(difftime(time(NULL), begin));
    return totals.violations > 0;
}
