/* Sample tickets: those of the document, and some more. Called at start with --samples. */
#include "apps/common/write.h"
#include "apps/tickets/tickets.h"

struct comment {
    const char *text;
    const char *added_at;
};

static const struct sample {
    const char *id;
    const char *caller_id;
    const char *issue;
    const char *created_at;
    struct comment comments[3];
} samples[] = {
    {"33567ee8-f182-4f8a-b03e-2f1515915471",
     "poc-user-001",
     "My laptop won't turn on after pressing the power button",
     "2026-02-09T12:20:25.343883Z",
     {{0}}},
    {"1d8d2fe2-4543-4e6d-aad0-9deed9d57070",
     "poc-user-001",
     "Email not working in Outlook",
     "2026-02-09T12:32:57.917604Z",
     {{"Tried restarting Outlook but still not working", "2026-02-09T12:35:00.123456Z"},
      {"Checked internet connection - it's working fine", "2026-02-09T12:36:30.789012Z"}}},
    {"5f0b6a0e-2c39-4f0e-9a41-7f6f2d1c8b10",
     "poc-user-001",
     "The VPN asks for my password every few minutes",
     "2026-02-11T08:04:11.002913Z",
     {{"It happens on the office network too", "2026-02-11T08:10:42.551020Z"}}},
    {"8c2f4a1d-6f3e-4d6b-8f0c-0d9be53c2a77",
     "poc-user-002",
     "The printer on the second floor prints blank pages",
     "2026-02-10T15:41:03.770110Z",
     {{"New toner, the same", "2026-02-10T16:02:00.000301Z"}}},
    {"c1a1c6f2-97a5-4c0f-b6d5-3f2a8d0e9e21",
     "poc-user-002",
     "I need access to the shared calendar of my team",
     "2026-02-12T09:15:47.118204Z",
     {{0}}},
};

static void fill(struct gramme_value *ticket, const struct sample *sample)
{
    gramme_set_string(ticket, "ticket_id", sample->id);
    gramme_set_string(ticket, "caller_id", sample->caller_id);
    gramme_set_string(ticket, "issue_description", sample->issue);
    gramme_set_string(ticket, "status", "open");
    gramme_set_string(ticket, "created_at", sample->created_at);
    gramme_set_string(ticket, "updated_at", sample->created_at);
    struct gramme_value *comments = gramme_set_list(ticket, "comments");
    for (const struct comment *comment = sample->comments; comment->text != NULL; comment++) {
        struct gramme_value *map = gramme_add_map(comments);
        gramme_set_string(map, "comment_text", comment->text);
        gramme_set_string(map, "added_at", comment->added_at);
        gramme_set_string(ticket, "updated_at", comment->added_at);
    }
}

bool tickets_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct gramme_request *put = gramme_request_create("PutItem", TICKETS_TABLE);
        fill(gramme_request_item(put), &samples[i]);
        ok = write_unless_there(db, put, "ticket_id", error);
    }
    return ok;
}
