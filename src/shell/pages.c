/* Reads page after page and prints them; asks before the next screen. Main thread. */
#include "shell/pages_internal.h"

#include <stdio.h>

#include "base/mem.h"
#include "shell/input_internal.h"

enum {
    KEPT_BYTES_MAX = 256 << 20, /* of answers that are printed together */
    LIMIT_MAX = 100000,
};

/* Answers whose items wait to be printed. */
struct batch {
    struct gramme_answer **answers;
    size_t count;
    size_t bytes;
};

static void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        gramme_answer_destroy(batch->answers[i]);
    }
    mem_free(batch->answers);
    *batch = (struct batch){0};
}

/* Takes the answer and its items, up to the number that is wanted. */
static void batch_add(struct session *session, struct batch *batch, struct read *read,
                      struct gramme_answer *answer, size_t total)
{
    batch->answers = mem_realloc(batch->answers, (batch->count + 1) * sizeof(*batch->answers));
    batch->answers[batch->count++] = answer;
    size_t len;
    gramme_answer_json(answer, &len);
    batch->bytes += len;
    const struct gramme_value *list = gramme_answer_items(answer);
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        if (read->items_max == 0 || total + read->items.count < read->items_max) {
            items_add(&read->items, gramme_value_at(list, i));
            schema_see_item(session, gramme_value_at(list, i));
        }
    }
}

/* Sets the start of the next page. False: this was the last. */
static bool set_next(struct read *read, const struct gramme_answer *answer)
{
    bool is_statement = strcmp(read->operation, "ExecuteStatement") == 0;
    const char *from = is_statement ? "NextToken" : "LastEvaluatedKey";
    const struct gramme_value *next = gramme_get(gramme_answer_root(answer), from);
    gramme_set_value(read->parameters, is_statement ? "NextToken" : "ExclusiveStartKey", next);
    return next != NULL;
}

/* How many items a request should look at: those that fit the screen, more and more if a filter
 * discards them. 0: no limit. */
static size_t next_limit(const struct session *session, const struct read *read, size_t last)
{
    bool is_bounded = session->is_interactive || read->items_max > 0;
    if (!read->is_select || !is_bounded || last >= LIMIT_MAX) {
        return 0;
    }
    size_t wanted = session->is_interactive ? (size_t)session->rows : read->items_max;
    if (read->items_max > 0) {
        wanted = MIN(wanted, read->items_max);
    }
    return last == 0 ? wanted : last * 2;
}

static void set_limit(struct read *read, size_t limit)
{
    gramme_remove(read->parameters, "Limit");
    if (limit > 0) {
        gramme_set_int(read->parameters, "Limit", (int64_t)limit);
    }
}

/* Fills the batch. *has_more: there are further pages. */
static bool fetch(struct session *session, struct read *read, struct batch *batch, size_t total,
                  struct usage *usage, bool *has_more)
{
    bool prints_at_once = !session->is_interactive && session->format != FORMAT_TABLE &&
                          session->format != FORMAT_CSV;
    size_t limit = 0;
    *has_more = true;
    while (*has_more) {
        struct gramme_answer *answer;
        limit = next_limit(session, read, limit);
        set_limit(read, limit);
        if (!call(session, session->db, read->operation, read->parameters, &answer, usage)) {
            return false;
        }
        *has_more = set_next(read, answer);
        batch_add(session, batch, read, answer, total);
        size_t count = total + read->items.count;
        if (read->items_max > 0 && count >= read->items_max) {
            *has_more = false;
        }
        if (session->is_interactive ? read->items.count >= (size_t)session->rows : prints_at_once) {
            return true;
        }
        if (batch->bytes > KEPT_BYTES_MAX) {
            return fail(session, "the result is too large for a table: use \\set format json, a "
                                 "limit, or \\export");
        }
    }
    return true;
}

bool pages_run(struct session *session, struct read *read)
{
    struct usage usage = {0};
    struct batch batch = {0};
    size_t total = 0;
    bool has_more = true;
    bool good = true;
    while (good && has_more) {
        good = fetch(session, read, &batch, total, &usage, &has_more);
        read->items.first = total;
        results_print(session, &read->items);
        total += read->items.count;
        read->items.count = 0;
        batch_clear(&batch);
        if (has_more && good) {
            output_flush(session);
            has_more = !session->is_interactive || input_ask_more(session->input);
        }
    }
    items_finish(&read->items);
    if (good || total > 0) {
        results_print_usage(session, read->is_select || total > 0 ? "item" : NULL, total, &usage);
    }
    output_flush(session);
    return good;
}
