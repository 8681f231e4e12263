/* gramme/gramme.h: DynamoDB for C. One handle for any DynamoDB: the service, a Gramme server, any
 * other that speaks its protocol, or Gramme's engine inside this very process.
 *
 *     struct gramme_error *error = NULL;
 *     struct gramme_db *db = gramme_open("memory:", NULL, &error);
 *     struct gramme_request *get = gramme_request_create("GetItem", "Music");
 *     gramme_set_string(gramme_request_key(get), "Artist", "Nina Simone");
 *     struct gramme_answer *answer = gramme_send(db, get, &error);
 *     printf("%s\n", gramme_get_string(gramme_answer_item(answer), "Song"));
 *
 * docs/tutorial-c.md is a first program, docs/client.md the reference by topic.
 *
 * Rules that hold everywhere:
 *
 *  - What a _create(), _open() or a call returns is the caller's, who ends it with the _destroy()
 * or _close() of its kind. Those accept NULL. Every other pointer that a function returns is
 *    borrowed and lives as long as the object it came from. What a function is given it borrows
 *    until it returns, and copies what it needs for longer.
 *  - `error` is the address of a pointer that is NULL or an error, or NULL if the caller does not
 *    want to know. A function that takes it first destroys the error that is there and sets the
 *    pointer to NULL; if it fails it leaves a new error there, which is the caller's. So one
 *    variable, NULL at first, serves for many calls, with one gramme_error_destroy() at the end.
 *  - Text is UTF-8 and ends with NUL. Text from an answer may also hold NULs: then ask for its
 *    length.
 *  - A mistake in building a request (bad UTF-8, a NULL, a map where a list should be) is kept and
 *    is what sending it fails with, so that the building functions need no check one by one.
 *  - Reading functions accept NULL for the value, as an attribute that is not there.
 *  - A handle may be used by many threads at once. A request, answer, value, error or iterator
 *    belongs to one thread at a time; reading them is fine from many.
 *  - When memory runs out the process is aborted. */
#ifndef GRAMME_GRAMME_H
#define GRAMME_GRAMME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GRAMME_PRINTF(format_, args_) __attribute__((format(printf, format_, args_)))
#else
#define GRAMME_PRINTF(format_, args_)
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct gramme_db;      /* a DynamoDB */
struct gramme_request; /* an operation and what it is asked */
struct gramme_answer;  /* what came back */
struct gramme_value;   /* an attribute value, or any JSON; an item is one of type GRAMME_MAP */
struct gramme_items;   /* walks the items of a Query or Scan, page after page */
struct gramme_error;   /* why something failed */

/* The version of the library that runs, "0.1.0". */
const char *gramme_version(void);

/* --- the handle ------------------------------------------------------------------------------ */

/* All may be left 0 or NULL: {0} in C, {} in C++. Text is copied. */
struct gramme_options {
    /* Where the service is and who asks. Each that is NULL comes from where the AWS SDKs take it:
     * environment, profile files, container or instance. For an address on this machine dummies
     * will do: region us-east-1 and some access key. */
    const char *region;
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token;
    const char *profile; /* in the files; else AWS_PROFILE, else "default" */

    /* Over HTTP. */
    int connect_timeout_ms; /* 0: 3000 */
    int timeout_ms;         /* of each attempt, from connecting to the answer's end; 0: 30000 */
    int attempts_max;    /* with the first; 0: AWS_MAX_ATTEMPTS, max_attempts of the profile, 4 */
    const char *ca_file; /* certificates to trust instead of the system's; also AWS_CA_BUNDLE */

    /* In the same process. */
    const char *account; /* in ARNs; NULL: 000000000000 */
    int cache_mb;        /* memory for cached data; 0: 64 */

    void *reserved[8]; /* zero; room for what later versions add */
};

