/* tests/sim/scenario_internal.h: the steps of a scenario and the items that they write. The model
 * is in scenario.c, requests are made in scenario_send.c, answers checked in scenario_check.c. */
#ifndef GRAMME_TESTS_SIM_SCENARIO_INTERNAL_H
#define GRAMME_TESTS_SIM_SCENARIO_INTERNAL_H

#include "scenario.h"

/* The tables: "wide" has a sort key, a local index and expiry; "slim" point-in-time recovery. */
enum { WIDE, SLIM };
/* The most writes of a step, and the most bytes of an attribute. */
enum { WRITES_MAX = 4, BODY_MAX = 3000 };
extern const char *const scenario_table_names[SCENARIO_TABLES];

enum step_kind { STEP_WRITE, STEP_TRANSACTION, STEP_CREATE_INDEX, STEP_DELETE_INDEX };

enum write_operation { OPERATION_PUT, OPERATION_UPDATE, OPERATION_DELETE };

struct step_write {
    uint32_t table;
    uint32_t key;
    enum write_operation
        operation; /* an update sets the whole item, so its result is as of a put */
};

struct step {
    enum step_kind kind;
    uint32_t version;
    struct step_write writes[WRITES_MAX];
    size_t write_count;
    bool is_refused; /* by a condition of the first write */
    bool has_token;
};

/* Returns the step that follows those that were done. */
struct step scenario_next_step(const struct scenario *scenario);

enum { ATTRIBUTES = 5 };

struct attribute {
    const char *name;
    const char *type;
    bool is_present;
    char text[BODY_MAX + 1];
};

/* Fills in what an item of a version holds beside its key: index keys or not, a time of expiry far
 * in the future or not, and sometimes many bytes. */
void scenario_attributes(uint32_t version, struct attribute out[ATTRIBUTES]);

#endif
