/* Evaluates the updates of a group one after the other, each with the rows that the previous ones
 * have left, and sends the final state of every changed row. Evaluates on the I/O or the slow
 * thread, sends on the I/O thread. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/batch_internal.h"
#include "store/pg/pg_internal.h"

/* Evaluating ------------------------------------------------------------------------------- */

static void set_row(struct group *group, struct str key, struct str value)
{
    struct group_row *row = group_row_of(group, key);
    row->value = value;
    row->is_changed = true;
}

static void add_to_counter(struct group *group, struct str key, struct store_count delta)
{
    struct store_count *sum = map_get(&group->added, key);
    if (sum == NULL) {
        sum = mem_zalloc(sizeof(*sum));
        map_put(&group->added, key, sum);
    }
    sum->count += delta.count;
    sum->bytes += delta.bytes;
}

static void note_append(struct group *group, const struct batch_op *op)
{
    if (group->appended_count == group->appended_capacity) {
        group->appended_capacity = MAX(group->appended_capacity * 2, (size_t)16);
        group->appended =
            mem_realloc(group->appended, group->appended_capacity * sizeof(*group->appended));
    }
    group->appended[group->appended_count] = (struct appended){
        .log = op->log,
        .prefix = op->key,
        .value = op->value,
        .is_advance = op->kind == BATCH_ADVANCE,
        .stamp = op->stamp,
        .order = group->appended_count,
    };
    group->appended_count++;
}

static void note_erased_counter(struct group *group, struct str key)
{
    if (group->erased_count == group->erased_capacity) {
        group->erased_capacity = MAX(group->erased_capacity * 2, (size_t)16);
        group->erased_counters =
            mem_realloc(group->erased_counters, group->erased_capacity * sizeof(struct str));
    }
    group->erased_counters[group->erased_count++] = key;
}

static void carry_out(struct group *group, const struct batch_op *op)
{
    if (UNLIKELY(space_set_has(&group->pg->gone, store_key_space(op->key)))) {
        return;
    }
    switch (op->kind) {
    case BATCH_PUT:
    case BATCH_PUT_OWNED:
        set_row(group, op->key, op->value);
        break;
    case BATCH_ERASE:
    case BATCH_ERASE_OWNED:
        set_row(group, op->key, STR_NULL);
        break;
    case BATCH_ADD:
        add_to_counter(group, op->key, op->delta);
        break;
    case BATCH_ERASE_COUNTER:
        note_erased_counter(group, op->key);
        break;
    case BATCH_APPEND:
    case BATCH_ADVANCE:
        note_append(group, op);
        break;
    }
}

/* Whether all keys are short enough for the primary key of the table. */
static bool fits(const struct store_batch *batch)
{
    for (size_t i = 0; i < batch->op_count; i++) {
        if (batch->ops[i].key.len > PG_KEY_MAX) {
            return false;
        }
    }
    return true;
}

static bool evaluate(struct group *group, struct store_update *update, struct store_batch *batch,
                     struct str *rows)
{
    for (size_t i = 0; i < update->key_count; i++) {
        const struct group_row *row = map_get(&group->by_key, update->keys[i]);
        rows[i] = row->value;
    }
    store_batch_start(batch, update);
    return update->eval(update, rows, batch);
}

void group_evaluate(struct group *group)
{
    struct store_batch batch = {0};
    struct str *rows = NULL;
    for (size_t i = 0; i < group->job_count; i++) {
        struct update_job *job = group->jobs[i];
        rows = mem_realloc(rows, (job->update->key_count + 1) * sizeof(*rows));
        job->update->time_ns = group->time_ns + (int64_t)i;
        bool writes = evaluate(group, job->update, &batch, rows);
        group->outcomes[i] = writes ? STORE_OK : STORE_NO_WRITE;
        if (writes && !fits(&batch)) {
            log_write(LOG_ERROR, "store", "a key of more than %d bytes does not fit the index",
                      PG_KEY_MAX);
            group->outcomes[i] = STORE_FAILED;
            continue;
        }
        for (size_t k = 0; writes && k < batch.op_count; k++) {
            carry_out(group, &batch.ops[k]);
        }
    }
    mem_free(rows);
    store_batch_finish(&batch);
}

