/* Checks credentials and policies for route.c. Runs on the thread of the exchange; each thread has
 * its own struct sign_in, and they share only counters. */
#include "server/guard.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "err/messages.h"

enum { LINES_PER_SECOND = 10, LOAD_SLOTS = 4096 };

/* Requests under way of one access key. Keys with the same hash share a slot. */
struct key_load {
    atomic_int requests;
    atomic_size_t bytes;
};

/* Why requests are refused, as metrics count them. */
enum refusal { REFUSED_BY_SIGNATURE, REFUSED_BY_POLICY, REFUSED_BY_LIMIT, REFUSED_COUNT };

struct guard_thread {
    struct sign_in *sign_in;
    struct guard_texts texts; /* of the last request; most requests have the same */
};

struct guard {
    struct guard_options options;
    struct key_load *loads; /* LOAD_SLOTS of them, or NULL: there are no limits */
    atomic_uint_fast64_t refusals[REFUSED_COUNT];
    atomic_int_fast64_t log_second; /* in which log_lines were written or left out */
    atomic_int log_lines;
    struct guard_thread threads[];
};

struct guard *guard_create(const struct guard_options *options)
{
    size_t count = auth_mode_checks(options->mode) ? (size_t)options->thread_count : 0;
    struct guard *guard = mem_zalloc(sizeof(*guard) + count * sizeof(guard->threads[0]));
    guard->options = *options;
    if (options->key_requests_max > 0 || options->key_bytes_max > 0) {
        guard->loads = mem_zalloc(sizeof(*guard->loads) * LOAD_SLOTS);
    }
    struct sign_in_options sign_in = {
        .source = options->source,
        .key = options->key,
        .region = options->mode == AUTH_ON ? options->region : STR_NULL,
        .skew_ms = options->skew_ms,
    };
    for (size_t i = 0; i < count; i++) {
        guard->threads[i].sign_in = sign_in_create(&sign_in);
    }
    return guard;
}

bool guard_checks(const struct guard *guard)
{
    return auth_mode_checks(guard->options.mode);
}

void guard_destroy(struct guard *guard)
{
    if (guard == NULL) {
        return;
    }
    int count = auth_mode_checks(guard->options.mode) ? guard->options.thread_count : 0;
    for (int i = 0; i < count; i++) {
        sign_in_destroy(guard->threads[i].sign_in);
    }
    mem_free(guard->loads);
    mem_free(guard);
}

static struct sigv4_head head_of(const struct http_exchange *exchange)
{
    struct sigv4_header *headers =
        ARENA_ARRAY(exchange->arena, struct sigv4_header, exchange->header_count + 1);
    for (size_t i = 0; i < exchange->header_count; i++) {
        headers[i] = (struct sigv4_header){.name = exchange->headers[i].name,
                                           .value = exchange->headers[i].value};
    }
    return (struct sigv4_head){
        .method = exchange->method,
        .target = exchange->target,
        .headers = headers,
        .header_count = exchange->header_count,
    };
}

/* Checks, with --auth off, that there are credentials in a header or in the query (a presigned
 * request), and not in both. */
static bool check_presence(const struct guard *guard, const struct http_exchange *exchange,
                           struct err *err)
{
    if (guard->options.mode == AUTH_NONE) {
        return true;
    }
    struct str header = http_header(exchange, STR("authorization"));
    struct str target = exchange->target;
    const char *question = memchr(target.data, '?', target.len);
    bool has_query =
        question != NULL &&
        str_contains(str_skip(target, (size_t)(question - target.data)), STR("X-Amz-Algorithm="));
    if (has_query && !str_is_null(header)) {
        return err_set(err, ERR_INVALID_SIGNATURE, MESSAGE_TWO_SIGNATURES);
    }
    return has_query || header.len > 0 ||
           err_set(err, ERR_MISSING_AUTHENTICATION_TOKEN, MESSAGE_TOKEN_MISSING);
}

/* Messages quote headers, which are ISO 8859-1; answers and logs are UTF-8. */
static void to_utf8(struct err *err)
{
    if (utf8_is_valid(err->message)) {
        return;
    }
    char *text = arena_bytes(err->arena, err->message.len * 2);
    size_t len = 0;
    for (size_t i = 0; i < err->message.len; i++) {
        len += utf8_encode((unsigned char)err->message.data[i], text + len);
    }
    err->message = str_make(text, len);
}

static void refuse_signature(struct guard *guard, struct http_exchange *exchange, struct err *err)
{
    to_utf8(err);
    guard_log_refusal(guard, exchange, STR("signature"), err);
}

