/* gramme/gramme.h: DynamoDB for C. One handle for any DynamoDB: the service, a Gramme server, any
 * other server with its protocol, or Gramme's engine in this process.
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
 * Rules for all functions:
 *
 *  - The caller owns what a _create(), an _open() or a call returns, and frees it with the
 *    _destroy() or _close() of its kind, which accept NULL. Every other returned pointer is
 *    borrowed and valid as long as the object that it came from. Arguments are borrowed until the
 *    function returns; it copies what it needs for longer.
 *  - `error` is the address of a pointer that is NULL or an error; or NULL, to ignore errors. A
 *    function that takes it destroys the old error and sets the pointer to NULL; if it fails it
 *    sets a new error, which the caller owns. So one variable, NULL at first, serves for many
 *    calls, with one gramme_error_destroy() at the end.
 *  - Text is UTF-8 and NUL-terminated. Text from an answer may also contain NULs: then use its
 *    length.
 *  - A mistake in building a request (bad UTF-8, a NULL, a map instead of a list) is recorded, and
 *    sending the request fails with it: the building functions need no check one by one.
 *  - Functions that read values accept NULL, as an absent attribute.
 *  - Many threads may use a handle at once. A request, answer, value, error or iterator belongs to
 *    one thread at a time; many threads may read one.
 *  - When memory is exhausted the process aborts. */
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
struct gramme_request; /* an operation and its parameters */
struct gramme_answer;  /* the answer to a request */
struct gramme_value;   /* an attribute value, or any JSON; an item is one of type GRAMME_MAP */
struct gramme_items;   /* an iterator over the items of a Query or Scan, page by page */
struct gramme_error;   /* why something failed */

/* Returns the version of the library at run time, "0.1.0". */
const char *gramme_version(void);

/* --- the handle ------------------------------------------------------------------------------ */

/* Every member may be 0 or NULL: {0} in C, {} in C++. Texts are copied. */
struct gramme_options {
    /* Region and credentials. Those that are NULL are taken from where the AWS SDKs take them:
     * environment, profile files, container or instance. For an address on this machine dummy
     * values are used: region us-east-1 and a dummy access key. */
    const char *region;
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token;
    const char *profile; /* in the files; else AWS_PROFILE, else "default" */

    /* Over HTTP. */
    int connect_timeout_ms; /* 0: 3000 */
    int timeout_ms;         /* of each attempt, from connecting to the answer's end; 0: 30000 */
    /* Including the first; 0: AWS_MAX_ATTEMPTS, max_attempts of the profile, 4 */
    int attempts_max;
    const char *ca_file; /* certificates to trust instead of the system's; also AWS_CA_BUNDLE */

    /* In the same process. */
    const char *account; /* in ARNs; NULL: 000000000000 */
    int cache_mb;        /* memory for cached data; 0: 64 */

