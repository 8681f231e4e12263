/* Bytes become requests. A request that has come whole is used where it lies in the read buffer;
 * only bodies that are large, chunked or compressed are put together elsewhere. */
#include "http/http_internal.h"

enum {
    BODY_READ_MIN = 64 * 1024,
    BODY_READ_MAX = 256 * 1024, /* so that one connection does not keep the loop for long */
    /* Bodies up to this, compressed and plain, are inflated on the loop. */
    CODED_HERE_MAX = 64 * 1024,
    PLAIN_HERE_MAX = 256 * 1024,
};

static enum receive fail(struct desk *desk, int status, const char *text)
{
    desk->fail_status = status;
    desk->fail_text = text;
    return RECEIVE_FAILED;
}

/* There is no memory for the request. */
static enum receive fail_busy(struct desk *desk)
{
    desk->is_busy = true;
    return RECEIVE_FAILED;
}

static bool is_over_budget(const struct desk *desk)
{
    return budget_state(&desk->buf_budget) != BUDGET_FITS;
}

static struct loop *loop_of(const struct desk *desk)
{
    return desk->conn->loop;
}

/* Grows with what has come, not with what was announced: a client cannot make us hold memory by
 * naming a large length. */
static uv_buf_t body_room(struct desk *desk)
{
    size_t missing = (size_t)desk->head.content_length - desk->body.len;
    size_t room = MIN(MAX(desk->body.len, (size_t)BODY_READ_MIN), (size_t)BODY_READ_MAX);
    room = MIN(room, missing);
    return uv_buf_init(buf_reserve(&desk->body, room), (unsigned)room);
}

uv_buf_t receive_room(struct desk *desk)
{
    if (desk->stage == STAGE_BODY_APART) {
        return body_room(desk);
    }
    return uv_buf_init(desk->in + desk->in_len, (unsigned)(desk->in_size - desk->in_len));
}

void receive_count(struct desk *desk, size_t byte_count)
{
    if (desk->stage == STAGE_BODY_APART) {
        buf_added(&desk->body, byte_count);
    } else {
        desk->in_len += byte_count;
    }
}

bool receive_is_empty(const struct desk *desk)
{
    return desk->stage == STAGE_HEAD && desk->in_len == desk->in_start;
}

/* Moves the request to the front of the buffer; its head, if known, must be parsed again, because
 * its slices point to where it was. At most once per request. */
static void move_to_front(struct desk *desk)
{
    memmove(desk->in, desk->in + desk->in_start, desk->in_len - desk->in_start);
    desk->in_len -= desk->in_start;
    desk->in_start = 0;
    desk->stage = STAGE_HEAD;
    head_init(&desk->head);
}

static void fill_exchange(struct desk *desk, struct str body)
{
    struct loop *loop = loop_of(desk);
    desk->exchange = (struct http_exchange){
        .method = desk->head.method,
        .target = desk->head.target,
        .headers = desk->head.headers,
        .header_count = desk->head.header_count,
        .body = body,
        .raw_body = body,
        .peer = desk->conn->peer,
        .is_secure = desk->conn->tls != NULL,
        .arena = &desk->arena,
        .mailbox = &loop->mailbox,
        .thread = loop->number,
        .out = &desk->out,
    };
}

static enum receive fail_coding(struct desk *desk, int status, const char *text)
{
    int wanted = loop_options(loop_of(desk))->bad_coding_status;
    return fail(desk, wanted != 0 ? wanted : status, text);
}

static enum coder_status inflate_body(struct desk *desk, struct coder *coder, size_t plain_max)
{
    desk->plain.len = 0;
    return coder_decode(coder, desk->head.content_coding, desk->exchange.body, plain_max,
                        &desk->plain);
}

bool receive_inflated(struct desk *desk)
{
    switch (desk->inflate_status) {
    case CODER_OK:
        if (is_over_budget(desk)) {
            fail_busy(desk);
            return false;
        }
        desk->exchange.body = buf_str(&desk->plain);
        return true;
    case CODER_BAD:
        (void)fail_coding(desk, 400, "request body cannot be decompressed");
        return false;
    case CODER_TOO_LARGE:
        break;
    }
    fail(desk, 413, "request body too large");
    return false;
}

void receive_inflate(struct desk *desk, struct coder *coder)
{
    size_t plain_max = loop_options(loop_of(desk))->body_bytes_max;
    desk->inflate_status = inflate_body(desk, coder, plain_max);
}

static enum receive body_done(struct desk *desk, struct str body)
{
    struct loop *loop = loop_of(desk);
    fill_exchange(desk, body);
    if (desk->head.content_coding == CODING_IDENTITY || body.len == 0) {
        return RECEIVE_DONE;
    }
    if (body.len > CODED_HERE_MAX) {
        return RECEIVE_INFLATE;
    }
    size_t plain_max = MIN(loop_options(loop)->body_bytes_max, (size_t)PLAIN_HERE_MAX);
    desk->inflate_status = inflate_body(desk, &loop->coder, plain_max);
    if (desk->inflate_status == CODER_TOO_LARGE && plain_max < loop_options(loop)->body_bytes_max) {
        return RECEIVE_INFLATE;
    }
    return receive_inflated(desk) ? RECEIVE_DONE : RECEIVE_FAILED;
}

static enum receive receive_body_here(struct desk *desk)
{
    size_t length = (size_t)MAX(desk->head.content_length, 0);
    if (desk->in_len - desk->in_at < length) {
        return RECEIVE_MORE;
    }
    struct str body = str_make(desk->in + desk->in_at, length);
    desk->in_at += length;
    return body_done(desk, body);
}

