/* Crashes and failing calls of the whole store below an engine, RocksDB's SST files and manifest
 * included. The database runs on a real directory, which is mirrored by a file system in memory
 * (disk_mirror.h).
 *
 * Power cuts: before calls that change something, a state in which a power cut could leave the disk
 * (sectors old, new or garbage) is written to another directory, and a process of its own verifies
 * it there: its files must be good, each acknowledged step (scenario.h) must be there as a whole,
 * the one under way as a whole or not at all, and each change in its stream exactly once. The
 * process then continues with further steps, while the power is cut a second time: at a call of
 * recovery, or later. A third process verifies that state.
 *
 * Failing calls: a call on the files, and perhaps the next ones, fails (EIO, ENOSPC, EINTR, a short
 * write or read), at a start, in requests, in flushes or in compactions. Steps may then fail, as a
 * whole or not at all; the database must work again afterwards, and survive a power cut as above.
 *
 *     sim_store [--seed N] [--states N] [--failures N] [--skip-syncs 1]
 *
 * The seed determines the steps, and how often and how the power is cut and calls fail. It does not
 * determine the order of calls of different threads (the committer, RocksDB's and the engine's
 * background threads), so another run with the same seed cuts the power at similar, not the same
 * calls. Therefore a state with a violation is kept, and the command that verifies it is printed.
 *
 * Exits with 1 if there was a violation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../store/child.h"
#include "disk_mirror.h"
#include "scenario.h"

#include "base/clock.h"
#include "base/log.h"

enum { STEPS_PER_FLUSH = 8, STEPS_PER_OPEN = 40, STEPS_PER_LIFE = 120, STEPS_AFTER_CUT = 16 };
enum {
    STEPS_PER_FAILURE = 12,
    CALLS_IN_TURN = 160,
    CALLS_PER_STATE = 40,
    VIOLATIONS_MAX = 3,
    RECOVERY_SECONDS = 60
};
/* What a child process finds. */
enum { GOOD = 0, REFUSED = 10, DAMAGED = 11, LOST = 20, UNWRITABLE = 22 };

static const char *const words[] = {[REFUSED] = "it cannot be opened",
                                    [DAMAGED] = "its files are damaged",
                                    [LOST] = "it differs from what was acknowledged",
                                    [UNWRITABLE] = "it does not accept writes"};

struct run {
    struct random random;
    uint64_t seed;
    struct scenario scenario;
    struct database database;
    struct sim_files *mirror;
    char directory[64];
    const char *verifier; /* task of the process that verifies a state */
    uint64_t states;
    uint64_t states_wanted;
    uint64_t violations;
    uint64_t skips_syncs; /* a planted bug, which must be found */
    bool is_checking;     /* our own calls are not looked at */
};

/* In memory if possible: what is durable is simulated. */
static void make_quick_directory(char out[64])
{
    strcpy(out, "/dev/shm/gramme-crash-XXXXXX");
    if (mkdtemp(out) == NULL) {
        make_directory(out);
    }
}

/* Crashes ------------------------------------------------------------------------------------- */

/* Keeps the state as it was before it was verified. */
static void note_violation(struct run *run, const struct sim_files *crashed, int status)
{
    char kept[64];
    run->violations++;
    make_quick_directory(kept);
    sim_save(crashed, kept);
    bool is_known = status > 0 && status < (int)COUNT_OF(words) && words[status] != NULL;
    printf("violation after %" PRIu64 " steps: %s (status %d); again:\n"
           "    SIM_SEED=%" PRIu64 " sim_store child %s %s %" PRIu64 "\n",
           run->scenario.step_count, is_known ? words[status] : "a crash", status, run->seed,
           run->verifier, kept, run->scenario.step_count);
    fflush(stdout);
    if (run->skips_syncs) {
        remove_directory(kept);
    }
}

static void cut_power(struct run *run)
{
    char directory[64];
    make_quick_directory(directory);
    disk_mirror_freeze();
    struct sim_files *crashed = sim_crashed(run->mirror, SIM_POWER_CUT, &run->random);
    sim_save(crashed, directory);
    struct child child;
    child_start(&child, run->verifier, directory, run->scenario.step_count);
    int status = child_wait(&child);
    disk_mirror_thaw();
    run->states++;
    if (status != GOOD) {
        note_violation(run, crashed, status);
    }
    sim_destroy(crashed);
    remove_directory(directory);
}

/* On the thread that is about to change a file. */
static void before_call(void *context)
{
    struct run *run = context;
    if (run->is_checking || run->states >= run->states_wanted ||
        run->violations >= VIOLATIONS_MAX || sim_below(&run->random, CALLS_PER_STATE) != 0) {
        return;
    }
    run->is_checking = true;
    cut_power(run);
    run->is_checking = false;
}

