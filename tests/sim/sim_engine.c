/* An engine on a store that lets chosen calls fail (store/fault): each kind of fault, at the first
 * call, the second, and so on, while items, transactions, indexes and streams are written and read.
 * A step whose update was not written must leave nothing behind, one whose answer was lost must
 * have happened as a whole, a read must fail or be right; and the files must be good afterwards.
 *
 *     sim_engine [--seed N] [--calls N]
 *
 * Exits with 1 if there was a violation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../store/support.h"
#include "scenario.h"

#include "base/log.h"

enum { STEPS_AT_LEAST = 6, CALLS_PER_LIFE = 8 };

static const char *const fault_names[FAULT_KIND_COUNT] = {
    [FAULT_GET] = "a get fails",
    [FAULT_RANGE] = "a range fails",
    [FAULT_RANGE_MIDDLE] = "a range fails after a row",
    [FAULT_UPDATE_BEFORE] = "an update is not written",
    [FAULT_UPDATE_AFTER] = "the answer to an update is lost",
    [FAULT_UPDATE_LOST] = "an update is not written, and nobody knows",
    [FAULT_EVAL_TWICE] = "an update is evaluated twice",
};

struct run {
    struct scenario scenario;
    struct database database;
    char directory[64];
    enum fault_kind kind;
    uint64_t call; /* the number of the call that fails */
    uint64_t violations;
    uint64_t faults;
    uint64_t doubts;
    uint64_t steps;
};

static void note_violation(struct run *run, const char *why)
{
    printf("violation: %s, call %" PRIu64 ": %s\n", fault_names[run->kind], run->call, why);
    run->violations++;
}

/* With the store's call number `call` failing while the engine is opened, if there are so many. */
static bool try_open(struct run *run, uint64_t call)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store *store = fault_create(open_store(run->directory, 1 << 20));
    fault_nth(store, run->kind, call);
    bool is_open = database_open(&run->database, store, &err);
    if (!is_open && call == 0) {
        note_violation(run, arena_copy_c(&arena, err.message).data);
    }
    arena_finish(&arena);
    return is_open;
}

/* An engine that cannot be opened must leave a store that can. */
static void open_database(struct run *run)
{
    for (uint64_t call = 1; call <= 4; call++) {
        if (try_open(run, call)) {
            database_close(&run->database);
        }
    }
    bool is_open = try_open(run, 0);
    assert_true(is_open);
}

static void close_database(struct run *run)
{
    run->faults += fault_count(run->database.store, run->kind);
    database_close(&run->database);
    if (database_check_files(run->directory) > 0) {
        note_violation(run, "the files are damaged");
    }
}

static void compare_database(struct run *run)
{
    char why[200];
    fault_nth(run->database.store, run->kind, 0);
    if (scenario_check(&run->scenario, &run->database, why) != SCENARIO_SAME) {
        note_violation(run, why);
    }
}

static void run_step(struct run *run)
{
    enum scenario_answer answer = scenario_send(&run->scenario, &run->database);
    run->steps++;
    if (answer == SCENARIO_WRONG) {
        note_violation(run, "a wrong answer");
    }
    if (answer == SCENARIO_IN_DOUBT) {
        run->doubts++;
    }
    if (answer == SCENARIO_DONE || run->kind == FAULT_UPDATE_AFTER) {
        scenario_advance(&run->scenario);
    }
    if (answer == SCENARIO_IN_DOUBT) {
        compare_database(run);
    }
}

/* Reads everything while a call may fail. */
static void read_all(struct run *run)
{
    char why[200];
    if (scenario_check(&run->scenario, &run->database, why) == SCENARIO_DIFFERENT) {
        note_violation(run, why);
    }
}

/* Steps and reads until call number `call` has failed. */
static void run_call(struct run *run)
{
    uint64_t before = fault_count(run->database.store, run->kind);
    fault_nth(run->database.store, run->kind, run->call);
    for (uint64_t i = 0; i < run->call + STEPS_AT_LEAST; i++) {
        run_step(run);
        if (fault_count(run->database.store, run->kind) > before) {
            break;
        }
        if (i % 4 == 3) {
            read_all(run);
        }
    }
    compare_database(run);
}

static void run_kind(struct run *run, uint64_t seed, uint64_t calls)
{
    strcpy(run->directory, "/dev/shm/gramme-engine-XXXXXX");
    if (mkdtemp(run->directory) == NULL) {
        make_directory(run->directory);
    }
    scenario_init(&run->scenario, seed + (uint64_t)run->kind);
    run->call = 0;
    bool is_ready = try_open(run, 0) && scenario_create_tables(&run->database);
    assert_true(is_ready);
    for (run->call = 1; run->call <= calls && run->violations == 0; run->call++) {
        run_call(run);
        if (run->call % CALLS_PER_LIFE == 0) {
            close_database(run);
            open_database(run);
        }
    }
    close_database(run);
    scenario_finish(&run->scenario);
    remove_directory(run->directory);
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL);
    uint64_t calls = 24;
    for (int i = 1; i + 1 < argc; i += 2) {
        *(strcmp(argv[i], "--seed") == 0 ? &seed : &calls) = strtoull(argv[i + 1], NULL, 10);
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    printf("seed %" PRIu64 "\n", seed);
    struct run run = {0};
    for (run.kind = 0; run.kind < FAULT_KIND_COUNT; run.kind++) {
        uint64_t before = run.faults;
        run_kind(&run, seed, calls);
        if (run.faults == before) {
            note_violation(&run, "it never happened");
        }
    }
    printf("%" PRIu64 " faults in %" PRIu64 " steps, %" PRIu64 " in doubt: %" PRIu64
           " violations\n",
           run.faults, run.steps, run.doubts, run.violations);
    return run.violations > 0;
}
