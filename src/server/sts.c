/* STS: three operations. Nothing is stored: a session is its token (auth/session_token.h). Called
 * by route.c on the thread of the request. */
#include "server/sts.h"

#include <time.h>

#include "base/clock.h"
#include "base/percent.h"

#define NAMESPACE "https://sts.amazonaws.com/doc/2011-06-15/"

enum {
    SECONDS_MIN = 900,
    ROLE_SECONDS_DEFAULT = 3600,
    CHAINED_SECONDS_MAX = 3600, /* of a role that a session assumes */
    TOKEN_SECONDS_DEFAULT = 43200,
    TOKEN_SECONDS_MAX = 129600,
    ROOT_SECONDS_MAX = 3600,
    SESSION_NAME_MAX = 64,
    EXTERNAL_ID_MAX = 1224,
    SESSION_POLICY_MAX = 2048,     /* without white space */
    SESSION_POLICY_RAW_MAX = 4096, /* with it: the token contains the policy */
};

/* Forms ------------------------------------------------------------------------------------- */

/* The first parameter of that name, or STR_NULL. */
static struct str parameter(const struct sts_call *call, struct str name)
{
    struct str rest = call->body;
    while (rest.len > 0) {
        const char *end = memchr(rest.data, '&', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.data);
        struct str pair = str_make(rest.data, len);
        rest = str_skip(rest, MIN(len + 1, rest.len));
        const char *equals = pair.len == 0 ? NULL : memchr(pair.data, '=', pair.len);
        size_t name_len = equals == NULL ? pair.len : (size_t)(equals - pair.data);
        if (str_eq(percent_decode(call->arena, str_make(pair.data, name_len), ' '), name)) {
            return equals == NULL ? STR("")
                                  : percent_decode(call->arena, str_skip(pair, name_len + 1), ' ');
        }
    }
    return STR_NULL;
}

/* XML --------------------------------------------------------------------------------------- */

static void write_text(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '<':
            buf_add(out, STR("&lt;"));
            break;
        case '>':
            buf_add(out, STR("&gt;"));
            break;
        case '&':
            buf_add(out, STR("&amp;"));
            break;
        default:
            buf_add_char(out, text.data[i]);
        }
    }
}

static void write_element(struct buf *out, const char *name, struct str text)
{
    buf_format(out, "<%s>", name);
    write_text(out, text);
    buf_format(out, "</%s>", name);
}

static int refuse(struct buf *out, struct str request_id, int status, const char *code,
                  struct str message)
{
    buf_format(out, "<ErrorResponse xmlns=\"" NAMESPACE "\"><Error><Type>Sender</Type>");
    write_element(out, "Code", str_from_c(code));
    write_element(out, "Message", message);
    buf_add(out, STR("</Error>"));
    write_element(out, "RequestId", request_id);
    buf_add(out, STR("</ErrorResponse>\n"));
    return status;
}

static int refuse_call(struct sts_call *call, int status, const char *code, const char *message)
{
    return refuse(call->out, call->request_id, status, code, str_from_c(message));
}

int sts_refuse(const struct err *err, struct str request_id, struct buf *out)
{
    static const struct {
        enum err_code code;
        const char *name;
        int status;
    } names[] = {
        {ERR_EXPIRED_TOKEN, "ExpiredToken", 403},
        {ERR_INCOMPLETE_SIGNATURE, "IncompleteSignature", 400},
        {ERR_INVALID_SIGNATURE, "SignatureDoesNotMatch", 403},
        {ERR_MISSING_AUTHENTICATION_TOKEN, "MissingAuthenticationToken", 403},
        {ERR_UNRECOGNIZED_CLIENT, "InvalidClientTokenId", 403},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (names[i].code == err->code) {
            return refuse(out, request_id, names[i].status, names[i].name, err->message);
        }
    }
    return refuse(out, request_id, 400, "ValidationError", err->message);
}

static void begin(struct sts_call *call, const char *action)
{
    buf_format(call->out, "<%sResponse xmlns=\"" NAMESPACE "\"><%sResult>", action, action);
}

static int end(struct sts_call *call, const char *action)
{
    buf_format(call->out, "</%sResult><ResponseMetadata>", action);
    write_element(call->out, "RequestId", call->request_id);
    buf_format(call->out, "</ResponseMetadata></%sResponse>\n", action);
    return 200;
}

