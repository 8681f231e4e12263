/* Batches of any size: splits them into calls, and sends unprocessed entries again. Called by users
 * of the library; a call waits until its batch is done. */
#include "client/client_internal.h"

enum {
    WRITES_PER_CALL = 25,
    KEYS_PER_CALL = 100,
    FRUITLESS_MAX = 8, /* consecutive calls that processed nothing */
};

/* --- building --- */

/* Returns the entry of RequestItems for a table, or NULL if the request is for another operation.
 */
static struct gramme_value *table_of(struct gramme_request *batch, const char *operation,
                                     const char *table, enum gramme_type type)
{
    if (batch == NULL) {
        return NULL;
    }
    if (!request_is(batch, operation)) {
        tree_complain(batch->tree, "%s: an entry that belongs in %s", batch->operation, operation);
        return NULL;
    }
    if (table == NULL) {
        tree_complain(batch->tree, "%s: the name of a table is NULL", batch->operation);
        return NULL;
    }
    return value_need(value_need(batch->root, "RequestItems", GRAMME_MAP), table, type);
}

struct gramme_value *gramme_batch_put(struct gramme_request *batch, const char *table)
{
    struct gramme_value *writes = table_of(batch, "BatchWriteItem", table, GRAMME_LIST);
    return gramme_set_map(gramme_set_map(gramme_add_map(writes), "PutRequest"), "Item");
}

struct gramme_value *gramme_batch_delete(struct gramme_request *batch, const char *table)
{
    struct gramme_value *writes = table_of(batch, "BatchWriteItem", table, GRAMME_LIST);
    return gramme_set_map(gramme_set_map(gramme_add_map(writes), "DeleteRequest"), "Key");
}

struct gramme_value *gramme_batch_table(struct gramme_request *batch, const char *table)
{
    return table_of(batch, "BatchGetItem", table, GRAMME_MAP);
}

struct gramme_value *gramme_batch_get(struct gramme_request *batch, const char *table)
{
    struct gramme_value *reads = gramme_batch_table(batch, table);
    return reads == NULL ? NULL : gramme_add_map(value_need(reads, "Keys", GRAMME_LIST));
}

/* --- splitting --- */

/* An iteration over the entries of a batch. */
struct cutter {
    const struct gramme_request *batch;
    const struct gramme_value *tables; /* RequestItems */
    bool reads;
    size_t table;
    size_t entry;
};

static struct cutter cutter_of(const struct gramme_request *batch)
{
    return (struct cutter){
        .batch = batch,
        .tables = gramme_get(batch->root, "RequestItems"),
        .reads = request_is(batch, "BatchGetItem"),
    };
}

/* Returns the next entry and its table; NULL at the end. */
static const struct gramme_value *next_entry(struct cutter *cutter,
                                             const struct gramme_value **table)
{
    for (; cutter->table < gramme_value_count(cutter->tables); cutter->table++) {
        *table = gramme_value_at(cutter->tables, cutter->table);
        const struct gramme_value *entries = cutter->reads ? gramme_get(*table, "Keys") : *table;
        if (cutter->entry < gramme_value_count(entries)) {
            return gramme_value_at(entries, cutter->entry++);
        }
        cutter->entry = 0;
    }
    return NULL;
}

/* Copies the entries of a map except one. */
static void copy_others(struct gramme_value *to, const struct gramme_value *from, const char *but)
{
    for (size_t i = 0; i < gramme_value_count(from); i++) {
        const struct gramme_value *entry = gramme_value_at(from, i);
        if (strcmp(gramme_value_name(entry), but) != 0) {
            gramme_set_value(to, gramme_value_name(entry), entry);
        }
    }
}

/* Returns the list for the entries of a table in a call. */
static struct gramme_value *place_of(struct gramme_request *call, const struct cutter *cutter,
                                     const struct gramme_value *table)
{
    struct gramme_value *tables = value_need(call->root, "RequestItems", GRAMME_MAP);
    const char *name = gramme_value_name(table);
    if (!cutter->reads) {
        return value_need(tables, name, GRAMME_LIST);
    }
    struct gramme_value *place = value_need(tables, name, GRAMME_MAP);
    if (gramme_value_count(place) == 0) {
        copy_others(place, table, "Keys");
    }
    return value_need(place, "Keys", GRAMME_LIST);
}

/* Returns the next call, or NULL: no entries are left. */
static struct gramme_request *cut_call(struct cutter *cutter)
{
    size_t most = cutter->reads ? KEYS_PER_CALL : WRITES_PER_CALL;
    struct gramme_request *call = NULL;
    const struct gramme_value *table;
    const struct gramme_value *entry;
    for (size_t i = 0; i < most && (entry = next_entry(cutter, &table)) != NULL; i++) {
        if (call == NULL) {
            call = gramme_request_create(cutter->batch->operation, NULL);
            copy_others(call->root, cutter->batch->root, "RequestItems");
        }
        gramme_add_value(place_of(call, cutter, table), entry);
    }
    return call;
}

