/* Checks of signatures for route.c. Runs on the thread of the exchange; each has its own struct
 * sign_in, and they share only counters of log lines. */
#include "server/guard.h"

#include <arpa/inet.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { LINES_PER_SECOND = 10 };

struct guard {
    struct guard_options options;
    atomic_int_fast64_t log_second; /* in which log_lines were written or left out */
    atomic_int log_lines;
    struct sign_in *threads[];
};

struct guard *guard_create(const struct guard_options *options)
{
    size_t count = auth_mode_checks(options->mode) ? (size_t)options->thread_count : 0;
    struct guard *guard = mem_zalloc(sizeof(*guard) + count * sizeof(guard->threads[0]));
    guard->options = *options;
    struct sign_in_options sign_in = {
        .source = options->source,
        .key = options->key,
        .region = options->mode == AUTH_ON ? options->region : STR_NULL,
        .skew_ms = options->skew_ms,
    };
    for (size_t i = 0; i < count; i++) {
        guard->threads[i] = sign_in_create(&sign_in);
    }
    return guard;
}

void guard_destroy(struct guard *guard)
{
    if (guard == NULL) {
        return;
    }
    int count = auth_mode_checks(guard->options.mode) ? guard->options.thread_count : 0;
    for (int i = 0; i < count; i++) {
        sign_in_destroy(guard->threads[i]);
    }
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

/* Without checks there must be credentials of some kind, in a header or in the query (a presigned
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
        return err_set(err, ERR_INVALID_SIGNATURE,
                       "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' "
                       "as HTTP header.");
    }
    return has_query || header.len > 0 ||
           err_set(err, ERR_MISSING_AUTHENTICATION_TOKEN,
                   "Request is missing Authentication Token");
}

bool guard_check(struct guard *guard, struct http_exchange *exchange, struct str service,
                 struct auth_caller *out, struct err *err)
{
    out->directory = NULL;
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
    if (sign_in_check(guard->threads[exchange->thread], &request, exchange->raw_body, out, err)) {
        return true;
    }
    guard_log_refusal(guard, exchange, STR("signature"), err);
    if (guard->options.mode == AUTH_ON) {
        return false;
    }
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
    if (sign_in_check_head(guard->threads[exchange->thread], &request, err)) {
        return true;
    }
    guard_log_refusal(guard, exchange, STR("signature"), err);
    return false;
}

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
    if (!may_log(guard)) {
        return;
    }
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr peer;
    memcpy(&peer, exchange->peer, sizeof(peer));
    inet_ntop(AF_INET6, &peer, address, sizeof(address));
    struct sigv4_head head = head_of(exchange);
    struct str key_id = sign_in_claimed_key(exchange->arena, &head);
    const struct log_field fields[] = {
        {"from", str_from_c(address)},
        {"key", str_is_null(key_id) ? STR("-") : key_id},
        {"check", operation},
        {"error", str_from_c(err_wire_name(err->code))},
    };
    /* Texts of this error quote the header, and so the signature. */
    struct str message = err->code == ERR_INCOMPLETE_SIGNATURE ? STR("") : err->message;
    log_write_fields(LOG_WARN, "auth", fields, COUNT_OF(fields), "%s: %.*s",
                     guard->options.mode == AUTH_ON ? "refused" : "would be refused",
                     STR_ARG(message));
}
