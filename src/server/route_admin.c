/* Requests that are no operation of DynamoDB: administration and temporary credentials; and entries
 * of the audit log. Called by route.c on the thread of the exchange. */
#include "server/admin.h"
#include "server/route_internal.h"
#include "server/sts.h"

#define FORM "application/x-www-form-urlencoded"

/* Of a request for STS. The largest parameter, a session policy, has 2 KiB; the thread of the
 * connection hashes and searches the body. */
enum { FORM_BYTES_MAX = 64 * 1024 };

/* Audit ------------------------------------------------------------------------------------- */

/* Errors of signatures and policies. */
static bool is_refusal(enum err_code code)
{
    return code == ERR_ACCESS_DENIED || code == ERR_EXPIRED_TOKEN ||
           code == ERR_INCOMPLETE_SIGNATURE || code == ERR_INVALID_SIGNATURE ||
           code == ERR_MISSING_AUTHENTICATION_TOKEN || code == ERR_UNRECOGNIZED_CLIENT;
}

void route_audit(struct router *router, struct http_exchange *exchange,
                 const struct route_audit *facts, int status, struct str request_id)
{
    bool is_known = facts->caller != NULL && facts->caller->directory != NULL;
    struct audit_entry entry = {
        .caller = is_known ? facts->caller->policy.arn : STR_NULL,
        .key_id = is_known ? facts->caller->access_key_id : guard_claimed_key(exchange),
        .source = guard_peer(exchange),
        .service = str_from_c(facts->service),
        .operation = facts->operation,
        .resource = facts->resource,
        .error = facts->error == ERR_NONE ? STR_NULL : str_from_c(err_wire_name(facts->error)),
        .request_id = request_id,
        .status = status,
        .is_change = facts->is_change,
        .is_refusal = is_refusal(facts->error),
    };
    audit_write(router->options.audit, &entry);
}

/* Administration ---------------------------------------------------------------------------- */

void route_handle_admin(struct router *router, struct http_exchange *exchange, struct str operation,
                        struct auth_caller *caller)
{
    struct err err = ERR_INIT(exchange->arena);
    struct guarded_call *guarded = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(router->options.guard, exchange, caller, guarded);
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
        .caller = caller,
        .service = "gramme",
        .operation = operation,
        .resource = call.resource,
        .error = err.code,
        .is_change = admin_is_change(operation),
    };
    if (good) {
        route_reply(router, exchange, 200, &facts);
    } else {
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
                   const struct auth_caller *caller, struct str request_id,
                   struct route_audit *facts)
{
    struct guarded_call *guarded = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(router->options.guard, exchange, caller, guarded);
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

void route_handle_sts(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    struct auth_caller caller = {0};
    struct route_audit facts = {.caller = &caller, .service = STS_SERVICE, .is_change = true};
    struct str id;
    struct str headers = route_headers(router, exchange, &id);
    bool fits = exchange->body.len <= FORM_BYTES_MAX && exchange->raw_body.len <= FORM_BYTES_MAX;
    bool good = (fits || err_set(&err, ERR_VALIDATION, "The request is too large")) &&
                guard_check(router->options.guard, exchange, STR(STS_SERVICE), &caller, &err) &&
                (caller.directory != NULL || err_set(&err, ERR_MISSING_AUTHENTICATION_TOKEN,
                                                     "Request is missing Authentication Token"));
    int status =
        good ? run_sts(router, exchange, &caller, id, &facts) : sts_refuse(&err, id, exchange->out);
    facts.error = good && status == 403 ? ERR_ACCESS_DENIED : err.code;
    route_audit(router, exchange, &facts, status, id);
    auth_caller_release(&caller);
    http_reply(exchange, &(struct http_answer){.status = status,
                                               .content_type = STR("text/xml"),
                                               .headers = headers});
}