bool guard_check(struct guard *guard, struct http_exchange *exchange, struct str service,
                 struct auth_caller *out, struct err *err)
{
    out->directory = NULL;
    out->warning = ERR_NONE;
    if (!auth_mode_checks(guard->options.mode)) {
        return check_presence(guard, exchange, err);
    }
    struct sigv4_head head = head_of(exchange);
    struct sign_in_request request = {
        .head = &head,
        .service = service,
        .now_ms = clock_wall_ms(),
        .arena = exchange->arena,
    };
    if (sign_in_check(guard->threads[exchange->thread].sign_in, &request, exchange->raw_body, out,
                      err)) {
        return true;
    }
    refuse_signature(guard, exchange, err);
    if (guard->options.mode == AUTH_ON) {
        return false;
    }
    out->warning = err->code;
    *err = ERR_INIT(err->arena);
    return true;
}

bool guard_check_head(struct guard *guard, struct http_exchange *exchange, struct str service,
                      struct err *err)
{
    if (guard->options.mode != AUTH_ON) {
        return true;
    }
    struct sigv4_head head = head_of(exchange);
    struct sign_in_request request = {
        .head = &head,
        .service = service,
        .now_ms = clock_wall_ms(),
        .arena = exchange->arena,
    };
    if (sign_in_check_head(guard->threads[exchange->thread].sign_in, &request, err)) {
        return true;
    }
    refuse_signature(guard, exchange, err);
    return false;
}

/* Condition keys ---------------------------------------------------------------------------- */

static void set_key(struct guarded_call *call, enum context_key_id id, struct str text)
{
    call->values[id] = text;
    call->context.keys[id] =
        (struct context_values){.values = &call->values[id], .count = 1, .is_present = true};
}

/* IPv4 in its usual form. */
void guard_write_peer(const uint8_t peer[16], char out[INET6_ADDRSTRLEN])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_ipv4 = memcmp(peer, mapped, sizeof(mapped)) == 0;
    inet_ntop(is_ipv4 ? AF_INET : AF_INET6, peer + (is_ipv4 ? sizeof(mapped) : 0), out,
              INET6_ADDRSTRLEN);
}

struct str guard_peer(const struct http_exchange *exchange)
{
    char *text = arena_bytes(exchange->arena, INET6_ADDRSTRLEN);
    guard_write_peer(exchange->peer, text);
    return str_from_c(text);
}

