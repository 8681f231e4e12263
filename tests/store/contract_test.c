/* Runs every case of the contract with every variant of the store. With arguments, runs only cases
 * whose names ("rocksdb/ranges agree with a model") contain one of them. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>

static const struct variant variants[] = {
    {.name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)8 << 20},
    {.name = "rocksdb, cold", .on_disk = true, .cache_bytes = (size_t)96 << 10, .cold = true},
    {.name = "memory", .url = "memory:", .cache_bytes = (size_t)8 << 20},
    {.name = "memory, eval twice",
     .url = "memory:",
     .cache_bytes = (size_t)8 << 20,
     .eval_twice = true},
    {.name = "rocksdb, slow", .on_disk = true, .cache_bytes = (size_t)8 << 20, .slow = true},
    {.name = "postgresql", .postgresql = true},
    {.name = "postgresql, faults", .postgresql = true, .faults = true},
    {.name = "postgresql, slow", .postgresql = true, .eval_twice = true, .slow = true},
    {.name = "memory, slow",
     .url = "memory:",
     .cache_bytes = (size_t)8 << 20,
     .eval_twice = true,
     .slow = true},
};

static const struct contract_case *const lists[] = {
    update_cases, read_cases, range_cases, append_cases, drop_cases, time_cases, life_cases};

struct run {
    const struct variant *variant;
    const struct contract_case *contract_case;
};

static void run_case(void **state)
{
    const struct run *run = *state;
    struct fixture fixture;
    fixture_open(&fixture, run->variant);
    run->contract_case->run(&fixture);
    fixture_close(&fixture);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strstr(name, argv[i]) != NULL) {
            return true;
        }
    }
    return argc == 1;
}

enum { RUNS_MAX = 512 };

int main(int argc, char **argv)
{
    static struct run runs[RUNS_MAX];
    static struct CMUnitTest tests[RUNS_MAX];
    static char names[RUNS_MAX][128];
    size_t count = 0;
    bool has_postgresql = getenv("GRAMME_POSTGRESQL") != NULL;
    for (size_t v = 0; v < COUNT_OF(variants); v++) {
        if (variants[v].postgresql != has_postgresql) {
            continue; /* PostgreSQL and the other variants run as separate tests */
        }
        for (size_t l = 0; l < COUNT_OF(lists); l++) {
            for (const struct contract_case *c = lists[l]; c->name != NULL; c++) {
                assert(count < RUNS_MAX);
                snprintf(names[count], sizeof(names[count]), "%s/%s", variants[v].name, c->name);
                if (!is_wanted(names[count], argc, argv)) {
                    continue;
                }
                runs[count] = (struct run){.variant = &variants[v], .contract_case = c};
                tests[count] = (struct CMUnitTest){
                    .name = names[count], .test_func = run_case, .initial_state = &runs[count]};
                count++;
            }
        }
    }
    return _cmocka_run_group_tests("contract", tests, count, NULL, NULL);
}