/* Sending ---------------------------------------------------------------------------------- */

static void send(struct group *group, enum statement statement, const struct param *params,
                 size_t count, pg_handler *handle)
{
    group->outstanding++;
    conn_send(group->conn, statement, params, count, handle, group, 0);
}

/* Sends the final state of a row. A row that was locked as absent and is not written is deleted. */
static void send_row(struct group *group, const struct group_row *row, pg_handler *handle)
{
    bool is_locked = row->is_declared;
    bool is_absent = str_is_null(row->value);
    bool is_there = is_locked || !is_absent; /* the table has a row, possibly only for the lock */
    if (!row->is_changed && (!is_locked || row->was_present)) {
        return;
    }
    struct param_int bucket;
    struct param_int wid;
    struct param params[] = {param_int16(&bucket, pg_bucket(row->key)), param_bytes(row->key),
                             param_int64(&wid, group->wid), param_bytes(row->value)};
    if (is_absent) {
        send(group, STATEMENT_DELETE, params, 2, handle);
    } else if (is_locked && is_there) {
        send(group, STATEMENT_UPDATE, params, 4, handle);
    } else {
        send(group, STATEMENT_PUT, params, 4, handle);
    }
}

static size_t counter_key(uint8_t out[OWN_KEY_MAX], const struct conn *conn, struct str key)
{
    size_t len = pg_own_key(out, OWN_COUNTER, key);
    put_u64_be(out + len, conn->member);
    put_u16_be(out + len + 8, (uint16_t)conn->number);
    put_u32_be(out + len + 10, conn->counter_slot);
    return len + PG_COUNTER_SLOT_LEN;
}

/* Only this writer writes the rows of its slot, so it knows their values. */
static void send_counters(struct group *group, pg_handler *handle)
{
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(&group->added, &at, &key, &value)) {
        const struct store_count *delta = value;
        const struct store_count *before = map_get(&group->conn->counters, key);
        struct store_count sum = {.count = delta->count + (before != NULL ? before->count : 0),
                                  .bytes = delta->bytes + (before != NULL ? before->bytes : 0)};
        uint8_t row_key[OWN_KEY_MAX];
        size_t len = counter_key(row_key, group->conn, key);
        struct param_int bucket;
        struct param_int wid;
        struct param params[] = {param_int16(&bucket, OWN_COUNTER),
                                 {row_key, len},
                                 param_int64(&wid, group->wid),
                                 {&sum, sizeof(sum)}};
        send(group, STATEMENT_PUT, params, 4, handle);
    }
}

void group_note_counters(struct group *group)
{
    struct map *counters = &group->conn->counters;
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(&group->added, &at, &key, &value)) {
        const struct store_count *delta = value;
        struct store_count *sum = map_get(counters, key);
        if (sum == NULL) {
            sum = mem_zalloc(sizeof(*sum));
            map_put(counters, key, sum);
        }
        sum->count += delta->count;
        sum->bytes += delta->bytes;
    }
    for (size_t i = 0; i < group->erased_count; i++) {
        mem_free(map_remove(counters, group->erased_counters[i]));
    }
}

static void send_erased_counters(struct group *group, pg_handler *handle)
{
    for (size_t i = 0; i < group->erased_count; i++) {
        uint8_t key[OWN_KEY_MAX];
        uint8_t end[OWN_KEY_MAX];
        size_t len = pg_own_key(key, OWN_COUNTER, group->erased_counters[i]);
        memcpy(end, key, len);
        memset(end + len, 0xFF, 16);
        struct param_int bucket;
        struct param params[] = {param_int16(&bucket, OWN_COUNTER), {key, len}, {end, len + 16}};
        send(group, STATEMENT_DELETE_RANGE, params, 3, handle);
    }
}