    void *reserved[8]; /* must be zero; for later versions */
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
 *     postgresql://USER@HOST/DATABASE              the engine in this process, its data in
 *                                                  PostgreSQL; any number of processes at once
 *
 * `options` may be NULL. Over HTTP nothing is sent yet. Returns NULL on failure. */
struct gramme_db *gramme_open(const char *url, const struct gramme_options *options,
                              struct gramme_error **error);
/* Closes the handle. No call may be in progress, and its iterators must be closed. Accepts NULL. */
void gramme_close(struct gramme_db *db);

/* --- calls ----------------------------------------------------------------------------------- */

/* Sends a request and returns the answer, which the caller destroys; NULL on failure. Failures that
 * may pass are retried (see docs/client.md). The request can be sent again, also after changes. A
 * TransactWriteItems without a token gets one, the same for all attempts. */
struct gramme_answer *gramme_send(struct gramme_db *db, const struct gramme_request *request,
                                  struct gramme_error **error);
/* Sends a request if only success matters. Returns whether it succeeded. */
bool gramme_run(struct gramme_db *db, const struct gramme_request *request,
                struct gramme_error **error);
/* Sends JSON as it is: gramme_call(db, "ListTables", "{}", 2, &error). */
struct gramme_answer *gramme_call(struct gramme_db *db, const char *operation, const char *json,
                                  size_t len, struct gramme_error **error);

/* --- requests -------------------------------------------------------------------------------- */

/* Makes a request for an operation, "PutItem"; `table`, if not NULL, becomes its TableName. */
struct gramme_request *gramme_request_create(const char *operation, const char *table);
/* Destroys a request with all its parts. Accepts NULL. */
void gramme_request_destroy(struct gramme_request *request);

/* Returns the item of a PutItem; fill it with gramme_set_...(). */
struct gramme_value *gramme_request_item(struct gramme_request *request);
/* Returns the primary key of a GetItem, UpdateItem, DeleteItem and the like, to be filled. */
struct gramme_value *gramme_request_key(struct gramme_request *request);
/* Sets the item to a copy of a map. */
void gramme_request_set_item(struct gramme_request *request, const struct gramme_value *item);
/* Sets the primary key to a copy of a map. */
void gramme_request_set_key(struct gramme_request *request, const struct gramme_value *key);
/* Returns ExpressionAttributeValues, to be filled: gramme_set_int(gramme_request_values(request),
 * ":limit", 10). */
struct gramme_value *gramme_request_values(struct gramme_request *request);
/* Adds an entry to ExpressionAttributeNames: gramme_request_name(request, "#s", "status"). */
void gramme_request_name(struct gramme_request *request, const char *placeholder,
                         const char *attribute);

/* Sets ConditionExpression. */
void gramme_request_condition(struct gramme_request *request, const char *expression);
/* Sets UpdateExpression. */
void gramme_request_update(struct gramme_request *request, const char *expression);
/* Sets KeyConditionExpression. */
void gramme_request_key_condition(struct gramme_request *request, const char *expression);
/* Sets FilterExpression. */
void gramme_request_filter(struct gramme_request *request, const char *expression);
/* Sets ProjectionExpression. */
void gramme_request_projection(struct gramme_request *request, const char *expression);
/* Query, Scan: sets IndexName. */
void gramme_request_index(struct gramme_request *request, const char *index);
/* Query, Scan: sets Limit, the largest number of items that a page reads. */
void gramme_request_limit(struct gramme_request *request, int items_max);
/* Query: reads in descending order of the sort key. */
void gramme_request_descending(struct gramme_request *request);
/* Query, Scan: sets ExclusiveStartKey to a copy of the key. */
void gramme_request_start(struct gramme_request *request, const struct gramme_value *key);
/* Sets ExclusiveStartKey from a text that gramme_answer_cursor() made. False, and nothing changes,
 * if the text is not valid: it may come from an untrusted client. */
bool gramme_request_cursor(struct gramme_request *request, const char *cursor);
/* Sets ConsistentRead. */
void gramme_request_consistent(struct gramme_request *request);
/* Sets ReturnValues: "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW". */
void gramme_request_return(struct gramme_request *request, const char *what);
/* Asks for the item if a condition fails: gramme_error_item(), or gramme_error_reason_item() for a
 * part of a transaction. */
void gramme_request_return_on_failure(struct gramme_request *request);
/* Asks for the consumed capacity: gramme_answer_units(). */
void gramme_request_return_capacity(struct gramme_request *request);
/* Returns the whole request as a map, for parameters that have no function here:
 * gramme_set_int(gramme_request_root(request), "Segment", 3). */
struct gramme_value *gramme_request_root(struct gramme_request *request);

/* --- transactions ---------------------------------------------------------------------------- */

/* Adds a Put to a TransactWriteItems request, which owns it. Fill it like a PutItem request of its
 * own (item, condition, names, values); the parts below in the same way. */
struct gramme_request *gramme_transact_put(struct gramme_request *transaction, const char *table);
/* Adds an Update, as above. */
struct gramme_request *gramme_transact_update(struct gramme_request *transaction,
                                              const char *table);
/* Adds a Delete, as above. */
struct gramme_request *gramme_transact_delete(struct gramme_request *transaction,
                                              const char *table);
/* Adds a ConditionCheck, as above. */
struct gramme_request *gramme_transact_check(struct gramme_request *transaction, const char *table);
/* Adds a Get to a TransactGetItems request, which owns it. */
struct gramme_request *gramme_transact_get(struct gramme_request *transaction, const char *table);
/* Sets ClientRequestToken, at most 36 characters: within ten minutes a request with the same token
 * is carried out once. */
void gramme_transact_token(struct gramme_request *transaction, const char *token);

/* --- batches --------------------------------------------------------------------------------- */

/* Adds an item to put to a BatchWriteItem request; fill it with gramme_set_...(). A batch may have
 * any size: gramme_batch_write() and gramme_batch_read() split it into calls. */
struct gramme_value *gramme_batch_put(struct gramme_request *batch, const char *table);
/* Adds a key to delete to a BatchWriteItem request, to be filled. */
struct gramme_value *gramme_batch_delete(struct gramme_request *batch, const char *table);
/* Adds a key to read to a BatchGetItem request, to be filled. */
struct gramme_value *gramme_batch_get(struct gramme_request *batch, const char *table);
/* Returns the parameters of a table in a BatchGetItem request, a map: ConsistentRead,
 * ProjectionExpression, ... */
struct gramme_value *gramme_batch_table(struct gramme_request *batch, const char *table);

/* Sends a batch, and unprocessed entries again, until all are done. False: partial failure; the
 * failed entries are not identified. */
bool gramme_batch_write(struct gramme_db *db, const struct gramme_request *batch,
                        struct gramme_error **error);
/* Reads a batch. The answer has all items that were found, in no order:
 * gramme_answer_table_items(). NULL on failure. */
struct gramme_answer *gramme_batch_read(struct gramme_db *db, const struct gramme_request *batch,
                                        struct gramme_error **error);

/* --- Query and Scan, page after page --------------------------------------------------------- */

/* Opens an iterator over all items of a Query or Scan request. Copies the request; borrows the
 * handle until it is closed. Sends nothing before the first gramme_items_next(). */
struct gramme_items *gramme_items_open(struct gramme_db *db, const struct gramme_request *request);
/* Returns the next item, valid until the next call; NULL at the end, and on failure: then there is
 * an error, and calling again tries the page again. */
const struct gramme_value *gramme_items_next(struct gramme_items *items,
                                             struct gramme_error **error);
/* Returns the page of the newest item, for its counts and capacity. NULL before the first. Valid
 * until the next gramme_items_next(). */
const struct gramme_answer *gramme_items_page(const struct gramme_items *items);
/* Closes the iterator. Accepts NULL. */
void gramme_items_close(struct gramme_items *items);

/* --- answers --------------------------------------------------------------------------------- */

/* Destroys an answer and all values in it. Accepts NULL. */
void gramme_answer_destroy(struct gramme_answer *answer);
/* Returns the whole answer as a map: gramme_get_int(root, "Count", 0). */
const struct gramme_value *gramme_answer_root(const struct gramme_answer *answer);
/* Returns the JSON of the answer, followed by a NUL that is not counted. `len` may be NULL. */
const char *gramme_answer_json(const struct gramme_answer *answer, size_t *len);
/* Returns the item of a GetItem; NULL: there is none. */
const struct gramme_value *gramme_answer_item(const struct gramme_answer *answer);
/* Returns what gramme_request_return() asked for; NULL: nothing. */
const struct gramme_value *gramme_answer_attributes(const struct gramme_answer *answer);
/* Returns the list of items of a page of a Query or Scan; never NULL for those. */
const struct gramme_value *gramme_answer_items(const struct gramme_answer *answer);
/* Returns the start of the next page as text for a URL; NULL: this was the last page. The caller
 * frees it with gramme_free(). It contains the key in clear text. */
char *gramme_answer_cursor(const struct gramme_answer *answer);
/* TransactGetItems: returns the item of the nth part (from 0); NULL: there is none. */
const struct gramme_value *gramme_answer_response(const struct gramme_answer *answer, size_t index);
/* BatchGetItem: returns the list of items found in a table; NULL: none. */
const struct gramme_value *gramme_answer_table_items(const struct gramme_answer *answer,
                                                     const char *table);
/* Returns the capacity units of all tables and indexes, if the request asked for them; else 0. */
double gramme_answer_units(const struct gramme_answer *answer);

/* --- values ---------------------------------------------------------------------------------- */

enum gramme_type {
    GRAMME_NONE, /* the type of a NULL pointer */
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

/* Makes an empty map that the caller owns: an item, for example. */
struct gramme_value *gramme_map_create(void);
/* Makes an empty list that the caller owns, mostly for plain JSON. */
struct gramme_value *gramme_list_create(void);
/* Copies a value; the caller owns the copy. */
struct gramme_value *gramme_value_copy(const struct gramme_value *value);
/* Destroys a value that the caller owns: from the functions above or gramme_value_from_json(), not
 * one inside another value, a request or an answer. Accepts NULL. */
void gramme_value_destroy(struct gramme_value *value);
/* Returns the first mistake in building this value or what it is part of; NULL: none. */
const char *gramme_value_problem(const struct gramme_value *value);

/* Sets an entry of a map to a string, replacing one of the same name. The functions below do the
 * same for other types. */
void gramme_set_string(struct gramme_value *map, const char *name, const char *text);
/* A string of `len` bytes, which may contain NUL. */
void gramme_set_text(struct gramme_value *map, const char *name, const char *text, size_t len);
/* A formatted string. */
void gramme_set_format(struct gramme_value *map, const char *name, const char *format, ...)
    GRAMME_PRINTF(3, 4);
/* A number. */
void gramme_set_int(struct gramme_value *map, const char *name, int64_t number);
/* A number, with as few digits as identify it. */
void gramme_set_double(struct gramme_value *map, const char *name, double number);
/* A number given as decimal text, up to 38 digits: "12.50", "1e-7". */
void gramme_set_number(struct gramme_value *map, const char *name, const char *number);
/* A boolean. */
void gramme_set_bool(struct gramme_value *map, const char *name, bool truth);
/* The value NULL. */
void gramme_set_null(struct gramme_value *map, const char *name);
/* A copy of `len` bytes. */
void gramme_set_binary(struct gramme_value *map, const char *name, const void *data, size_t len);
/* A copy of any value; NULL removes the entry. */
void gramme_set_value(struct gramme_value *map, const char *name, const struct gramme_value *value);
/* Adds an empty map and returns it to be filled; it belongs to `map`. */
struct gramme_value *gramme_set_map(struct gramme_value *map, const char *name);
/* An empty list, as above. */
struct gramme_value *gramme_set_list(struct gramme_value *map, const char *name);
/* An empty set of strings, as above. */
struct gramme_value *gramme_set_string_set(struct gramme_value *map, const char *name);
/* An empty set of numbers, as above. */
struct gramme_value *gramme_set_number_set(struct gramme_value *map, const char *name);
/* An empty set of binary values, as above. */
struct gramme_value *gramme_set_binary_set(struct gramme_value *map, const char *name);
/* Removes an entry, if it exists. */
void gramme_remove(struct gramme_value *map, const char *name);

/* Appends a string to a list or a set of strings. The functions below do the same for other types;
 * a set takes values of its type only. */
void gramme_add_string(struct gramme_value *list, const char *text);
/* A string of `len` bytes, which may contain NUL. */
void gramme_add_text(struct gramme_value *list, const char *text, size_t len);
/* A formatted string. */
void gramme_add_format(struct gramme_value *list, const char *format, ...) GRAMME_PRINTF(2, 3);
/* A number. */
void gramme_add_int(struct gramme_value *list, int64_t number);
/* A number, with as few digits as identify it. */
void gramme_add_double(struct gramme_value *list, double number);
/* A number given as decimal text. */
void gramme_add_number(struct gramme_value *list, const char *number);
/* A boolean. */
void gramme_add_bool(struct gramme_value *list, bool truth);
/* The value NULL. */
void gramme_add_null(struct gramme_value *list);
/* A copy of `len` bytes. */
void gramme_add_binary(struct gramme_value *list, const void *data, size_t len);
/* A copy of any value. */
void gramme_add_value(struct gramme_value *list, const struct gramme_value *value);
/* An empty map, returned to be filled; it belongs to `list`. */
struct gramme_value *gramme_add_map(struct gramme_value *list);
/* An empty list, as above. */
struct gramme_value *gramme_add_list(struct gramme_value *list);

/* Returns an entry of a map; NULL: there is none. The functions below return NULL or `fallback` if
 * there is no such entry or it has another type. */
const struct gramme_value *gramme_get(const struct gramme_value *map, const char *name);
/* A string. */
const char *gramme_get_string(const struct gramme_value *map, const char *name);
/* An integer; `fallback` also for numbers that have a fraction or do not fit. */
int64_t gramme_get_int(const struct gramme_value *map, const char *name, int64_t fallback);
/* A number, rounded. */
double gramme_get_double(const struct gramme_value *map, const char *name, double fallback);
/* A number as decimal text. */
const char *gramme_get_number(const struct gramme_value *map, const char *name);
/* A boolean. */
bool gramme_get_bool(const struct gramme_value *map, const char *name, bool fallback);
/* The bytes of a binary value; *len is their number. */
const void *gramme_get_binary(const struct gramme_value *map, const char *name, size_t *len);

/* Returns the type of a value. The functions below read the value itself; those that return bool
 * return whether it has the type and fits: if not, *out is unchanged. */
enum gramme_type gramme_value_type(const struct gramme_value *value);
/* A string; NULL: another type. */
const char *gramme_value_string(const struct gramme_value *value);
/* Returns the length of a string, number or binary value in bytes; else 0. */
size_t gramme_value_len(const struct gramme_value *value);
/* A number as decimal text; NULL: another type. */
const char *gramme_value_number(const struct gramme_value *value);
/* An integer. */
bool gramme_value_int(const struct gramme_value *value, int64_t *out);
/* A number, rounded. */
bool gramme_value_double(const struct gramme_value *value, double *out);
/* A boolean. */
bool gramme_value_bool(const struct gramme_value *value, bool *out);
/* The bytes of a binary value; *len is their number. */
const void *gramme_value_binary(const struct gramme_value *value, size_t *len);
/* Returns the number of elements of a list or set, or of entries of a map; else 0. */
size_t gramme_value_count(const struct gramme_value *value);
/* Returns an element or entry, in order; NULL if the index is too large. */
const struct gramme_value *gramme_value_at(const struct gramme_value *value, size_t index);
/* Returns the name of a value that is an entry of a map; NULL for other values. */
const char *gramme_value_name(const struct gramme_value *value);
/* Whether two values are equal for DynamoDB: numbers by value, maps and sets in any order. */
bool gramme_value_equal(const struct gramme_value *a, const struct gramme_value *b);

/* The forms in which a value can be JSON. */
enum gramme_form {
    GRAMME_PLAIN, /* {"name": "x", "age": 4}; sets are arrays, binary is base64 text */
    GRAMME_TYPED, /* an item as DynamoDB writes it: {"name": {"S": "x"}, "age": {"N": "4"}} */
    GRAMME_WIRE   /* a whole request or answer: plain, and typed where items, keys and values are */
};

/* Returns JSON text, followed by a NUL that is not counted, which the caller frees with
 * gramme_free(). `len` may be NULL. NULL if the value has a problem, or is not a map where the form
 * needs one. */
char *gramme_value_to_json(const struct gramme_value *value, enum gramme_form form, size_t *len);
/* Makes a value of JSON text, which the caller owns; NULL on failure. Plain numbers become
 * GRAMME_NUMBER, arrays GRAMME_LIST. */
struct gramme_value *gramme_value_from_json(const char *json, size_t len, enum gramme_form form,
                                            struct gramme_error **error);

/* Frees text that the library returned to be freed. Accepts NULL. */
void gramme_free(void *text);

/* --- errors ---------------------------------------------------------------------------------- */

/* Error codes of the service that programs handle. There are more: gramme_error_code() returns any.
 */
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

/* Error codes of failures without an answer of the service; their HTTP status is 0. */
#define GRAMME_BAD_ADDRESS       "BadAddress"       /* of gramme_open() */
#define GRAMME_BAD_REQUEST       "BadRequest"       /* a mistake in building; nothing was sent */
#define GRAMME_BAD_JSON          "BadJson"          /* of gramme_value_from_json() */
#define GRAMME_NO_CREDENTIALS    "NoCredentials"    /* none were found */
#define GRAMME_NO_REGION         "NoRegion"         /* of gramme_open() */
#define GRAMME_CANNOT_OPEN       "CannotOpen"       /* the database in this process */
#define GRAMME_CONNECTION_FAILED "ConnectionFailed" /* also: ended before the answer did */
#define GRAMME_TIMED_OUT         "TimedOut"
#define GRAMME_BAD_ANSWER        "BadAnswer" /* not an answer of DynamoDB, or damaged in transit */

/* Codes of the parts of a canceled transaction. */
#define GRAMME_REASON_NONE             "None" /* this part did not cause the cancellation */
#define GRAMME_REASON_CONDITION_FAILED "ConditionalCheckFailed"
#define GRAMME_REASON_CONFLICT         "TransactionConflict"

/* Destroys an error. Like all functions below it accepts NULL, for no error: they return false, 0,
 * "" or NULL. */
void gramme_error_destroy(struct gramme_error *error);
/* Whether the error has this code: gramme_error_is(error, GRAMME_CONDITION_FAILED). */
bool gramme_error_is(const struct gramme_error *error, const char *code);
/* Returns the code: "ValidationException". */
const char *gramme_error_code(const struct gramme_error *error);
/* Returns the message. */
const char *gramme_error_message(const struct gramme_error *error);
/* Returns the HTTP status; 0: there was no answer. */
int gramme_error_status(const struct gramme_error *error);
/* Whether the same request may succeed later. The library has already retried what it retries by
 * itself. */
bool gramme_error_retryable(const struct gramme_error *error);
/* Returns the number of attempts. */
int gramme_error_attempts(const struct gramme_error *error);
/* Returns the service's request id of the last attempt; "": none. */
const char *gramme_error_request_id(const struct gramme_error *error);
/* Returns the item that did not fulfil the condition, if gramme_request_return_on_failure() asked
 * for it and it exists; else NULL. */
const struct gramme_value *gramme_error_item(const struct gramme_error *error);
/* Returns the number of reasons of a canceled transaction: one per part, in order; else 0. */
size_t gramme_error_reason_count(const struct gramme_error *error);
/* Returns the code of the reason of a part. */
const char *gramme_error_reason_code(const struct gramme_error *error, size_t index);
/* Returns the message of the reason of a part. */
const char *gramme_error_reason_message(const struct gramme_error *error, size_t index);
/* Returns the item that did not fulfil the condition of a part, as gramme_error_item(). */
const struct gramme_value *gramme_error_reason_item(const struct gramme_error *error, size_t index);
/* Whether the reason of a part has this code: gramme_error_reason_is(error, 0,
 * GRAMME_REASON_CONDITION_FAILED). */
bool gramme_error_reason_is(const struct gramme_error *error, size_t index, const char *code);

/* --- conveniences ---------------------------------------------------------------------------- */

/* Creates the table that the JSON describes, as `aws dynamodb create-table --cli-input-json` takes
 * it, unless it exists, and waits until it and its indexes are ACTIVE. */
bool gramme_create_table(struct gramme_db *db, const char *json, size_t len, int timeout_ms,
                         struct gramme_error **error);
/* Waits until the table and its indexes are ACTIVE; GRAMME_TIMED_OUT if they are not in time. */
bool gramme_wait_table(struct gramme_db *db, const char *table, int timeout_ms,
                       struct gramme_error **error);

/* Asks a Gramme server about itself, its traffic and its cost: gramme_insight(db, "patterns",
 * parameters, &error). `page` is one of docs/internals/insight-api.md, and the root of the answer
 * is its JSON. `parameters` is a map of strings and numbers, or NULL. The request is signed like
 * others; a server that checks signatures wants the permission gramme:GetInsight. NULL on failure:
 * GRAMME_BAD_ADDRESS if the database is in this process. */
struct gramme_answer *gramme_insight(struct gramme_db *db, const char *page,
                                     const struct gramme_value *parameters,
                                     struct gramme_error **error);

#define GRAMME_UUID_SIZE 37
/* Writes a random UUID in lower case, with a NUL. */
void gramme_uuid(char out[GRAMME_UUID_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
