/* A load that follows from a seed, and its model: see scenario.h. Called by the simulators on their
 * main thread. */
#include "scenario_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/random.h"

const char *const scenario_table_names[] = {[WIDE] = "wide", [SLIM] = "slim"};

void scenario_init(struct scenario *scenario, uint64_t seed)
{
    *scenario = (struct scenario){.seed = seed};
}

void scenario_finish(struct scenario *scenario)
{
    for (size_t table = 0; table < SCENARIO_TABLES; table++) {
        mem_free(scenario->events[table]);
    }
}

/* Steps --------------------------------------------------------------------------------------- */

static void add_write(struct step *step, struct random *random)
{
    static const enum write_operation operations[] = {
        OPERATION_PUT, OPERATION_PUT, OPERATION_UPDATE, OPERATION_UPDATE, OPERATION_DELETE};
    struct step_write write = {.table = random_next(random) % SCENARIO_TABLES,
                               .key = random_next(random) % SCENARIO_KEYS,
                               .operation = operations[random_next(random) % COUNT_OF(operations)]};
    for (size_t i = 0; i < step->write_count; i++) {
        if (step->writes[i].table == write.table && step->writes[i].key == write.key) {
            return; /* an item can be only once in a transaction */
        }
    }
    step->writes[step->write_count++] = write;
}

struct step scenario_next_step(const struct scenario *scenario)
{
    struct random random;
    struct step step = {.version = (uint32_t)scenario->step_count + 1};
    random_init_seed(&random, scenario->seed * 1000003 + step.version);
    step.kind = random_next(&random) % 3 == 0 ? STEP_TRANSACTION : STEP_WRITE;
    if (step.version % 12 == 0) {
        step.kind = step.version % 24 == 0 ? STEP_DELETE_INDEX : STEP_CREATE_INDEX;
        return step;
    }
    size_t wanted = step.kind == STEP_TRANSACTION ? WRITES_MAX : 1;
    for (size_t i = 0; i < wanted; i++) {
        add_write(&step, &random);
    }
    step.is_refused = random_next(&random) % 6 == 0;
    step.has_token = random_next(&random) % 2 == 0;
    return step;
}

static void add_event(struct scenario *scenario, uint32_t table, struct scenario_event event)
{
    size_t count = scenario->event_counts[table]++;
    scenario->events[table] =
        mem_realloc(scenario->events[table], (count + 1) * sizeof(struct scenario_event));
    scenario->events[table][count] = event;
}

void scenario_advance(struct scenario *scenario)
{
    struct step step = scenario_next_step(scenario);
    for (size_t i = 0; i < step.write_count && !step.is_refused; i++) {
        const struct step_write *write = &step.writes[i];
        uint32_t *version = &scenario->versions[write->table][write->key];
        uint32_t after = write->operation == OPERATION_DELETE ? 0 : step.version;
        if (*version != after) {
            add_event(scenario, write->table, (struct scenario_event){write->key, *version, after});
        }
        *version = after;
    }
    scenario->step_count++;
}

/* Items --------------------------------------------------------------------------------------- */

void scenario_attributes(uint32_t version, struct attribute out[ATTRIBUTES])
{
    out[0] = (struct attribute){.name = "v", .type = "N", .is_present = true};
    out[1] = (struct attribute){.name = "body", .type = "S", .is_present = true};
    out[2] = (struct attribute){.name = "g", .type = "S", .is_present = version % 4 != 0};
    out[3] = (struct attribute){.name = "l", .type = "S", .is_present = version % 3 != 0};
    out[4] = (struct attribute){.name = "due", .type = "N", .is_present = version % 5 < 2};
    snprintf(out[0].text, BODY_MAX, "%u", version);
    memset(out[1].text, 'a' + (int)(version % 26),
           version % 11 == 0 ? BODY_MAX : version * 37 % 200);
    snprintf(out[2].text, BODY_MAX, "g%u", version % 7);
    snprintf(out[3].text, BODY_MAX, "l%u", version % 5);
    snprintf(out[4].text, BODY_MAX, "%" PRIu64, UINT64_C(4000000000) + version);
}

/* A database that may have done one step more
 * ------------------------------------------------------ */

/* A copy that has done the next step, too. scenario_finish() frees it. */
static struct scenario copy_advanced(const struct scenario *from)
{
    struct scenario copy = *from;
    for (size_t table = 0; table < SCENARIO_TABLES; table++) {
        size_t bytes = from->event_counts[table] * sizeof(struct scenario_event);
        copy.events[table] = mem_alloc(bytes + 1);
        if (bytes > 0) {
            memcpy(copy.events[table], from->events[table], bytes);
        }
    }
    scenario_advance(&copy);
    return copy;
}

enum scenario_state scenario_settle(struct scenario *scenario, struct database *database,
                                    char out_why[200])
{
    enum scenario_state state = scenario_check(scenario, database, out_why);
    if (state != SCENARIO_DIFFERENT) {
        return state;
    }
    char ignored[200];
    struct scenario advanced = copy_advanced(scenario);
    state = scenario_check(&advanced, database, ignored);
    scenario_finish(state == SCENARIO_SAME ? scenario : &advanced);
    if (state == SCENARIO_SAME) {
        *scenario = advanced;
    }
    return state;
}
