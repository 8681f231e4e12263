/* The handle, and a call from request to answer, with its retries. Any number of threads may call
 * at once. */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/random.h"
#include "client/client_internal.h"
#include "store/store.h"

const char *gramme_version(void)
{
    return GRAMME_VERSION;
}

void gramme_free(void *text)
{
    mem_free(text);
}

void gramme_uuid(char out[GRAMME_UUID_SIZE])
{
    random_uuid(out);
    out[UUID_TEXT_LEN] = '\0';
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool open_transport(const char *url, const struct gramme_options *options,
                           struct transport **out, struct gramme_error **error)
{
    if (store_knows_url(str_from_c(url))) {
        return local_open(url, options, out, error);
    }
    if (starts_with(url, "http://") || starts_with(url, "https://") || strcmp(url, "aws:") == 0) {
        return remote_open(url, options, out, error);
    }
    struct arena arena;
    arena_init(&arena);
    struct str shown = store_url_to_show(&arena, str_from_c(url));
    error_set(error, GRAMME_BAD_ADDRESS, "'%.*s' is none of http://, https://, aws:, %s",
              STR_ARG(shown), store_url_kinds());
    arena_finish(&arena);
    return false;
}

struct gramme_db *gramme_open(const char *url, const struct gramme_options *options,
                              struct gramme_error **error)
{
    static const struct gramme_options defaults = {0};
    error_clear(error);
    struct transport *transport;
    if (!open_transport(url != NULL ? url : "aws:", options != NULL ? options : &defaults,
                        &transport, error)) {
        return NULL;
    }
    struct gramme_db *db = mem_zalloc(sizeof(*db));
    db->transport = transport;
    retry_quota_init(&db->quota);
    return db;
}

void gramme_close(struct gramme_db *db)
{
    if (db != NULL) {
        db->transport->close(db->transport);
        retry_quota_finish(&db->quota);
        mem_free(db);
    }
}

/* --- one attempt --- */

void attempt_fail(struct attempt *attempt, const char *failure, const char *format, ...)
{
    attempt->failure = failure;
    va_list args;
    va_start(args, format);
    vsnprintf(attempt->detail, sizeof(attempt->detail), format, args);
    va_end(args);
}

struct gramme_answer *answer_create(void)
{
    struct gramme_answer *answer = mem_zalloc(sizeof(*answer));
    answer->tree = tree_create(GRAMME_MAP);
    return answer;
}

/* Operations whose response has an empty body. For others an empty body means that it was lost. */
static bool may_be_empty(struct str operation)
{
    return str_eq(operation, STR("TagResource")) || str_eq(operation, STR("UntagResource"));
}

/* Makes an answer of the response. Takes ownership of its buffer. */
static struct gramme_answer *read_answer(struct attempt *attempt, struct gramme_error **error)
{
    struct gramme_answer *answer = answer_create();
    buf_add_char(&attempt->answer, '\0');
    answer->json = attempt->answer;
    answer->json.len--;
    attempt->answer = (struct buf){0};
    const char *problem;
    if (answer->json.len == 0 && may_be_empty(attempt->operation)) {
        return answer;
    }
    bool is_page = !str_is_null(attempt->page);
    if (!value_read(answer->tree, buf_str(&answer->json), is_page ? GRAMME_PLAIN : GRAMME_WIRE,
                    &problem)) {
        error_set(error, GRAMME_BAD_ANSWER, "the answer to %.*s is not as expected: %s",
                  STR_ARG(is_page ? attempt->page : attempt->operation), problem);
        gramme_answer_destroy(answer);
        return NULL;
    }
    return answer;
}

static struct gramme_answer *try_once(struct gramme_db *db, struct attempt *attempt,
                                      struct gramme_error **error)
{
    attempt->status = 0;
    attempt->answer.len = 0;
    attempt->failure = NULL;
    attempt->request_id[0] = '\0';
    attempt->renewed = false;
    attempt->retry_after_ms = -1;
    db->transport->call(db->transport, attempt);
    if (attempt->failure != NULL) {
        error_set(error, attempt->failure, "%s", attempt->detail);
        return NULL;
    }
    if (attempt->status != 200) {
        error_set_answer(error, attempt->status, buf_str(&attempt->answer),
                         str_from_c(attempt->request_id));
        return NULL;
    }
    return read_answer(attempt, error);
}

/* --- retries --- */

/* Operations have distinct names, so the caller need not say to which family they belong. */
static enum operation_family find_family(struct str operation)
{
    static const struct {
        const char *name;
        enum operation_family family;
    } operations[] = {
#define OP(name_, run_, access_, resource_, summary_) {#name_, FAMILY_STREAMS},
#include "wire/stream_ops.def"
#undef OP
#define OP(name_, run_, access_, resource_, summary_) {#name_, FAMILY_GRAMME},
#include "wire/gramme_ops.def"
#undef OP
    };
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        if (str_eq(operation, str_from_c(operations[i].name))) {
            return operations[i].family;
        }
    }
    return FAMILY_DYNAMODB;
}