static void start_mirror(struct run *run)
{
    run->mirror = disk_mirror_start(run->directory, random_next(&run->random),
                                    run->skips_syncs ? SIM_SKIP_SYNC : SIM_NO_BUG);
    /* RocksDB makes CURRENT name a manifest before it syncs either name. */
    run->mirror->has_ordered_names = true;
    run->mirror->context = run;
}

static bool open_database(struct run *run)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool is_open = database_open_directory(&run->database, run->directory, &err);
    if (!is_open && (run->mirror == NULL || run->mirror->fail_at == 0)) {
        printf("refused: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return is_open;
}

/* In a process of its own -------------------------------------------------------------------- */

static bool write_on(struct run *run)
{
    for (int i = 0; i < STEPS_AFTER_CUT; i++) {
        if (scenario_send(&run->scenario, &run->database) != SCENARIO_DONE) {
            return false;
        }
        scenario_advance(&run->scenario);
    }
    return true;
}

static int verify_database(struct run *run)
{
    char why[200];
    if (scenario_settle(&run->scenario, &run->database, why) != SCENARIO_SAME) {
        printf("%s\n", why);
        return LOST;
    }
    if (!write_on(run)) {
        return UNWRITABLE;
    }
    if (scenario_check(&run->scenario, &run->database, why) != SCENARIO_SAME) {
        printf("%s\n", why);
        return LOST;
    }
    return GOOD;
}

/* A state in which `acknowledged` steps were. With a second power cut if `is_cut`. */
static int verify(const char *directory, uint64_t acknowledged, bool is_cut)
{
    struct run run = {.seed = strtoull(getenv("SIM_SEED"), NULL, 10), .verifier = "verify-last"};
    snprintf(run.directory, sizeof(run.directory), "%s", directory);
    random_init_seed(&run.random, run.seed + acknowledged);
    scenario_init(&run.scenario, run.seed);
    while (run.scenario.step_count < acknowledged) {
        scenario_advance(&run.scenario);
    }
    if (database_check_files(directory) > 0) {
        return DAMAGED;
    }
    if (is_cut) {
        start_mirror(&run);
        run.states_wanted = 1;
        run.mirror->before = before_call;
    }
    if (!open_database(&run)) {
        return REFUSED;
    }
    int status = verify_database(&run);
    if (status == GOOD && is_cut && run.states == 0) {
        cut_power(&run);
    }
    run.states = run.states_wanted;
    database_close(&run.database);
    return status != GOOD                             ? status
           : run.violations > 0                       ? LOST
           : database_check_files(run.directory) != 0 ? DAMAGED
                                                      : GOOD;
}

/* Power cuts ---------------------------------------------------------------------------------- */

/* A new database, whose states are looked at from now on. */
static void begin_life(struct run *run)
{
    make_quick_directory(run->directory);
    start_mirror(run);
    scenario_init(&run->scenario, run->seed);
    bool is_ready = open_database(run) && scenario_create_tables(&run->database);
    assert_true(is_ready);
}

static void end_life(struct run *run)
{
    database_close(&run->database);
    disk_mirror_stop();
    scenario_finish(&run->scenario);
    remove_directory(run->directory);
}

static void reopen_database(struct run *run)
{
    database_close(&run->database);
    bool is_open = open_database(run);
    assert_true(is_open);
}

static void run_life(struct run *run)
{
    begin_life(run);
    run->mirror->before = before_call;
    for (uint64_t i = 1; i <= STEPS_PER_LIFE && run->states < run->states_wanted; i++) {
        enum scenario_answer answer = scenario_send(&run->scenario, &run->database);
        assert_int_equal(answer, SCENARIO_DONE);
        scenario_advance(&run->scenario);
        if (i % STEPS_PER_FLUSH == 0) {
            bool is_flushed = rocks_flush(run->database.store);
            assert_true(is_flushed);
        }
        if (i % STEPS_PER_OPEN == 0) {
            reopen_database(run);
        }
    }
    run->mirror->before = NULL;
    end_life(run);
}

/* Failing calls ------------------------------------------------------------------------------- */

struct failures {
    uint64_t tried;
    uint64_t doubts;   /* steps that failed */
    uint64_t refusals; /* opens that failed */
};

static void note_failure(struct run *run, const char *why)
{
    static const char *const names[] = {"EIO", "ENOSPC", "EINTR", "a short call"};
    printf("violation: %s at %" PRIu64 " calls from number %" PRIu64 " on, after %" PRIu64
           " steps: %s\n",
           names[run->mirror->failure], run->mirror->fail_count, run->mirror->fail_at,
           run->scenario.step_count, why);
    fflush(stdout);
    run->violations++;
}

/* Finds out whether a step that failed has happened. The store may need a moment to open RocksDB
 * again. */
static void settle(struct run *run)
{
    char why[200];
    int64_t until_ns = clock_monotonic_ns() + RECOVERY_SECONDS * INT64_C(1000000000);
    enum scenario_state state = SCENARIO_UNREADABLE;
    while (state == SCENARIO_UNREADABLE && clock_monotonic_ns() < until_ns) {
        state = scenario_settle(&run->scenario, &run->database, why);
    }
    if (state != SCENARIO_SAME) {
        note_failure(run, why);
    }
}

static void run_steps(struct run *run, struct failures *failures, int count)
{
    for (int i = 0; i < count && run->violations == 0; i++) {
        enum scenario_answer answer = scenario_send(&run->scenario, &run->database);
        if (answer == SCENARIO_DONE) {
            scenario_advance(&run->scenario);
        } else if (answer == SCENARIO_IN_DOUBT) {
            failures->doubts++;
            settle(run);
        } else {
            note_failure(run, "a wrong answer");
        }
        if (i % 4 == 3 && !rocks_flush(run->database.store)) {
            settle(run); /* a flush may fail, and changes nothing for clients */
        }
    }
}

static void end_failure(struct run *run)
{
    disk_mirror_freeze();
    run->mirror->fail_at = 0;
    disk_mirror_thaw();
}

/* Closes and opens the database while calls fail. It may refuse, but not for ever. */
static void reopen_failing(struct run *run, struct failures *failures)
{
    database_close(&run->database);
    if (!open_database(run)) {
        failures->refusals++;
        end_failure(run);
        bool is_open = open_database(run);
        assert_true(is_open);
    }
}

/* Every call in turn, from one on that the seed determines. */
static void plan_failure(struct run *run, const struct failures *failures)
{
    static const uint64_t counts[] = {1, 1, 2, 5, 30};
    disk_mirror_freeze();
    run->mirror->failure = (enum sim_failure)sim_below(&run->random, SIM_FAIL_KINDS);
    run->mirror->fail_count = counts[sim_below(&run->random, COUNT_OF(counts))];
    run->mirror->fail_at =
        run->mirror->call_count + 1 + (run->seed + failures->tried) % CALLS_IN_TURN;
    disk_mirror_thaw();
}

/* The database must accept writes again when calls do not fail any more. */
static void recover(struct run *run)
{
    int64_t until_ns = clock_monotonic_ns() + RECOVERY_SECONDS * INT64_C(1000000000);
    end_failure(run);
    while (scenario_send(&run->scenario, &run->database) != SCENARIO_DONE) {
        settle(run);
        if (clock_monotonic_ns() > until_ns) {
            note_failure(run, "it does not accept writes any more");
            return;
        }
    }
    scenario_advance(&run->scenario);
}

static void run_failure(struct run *run, struct failures *failures)
{
    begin_life(run);
    run_steps(run, failures, STEPS_PER_FAILURE);
    plan_failure(run, failures);
    if (sim_below(&run->random, 3) == 0) {
        reopen_failing(run, failures);
    }
    run_steps(run, failures, STEPS_PER_FAILURE);
    recover(run);
    run_steps(run, failures, STEPS_PER_FAILURE);
    if (run->violations == 0) {
        cut_power(run);
    }
    failures->tried++;
    end_life(run);
}

/* --------------------------------------------------------------------------------------------- */

static int run_all(struct run *run, uint64_t failures_wanted)
{
    while (run->states < run->states_wanted && run->violations < VIOLATIONS_MAX) {
        run_life(run);
    }
    /* Each state was verified, continued, cut and verified again. */
    printf("%" PRIu64 " crash states of whole stores, %" PRIu64 " violations\n", 2 * run->states,
           run->violations);
    struct failures failures = {0};
    run->states_wanted = 0;
    while (failures.tried < failures_wanted && run->violations == 0) {
        run_failure(run, &failures);
    }
    printf("%" PRIu64 " failures of calls: %" PRIu64 " steps in doubt, %" PRIu64
           " refused opens, %" PRIu64 " violations\n",
           failures.tried, failures.doubts, failures.refusals, run->violations);
    return run->violations > 0;
}

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        log_setup(LOG_ERROR, LOG_TEXT);
        int status =
            verify(argv[3], strtoull(argv[4], NULL, 10), strcmp(child, "verify-last") != 0);
        fflush(stdout);
        _exit(status);
    }
    struct run run = {.seed = (uint64_t)time(NULL), .states_wanted = 20, .verifier = "verify"};
    uint64_t failures = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        *(strcmp(argv[i], "--seed") == 0         ? &run.seed
          : strcmp(argv[i], "--skip-syncs") == 0 ? &run.skips_syncs
          : strcmp(argv[i], "--failures") == 0   ? &failures
                                                 : &run.states_wanted) = number;
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, run.seed);
    setenv("SIM_SEED", text, 1);
    printf("seed %s\n", text);
    fflush(stdout);
    random_init_seed(&run.random, run.seed);
    return run_all(&run, failures);
}