static void write_credentials(struct sts_call *call, const struct session_credentials *made,
                              int64_t expires)
{
    char text[32];
    struct tm parts;
    time_t time = (time_t)expires;
    gmtime_r(&time, &parts);
    size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    buf_add(call->out, STR("<Credentials>"));
    write_element(call->out, "AccessKeyId", made->access_key_id);
    write_element(call->out, "SecretAccessKey", made->secret);
    write_element(call->out, "SessionToken", made->token);
    write_element(call->out, "Expiration", str_make(text, len));
    buf_add(call->out, STR("</Credentials>"));
}

/* Operations -------------------------------------------------------------------------------- */

static int get_caller_identity(struct sts_call *call)
{
    begin(call, "GetCallerIdentity");
    write_element(call->out, "Arn", call->caller->policy.arn);
    write_element(call->out, "UserId", call->caller->user_id);
    write_element(call->out, "Account", call->caller->policy.account);
    return end(call, "GetCallerIdentity");
}

/* DurationSeconds, or its default. False: it is out of bounds. */
static bool read_seconds(const struct sts_call *call, int64_t default_seconds, int64_t max,
                         int64_t *out)
{
    struct str text = parameter(call, STR("DurationSeconds"));
    *out = MIN(default_seconds, max);
    return str_is_null(text) || (str_to_int64(text, out) && *out >= SECONDS_MIN && *out <= max);
}

static int get_session_token(struct sts_call *call)
{
    int64_t max = call->caller->policy.kind == CALLER_ROOT ? ROOT_SECONDS_MAX : TOKEN_SECONDS_MAX;
    int64_t seconds;
    if (call->caller->session != NULL) {
        return refuse_call(call, 403, "AccessDenied",
                           "Cannot call GetSessionToken with session credentials");
    }
    if (!read_seconds(call, TOKEN_SECONDS_DEFAULT, max, &seconds)) {
        return refuse_call(call, 400, "ValidationError",
                           "DurationSeconds must be at least 900, and no more than 129600 (of root "
                           "3600)");
    }
    int64_t now = clock_wall_ms() / 1000;
    struct session_request request = {
        .principal = call->caller->principal,
        .issued = now,
        .expires = now + seconds,
    };
    struct session_credentials made;
    session_issue(call->key, &request, call->arena, &made);
    begin(call, "GetSessionToken");
    write_credentials(call, &made, request.expires);
    return end(call, "GetSessionToken");
}

/* Whether a text has 2 to `len_max` letters, digits and characters of `others`. */
static bool is_word(struct str name, const char *others, size_t len_max)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return name.len >= 2 && name.len <= len_max;
}

/* The role of arn:aws:iam::ACCOUNT:role/NAME, or NULL. */
static const struct directory_principal *find_role(const struct sts_call *call, struct str arn)
{
    struct str account = call->caller->policy.account;
    struct str prefix = arena_format(call->arena, "arn:aws:iam::%.*s:role/", STR_ARG(account));
    return str_starts_with(arn, prefix)
               ? directory_find_role(call->caller->directory, str_skip(arn, prefix.len))
               : NULL;
}

/* Sets a condition key to a parameter of the form, if it is there; `value` must outlive *context.
 */
static void set_key(const struct sts_call *call, struct str name, enum context_key_id id,
                    struct str *value, struct auth_context *context)
{
    *value = parameter(call, name);
    if (!str_is_null(*value)) {
        context->keys[id] =
            (struct context_values){.values = value, .count = 1, .is_present = true};
    }
}

/* The trust policy is the role's resource policy. A role that does not exist is refused like one
 * that the caller may not assume. */
static bool may_assume(struct sts_call *call, const struct directory_principal *role)
{
    struct auth_context context = *call->context;
    struct str external_id;
    struct str session_name;
    if (role == NULL || role->is_disabled || call->caller->policy.kind == CALLER_ROOT) {
        return false;
    }
    set_key(call, STR("ExternalId"), CONTEXT_STS_EXTERNAL_ID, &external_id, &context);
    set_key(call, STR("RoleSessionName"), CONTEXT_STS_ROLE_SESSION_NAME, &session_name, &context);
    struct policy_set policies = *call->policies;
    policies.resource = role->trust;
    struct policy_request request = {
        .caller = &call->caller->policy,
        .action = STR("sts:AssumeRole"),
        .resource = role->arn,
        .context = &context,
        .arena = call->arena,
    };
    struct policy_answer trust = policy_evaluate(role->trust, &request);
    return trust.effect == POLICY_ALLOW && policy_decide(&policies, &request).is_allowed;
}

