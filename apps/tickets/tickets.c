/* The data layer of tickets: one function per access pattern of its document. Called by api.c on
 * worker threads. */
#include "apps/tickets/tickets.h"

#include <string.h>

#include "apps/common/when.h"

static bool has_text(const struct gramme_value *item, const char *name, const char *text)
{
    const char *found = gramme_get_string(item, name);
    return found != NULL && strcmp(found, text) == 0;
}

static void fill_ticket(struct gramme_value *ticket, const struct tickets_opening *opening)
{
    char id[GRAMME_UUID_SIZE];
    char now[WHEN_SIZE];
    gramme_uuid(id);
    when_format(now, when_now());
    gramme_set_string(ticket, "ticket_id", opening->ticket_id != NULL ? opening->ticket_id : id);
    gramme_set_string(ticket, "caller_id", opening->caller_id);
    gramme_set_string(ticket, "issue_description", opening->issue_description);
    gramme_set_string(ticket, "status", tickets_status(0));
    gramme_set_string(ticket, "created_at", now);
    gramme_set_string(ticket, "updated_at", now);
    gramme_set_list(ticket, "comments");
}

struct gramme_value *tickets_create_ticket(struct gramme_db *db,
                                           const struct tickets_opening *opening, bool *out_is_new,
                                           struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TICKETS_TABLE);
    fill_ticket(gramme_request_item(put), opening);
    gramme_request_condition(put, "attribute_not_exists(ticket_id)");
    gramme_request_return_on_failure(put);
    *out_is_new = gramme_run(db, put, error);
    /* If the answer to an earlier attempt was lost, the existing ticket is the one of this request.
     */
    const struct gramme_value *there = *out_is_new ? NULL : gramme_error_item(*error);
    const struct gramme_value *ticket = NULL;
    if (*out_is_new) {
        ticket = gramme_request_item(put);
    } else if (has_text(there, "caller_id", opening->caller_id) &&
               has_text(there, "issue_description", opening->issue_description)) {
        ticket = there;
    }
    struct gramme_value *copy = ticket == NULL ? NULL : gramme_value_copy(ticket);
    gramme_request_destroy(put);
    return copy;
}

struct gramme_answer *tickets_get_ticket_status(struct gramme_db *db, const char *ticket_id,
                                                struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TICKETS_TABLE);
    gramme_set_string(gramme_request_key(get), "ticket_id", ticket_id);
    /* So that users see their own comments at once. */
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    return answer;
}

/* Fills an update that adds a comment once. The library repeats a request whose answer was lost:
 * the condition compares text and time of the comment. A client may repeat it, too, later: the
 * condition then compares the id that the client chose, of which the ticket has a set. */
static void fill_update(struct gramme_request *update, const struct tickets_comment *comment,
                        const struct tickets_author *author)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    bool has_id = comment->comment_id != NULL;
    gramme_request_update(update, has_id ? "SET comments = list_append(if_not_exists(comments, "
                                           ":empty_list), :comment), updated_at = :timestamp "
                                           "ADD comment_ids :ids"
                                         : "SET comments = list_append(if_not_exists(comments, "
                                           ":empty_list), :comment), updated_at = :timestamp");
    gramme_request_condition(
        update, has_id ? "attribute_exists(ticket_id) AND NOT contains(comment_ids, :id)"
                       : "attribute_exists(ticket_id) AND NOT contains(comments, :this)");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_list(values, ":empty_list");
    struct gramme_value *entry = gramme_add_map(gramme_set_list(values, ":comment"));
    gramme_set_string(entry, "comment_text", comment->text);
    gramme_set_string(entry, "added_at", now);
    struct gramme_value *by = gramme_set_map(entry, "author");
    gramme_set_string(by, "id", author->id);
    gramme_set_string(by, "name", author->name);
    gramme_set_string(by, "role", author->role);
    gramme_set_string(values, ":timestamp", now);
    if (has_id) {
        gramme_set_string(values, ":id", comment->comment_id);
        gramme_add_string(gramme_set_string_set(values, ":ids"), comment->comment_id);
    } else {
        gramme_set_value(values, ":this", entry);
    }
}