/* Orders by log, then by the order of the evals. */
static int appended_cmp(const void *a, const void *b)
{
    const struct appended *left = a;
    const struct appended *right = b;
    int order = str_cmp(left->log, right->log);
    return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

static bool is_same_run(const struct appended *a, const struct appended *b)
{
    return str_eq(a->log, b->log) && str_eq(a->prefix, b->prefix) && !a->is_advance &&
           !b->is_advance;
}

static void send_run(struct group *group, const struct appended *first, size_t count,
                     struct buf *memory, pg_handler *handle)
{
    uint8_t key[OWN_KEY_MAX];
    size_t len = pg_own_key(key, OWN_HEAD, first->log);
    struct param_int numbers[3];
    if (first->is_advance) {
        struct param params[] = {param_int16(&numbers[0], OWN_HEAD),
                                 {key, len},
                                 param_bytes(first->prefix),
                                 param_int64(&numbers[1], (int64_t)first->stamp)};
        send(group, STATEMENT_ADVANCE, params, 4, handle);
        return;
    }
    struct str *values = mem_alloc(count * sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        values[i] = first[i].value;
    }
    struct param params[] = {
        param_int16(&numbers[0], OWN_HEAD),   {key, len},
        param_bytes(first->prefix),           param_int64(&numbers[1], (int64_t)count),
        param_int64(&numbers[2], group->wid), param_array(memory, values, count),
    };
    send(group, STATEMENT_APPEND, params, 6, handle);
    mem_free(values);
}

void group_sort_appended(struct group *group)
{
    if (group->appended_count > 1) {
        qsort(group->appended, group->appended_count, sizeof(*group->appended), appended_cmp);
    }
}

/* Locks the heads of logs last and in order, so that stamps grow in the order of commits. */
static void send_appended(struct group *group, pg_handler *handle)
{
    struct appended *appended = group->appended;
    size_t count = group->appended_count;
    group_sort_appended(group);
    struct buf memory = {0};
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && is_same_run(&appended[first], &appended[next]);) {
            next++;
        }
        send_run(group, &appended[first], next - first, &memory, handle);
    }
    buf_finish(&memory);
}

static void send_drops(struct group *group, pg_handler *handle)
{
    enum { KEY_LEN = STORE_SPACE_LEN + 1 + STORE_SPACE_LEN };
    struct str *keys = mem_alloc(group->drop_count * sizeof(*keys));
    uint8_t *bytes = mem_alloc(group->drop_count * KEY_LEN);
    for (size_t i = 0; i < group->drop_count; i++) {
        uint8_t key[OWN_KEY_MAX];
        uint8_t space[STORE_SPACE_LEN];
        put_u32_be(space, group->drops[i]);
        pg_own_key(key, OWN_DROPPED, str_make(space, sizeof(space)));
        memcpy(bytes + i * KEY_LEN, key, KEY_LEN);
        keys[i] = str_make(bytes + i * KEY_LEN, KEY_LEN);
    }
    struct buf memory = {0};
    if (group->pg->is_distributed) {
        for (size_t i = 0; i < group->drop_count; i++) {
            struct param params[] = {param_bytes(keys[i])};
            send(group, STATEMENT_DROP_ONE, params, 1, handle);
        }
    } else {
        struct param params[] = {param_array(&memory, keys, group->drop_count)};
        send(group, STATEMENT_DROP, params, 1, handle);
    }
    buf_finish(&memory);
    mem_free(bytes);
    mem_free(keys);
}

static bool wants_write(const struct group *group)
{
    for (size_t i = 0; i < group->job_count; i++) {
        if (group->outcomes[i] == STORE_OK) {
            return true;
        }
    }
    return group->drop_count > 0;
}

bool group_send_writes(struct group *group, pg_handler *handle)
{
    if (!wants_write(group)) {
        return false;
    }
    group->outstanding = 0;
    for (size_t i = 0; i < group->row_count; i++) {
        send_row(group, group->rows[i], handle);
    }
    send_counters(group, handle);
    send_erased_counters(group, handle);
    if (group->drop_count > 0) {
        send_drops(group, handle);
    }
    if (!group->pg->is_distributed) { /* else they follow, when their heads were read */
        send_appended(group, handle);
    }
    return true;
}
