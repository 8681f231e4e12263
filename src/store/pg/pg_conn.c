/* Connections in libpq's pipeline mode: sends statements, and calls the handler of each with its
 * result, in order. I/O thread only. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/pg_internal.h"

static const char *const names[] = {
#define STATEMENT(name_, sql_) #name_,
#include "store/pg/statements.def"
#undef STATEMENT
};

/* Parameters ------------------------------------------------------------------------------- */

struct param param_int16(struct param_int *memory, int value)
{
    put_u16_be(memory->bytes, (uint16_t)value);
    return (struct param){memory->bytes, 2};
}

struct param param_int32(struct param_int *memory, int32_t value)
{
    put_u32_be(memory->bytes, (uint32_t)value);
    return (struct param){memory->bytes, 4};
}

struct param param_int64(struct param_int *memory, int64_t value)
{
    put_u64_be(memory->bytes, (uint64_t)value);
    return (struct param){memory->bytes, 8};
}

static void add_u32(struct buf *buf, uint32_t number)
{
    put_u32_be(buf_reserve(buf, 4), number);
    buf_added(buf, 4);
}

/* dimensions, has nulls, type (17: bytea), length, first index, then length and bytes of each */
struct param param_array(struct buf *memory, const struct str *values, size_t count)
{
    memory->len = 0;
    add_u32(memory, 1);
    add_u32(memory, 0);
    add_u32(memory, 17);
    add_u32(memory, (uint32_t)count);
    add_u32(memory, 1);
    for (size_t i = 0; i < count; i++) {
        add_u32(memory, (uint32_t)values[i].len);
        buf_add(memory, values[i]);
    }
    return (struct param){memory->data, memory->len};
}

/* Faults ----------------------------------------------------------------------------------- */

bool pg_fault_is_due(struct pg *pg, enum pg_fault fault)
{
    unsigned every = atomic_load_explicit(&pg->faults.every[fault], memory_order_relaxed);
    if (LIKELY(every == 0)) {
        return false;
    }
    bool due = (atomic_fetch_add(&pg->faults.chances[fault], 1) + 1) % every == 0;
    if (due) {
        atomic_fetch_add(&pg->faults.counts[fault], 1);
    }
    return due;
}

/* What was sent --------------------------------------------------------------------------- */

static void push(struct conn *conn, struct pending pending)
{
    if (conn->pending_count == conn->pending_capacity) {
        size_t capacity = MAX(conn->pending_capacity * 2, (size_t)64);
        struct pending *bigger = mem_alloc(capacity * sizeof(*bigger));
        for (size_t i = 0; i < conn->pending_count; i++) {
            bigger[i] = conn->pendings[(conn->pending_first + i) % conn->pending_capacity];
        }
        mem_free(conn->pendings);
        conn->pendings = bigger;
        conn->pending_first = 0;
        conn->pending_capacity = capacity;
    }
    if (conn->pending_count == 0) {
        conn->answered_ns = clock_monotonic_ns();
    }
    conn->pendings[(conn->pending_first + conn->pending_count++) % conn->pending_capacity] =
        pending;
}

static struct pending pop(struct conn *conn)
{
    assert(conn->pending_count > 0);
    struct pending pending = conn->pendings[conn->pending_first];
    conn->pending_first = (conn->pending_first + 1) % conn->pending_capacity;
    conn->pending_count--;
    return pending;
}

void conn_send(struct conn *conn, enum statement statement, const struct param *params,
               size_t count, pg_handler *handle, void *owner, size_t tag)
{
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    assert(count <= PG_PARAMS_MAX);
    for (size_t i = 0; i < count; i++) {
        values[i] = params[i].data;
        lengths[i] = (int)params[i].len;
        formats[i] = 1;
    }
    push(conn, (struct pending){.handle = handle, .owner = owner, .tag = tag});
    conn->needs_sync = true;
    if (conn->state == CONN_UP) { /* else it was lost, and the handlers will get NULL */
        (void)PQsendQueryPrepared(conn->pq, names[statement], (int)count, values, lengths, formats,
                                  1);
    }
}