/* Whether there is a session policy and it is not valid. */
static bool is_bad_policy(struct sts_call *call, struct str document)
{
    struct policy *policy = NULL;
    struct err err = ERR_INIT(call->arena);
    bool good = str_is_null(document) || (document.len <= SESSION_POLICY_RAW_MAX &&
                                          policy_document_size(document) <= SESSION_POLICY_MAX &&
                                          policy_parse(document, POLICY_IDENTITY, &policy, &err));
    policy_destroy(policy);
    return !good;
}

static int refuse_role(struct sts_call *call, struct str arn)
{
    struct str text = arena_format(
        call->arena, "User: %.*s is not authorized to perform: sts:AssumeRole on resource: %.*s",
        STR_ARG(call->caller->policy.arn), STR_ARG(arn));
    return refuse(call->out, call->request_id, 403, "AccessDenied", text);
}

static int answer_role(struct sts_call *call, const struct session_request *request)
{
    const struct directory_principal *role = request->principal;
    struct str account = call->caller->policy.account;
    struct session_credentials made;
    session_issue(call->key, request, call->arena, &made);
    begin(call, "AssumeRole");
    write_credentials(call, &made, request->expires);
    buf_add(call->out, STR("<AssumedRoleUser>"));
    write_element(
        call->out, "AssumedRoleId",
        arena_format(call->arena, "%.*s:%.*s", STR_ARG(role->id), STR_ARG(request->name)));
    write_element(call->out, "Arn",
                  arena_format(call->arena, "arn:aws:sts::%.*s:assumed-role/%.*s/%.*s",
                               STR_ARG(account), STR_ARG(role->name), STR_ARG(request->name)));
    buf_add(call->out, STR("</AssumedRoleUser>"));
    return end(call, "AssumeRole");
}

/* Returns what is wrong with the parameters of AssumeRole; NULL: nothing. */
static const char *find_mistake(const struct sts_call *call)
{
    struct str external_id = parameter(call, STR("ExternalId"));
    if (str_is_null(parameter(call, STR("RoleArn"))) ||
        !is_word(parameter(call, STR("RoleSessionName")), "_+=,.@-", SESSION_NAME_MAX)) {
        return "RoleArn and RoleSessionName (2 to 64 of letters, digits, _+=,.@-) are required";
    }
    if (!str_is_null(external_id) && !is_word(external_id, "_+=,.@:/-", EXTERNAL_ID_MAX)) {
        return "ExternalId must have 2 to 1224 of letters, digits, _+=,.@:/-";
    }
    if (!str_is_null(parameter(call, STR("Tags.member.1.Key"))) ||
        !str_is_null(parameter(call, STR("PolicyArns.member.1.arn")))) {
        return "Session tags and managed session policies are not supported";
    }
    return NULL;
}

static int assume_role(struct sts_call *call)
{
    struct str arn = call->role = parameter(call, STR("RoleArn"));
    struct str name = parameter(call, STR("RoleSessionName"));
    struct str document = parameter(call, STR("Policy"));
    const char *mistake = find_mistake(call);
    if (mistake != NULL) {
        return refuse_call(call, 400, "ValidationError", mistake);
    }
    const struct directory_principal *role = find_role(call, arn);
    if (!may_assume(call, role)) {
        return refuse_role(call, arn);
    }
    if (is_bad_policy(call, document)) {
        return refuse_call(
            call, 400, "MalformedPolicyDocument",
            "The session policy is not a policy, or has more than 2048 bytes without "
            "white space, or 4096 with it");
    }
    int64_t max = call->caller->session == NULL
                      ? role->session_seconds_max
                      : MIN(role->session_seconds_max, (int64_t)CHAINED_SECONDS_MAX);
    int64_t seconds;
    if (!read_seconds(call, ROLE_SECONDS_DEFAULT, max, &seconds)) {
        return refuse_call(call, 400, "ValidationError",
                           "The requested DurationSeconds exceeds the MaxSessionDuration set for "
                           "this role, or is less than 900.");
    }
    int64_t now = clock_wall_ms() / 1000;
    struct session_request request = {
        .principal = role,
        .name = name,
        .issued = now,
        .expires = now + seconds,
        .document = document,
    };
    return answer_role(call, &request);
}

int sts_run(struct sts_call *call)
{
    struct str action = call->action = parameter(call, STR("Action"));
    if (str_eq(action, STR("GetCallerIdentity"))) {
        return get_caller_identity(call);
    }
    if (str_eq(action, STR("GetSessionToken"))) {
        return get_session_token(call);
    }
    if (str_eq(action, STR("AssumeRole"))) {
        return assume_role(call);
    }
    return refuse_call(call, 400, "InvalidAction",
                       "Could not find the operation; AssumeRole, GetSessionToken and "
                       "GetCallerIdentity are known");
}