/* --- sending --- */

static size_t entry_count(const struct gramme_value *tables, bool reads)
{
    size_t count = 0;
    for (size_t i = 0; i < gramme_value_count(tables); i++) {
        const struct gramme_value *table = gramme_value_at(tables, i);
        count += gramme_value_count(reads ? gramme_get(table, "Keys") : table);
    }
    return count;
}

static void append_all(struct gramme_value *list, const struct gramme_value *from)
{
    for (size_t i = 0; i < gramme_value_count(from); i++) {
        gramme_add_value(list, gramme_value_at(from, i));
    }
}

/* Adds the results of a call to those of earlier calls. */
static void gather(struct gramme_value *all, const struct gramme_value *found)
{
    const struct gramme_value *tables = gramme_get(found, "Responses");
    struct gramme_value *responses = value_need(all, "Responses", GRAMME_MAP);
    for (size_t i = 0; i < gramme_value_count(tables); i++) {
        const struct gramme_value *table = gramme_value_at(tables, i);
        append_all(value_need(responses, gramme_value_name(table), GRAMME_LIST), table);
    }
    const struct gramme_value *capacity = gramme_get(found, "ConsumedCapacity");
    if (capacity != NULL) {
        append_all(value_need(all, "ConsumedCapacity", GRAMME_LIST), capacity);
    }
}

/* Sends a call until all its entries are processed; each time it is reduced to the unprocessed
 * ones. */
static bool send_until_done(struct gramme_db *db, struct gramme_request *call, bool reads,
                            struct gramme_value *all, struct gramme_error **error)
{
    const char *unprocessed = reads ? "UnprocessedKeys" : "UnprocessedItems";
    size_t left = entry_count(gramme_get(call->root, "RequestItems"), reads);
    for (int fruitless = 0; fruitless < FRUITLESS_MAX;) {
        struct gramme_answer *answer = gramme_send(db, call, error);
        if (answer == NULL) {
            return false;
        }
        gather(all, gramme_answer_root(answer));
        const struct gramme_value *rest = gramme_get(gramme_answer_root(answer), unprocessed);
        size_t rest_count = entry_count(rest, reads);
        gramme_set_value(call->root, "RequestItems", rest);
        gramme_answer_destroy(answer);
        if (rest_count == 0) {
            return true;
        }
        fruitless = rest_count < left ? 0 : fruitless + 1;
        left = rest_count;
        retry_wait_ms(retry_delay_ms(&db->quota, RETRY_TRANSIENT, fruitless + 1, -1));
    }
    error_set(error, GRAMME_THROUGHPUT_EXCEEDED, "%zu entries of a batch were not processed", left);
    return false;
}

/* Writes the merged answer as JSON, for gramme_answer_json(). */
static void write_json(struct gramme_answer *answer)
{
    const char *problem;
    value_write(&answer->json, answer->tree->root, GRAMME_WIRE, &problem);
    assert(problem == NULL);
    buf_add_char(&answer->json, '\0');
    answer->json.len--;
}

/* Sends the whole batch. Returns the combined results. */
static struct gramme_answer *send_batch(struct gramme_db *db, const char *operation,
                                        const struct gramme_request *batch,
                                        struct gramme_error **error)
{
    error_clear(error);
    if (!request_is(batch, operation) || batch->tree->problem != NULL) {
        error_set(error, GRAMME_BAD_REQUEST, "%s: %s", batch->operation,
                  batch->tree->problem != NULL ? batch->tree->problem : "not a batch of this kind");
        return NULL;
    }
    struct gramme_answer *all = answer_create();
    struct cutter cutter = cutter_of(batch);
    struct gramme_request *call;
    bool good = true;
    while (good && (call = cut_call(&cutter)) != NULL) {
        good = send_until_done(db, call, cutter.reads, all->tree->root, error);
        gramme_request_destroy(call);
    }
    if (!good) {
        gramme_answer_destroy(all);
        return NULL;
    }
    write_json(all);
    return all;
}

bool gramme_batch_write(struct gramme_db *db, const struct gramme_request *batch,
                        struct gramme_error **error)
{
    struct gramme_answer *answer = send_batch(db, "BatchWriteItem", batch, error);
    bool good = answer != NULL;
    gramme_answer_destroy(answer);
    return good;
}

struct gramme_answer *gramme_batch_read(struct gramme_db *db, const struct gramme_request *batch,
                                        struct gramme_error **error)
{
    return send_batch(db, "BatchGetItem", batch, error);
}
