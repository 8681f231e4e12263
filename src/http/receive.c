/* Parses requests from received bytes. A request that is received at once is used in place, in the
 * read buffer; only bodies that are large, chunked or compressed are copied. On the loop's thread,
 * but for receive_inflate(). */
#include "err/messages.h"
#include "http/http_internal.h"

enum {
    BODY_READ_MIN = 64 * 1024,
    /* Bodies up to this size, compressed and decompressed, are decompressed on the loop. */
    CODED_HERE_MAX = 64 * 1024,
    PLAIN_HERE_MAX = 256 * 1024,
};

static enum receive fail(struct request_slot *slot, int status, const char *text)
{
    slot->fail_status = status;
    slot->fail_text = text;
    return RECEIVE_FAILED;
}

/* There is no memory for the request. */
static enum receive fail_busy(struct request_slot *slot)
{
    slot->is_busy = true;
    return RECEIVE_FAILED;
}

static bool is_over_budget(const struct request_slot *slot)
{
    return budget_state(&slot->buf_budget) != BUDGET_FITS;
}

static struct loop *loop_of(const struct request_slot *slot)
{
    return slot->conn->loop;
}

/* Returns space for the next bytes of the body. The buffer grows with the received bytes, not by
 * Content-Length, so that a client cannot make the server allocate memory without sending. */
static uv_buf_t body_room(struct request_slot *slot)
{
    size_t missing = (size_t)slot->head.content_length - slot->body.len;
    size_t room = MIN(MAX(slot->body.len, (size_t)BODY_READ_MIN), (size_t)BODY_READ_MAX);
    room = MIN(room, missing);
    return uv_buf_init(buf_reserve(&slot->body, room), (unsigned)room);
}

uv_buf_t receive_room(struct request_slot *slot)
{
    if (slot->stage == STAGE_BODY_APART) {
        return body_room(slot);
    }
    return uv_buf_init(slot->in + slot->in_len, (unsigned)(slot->in_size - slot->in_len));
}

void receive_count(struct request_slot *slot, size_t byte_count)
{
    if (slot->stage == STAGE_BODY_APART) {
        buf_added(&slot->body, byte_count);
    } else {
        slot->in_len += byte_count;
    }
}

bool receive_is_empty(const struct request_slot *slot)
{
    return slot->stage == STAGE_HEAD && slot->in_len == slot->in_start;
}

/* Moves the request to the front of the buffer; its head, if known, must be parsed again, because
 * its slices point to where it was. At most once per request. */
static void move_to_front(struct request_slot *slot)
{
    memmove(slot->in, slot->in + slot->in_start, slot->in_len - slot->in_start);
    slot->in_len -= slot->in_start;
    slot->in_start = 0;
    slot->stage = STAGE_HEAD;
    head_init(&slot->head);
}

static void fill_exchange(struct request_slot *slot, struct str body)
{
    struct loop *loop = loop_of(slot);
    slot->exchange = (struct http_exchange){
        .method = slot->head.method,
        .target = slot->head.target,
        .headers = slot->head.headers,
        .header_count = slot->head.header_count,
        .body = body,
        .raw_body = body,
        .peer = slot->conn->peer,
        .is_secure = slot->conn->tls != NULL,
        .body_bytes_max = slot->body_bytes_max,
        .arena = &slot->arena,
        .mailbox = &loop->mailbox,
        .thread = loop->number,
        .out = &slot->out,
    };
}

static enum receive fail_coding(struct request_slot *slot, int status, const char *text)
{
    int wanted = loop_options(loop_of(slot))->bad_coding_status;
    return fail(slot, wanted != 0 ? wanted : status, text);
}

static enum coder_status inflate_body(struct request_slot *slot, struct coder *coder,
                                      size_t plain_max)
{
    slot->plain.len = 0;
    return coder_decode(coder, slot->head.content_coding, slot->exchange.body, plain_max,
                        &slot->plain);
}

