/* Requests that are no operation of DynamoDB: administration and temporary credentials; and entries
 * of the audit log. Called by route.c on the thread of the exchange. */
#include "err/messages.h"
#include "server/admin.h"
#include "server/route_internal.h"
#include "server/sts.h"

#define FORM "application/x-www-form-urlencoded"

/* Audit ------------------------------------------------------------------------------------- */

/* Errors of signatures, policies and limits of access keys. */
static bool is_refusal(enum err_code code)
{
    return code == ERR_ACCESS_DENIED || code == ERR_EXPIRED_TOKEN ||
           code == ERR_INCOMPLETE_SIGNATURE || code == ERR_INVALID_SIGNATURE ||
           code == ERR_MISSING_AUTHENTICATION_TOKEN || code == ERR_REQUEST_LIMIT_EXCEEDED ||
           code == ERR_UNRECOGNIZED_CLIENT;
}

void route_audit_caller(struct route_audit *facts, const struct auth_caller *caller)
{
    if (caller->directory != NULL) {
        facts->caller = caller->policy.arn;
        facts->key_id = caller->access_key_id;
    }
    facts->warning = caller->warning;
}

static struct str error_name(enum err_code code)
{
    return code == ERR_NONE ? STR_NULL : str_from_c(err_wire_name(code));
}

void route_audit(struct router *router, struct http_exchange *exchange,
                 const struct route_audit *facts, int status, struct str request_id)
{
    struct audit_entry entry = {
        .caller = facts->caller,
        .key_id = str_is_null(facts->key_id) ? guard_claimed_key(exchange) : facts->key_id,
        .source = guard_peer(exchange),
        .service = str_from_c(facts->service),
        .operation = facts->operation,
        .resource = facts->resource,
        .resources = facts->resources,
        .denied = facts->denied,
        .error = error_name(facts->error),
        .warning = error_name(facts->warning),
        .request_id = request_id,
        .status = status,
        .is_change = facts->is_change,
        .is_refusal = is_refusal(facts->error),
    };
    audit_write(router->options.audit, &entry);
}

void router_note_client(void *context, const struct http_certificate *certificate)
{
    struct router *router = context;
    char peer[INET6_ADDRSTRLEN];
    guard_write_peer(certificate->peer, peer);
    bool is_refused = certificate->refusal != NULL;
    struct audit_entry entry = {
        .source = str_from_c(peer),
        .service = STR("tls"),
        .operation = STR("ClientCertificate"),
        .resource = certificate->subject,
        .error = error_name(is_refused ? ERR_ACCESS_DENIED : ERR_NONE),
        .reason = str_from_c(certificate->refusal),
        .status = is_refused ? 403 : 200,
        .is_change = true,
    };
    audit_write(router->options.audit, &entry);
}

/* Secrets ----------------------------------------------------------------------------------- */

void route_begin_secret(struct http_exchange *exchange)
{
    enum { ANSWER_BYTES_MAX = 16 * 1024 };
    exchange->holds_secret = true;
    (void)buf_reserve(exchange->out, ANSWER_BYTES_MAX); /* growing would leave a copy */
}

/* Administration ---------------------------------------------------------------------------- */

void route_handle_admin(struct router *router, struct http_exchange *exchange, struct str operation,
                        struct auth_caller *caller)
{
    struct err err = ERR_INIT(exchange->arena);
    struct guarded_call *guarded = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(router->options.guard, exchange, caller, guarded);
    route_begin_secret(exchange);
    struct admin_call call = {
        .users = router->options.users,
        .operation = operation,
        .body = exchange->body,
        .caller = {.caller = &caller->policy,
                   .policies = &guarded->policies,
                   .context = &guarded->context},
        .arena = exchange->arena,
        .out = exchange->out,
    };
    size_t out_start = exchange->out->len;
    bool good = admin_run(&call, &err);
    struct route_audit facts = {
        .service = "gramme",
        .operation = operation,
        .resource = call.resource,
        .error = err.code,
        .is_change = admin_is_change(operation),
    };
    route_audit_caller(&facts, caller);
    if (good) {
        route_reply(router, exchange, 200, &facts);
    } else {
        if (err.code == ERR_ACCESS_DENIED) {
            guard_log_refusal(router->options.guard, exchange, operation, &err);
        }
        exchange->out->len = out_start;
        route_refuse(router, exchange, &err, &facts);
    }
    auth_caller_release(caller);
}