/* Opens a DynamoDB. `url` is
 *
 *     http://localhost:8000                        a server, also https://
 *     https://dynamodb.eu-west-1.amazonaws.com     the service
 *     aws: or NULL                                 the service in the region of options,
 *                                                  environment or profile; or what
 *                                                  AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL
 *                                                  say
 *     rocksdb:DIRECTORY                            the engine in this process, durable; one process
 *                                                  at a time
 *     memory:                                      the same, gone when closed
 *
 * `options` may be NULL. Over HTTP nothing is sent yet. Returns NULL on failure. */
struct gramme_db *gramme_open(const char *url, const struct gramme_options *options,
                              struct gramme_error **error);
/* No call may be under way, and iterators on it must be closed. */
void gramme_close(struct gramme_db *db);

/* --- calls ----------------------------------------------------------------------------------- */

/* Sends a request, again after a while if it failed in a way that may pass (see docs/client.md),
 * and returns the answer, the caller's; NULL on failure. The request can be sent again, or be
 * changed and sent again. A TransactWriteItems without a token gets one, the same for all attempts.
 */
struct gramme_answer *gramme_send(struct gramme_db *db, const struct gramme_request *request,
                                  struct gramme_error **error);
/* The same for when nothing but success is of interest. */
bool gramme_run(struct gramme_db *db, const struct gramme_request *request,
                struct gramme_error **error);
/* Sends JSON as it is: gramme_call(db, "ListTables", "{}", 2, &error). */
struct gramme_answer *gramme_call(struct gramme_db *db, const char *operation, const char *json,
                                  size_t len, struct gramme_error **error);

/* --- requests -------------------------------------------------------------------------------- */

/* A request of an operation, "PutItem"; `table` becomes its TableName, if it is not NULL. */
struct gramme_request *gramme_request_create(const char *operation, const char *table);
void gramme_request_destroy(struct gramme_request *request);

/* What PutItem is to put; fill it with gramme_set_...(). */
struct gramme_value *gramme_request_item(struct gramme_request *request);
/* The primary key for GetItem, UpdateItem, DeleteItem and the like. */
struct gramme_value *gramme_request_key(struct gramme_request *request);
/* The same as copies of maps that were made or read elsewhere. */
void gramme_request_set_item(struct gramme_request *request, const struct gramme_value *item);
void gramme_request_set_key(struct gramme_request *request, const struct gramme_value *key);
/* ExpressionAttributeValues: gramme_set_int(gramme_request_values(request), ":limit", 10). */
struct gramme_value *gramme_request_values(struct gramme_request *request);
/* ExpressionAttributeNames: gramme_request_name(request, "#s", "status"). */
void gramme_request_name(struct gramme_request *request, const char *placeholder,
                         const char *attribute);

void gramme_request_condition(struct gramme_request *request, const char *expression);
void gramme_request_update(struct gramme_request *request, const char *expression);
void gramme_request_key_condition(struct gramme_request *request, const char *expression);
void gramme_request_filter(struct gramme_request *request, const char *expression);
void gramme_request_projection(struct gramme_request *request, const char *expression);
/* Query, Scan: the index to read; the most items a page is made from; descending order; where to go
 * on (an ExclusiveStartKey, copied). */
void gramme_request_index(struct gramme_request *request, const char *index);
void gramme_request_limit(struct gramme_request *request, int items_max);
void gramme_request_descending(struct gramme_request *request);
void gramme_request_start(struct gramme_request *request, const struct gramme_value *key);
/* The same from the text that gramme_answer_cursor() made. False, with nothing changed, if it is
 * not such a text: it may have come from outside. */
bool gramme_request_cursor(struct gramme_request *request, const char *cursor);
/* ConsistentRead. */
void gramme_request_consistent(struct gramme_request *request);
/* ReturnValues: "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW". */
void gramme_request_return(struct gramme_request *request, const char *what);
/* A condition that fails gives the item as it stands: gramme_error_item(), or of a transaction's
 * part gramme_error_reason_item(). */
void gramme_request_return_on_failure(struct gramme_request *request);
/* The answer tells what the call cost: gramme_answer_units(). */
void gramme_request_return_capacity(struct gramme_request *request);
/* The whole request as a map, for everything that has no function here:
 * gramme_set_int(gramme_request_root(request), "Segment", 3). */