bool receive_inflated(struct request_slot *slot)
{
    switch (slot->inflate_status) {
    case CODER_OK:
        if (is_over_budget(slot)) {
            fail_busy(slot);
            return false;
        }
        slot->exchange.body = buf_str(&slot->plain);
        return true;
    case CODER_BAD:
        (void)fail_coding(slot, 400, "request body cannot be decompressed");
        return false;
    case CODER_TOO_LARGE:
        break;
    }
    fail(slot, 413, MESSAGE_BODY_TOO_LARGE);
    return false;
}

void receive_inflate(struct request_slot *slot, struct coder *coder)
{
    size_t plain_max = slot->body_bytes_max;
    slot->inflate_status = inflate_body(slot, coder, plain_max);
}

static enum receive body_done(struct request_slot *slot, struct str body)
{
    struct loop *loop = loop_of(slot);
    fill_exchange(slot, body);
    if (slot->head.content_coding == CODING_IDENTITY || body.len == 0) {
        return RECEIVE_DONE;
    }
    if (body.len > CODED_HERE_MAX) {
        return RECEIVE_INFLATE;
    }
    size_t plain_max = MIN(slot->body_bytes_max, (size_t)PLAIN_HERE_MAX);
    slot->inflate_status = inflate_body(slot, &loop->coder, plain_max);
    if (slot->inflate_status == CODER_TOO_LARGE && plain_max < slot->body_bytes_max) {
        return RECEIVE_INFLATE;
    }
    return receive_inflated(slot) ? RECEIVE_DONE : RECEIVE_FAILED;
}

static enum receive receive_body_here(struct request_slot *slot)
{
    size_t length = (size_t)MAX(slot->head.content_length, 0);
    if (slot->in_len - slot->in_at < length) {
        return RECEIVE_MORE;
    }
    struct str body = str_make(slot->in + slot->in_at, length);
    slot->in_at += length;
    return body_done(slot, body);
}

static enum receive receive_body_apart(struct request_slot *slot)
{
    if (is_over_budget(slot)) {
        return fail_busy(slot);
    }
    if (slot->body.len < (size_t)slot->head.content_length) {
        return RECEIVE_MORE;
    }
    return body_done(slot, buf_str(&slot->body));
}

static enum receive receive_body_chunked(struct request_slot *slot)
{
    struct str input = str_make(slot->in + slot->in_at, slot->in_len - slot->in_at);
    struct str data;
    enum chunked_status status = chunked_next(&slot->chunked, &input, &data);
    while (status == CHUNKED_DATA) {
        if (data.len > slot->body_bytes_max - slot->body.len) {
            return fail(slot, 413, MESSAGE_BODY_TOO_LARGE);
        }
        buf_add(&slot->body, data);
        if (is_over_budget(slot)) {
            return fail_busy(slot);
        }
        status = chunked_next(&slot->chunked, &input, &data);
    }
    if (status == CHUNKED_BAD) {
        return fail(slot, 400, "malformed chunk");
    }
    if (status == CHUNKED_MORE) { /* all is used: the next bytes can come to the same place */
        slot->in_len = slot->in_at;
        return RECEIVE_MORE;
    }
    slot->in_at = slot->in_len - input.len;
    return body_done(slot, buf_str(&slot->body));
}

static enum receive receive_body(struct request_slot *slot)
{
    switch (slot->stage) {
    case STAGE_BODY_HERE:
        return receive_body_here(slot);
    case STAGE_BODY_APART:
        return receive_body_apart(slot);
    default:
        assert(slot->stage == STAGE_BODY_CHUNKED);
        return receive_body_chunked(slot);
    }
}

static void begin_body_apart(struct request_slot *slot)
{
    slot->body.len = 0;
    buf_add(&slot->body, str_make(slot->in + slot->in_at, slot->in_len - slot->in_at));
    slot->in_len = slot->in_at;
    slot->stage = STAGE_BODY_APART;
}

