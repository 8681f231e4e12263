/* Sample users, tasks and assignments. Called at start with --samples. */
#include <string.h>

#include "apps/common/write.h"
#include "apps/tasks/tasks.h"

static const struct tasks_user users[] = {
    {"ana", "ana@example.com", true},      {"ben", "ben@example.com", false},
    {"chloe", "chloe@example.com", false}, {"dario", "dario@example.com", false},
    {"emil", "emil@example.com", false},
};
static const char DEACTIVATED[] = "emil";

static const struct sample {
    struct tasks_task task;
    const char *created_at;
    const char *status;
    const char *assigned[3];
} samples[] = {
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a01", "Renew the certificate of the shop",
      "It ends on the 28th.", "HIGH", "ana"},
     "2026-02-02T08:00:00.000000Z",
     "IN_PROGRESS",
     {"ben"}},
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a02", "Write down how orders are refunded", "", "MEDIUM",
      "ana"},
     "2026-02-03T09:30:00.000000Z",
     "OPEN",
     {"chloe", "ben"}},
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a03", "Move the nightly report to the new server",
      "After the month has ended.", "MEDIUM", "chloe"},
     "2026-02-03T14:12:00.000000Z",
     "OPEN",
     {"dario"}},
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a04", "Order chairs for the meeting room", "", "LOW",
      "ben"},
     "2026-02-04T10:45:00.000000Z",
     "OPEN",
     {NULL}},
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a05", "Find out why search is slow on Mondays",
      "Since the last release.", "HIGH", "dario"},
     "2026-02-05T07:20:00.000000Z",
     "COMPLETED",
     {"chloe"}},
    {{"8b1f9d0a-3c5e-4f55-9a3c-0c4d1f2e7a06", "Close the old account at the bank", "", "LOW",
      "ana"},
     "2026-01-20T11:00:00.000000Z",
     "CLOSED",
     {"ben", "dario"}},
};

static bool add_user(struct gramme_db *db, const struct tasks_user *user,
                     struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    tasks_fill_user(gramme_request_item(put), user, "2026-01-07T08:00:00.000000Z");
    if (strcmp(user->user_id, DEACTIVATED) == 0) {
        gramme_set_string(gramme_request_item(put), "UserStatus", "DEACTIVATED");
    }
    return write_unless_there(db, put, "PK", error);
}

static bool add_task(struct gramme_db *db, const struct sample *sample, struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    struct gramme_value *item = gramme_request_item(put);
    tasks_fill_task(item, &sample->task, sample->created_at);
    gramme_set_string(item, "Status", sample->status);
    gramme_set_format(item, "GSI2PK", "STATUS#%s", sample->status);
    bool ok = write_unless_there(db, put, "PK", error);
    if (ok) {
        put = gramme_request_create("PutItem", TASKS_TABLE);
        tasks_fill_creation(gramme_request_item(put), &sample->task, sample->created_at);
        ok = write_unless_there(db, put, "PK", error);
    }
    for (size_t i = 0; ok && sample->assigned[i] != NULL; i++) {
        struct tasks_assignment assignment = {
            .task_id = sample->task.id, .user_id = sample->assigned[i], .assigned_by = "ana"};
        put = gramme_request_create("PutItem", TASKS_TABLE);
        tasks_fill_assignment(gramme_request_item(put), &assignment, sample->created_at);
        ok = write_unless_there(db, put, "PK", error);
    }
    return ok;
}

bool tasks_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof(users) / sizeof(users[0]); i++) {
        ok = add_user(db, &users[i], error);
    }
    for (size_t i = 0; ok && i < sizeof(samples) / sizeof(samples[0]); i++) {
        ok = add_task(db, &samples[i], error);
    }
    return ok;
}