static void write_time(int64_t seconds, char *out, size_t size)
{
    time_t time = (time_t)seconds;
    struct tm parts;
    gmtime_r(&time, &parts);
    strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Brings the texts up to date; most requests of a thread have those of the request before. */
static void update_texts(struct guard_texts *texts, int64_t second, const uint8_t peer[16])
{
    if (texts->second != second) {
        texts->second = second;
        write_time(second, texts->time, sizeof(texts->time));
        snprintf(texts->epoch, sizeof(texts->epoch), "%lld", (long long)second);
    }
    if (texts->peer_text[0] == '\0' || memcmp(texts->peer, peer, sizeof(texts->peer)) != 0) {
        memcpy(texts->peer, peer, sizeof(texts->peer));
        guard_write_peer(peer, texts->peer_text);
    }
}

static void set_caller_keys(struct guarded_call *call)
{
    const struct auth_caller *caller = call->caller;
    enum caller_kind kind = caller->policy.kind;
    set_key(call, CONTEXT_AWS_PRINCIPAL_ACCOUNT, caller->policy.account);
    set_key(call, CONTEXT_AWS_PRINCIPAL_ARN,
            kind == CALLER_ROLE_SESSION ? caller->policy.role_arn : caller->policy.arn);
    set_key(call, CONTEXT_AWS_PRINCIPAL_TYPE, policy_caller_type(kind));
    set_key(call, CONTEXT_AWS_USERID, caller->user_id);
    if (kind == CALLER_USER) {
        set_key(call, CONTEXT_AWS_USERNAME, caller->principal->name);
    }
    if (caller->session != NULL) { /* also for policies of tables and roles, not known here */
        enum { TIME_SIZE = 32 };
        char *issued = arena_bytes(call->exchange->arena, TIME_SIZE);
        write_time(caller->session->issued, issued, TIME_SIZE);
        set_key(call, CONTEXT_AWS_TOKEN_ISSUE_TIME, str_from_c(issued));
        set_key(call, CONTEXT_AWS_MFA_PRESENT, STR("false"));
    }
    call->context.tags[CONTEXT_PRINCIPAL_TAG - CONTEXT_KEY_COUNT] = caller->principal->tags;
}

static void set_connection_keys(struct guarded_call *call)
{
    struct http_exchange *exchange = call->exchange;
    struct guard_texts *texts = &call->guard->threads[exchange->thread].texts;
    update_texts(texts, clock_wall_ms() / 1000, exchange->peer);
    call->texts = *texts; /* the request may outlast them */
    struct str agent = http_header(exchange, STR("user-agent"));
    set_key(call, CONTEXT_AWS_CURRENT_TIME, str_from_c(call->texts.time));
    set_key(call, CONTEXT_AWS_EPOCH_TIME, str_from_c(call->texts.epoch));
    set_key(call, CONTEXT_AWS_REQUESTED_REGION, call->guard->options.region);
    set_key(call, CONTEXT_AWS_SECURE_TRANSPORT, exchange->is_secure ? STR("true") : STR("false"));
    set_key(call, CONTEXT_AWS_SOURCE_IP, str_from_c(call->texts.peer_text));
    if (!str_is_null(agent)) {
        set_key(call, CONTEXT_AWS_USER_AGENT, agent);
    }
}

/* Called on a denial: the client gets the text of the service, the log names the statement. */
static bool refused(const struct api_guard *api, const struct policy_request *request,
                    const struct policy_decision *decision, struct str text)
{
    const struct guarded_call *call = CONTAINER_OF(api, struct guarded_call, api);
    struct err err = ERR_INIT(call->exchange->arena);
    const struct directory_principal *principal = call->caller->principal;
    bool has_name = decision->is_explicit && decision->source == SOURCE_IDENTITY &&
                    decision->identity < principal->policy_count;
    struct str policy = has_name ? principal->policy_names[decision->identity] : STR("-");
    if (decision->is_explicit) {
        err_set(&err, ERR_ACCESS_DENIED, "%.*s (policy %.*s, statement %zu)", STR_ARG(text),
                STR_ARG(policy), decision->answer.statement + 1);
    } else {
        err_set_str(&err, ERR_ACCESS_DENIED, text);
    }
    guard_log_refusal(call->guard, call->exchange, request->action, &err);
    if (call->guard->options.mode == AUTH_ON) {
        return false;
    }
    call->caller->warning = ERR_ACCESS_DENIED;
    return true;
}

void guard_begin_call(struct guard *guard, struct http_exchange *exchange,
                      struct auth_caller *caller, struct guarded_call *out)
{
    *out = (struct guarded_call){.guard = guard, .exchange = exchange, .caller = caller};
    out->policies = (struct policy_set){
        .identity = caller->principal->policies,
        .identity_names = caller->principal->policy_names,
        .identity_count = caller->principal->policy_count,
        .boundary = caller->principal->boundary,
        .boundary_name = caller->principal->boundary_name,
        .session = caller->session == NULL ? NULL : caller->session->policy,
    };
    set_caller_keys(out);
    set_connection_keys(out);
    out->api = (struct api_guard){
        .caller = &caller->policy,
        .policies = &out->policies,
        .mentions = caller->mentions,
        .context = &out->context,
        .refused = refused,
    };
}

bool guard_allow(struct guard *guard, struct http_exchange *exchange, struct auth_caller *caller,
                 struct str action, struct err *err)
{
    if (caller->directory == NULL) {
        return true;
    }
    struct guarded_call *call = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(guard, exchange, caller, call);
    struct policy_request request = {
        .caller = &caller->policy,
        .action = action,
        .resource = STR("*"),
        .context = &call->context,
        .arena = exchange->arena,
    };
    struct policy_decision decision = policy_decide(&call->policies, &request);
    if (decision.is_allowed) {
        return true;
    }
    struct str text = policy_denial_text(&call->policies, &decision, &request);
    return refused(&call->api, &request, &decision, text) ||
           err_set_str(err, ERR_ACCESS_DENIED, text);
}

/* Metrics ----------------------------------------------------------------------------------- */

static void count_refusal(struct guard *guard, enum refusal reason)
{
    atomic_fetch_add_explicit(&guard->refusals[reason], 1, memory_order_relaxed);
}

void guard_write_metrics(const struct guard *guard, struct buf *out)
{
    static const char *const reasons[] = {[REFUSED_BY_SIGNATURE] = "signature",
                                          [REFUSED_BY_POLICY] = "policy",
                                          [REFUSED_BY_LIMIT] = "limit"};
    buf_add(out, STR("# HELP gramme_auth_refusals_total Requests refused by signature, policy or "
                     "limit of an access key; with --auth warn those that would be refused.\n"
                     "# TYPE gramme_auth_refusals_total counter\n"));
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        buf_format(out, "gramme_auth_refusals_total{reason=\"%s\"} %llu\n", reasons[i],
                   (unsigned long long)atomic_load(&guard->refusals[i]));
    }
}

/* Limits ------------------------------------------------------------------------------------ */

/* Temporary keys count as one key of the user or role that they belong to: anyone can get any
 * number of them. */
static struct key_load *load_of(struct guard *guard, const struct auth_caller *caller)
{
    struct str counted = caller->session != NULL ? caller->principal->arn : caller->access_key_id;
    return &guard->loads[hash_64(counted) % LOAD_SLOTS];
}