struct gramme_value *gramme_request_root(struct gramme_request *request);

/* --- transactions ---------------------------------------------------------------------------- */

/* Parts of a TransactWriteItems request, which owns them: each is filled like a PutItem,
 * UpdateItem, DeleteItem or GetItem of its own (item or key, condition, update, names, values). */
struct gramme_request *gramme_transact_put(struct gramme_request *transaction, const char *table);
struct gramme_request *gramme_transact_update(struct gramme_request *transaction,
                                              const char *table);
struct gramme_request *gramme_transact_delete(struct gramme_request *transaction,
                                              const char *table);
struct gramme_request *gramme_transact_check(struct gramme_request *transaction, const char *table);
/* A part of a TransactGetItems request. */
struct gramme_request *gramme_transact_get(struct gramme_request *transaction, const char *table);
/* The ClientRequestToken, at most 36 characters: within ten minutes a request with the same token
 * is carried out once. */
void gramme_transact_token(struct gramme_request *transaction, const char *token);

/* --- batches --------------------------------------------------------------------------------- */

/* One more item to put, or key to delete, of a BatchWriteItem request; one more key to read of a
 * BatchGetItem request. Any number: gramme_batch_write() and gramme_batch_read() cut it into calls
 * of the size that the service takes. Fill what is returned with gramme_set_...(). */
struct gramme_value *gramme_batch_put(struct gramme_request *batch, const char *table);
struct gramme_value *gramme_batch_delete(struct gramme_request *batch, const char *table);
struct gramme_value *gramme_batch_get(struct gramme_request *batch, const char *table);
/* How a BatchGetItem request reads a table, as a map: ConsistentRead, ProjectionExpression, ... */
struct gramme_value *gramme_batch_table(struct gramme_request *batch, const char *table);

/* Sends a batch, what was not processed again after a while, until all is done. False: some of it
 * is not; which is not told. */
bool gramme_batch_write(struct gramme_db *db, const struct gramme_request *batch,
                        struct gramme_error **error);
/* The answer holds all items that were found, in no order: gramme_answer_table_items(). */
struct gramme_answer *gramme_batch_read(struct gramme_db *db, const struct gramme_request *batch,
                                        struct gramme_error **error);

/* --- Query and Scan, page after page --------------------------------------------------------- */

/* Walks all items that a Query or Scan request finds. Copies the request; borrows the handle until
 * closed. Nothing is sent before the first gramme_items_next(). */
struct gramme_items *gramme_items_open(struct gramme_db *db, const struct gramme_request *request);
/* The next item, valid until the one after it is asked for; NULL at the end, and on failure: then
 * there is an error, and asking again tries the page again. */
const struct gramme_value *gramme_items_next(struct gramme_items *items,
                                             struct gramme_error **error);
/* The page that the newest item came from: its counts and cost. NULL before the first. Valid until
 * the next gramme_items_next(). */
const struct gramme_answer *gramme_items_page(const struct gramme_items *items);
void gramme_items_close(struct gramme_items *items);

/* --- answers --------------------------------------------------------------------------------- */

void gramme_answer_destroy(struct gramme_answer *answer);
/* The whole answer as a map, items and keys in it as items: gramme_get_int(root, "Count", 0). */
const struct gramme_value *gramme_answer_root(const struct gramme_answer *answer);
/* The JSON that came, ended by a NUL that is not counted. `len` may be NULL. */
const char *gramme_answer_json(const struct gramme_answer *answer, size_t *len);
/* GetItem's item; NULL: there is none. */
const struct gramme_value *gramme_answer_item(const struct gramme_answer *answer);
/* What `gramme_request_return()` asked for; NULL: nothing. */
const struct gramme_value *gramme_answer_attributes(const struct gramme_answer *answer);
/* The list of one page's items of a Query or Scan; never NULL for those. */
const struct gramme_value *gramme_answer_items(const struct gramme_answer *answer);
/* Where the next page starts, as text for a URL; NULL: this was the last. The caller frees it with
 * gramme_free(). It is a key in clear, not a secret. */