/* Whether the server refuses the request by its head. */
static bool is_refused_by_head(struct request_slot *slot)
{
    const struct http_server *server = loop_of(slot)->server;
    enum stage stage = slot->stage;
    size_t out_len = slot->out.len;
    fill_exchange(slot, STR(""));
    slot->exchange.is_head_only = true;
    answer_begin(slot);
    slot->stage = STAGE_CALLING;
    server->options.head_check(server->context, &slot->exchange);
    if (slot->stage == STAGE_ANSWERED) {
        return true;
    }
    slot->stage = stage;
    slot->out.len = out_len;
    slot->body_bytes_max = slot->exchange.body_bytes_max;
    return false;
}

/* The head is complete: decides where the body is stored. */
static enum receive begin_body(struct request_slot *slot)
{
    const struct head *head = &slot->head;
    size_t come = slot->in_len - slot->in_at;
    slot->body_bytes_max = loop_options(loop_of(slot))->body_bytes_max;
    if (head->content_length > (int64_t)slot->body_bytes_max) {
        return fail(slot, 413, MESSAGE_BODY_TOO_LARGE);
    }
    bool has_body = head->chunked || head->content_length > 0;
    if (has_body && head->content_coding == CODING_UNKNOWN) {
        return fail_coding(slot, 415, "only the content codings 'gzip' and 'deflate' are known");
    }
    bool is_whole = !head->chunked && (int64_t)come >= head->content_length;
    if (!is_whole && loop_options(loop_of(slot))->head_check != NULL && is_refused_by_head(slot)) {
        return RECEIVE_REFUSED;
    }
    if (head->content_length > (int64_t)slot->body_bytes_max) { /* the check has lowered it */
        return fail(slot, 413, MESSAGE_BODY_TOO_LARGE);
    }
    slot->continue_wanted = head->expects_continue && !is_whole && come == 0;
    if (head->chunked) {
        slot->stage = STAGE_BODY_CHUNKED;
        slot->body.len = 0;
        chunked_init(&slot->chunked);
    } else if (is_whole || slot->in_at + (size_t)head->content_length <= slot->in_size) {
        slot->stage = STAGE_BODY_HERE;
    } else {
        begin_body_apart(slot);
    }
    return receive_body(slot);
}

static enum receive receive_head(struct request_slot *slot)
{
    struct head *head = &slot->head;
    struct str input = str_make(slot->in + slot->in_start, slot->in_len - slot->in_start);
    enum head_status status = head_parse(head, input, loop_options(loop_of(slot))->head_bytes_max);
    if (status == HEAD_BAD) {
        bool is_large = head->status == 414 || head->status == 431;
        int wanted = loop_options(loop_of(slot))->large_head_status;
        return fail(slot, is_large && wanted != 0 ? wanted : head->status, head->problem);
    }
    if (status == HEAD_MORE) {
        if (slot->in_start > 0) {
            move_to_front(slot);
        }
        return RECEIVE_MORE;
    }
    slot->in_at = slot->in_start + head->size;
    bool is_whole = !head->chunked && (int64_t)(slot->in_len - slot->in_at) >= head->content_length;
    if (slot->in_start > 0 && !is_whole) {
        move_to_front(slot);
        return receive_head(slot); /* once: in_start is 0 now */
    }
    return begin_body(slot);
}

enum receive receive_request(struct request_slot *slot)
{
    return slot->stage == STAGE_HEAD ? receive_head(slot) : receive_body(slot);
}

void receive_next(struct request_slot *slot)
{
    if (UNLIKELY(slot->holds_secret)) {
        slot_erase_request(slot);
    }
    arena_reset(&slot->arena);
    slot_drop_body(slot);
    budget_restart(&slot->arena_budget);
    budget_restart(&slot->buf_budget);
    slot->in_start = slot->in_at;
    if (slot->in_start == slot->in_len) {
        slot->in_start = slot->in_at = slot->in_len = 0;
    }
    slot->stage = STAGE_HEAD;
    head_init(&slot->head);
}