struct gramme_value *tickets_add_comment(struct gramme_db *db,
                                         const struct tickets_comment *comment,
                                         const struct tickets_author *author,
                                         struct gramme_error **error)
{
    struct gramme_request *update = gramme_request_create("UpdateItem", TICKETS_TABLE);
    gramme_set_string(gramme_request_key(update), "ticket_id", comment->ticket_id);
    fill_update(update, comment, author);
    gramme_request_return(update, "ALL_NEW");
    gramme_request_return_on_failure(update);
    struct gramme_answer *answer = gramme_send(db, update, error);
    gramme_request_destroy(update);
    const struct gramme_value *ticket =
        answer != NULL ? gramme_answer_attributes(answer) : gramme_error_item(*error);
    struct gramme_value *copy = ticket == NULL ? NULL : gramme_value_copy(ticket);
    gramme_answer_destroy(answer);
    return copy;
}

static void fill_change(struct gramme_request *update, const struct tickets_change *change)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    gramme_request_update(update, "SET #status = :to, updated_at = :timestamp, #history = "
                                  "list_append(if_not_exists(#history, :empty_list), :entries)");
    gramme_request_condition(update, "attribute_exists(ticket_id) AND #status = :from");
    gramme_request_name(update, "#status", "status");
    gramme_request_name(update, "#history", "history");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_string(values, ":from", change->from);
    gramme_set_string(values, ":to", change->to);
    gramme_set_string(values, ":timestamp", now);
    gramme_set_list(values, ":empty_list");
    struct gramme_value *entry = gramme_add_map(gramme_set_list(values, ":entries"));
    gramme_set_string(entry, "from", change->from);
    gramme_set_string(entry, "status", change->to);
    gramme_set_string(entry, "at", now);
    gramme_set_string(entry, "by", change->by);
}

struct gramme_value *tickets_change_status(struct gramme_db *db,
                                           const struct tickets_change *change,
                                           struct gramme_error **error)
{
    struct gramme_request *update = gramme_request_create("UpdateItem", TICKETS_TABLE);
    gramme_set_string(gramme_request_key(update), "ticket_id", change->ticket_id);
    fill_change(update, change);
    gramme_request_return(update, "ALL_NEW");
    gramme_request_return_on_failure(update);
    struct gramme_answer *answer = gramme_send(db, update, error);
    const struct gramme_value *ticket = gramme_answer_attributes(answer);
    if (answer == NULL && gramme_error_is(*error, GRAMME_CONDITION_FAILED)) {
        /* If the answer to an earlier attempt was lost, the last entry of the history is the one of
         * this change. */
        const struct gramme_value *found = gramme_error_item(*error);
        const struct gramme_value *history = gramme_get(found, "history");
        size_t count = gramme_value_count(history);
        const struct gramme_value *ours =
            gramme_value_at(gramme_get(gramme_request_values(update), ":entries"), 0);
        if (count > 0 && gramme_value_equal(gramme_value_at(history, count - 1), ours)) {
            ticket = found;
        }
    }
    struct gramme_value *copy = ticket == NULL ? NULL : gramme_value_copy(ticket);
    gramme_request_destroy(update);
    gramme_answer_destroy(answer);
    return copy;
}

struct gramme_answer *tickets_list_recent_tickets(struct gramme_db *db, const char *caller_id,
                                                  const struct page *page,
                                                  struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TICKETS_TABLE);
    gramme_request_index(query, "CallerIdIndex");
    gramme_request_key_condition(query, "caller_id = :caller_id");
    gramme_set_string(gramme_request_values(query), ":caller_id", caller_id);
    gramme_request_descending(query);
    page_apply(page, query);
    if (page->limit > TICKETS_RECENT) {
        gramme_request_limit(query, TICKETS_RECENT);
    }
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    return answer;
}