/* STS --------------------------------------------------------------------------------------- */

bool route_is_sts(const struct router *router, const struct http_exchange *exchange)
{
    if (router->options.users == NULL) {
        return false;
    }
    struct str type = http_header(exchange, STR("content-type"));
    return type.len >= STR(FORM).len &&
           str_eq_nocase(str_make(type.data, STR(FORM).len), STR(FORM));
}

/* Sets the operation and resource of *facts. */
static int run_sts(struct router *router, struct http_exchange *exchange,
                   struct auth_caller *caller, struct str request_id, struct route_audit *facts)
{
    struct guarded_call *guarded = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(router->options.guard, exchange, caller, guarded);
    route_begin_secret(exchange);
    struct sts_call call = {
        .key = router->options.users->token_key,
        .caller = caller,
        .policies = &guarded->policies,
        .context = &guarded->context,
        .body = exchange->body,
        .request_id = request_id,
        .arena = exchange->arena,
        .out = exchange->out,
    };
    int status = sts_run(&call);
    facts->operation = call.action;
    facts->resource = call.role;
    return status;
}

/* Sends an answer in XML; `id` is the request id in `headers`. */
static void reply_sts(struct router *router, struct http_exchange *exchange, int status,
                      const struct route_audit *facts, struct str headers, struct str id)
{
    route_audit(router, exchange, facts, status, id);
    http_reply(exchange, &(struct http_answer){.status = status,
                                               .content_type = STR("text/xml"),
                                               .headers = headers});
}

void route_check_sts_head(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    exchange->body_bytes_max = ROUTE_SMALL_BODY_MAX;
    if (guard_check_head(router->options.guard, exchange, STR(STS_SERVICE), &err)) {
        return;
    }
    struct route_audit facts = {.service = STS_SERVICE, .error = err.code};
    struct str id;
    struct str headers = route_headers(router, exchange, &id);
    int status = sts_refuse(&err, id, exchange->out);
    reply_sts(router, exchange, status, &facts, headers, id);
}

/* Whether the caller is known; else *err. The thread of the connection hashes and searches the
 * body, so it must be small: the largest parameter, a session policy, has 2 KiB. */
static bool check_sts(struct router *router, struct http_exchange *exchange,
                      struct auth_caller *caller, struct err *err)
{
    if (MAX(exchange->body.len, exchange->raw_body.len) > ROUTE_SMALL_BODY_MAX) {
        return err_set(err, ERR_VALIDATION, "The request is too large");
    }
    return guard_check(router->options.guard, exchange, STR(STS_SERVICE), caller, err) &&
           (caller->directory != NULL ||
            err_set(err, ERR_MISSING_AUTHENTICATION_TOKEN, MESSAGE_TOKEN_MISSING));
}

void route_handle_sts(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    struct auth_caller caller = {0};
    struct route_audit facts = {.service = STS_SERVICE, .is_change = true};
    struct str id;
    struct str headers = route_headers(router, exchange, &id);
    bool good = check_sts(router, exchange, &caller, &err);
    int status =
        good ? run_sts(router, exchange, &caller, id, &facts) : sts_refuse(&err, id, exchange->out);
    if (good && status == 403) {
        err_set(&err, ERR_ACCESS_DENIED, "%.*s", STR_ARG(facts.resource));
        guard_log_refusal(router->options.guard, exchange, facts.operation, &err);
    }
    facts.error = err.code;
    route_audit_caller(&facts, &caller);
    reply_sts(router, exchange, status, &facts, headers, id);
    auth_caller_release(&caller);
}