char *gramme_answer_cursor(const struct gramme_answer *answer);
/* TransactGetItems: the item of the nth part (from 0); NULL: there is none. */
const struct gramme_value *gramme_answer_response(const struct gramme_answer *answer, size_t index);
/* Batch: the list of items that were found in a table; NULL: none. */
const struct gramme_value *gramme_answer_table_items(const struct gramme_answer *answer,
                                                     const char *table);
/* Capacity units of all tables and indexes, if the request asked for them; else 0. */
double gramme_answer_units(const struct gramme_answer *answer);

/* --- values ---------------------------------------------------------------------------------- */

enum gramme_type {
    GRAMME_NONE, /* of NULL: no value */
    GRAMME_STRING,
    GRAMME_NUMBER,
    GRAMME_BINARY,
    GRAMME_STRING_SET,
    GRAMME_NUMBER_SET,
    GRAMME_BINARY_SET,
    GRAMME_MAP,
    GRAMME_LIST,
    GRAMME_NULL,
    GRAMME_BOOL
};

/* An empty map of the caller's own: an item that is passed around, say. */
struct gramme_value *gramme_map_create(void);
/* The same for a list, which is mostly of use as plain JSON. */
struct gramme_value *gramme_list_create(void);
/* A copy of a value, the caller's. */
struct gramme_value *gramme_value_copy(const struct gramme_value *value);
/* For values that the functions above and gramme_value_from_json() returned, not for what is inside
 * another value, a request or an answer. */
void gramme_value_destroy(struct gramme_value *value);
/* The first mistake in building this value, or what it is a part of; NULL: none. */
const char *gramme_value_problem(const struct gramme_value *value);

/* Setting entries of a map; one of the same name is replaced. */
void gramme_set_string(struct gramme_value *map, const char *name, const char *text);
void gramme_set_text(struct gramme_value *map, const char *name, const char *text, size_t len);
void gramme_set_format(struct gramme_value *map, const char *name, const char *format, ...)
    GRAMME_PRINTF(3, 4);
void gramme_set_int(struct gramme_value *map, const char *name, int64_t number);
void gramme_set_double(struct gramme_value *map, const char *name, double number);
/* A number as decimal text, up to 38 digits: "12.50", "1e-7". */
void gramme_set_number(struct gramme_value *map, const char *name, const char *number);
void gramme_set_bool(struct gramme_value *map, const char *name, bool truth);
void gramme_set_null(struct gramme_value *map, const char *name);
void gramme_set_binary(struct gramme_value *map, const char *name, const void *data, size_t len);
/* A copy of any value; NULL removes the entry. */
void gramme_set_value(struct gramme_value *map, const char *name, const struct gramme_value *value);
/* An empty map, list or set, returned to be filled; it belongs to `map`. */
struct gramme_value *gramme_set_map(struct gramme_value *map, const char *name);
struct gramme_value *gramme_set_list(struct gramme_value *map, const char *name);
struct gramme_value *gramme_set_string_set(struct gramme_value *map, const char *name);
struct gramme_value *gramme_set_number_set(struct gramme_value *map, const char *name);
struct gramme_value *gramme_set_binary_set(struct gramme_value *map, const char *name);
/* Takes an entry out, if it is there. */
void gramme_remove(struct gramme_value *map, const char *name);

/* Adding to the end of a list; of a set, what fits its type. */
void gramme_add_string(struct gramme_value *list, const char *text);
void gramme_add_text(struct gramme_value *list, const char *text, size_t len);
void gramme_add_format(struct gramme_value *list, const char *format, ...) GRAMME_PRINTF(2, 3);
void gramme_add_int(struct gramme_value *list, int64_t number);
void gramme_add_double(struct gramme_value *list, double number);
void gramme_add_number(struct gramme_value *list, const char *number);
void gramme_add_bool(struct gramme_value *list, bool truth);
void gramme_add_null(struct gramme_value *list);
void gramme_add_binary(struct gramme_value *list, const void *data, size_t len);
void gramme_add_value(struct gramme_value *list, const struct gramme_value *value);
struct gramme_value *gramme_add_map(struct gramme_value *list);
struct gramme_value *gramme_add_list(struct gramme_value *list);