static struct gramme_answer *call_with_retries(struct gramme_db *db, struct attempt *attempt,
                                               struct gramme_error **error)
{
    struct gramme_error *failure = NULL;
    enum retry_kind retried = RETRY_NEVER;
    struct gramme_answer *answer;
    int attempts = 0;
    for (;;) {
        error_clear(&failure);
        answer = try_once(db, attempt, &failure);
        attempts++;
        if (answer != NULL) {
            retry_quota_give(&db->quota, retried);
            break;
        }
        enum retry_kind kind =
            attempt->renewed ? RETRY_TRANSIENT : retry_kind_of(failure->status, failure->code);
        failure->attempts = attempts;
        if (kind == RETRY_NEVER || attempts >= db->transport->attempts_max ||
            !retry_quota_take(&db->quota, kind)) {
            break;
        }
        retried = kind;
        retry_wait_ms(retry_delay_ms(&db->quota, kind, attempts, attempt->retry_after_ms));
    }
    buf_finish(&attempt->answer);
    if (error != NULL) {
        *error = failure;
    } else {
        gramme_error_destroy(failure);
    }
    return answer;
}

struct gramme_answer *call_service(struct gramme_db *db, struct str operation, struct str body,
                                   struct gramme_error **error)
{
    struct attempt attempt = {
        .operation = operation, .family = find_family(operation), .body = body};
    return call_with_retries(db, &attempt, error);
}

struct gramme_answer *call_page(struct gramme_db *db, struct str page, struct gramme_error **error)
{
    struct attempt attempt = {.page = page};
    return call_with_retries(db, &attempt, error);
}

/* --- calls --- */

/* The name becomes part of a header, so its characters are checked. */
static bool is_operation(const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    return len > 0 && name[len] == '\0';
}

/* All attempts of a transaction must have the same token: one that was carried out although its
 * response was lost must not be carried out twice. */
static void add_token(struct buf *body)
{
    char token[UUID_TEXT_LEN];
    random_uuid(token);
    body->len--; /* the closing brace */
    buf_format(body, "%s\"ClientRequestToken\":\"%.*s\"}",
               body->data[body->len - 1] == '{' ? "" : ",", UUID_TEXT_LEN, token);
}

struct gramme_answer *gramme_send(struct gramme_db *db, const struct gramme_request *request,
                                  struct gramme_error **error)
{
    error_clear(error);
    struct buf body = {0};
    const char *problem;
    value_write(&body, request->root, GRAMME_WIRE, &problem);
    struct gramme_answer *answer = NULL;
    if (problem == NULL && request->is_part) {
        problem = "a part of a transaction cannot be sent by itself";
    } else if (problem == NULL && !is_operation(request->operation)) {
        problem = "not the name of an operation";
    }
    if (problem != NULL) {
        error_set(error, GRAMME_BAD_REQUEST, "%s: %s", request->operation, problem);
    } else {
        if (request_is(request, "TransactWriteItems") &&
            gramme_get(request->root, "ClientRequestToken") == NULL) {
            add_token(&body);
        }
        answer = call_service(db, str_from_c(request->operation), buf_str(&body), error);
    }
    buf_finish(&body);
    return answer;
}

bool gramme_run(struct gramme_db *db, const struct gramme_request *request,
                struct gramme_error **error)
{
    struct gramme_answer *answer = gramme_send(db, request, error);
    bool good = answer != NULL;
    gramme_answer_destroy(answer);
    return good;
}

struct gramme_answer *gramme_call(struct gramme_db *db, const char *operation, const char *json,
                                  size_t len, struct gramme_error **error)
{
    error_clear(error);
    if (operation == NULL || json == NULL || !is_operation(operation)) {
        error_set(error, GRAMME_BAD_REQUEST, "no JSON, or not the name of an operation");
        return NULL;
    }
    return call_service(db, str_from_c(operation), str_make(json, len), error);
}
