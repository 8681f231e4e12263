/* Errors as values: made from responses and failures, read by users of the library. An error
 * belongs to its caller; any thread. */
#include <stdio.h>

#include "aws/retry.h"
#include "base/mem.h"
#include "client/error_internal.h"

void gramme_error_destroy(struct gramme_error *error)
{
    if (error != NULL) {
        tree_destroy(error->tree);
        mem_free(error);
    }
}

void error_clear(struct gramme_error **error)
{
    if (error != NULL) {
        gramme_error_destroy(*error);
        *error = NULL;
    }
}

static struct gramme_error *error_create(const char *code, const char *message)
{
    struct gramme_error *error = mem_zalloc(sizeof(*error));
    error->tree = tree_create(GRAMME_MAP);
    error->code = tree_copy_text(error->tree, str_from_c(code)).data;
    error->message = tree_copy_text(error->tree, str_from_c(message)).data;
    error->request_id = "";
    return error;
}

bool error_set(struct gramme_error **error, const char *code, const char *format, ...)
{
    if (error == NULL) {
        return false;
    }
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    *error = error_create(code, message);
    (*error)->retryable = retry_kind_of(0, code) != RETRY_NEVER;
    return false;
}

/* Returns "ValidationException" of "com.amazon.coral.validate#ValidationException", and of what
 * some proxies append: "ValidationException:http://...". */
static struct str short_code(struct str type)
{
    const char *hash = type.len == 0 ? NULL : memchr(type.data, '#', type.len);
    struct str code = hash == NULL ? type : str_skip(type, (size_t)(hash - type.data) + 1);
    const char *colon = code.len == 0 ? NULL : memchr(code.data, ':', code.len);
    return colon == NULL ? code : str_make(code.data, (size_t)(colon - code.data));
}

static const char *text_of(const struct gramme_value *map, const char *name, const char *other)
{
    const char *text = gramme_get_string(map, name);
    return text != NULL ? text : gramme_get_string(map, other);
}

/* Whether all reasons of a canceled transaction are transient. */
static bool reasons_pass(const struct gramme_error *error)
{
    bool any = false;
    for (size_t i = 0; i < gramme_error_reason_count(error); i++) {
        if (gramme_error_reason_is(error, i, GRAMME_REASON_NONE)) {
            continue;
        }
        if (!retry_reason_passes(gramme_error_reason_code(error, i))) {
            return false;
        }
        any = true;
    }
    return any;
}

static bool is_retryable(const struct gramme_error *error)
{
    return retry_kind_of(error->status, error->code) != RETRY_NEVER ||
           gramme_error_is(error, GRAMME_TRANSACTION_CONFLICT) || reasons_pass(error);
}

struct gramme_error *error_set_answer(struct gramme_error **error, int status, struct str body,
                                      struct str request_id)
{
    if (error == NULL) {
        return NULL;
    }
    struct gramme_error *made = error_create("", "");
    struct tree *tree = made->tree;
    const char *problem;
    if (value_read(tree, body, GRAMME_WIRE, &problem)) {
        const char *type = text_of(tree->root, "__type", "code");
        made->code = tree_copy_text(tree, short_code(str_from_c(type))).data;
        const char *message = text_of(tree->root, "message", "Message");
        made->message = message == NULL ? made->code : message;
    }
    if (made->code[0] == '\0') { /* not a DynamoDB response: a proxy, for example */
        char text[256];
        snprintf(text, sizeof(text), "HTTP status %d: %.*s", status, (int)MIN(body.len, 200),
                 body.data == NULL ? "" : body.data);
        made->code = GRAMME_BAD_ANSWER;
        made->message = tree_copy_text(tree, str_from_c(text)).data;
    }
    made->status = status;
    made->request_id = tree_copy_text(tree, request_id).data;
    made->retryable = is_retryable(made);
    *error = made;
    return made;
}

/* --- reading --- */

bool gramme_error_is(const struct gramme_error *error, const char *code)
{
    return error != NULL && code != NULL && strcmp(error->code, code) == 0;
}

const char *gramme_error_code(const struct gramme_error *error)
{
    return error == NULL ? "" : error->code;
}

const char *gramme_error_message(const struct gramme_error *error)
{
    return error == NULL ? "" : error->message;
}

int gramme_error_status(const struct gramme_error *error)
{
    return error == NULL ? 0 : error->status;
}

bool gramme_error_retryable(const struct gramme_error *error)
{
    return error != NULL && error->retryable;
}

int gramme_error_attempts(const struct gramme_error *error)
{
    return error == NULL ? 0 : error->attempts;
}

const char *gramme_error_request_id(const struct gramme_error *error)
{
    return error == NULL ? "" : error->request_id;
}

const struct gramme_value *gramme_error_item(const struct gramme_error *error)
{
    return error == NULL ? NULL : gramme_get(error->tree->root, "Item");
}

static const struct gramme_value *reason_at(const struct gramme_error *error, size_t index)
{
    return error == NULL
               ? NULL
               : gramme_value_at(gramme_get(error->tree->root, "CancellationReasons"), index);
}

size_t gramme_error_reason_count(const struct gramme_error *error)
{
    return error == NULL ? 0
                         : gramme_value_count(gramme_get(error->tree->root, "CancellationReasons"));
}

const char *gramme_error_reason_code(const struct gramme_error *error, size_t index)
{
    const char *code = gramme_get_string(reason_at(error, index), "Code");
    return code == NULL ? "" : code;
}

const char *gramme_error_reason_message(const struct gramme_error *error, size_t index)
{
    const char *message = gramme_get_string(reason_at(error, index), "Message");
    return message == NULL ? "" : message;
}

const struct gramme_value *gramme_error_reason_item(const struct gramme_error *error, size_t index)
{
    return gramme_get(reason_at(error, index), "Item");
}

bool gramme_error_reason_is(const struct gramme_error *error, size_t index, const char *code)
{
    return code != NULL && reason_at(error, index) != NULL &&
           strcmp(gramme_error_reason_code(error, index), code) == 0;
}