/* Reading entries of a map. What is not there, or not of the type, is NULL or `fallback`. */
const struct gramme_value *gramme_get(const struct gramme_value *map, const char *name);
const char *gramme_get_string(const struct gramme_value *map, const char *name);
/* Whole numbers that fit; others are `fallback` too. */
int64_t gramme_get_int(const struct gramme_value *map, const char *name, int64_t fallback);
double gramme_get_double(const struct gramme_value *map, const char *name, double fallback);
/* A number as decimal text. */
const char *gramme_get_number(const struct gramme_value *map, const char *name);
bool gramme_get_bool(const struct gramme_value *map, const char *name, bool fallback);
const void *gramme_get_binary(const struct gramme_value *map, const char *name, size_t *len);

/* Reading a value itself. Those that return bool say whether it is of the type and fits; if not,
 * *out is untouched. */
enum gramme_type gramme_value_type(const struct gramme_value *value);
const char *gramme_value_string(const struct gramme_value *value);
/* The bytes of a string, number or binary; else 0. */
size_t gramme_value_len(const struct gramme_value *value);
const char *gramme_value_number(const struct gramme_value *value);
bool gramme_value_int(const struct gramme_value *value, int64_t *out);
bool gramme_value_double(const struct gramme_value *value, double *out);
bool gramme_value_bool(const struct gramme_value *value, bool *out);
const void *gramme_value_binary(const struct gramme_value *value, size_t *len);
/* Elements of a list or set, or entries of a map, in order; of others 0 and NULL. An index that is
 * too large gives NULL. */
size_t gramme_value_count(const struct gramme_value *value);
const struct gramme_value *gramme_value_at(const struct gramme_value *value, size_t index);
/* The name of an entry of a map; NULL: it is none. */
const char *gramme_value_name(const struct gramme_value *value);
/* Whether two values are equal as DynamoDB has it: numbers by value, maps and sets in any order. */
bool gramme_value_equal(const struct gramme_value *a, const struct gramme_value *b);

/* The forms in which a value can be JSON. */
enum gramme_form {
    GRAMME_PLAIN, /* {"name": "x", "age": 4}; sets are arrays, binary is base64 text */
    GRAMME_TYPED, /* an item as DynamoDB writes it: {"name": {"S": "x"}, "age": {"N": "4"}} */
    GRAMME_WIRE   /* a whole request or answer: plain, and typed where items, keys and values are */
};

/* JSON text, ended by a NUL that is not counted, which the caller frees with gramme_free(). `len`
 * may be NULL. NULL if the value has a problem, or is no map where the form needs one. */
char *gramme_value_to_json(const struct gramme_value *value, enum gramme_form form, size_t *len);
/* The value of a JSON text, the caller's; NULL on failure. Plain numbers become GRAMME_NUMBER,
 * arrays GRAMME_LIST. */
struct gramme_value *gramme_value_from_json(const char *json, size_t len, enum gramme_form form,
                                            struct gramme_error **error);

/* Frees text that the library returned to be freed. */
void gramme_free(void *text);

/* --- errors ---------------------------------------------------------------------------------- */

/* Codes of the service that programs act on. It has more: gramme_error_code() gives any. */
#define GRAMME_CONDITION_FAILED      "ConditionalCheckFailedException"
#define GRAMME_TRANSACTION_CANCELED  "TransactionCanceledException"
#define GRAMME_TRANSACTION_CONFLICT  "TransactionConflictException"
#define GRAMME_NOT_FOUND             "ResourceNotFoundException"
#define GRAMME_IN_USE                "ResourceInUseException"
#define GRAMME_VALIDATION            "ValidationException"
#define GRAMME_THROUGHPUT_EXCEEDED   "ProvisionedThroughputExceededException"
#define GRAMME_TOKEN_MISMATCH        "IdempotentParameterMismatchException"
#define GRAMME_ACCESS_DENIED         "AccessDeniedException"
#define GRAMME_INTERNAL_SERVER_ERROR "InternalServerError"

