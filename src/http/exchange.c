/* The functions that a handler calls for an exchange: http_header(), http_reply(). On the thread of
 * the exchange. */
#include "http/http_internal.h"

/* Whether two names of the same length may be equal; a quick test of the last bytes. */
static bool may_match(struct str a, struct str b)
{
    enum { CASE_BIT = 0x20 };
    return a.len == b.len &&
           (a.len == 0 || ((a.data[a.len - 1] ^ b.data[b.len - 1]) & ~CASE_BIT) == 0);
}

struct str http_header(const struct http_exchange *exchange, struct str name)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        const struct http_header *header = &exchange->headers[i];
        if (may_match(header->name, name) && str_eq_nocase(header->name, name)) {
            return header->value;
        }
    }
    return STR_NULL;
}

void http_reply(struct http_exchange *exchange, const struct http_answer *answer)
{
    struct request_slot *slot = CONTAINER_OF(exchange, struct request_slot, exchange);
    struct conn *conn = slot->conn;
    assert(slot->stage == STAGE_CALLING || slot->stage == STAGE_DEFERRED);
    slot->holds_secret = slot->holds_secret || exchange->holds_secret;
    if (slot->slow_thread != NULL) {
        slow_reply(slot, answer);
        return;
    }
    if (!conn->is_gone && UNLIKELY(answer_is_slow(slot, answer))) {
        answer_keep(slot, answer);
        slot->stage = STAGE_COMPRESSING;
        slow_want(slot, SLOW_COMPRESS);
        slow_start_wanted(slot); /* it only reads slot->out */
        return;
    }
    if (!conn->is_gone) {
        answer_end(slot, answer);
    }
    if (slot->stage == STAGE_DEFERRED) { /* else the caller of the handler continues */
        conn_be_ready(conn);
    }
    slot->stage = STAGE_ANSWERED;
}