static enum receive receive_body_apart(struct desk *desk)
{
    if (is_over_budget(desk)) {
        return fail_busy(desk);
    }
    if (desk->body.len < (size_t)desk->head.content_length) {
        return RECEIVE_MORE;
    }
    return body_done(desk, buf_str(&desk->body));
}

static enum receive receive_body_chunked(struct desk *desk)
{
    struct str input = str_make(desk->in + desk->in_at, desk->in_len - desk->in_at);
    struct str data;
    enum chunked_status status = chunked_next(&desk->chunked, &input, &data);
    while (status == CHUNKED_DATA) {
        if (data.len > loop_options(loop_of(desk))->body_bytes_max - desk->body.len) {
            return fail(desk, 413, "request body too large");
        }
        buf_add(&desk->body, data);
        if (is_over_budget(desk)) {
            return fail_busy(desk);
        }
        status = chunked_next(&desk->chunked, &input, &data);
    }
    if (status == CHUNKED_BAD) {
        return fail(desk, 400, "malformed chunk");
    }
    if (status == CHUNKED_MORE) { /* all is used: the next bytes can come to the same place */
        desk->in_len = desk->in_at;
        return RECEIVE_MORE;
    }
    desk->in_at = desk->in_len - input.len;
    return body_done(desk, buf_str(&desk->body));
}

static enum receive receive_body(struct desk *desk)
{
    switch (desk->stage) {
    case STAGE_BODY_HERE:
        return receive_body_here(desk);
    case STAGE_BODY_APART:
        return receive_body_apart(desk);
    default:
        assert(desk->stage == STAGE_BODY_CHUNKED);
        return receive_body_chunked(desk);
    }
}

static void begin_body_apart(struct desk *desk)
{
    desk->body.len = 0;
    buf_add(&desk->body, str_make(desk->in + desk->in_at, desk->in_len - desk->in_at));
    desk->in_len = desk->in_at;
    desk->stage = STAGE_BODY_APART;
}

/* Whether the server refuses the request by its head. */
static bool is_refused_by_head(struct desk *desk)
{
    const struct http_server *server = loop_of(desk)->server;
    enum stage stage = desk->stage;
    size_t out_len = desk->out.len;
    fill_exchange(desk, STR(""));
    desk->exchange.is_head_only = true;
    answer_begin(desk);
    desk->stage = STAGE_CALLING;
    server->options.head_check(server->context, &desk->exchange);
    if (desk->stage == STAGE_ANSWERED) {
        return true;
    }
    desk->stage = stage;
    desk->out.len = out_len;
    return false;
}

/* The head is known; chooses where the body goes. */
static enum receive begin_body(struct desk *desk)
{
    const struct head *head = &desk->head;
    size_t come = desk->in_len - desk->in_at;
    if (head->content_length > (int64_t)loop_options(loop_of(desk))->body_bytes_max) {
        return fail(desk, 413, "request body too large");
    }
    bool has_body = head->chunked || head->content_length > 0;
    if (has_body && head->content_coding == CODING_UNKNOWN) {
        return fail_coding(desk, 415, "only the content codings 'gzip' and 'deflate' are known");
    }
    bool is_whole = !head->chunked && (int64_t)come >= head->content_length;
    if (!is_whole && loop_options(loop_of(desk))->head_check != NULL && is_refused_by_head(desk)) {
        return RECEIVE_REFUSED;
    }
    desk->continue_wanted = head->expects_continue && !is_whole && come == 0;
    if (head->chunked) {
        desk->stage = STAGE_BODY_CHUNKED;
        desk->body.len = 0;
        chunked_init(&desk->chunked);
    } else if (is_whole || desk->in_at + (size_t)head->content_length <= desk->in_size) {
        desk->stage = STAGE_BODY_HERE;
    } else {
        begin_body_apart(desk);
    }
    return receive_body(desk);
}

static enum receive receive_head(struct desk *desk)
{
    struct head *head = &desk->head;
    struct str input = str_make(desk->in + desk->in_start, desk->in_len - desk->in_start);
    enum head_status status = head_parse(head, input, loop_options(loop_of(desk))->head_bytes_max);
    if (status == HEAD_BAD) {
        bool is_large = head->status == 414 || head->status == 431;
        int wanted = loop_options(loop_of(desk))->large_head_status;
        return fail(desk, is_large && wanted != 0 ? wanted : head->status, head->problem);
    }
    if (status == HEAD_MORE) {
        if (desk->in_start > 0) {
            move_to_front(desk);
        }
        return RECEIVE_MORE;
    }
    desk->in_at = desk->in_start + head->size;
    bool is_whole = !head->chunked && (int64_t)(desk->in_len - desk->in_at) >= head->content_length;
    if (desk->in_start > 0 && !is_whole) {
        move_to_front(desk);
        return receive_head(desk); /* once: in_start is 0 now */
    }
    return begin_body(desk);
}

enum receive receive_request(struct desk *desk)
{
    return desk->stage == STAGE_HEAD ? receive_head(desk) : receive_body(desk);
}

void receive_next(struct desk *desk)
{
    arena_reset(&desk->arena);
    desk_drop_body(desk);
    budget_restart(&desk->arena_budget);
    budget_restart(&desk->buf_budget);
    desk->in_start = desk->in_at;
    if (desk->in_start == desk->in_len) {
        desk->in_start = desk->in_at = desk->in_len = 0;
    }
    desk->stage = STAGE_HEAD;
    head_init(&desk->head);
}