void conn_sync(struct conn *conn)
{
    push(conn, (struct pending){.is_sync = true});
    conn->needs_sync = false;
    if (conn->state == CONN_UP) {
        (void)PQpipelineSync(conn->pq);
    }
}

void conn_lose(struct conn *conn)
{
    if (conn->state == CONN_DOWN) {
        return;
    }
    conn->state = CONN_DOWN;
    if (!atomic_load(&conn->pg->closing)) {
        struct str message = str_from_c(PQerrorMessage(conn->pq));
        struct str reason = message.len > 0 ? str_make(message.data, message.len - 1)
                                            : STR("it did not answer, or its state was not known");
        log_write(LOG_WARN, "store", "a connection to PostgreSQL was lost: %.*s", STR_ARG(reason));
    }
    PQfinish(conn->pq);
    conn->pq = NULL;
    size_t count = conn->pending_count; /* statements that handlers send now are lost as well */
    while (count > 0 || conn->pending_count > 0) {
        struct pending pending = pop(conn);
        count -= count > 0;
        if (!pending.is_sync) {
            pending.handle(conn, pending.owner, pending.tag, NULL);
        }
    }
    if (conn->group != NULL && conn->group->phase == GROUP_EVALUATING) {
        conn->group->is_lost = true; /* no statement of it was pending */
    }
    conn->needs_sync = false;
    conn->wants_write = false;
    conn_open(conn);
}

void conn_flush(struct conn *conn)
{
    if (conn->state != CONN_UP) {
        return;
    }
    if (conn->needs_sync) {
        conn_sync(conn);
    }
    int left = PQflush(conn->pq);
    if (left < 0 || PQstatus(conn->pq) == CONNECTION_BAD) {
        conn_lose(conn);
        return;
    }
    conn->wants_write = left > 0;
}

static void take_result(struct conn *conn, PGresult *result)
{
    bool is_sync = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    bool is_made_up = PQresultStatus(result) == PGRES_FATAL_ERROR && *pg_state(result) == '\0';
    if (conn->pendings[conn->pending_first].is_sync != is_sync || is_made_up) {
        /* The server ends the session, or libpq reports that the connection is broken: this is not
         * the result of a statement. */
        PQclear(result);
        conn_lose(conn);
        return;
    }
    struct pending pending = pop(conn);
    if (is_sync) {
        PQclear(result);
        return;
    }
    pending.handle(conn, pending.owner, pending.tag, result);
}

/* libpq returns NULL between the results of two statements. */
void conn_receive(struct conn *conn)
{
    if (!PQconsumeInput(conn->pq)) {
        conn_lose(conn);
        return;
    }
    conn->answered_ns = clock_monotonic_ns();
    int nulls = 0;
    while (conn->state == CONN_UP && conn->pending_count > 0 && !PQisBusy(conn->pq) && nulls < 2) {
        PGresult *result = PQgetResult(conn->pq);
        if (result == NULL) {
            nulls++;
            continue;
        }
        nulls = 0;
        take_result(conn, result);
    }
    if (conn->state == CONN_UP && PQstatus(conn->pq) == CONNECTION_BAD) {
        conn_lose(conn);
    }
}

struct conn *pg_pick_reader(struct pg *pg)
{
    struct conn *best = NULL;
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        if (!conn->is_writer && conn->state == CONN_UP &&
            (best == NULL || conn->pending_count < best->pending_count)) {
            best = conn;
        }
    }
    pg->batch_reader = NULL; /* no get waits behind what the caller sends */
    return best;
}

/* Statements that are sent together cost both sides fewer packets and system calls. */
struct conn *pg_pick_get_reader(struct pg *pg)
{
    struct conn *last = pg->batch_reader;
    if (last != NULL && last->state == CONN_UP && last->needs_sync &&
        pg->batch_count < PG_READ_BATCH) {
        pg->batch_count++;
        return last;
    }
    struct conn *best = pg_pick_reader(pg);
    pg->batch_reader = best;
    pg->batch_count = 1;
    return best;
}