/* Codes of failures that the service did not answer with; their HTTP status is 0. */
#define GRAMME_BAD_ADDRESS       "BadAddress"       /* of gramme_open() */
#define GRAMME_BAD_REQUEST       "BadRequest"       /* a mistake in building; nothing was sent */
#define GRAMME_BAD_JSON          "BadJson"          /* of gramme_value_from_json() */
#define GRAMME_NO_CREDENTIALS    "NoCredentials"    /* nowhere to be found */
#define GRAMME_NO_REGION         "NoRegion"         /* of gramme_open() */
#define GRAMME_CANNOT_OPEN       "CannotOpen"       /* the database in this process */
#define GRAMME_CONNECTION_FAILED "ConnectionFailed" /* also: ended before the answer did */
#define GRAMME_TIMED_OUT         "TimedOut"
#define GRAMME_BAD_ANSWER        "BadAnswer" /* not DynamoDB's, or damaged on the way */

/* Codes of the parts of a canceled transaction. */
#define GRAMME_REASON_NONE             "None" /* this part would have been fine */
#define GRAMME_REASON_CONDITION_FAILED "ConditionalCheckFailed"
#define GRAMME_REASON_CONFLICT         "TransactionConflict"

/* All accept NULL, as no error: false, 0, "" or NULL. */
void gramme_error_destroy(struct gramme_error *error);
/* Whether it is of this code: gramme_error_is(error, GRAMME_CONDITION_FAILED). */
bool gramme_error_is(const struct gramme_error *error, const char *code);
const char *gramme_error_code(const struct gramme_error *error);
const char *gramme_error_message(const struct gramme_error *error);
/* HTTP's; 0: there was no answer. */
int gramme_error_status(const struct gramme_error *error);
/* Whether the same request may go well later. What the library retries by itself it has retried. */
bool gramme_error_retryable(const struct gramme_error *error);
/* How often it was tried. */
int gramme_error_attempts(const struct gramme_error *error);
/* The service's id of the last attempt; "": none. */
const char *gramme_error_request_id(const struct gramme_error *error);
/* The item that stood against a condition, if gramme_request_return_on_failure() was asked for and
 * there was one; else NULL. */
const struct gramme_value *gramme_error_item(const struct gramme_error *error);
/* A canceled transaction: one reason per part, in order; else none. */
size_t gramme_error_reason_count(const struct gramme_error *error);
const char *gramme_error_reason_code(const struct gramme_error *error, size_t index);
const char *gramme_error_reason_message(const struct gramme_error *error, size_t index);
const struct gramme_value *gramme_error_reason_item(const struct gramme_error *error, size_t index);
/* Whether that part has this code: gramme_error_reason_is(error, 0,
 * GRAMME_REASON_CONDITION_FAILED). */
bool gramme_error_reason_is(const struct gramme_error *error, size_t index, const char *code);

/* --- conveniences ---------------------------------------------------------------------------- */

/* Makes the table that the JSON describes, the same that `aws dynamodb create-table
 * --cli-input-json` takes, unless there is one of its name, and waits until it and its indexes are
 * ACTIVE. */
bool gramme_create_table(struct gramme_db *db, const char *json, size_t len, int timeout_ms,
                         struct gramme_error **error);
/* Waits until the table and its indexes are ACTIVE; GRAMME_TIMED_OUT if they are not in time. */
bool gramme_wait_table(struct gramme_db *db, const char *table, int timeout_ms,
                       struct gramme_error **error);

#define GRAMME_UUID_SIZE 37
/* A random UUID in lower case, with its NUL. */
void gramme_uuid(char out[GRAMME_UUID_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