bool guard_enter(struct guard *guard, struct http_exchange *exchange, struct auth_caller *caller,
                 struct str operation, struct guard_entry *out, struct err *err)
{
    *out = (struct guard_entry){0};
    if (LIKELY(guard->loads == NULL)) {
        return true;
    }
    struct guard_entry entry = {.load = load_of(guard, caller), .bytes = exchange->raw_body.len};
    const struct guard_options *options = &guard->options;
    int requests = atomic_fetch_add_explicit(&entry.load->requests, 1, memory_order_relaxed) + 1;
    size_t sum = entry.bytes +
                 atomic_fetch_add_explicit(&entry.load->bytes, entry.bytes, memory_order_relaxed);
    if ((options->key_requests_max == 0 || requests <= options->key_requests_max) &&
        (options->key_bytes_max == 0 || sum <= options->key_bytes_max || requests == 1)) {
        *out = entry;
        return true;
    }
    guard_leave(&entry);
    err_set(err, ERR_REQUEST_LIMIT_EXCEEDED,
            "Throughput exceeds the current throughput limit for your account. Please contact AWS "
            "Support at https://aws.amazon.com/support to request a limit increase");
    if (options->mode == AUTH_ON) {
        count_refusal(guard, REFUSED_BY_LIMIT);
        return false;
    }
    guard_log_refusal(guard, exchange, operation, err);
    caller->warning = err->code;
    *err = ERR_INIT(err->arena);
    return true;
}

void guard_leave(const struct guard_entry *entry)
{
    if (UNLIKELY(entry->load != NULL)) {
        atomic_fetch_sub_explicit(&entry->load->requests, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&entry->load->bytes, entry->bytes, memory_order_relaxed);
    }
}

/* A request whose answer is being sent. */
struct entry_hold {
    struct http_hold http;
    struct guard_entry entry;
};

static void release_entry(struct http_hold *http)
{
    struct entry_hold *hold = CONTAINER_OF(http, struct entry_hold, http);
    guard_leave(&hold->entry);
    mem_free(hold);
}

void guard_leave_when_sent(const struct guard_entry *entry, struct http_exchange *exchange)
{
    if (LIKELY(entry->load == NULL)) {
        return;
    }
    size_t answer_bytes = exchange->out->len - exchange->out_start;
    struct entry_hold *hold = mem_alloc(sizeof(*hold));
    *hold = (struct entry_hold){.http.release = release_entry, .entry = *entry};
    hold->entry.bytes += answer_bytes;
    atomic_fetch_add_explicit(&entry->load->bytes, answer_bytes, memory_order_relaxed);
    exchange->hold = &hold->http;
}

struct str guard_claimed_key(struct http_exchange *exchange)
{
    struct sigv4_head head = head_of(exchange);
    return sign_in_claimed_key(exchange->arena, &head);
}

/* Log --------------------------------------------------------------------------------------- */

/* Whether one more line may be written in this second. */
static bool may_log(struct guard *guard)
{
    int64_t second = clock_monotonic_us() / 1000000;
    int64_t before = atomic_exchange(&guard->log_second, second);
    if (before != second) {
        int left_out = atomic_exchange(&guard->log_lines, 0) - LINES_PER_SECOND;
        if (left_out > 0) {
            log_write(LOG_WARN, "auth", "%d more requests were refused; not all are listed",
                      left_out);
        }
    }
    return atomic_fetch_add(&guard->log_lines, 1) < LINES_PER_SECOND;
}

void guard_log_refusal(struct guard *guard, struct http_exchange *exchange, struct str operation,
                       const struct err *err)
{
    count_refusal(guard, err->code == ERR_ACCESS_DENIED            ? REFUSED_BY_POLICY
                         : err->code == ERR_REQUEST_LIMIT_EXCEEDED ? REFUSED_BY_LIMIT
                                                                   : REFUSED_BY_SIGNATURE);
    if (!may_log(guard)) {
        return;
    }
    struct sigv4_head head = head_of(exchange);
    struct str key_id = sign_in_claimed_key(exchange->arena, &head);
    const struct log_field fields[] = {
        {"from", guard_peer(exchange)},
        {"key", str_is_null(key_id) ? STR("-") : key_id},
        {"check", operation},
        {"error", str_from_c(err_wire_name(err->code))},
    };
    /* The message of this error quotes the header, including the signature. */
    struct str message = err->code == ERR_INCOMPLETE_SIGNATURE ? STR("") : err->message;
    log_write_fields(LOG_WARN, "auth", fields, COUNT_OF(fields), "%s: %.*s",
                     guard->options.mode == AUTH_ON ? "refused" : "would be refused",
                     STR_ARG(message));
}
