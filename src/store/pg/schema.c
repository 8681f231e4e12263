/* Connects, and creates and checks the table. Blocks: called by the thread that opens the store, by
 * the connector, and by the thread of members.c. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/pg_internal.h"

static const struct {
    const char *name;
    const char *sql;
} statements[] = {
#define STATEMENT(name_, sql_) {#name_, sql_},
#include "store/pg/statements.def"
#undef STATEMENT
};

/* Settings of a session: plans use the index only, even with old statistics; the plan of SCAN must
 * keep the order of buckets; time-outs end transactions and sessions of a client that is gone,
 * whose locks would keep this process from joining again. */
static const char session_sql[] =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    "SET enable_bitmapscan = off; SET enable_sort = on; SET max_parallel_workers_per_gather = 0;"
    "SET jit = off; SET plan_cache_mode = force_generic_plan; SET synchronous_commit = on;"
    "SET lock_timeout = '1s'; SET statement_timeout = 0;"
    "SET idle_in_transaction_session_timeout = '5s'; SET tcp_keepalives_idle = 5;"
    "SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 10000;"
    "SET bytea_output = 'hex';"
    "SET client_min_messages = 'warning'";

/* If the table is distributed: plans need the bucket; SET LOCAL reaches the other servers. */
static const char distributed_session_sql[] =
    "SET plan_cache_mode = auto; SET citus.propagate_set_commands = 'local'";

static const char table_sql[] =
    "CREATE SCHEMA IF NOT EXISTS gramme;"
    "CREATE TABLE gramme.kv (b int2 NOT NULL, k bytea NOT NULL, wid int8 NOT NULL,"
    " v bytea NOT NULL, PRIMARY KEY (b, k)) WITH (fillfactor = 85,"
    " autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05,"
    " autovacuum_vacuum_cost_delay = 1, toast.autovacuum_vacuum_scale_factor = 0.02);"
    "ALTER TABLE gramme.kv ALTER v SET STORAGE EXTERNAL, ALTER k SET STORAGE PLAIN;";

/* The largest time that a transaction has had: see TIME in statements.def. */
static const char clock_sql[] = "CREATE SEQUENCE IF NOT EXISTS gramme.clock";

size_t pg_own_key(uint8_t out[OWN_KEY_MAX], enum own_kind kind, struct str name)
{
    memset(out, 0, STORE_SPACE_LEN);
    out[STORE_SPACE_LEN] = (uint8_t)kind;
    assert(name.len <= OWN_KEY_MAX - STORE_SPACE_LEN - 1);
    if (name.len > 0) {
        memcpy(out + STORE_SPACE_LEN + 1, name.data, name.len);
    }
    return STORE_SPACE_LEN + 1 + name.len;
}

const char *pg_state(const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state != NULL ? state : "";
}

/* Waits until PQgetResult() does not block. False: the server has not answered in time. */
static bool wait_for_answer(PGconn *pq, int64_t until_ns)
{
    while (PQisBusy(pq)) {
        int64_t left_ms = (until_ns - clock_monotonic_ns()) / 1000000;
        if (left_ms <= 0) {
            return false;
        }
        struct pollfd fd = {.fd = PQsocket(pq), .events = POLLIN};
        if (poll(&fd, 1, (int)left_ms) > 0 && !PQconsumeInput(pq)) {
            return true; /* PQgetResult() returns the error */
        }
    }
    return true;
}

/* Returns the result of the statement that was sent. If there is none in time, later statements on
 * the connection fail. */
static PGresult *await_result(PGconn *pq)
{
    int64_t until_ns = clock_monotonic_ns() + PG_SILENCE_NS;
    PGresult *last = NULL;
    while (wait_for_answer(pq, until_ns)) {
        PGresult *next = PQgetResult(pq);
        if (next == NULL) {
            return last;
        }
        PQclear(last);
        last = next;
    }
    PQclear(last);
    log_write(LOG_WARN, "store", "PostgreSQL has not answered for %d s",
              (int)(PG_SILENCE_NS / 1000000000));
    return NULL;
}

PGresult *pg_query(PGconn *pq, const char *sql, const struct param *params, size_t count)
{
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    for (size_t i = 0; i < count; i++) {
        values[i] = params[i].data;
        lengths[i] = (int)params[i].len;
        formats[i] = 1;
    }
    if (!PQsendQueryParams(pq, sql, (int)count, NULL, values, lengths, formats, 1)) {
        return PQmakeEmptyPGresult(pq, PGRES_FATAL_ERROR);
    }
    return await_result(pq);
}

/* As pg_query(), for statements without parameters; several are separated by semicolons. */
static PGresult *execute(PGconn *pq, const char *sql)
{
    return PQsendQuery(pq, sql) ? await_result(pq) : PQmakeEmptyPGresult(pq, PGRES_FATAL_ERROR);
}

int pg_run(PGconn *pq, const char *sql, const struct param *params, size_t count)
{
    PGresult *result = pg_query(pq, sql, params, count);
    int rows = -1;
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        rows = atoi(PQcmdTuples(result));
    } else if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        rows = PQntuples(result);
    } else if (result != NULL && strcmp(pg_state(result), "55P03") != 0) {
        log_write(LOG_WARN, "store", "PostgreSQL: %s", PQresultErrorMessage(result));
    }
    PQclear(result);
    return rows;
}

static void note_warning(void *arg, const PGresult *notice)
{
    const char *message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    log_write(LOG_WARN, "store", "PostgreSQL warns: %s", message != NULL ? message : "");
    *(bool *)arg = true;
}

int pg_run_strictly(PGconn *pq, const char *sql, const struct param *params, size_t count)
{
    bool has_warned = false; /* client_min_messages lets nothing pass that is less than a warning */
    PQnoticeReceiver before = PQsetNoticeReceiver(pq, note_warning, &has_warned);
    int rows = pg_run(pq, sql, params, count);
    (void)PQsetNoticeReceiver(pq, before, NULL);
    return has_warned ? -1 : rows;
}

/* Joins the lines of a libpq message: it ends with a line feed, and has a line for each host. */
static struct str one_line(struct err *err, const char *message)
{
    struct str line = arena_copy(err->arena, str_from_c(message));
    while (line.len > 0 && line.data[line.len - 1] == '\n') {
        line.len--;
    }
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == '\n') {
            ((char *)line.data)[i] = ' ';
        }
    }
    return line;
}

static bool set_sql_error(struct err *err, const struct pg *pg, const char *doing, PGconn *pq)
{
    struct str line = one_line(err, PQerrorMessage(pq));
    return err_set(err, ERR_INTERNAL, "PostgreSQL at %s: %s: %.*s", pg->server, doing,
                   STR_ARG(line));
}

/* Sets a clear error for each reason why a connection fails. libpq reports the reason as text only.
 */
static bool set_connect_error(struct err *err, const struct pg *pg, PGconn *pq)
{
    const char *message = PQerrorMessage(pq);
    struct str line = one_line(err, message);
    if (strstr(message, "password authentication failed") != NULL ||
        strstr(message, "no password supplied") != NULL) {
        return err_set(err, ERR_INTERNAL,
                       "PostgreSQL at %s refuses the user or password of the store's URL: %.*s",
                       pg->server, STR_ARG(line));
    }
    if (strstr(message, "database \"") != NULL && strstr(message, "does not exist") != NULL) {
        return err_set(err, ERR_INTERNAL,
                       "PostgreSQL at %s has no such database; create it first (createdb): %.*s",
                       pg->server, STR_ARG(line));
    }
    if (strstr(message, "read-only") != NULL || strstr(message, "not in hot standby") != NULL) {
        return err_set(err, ERR_INTERNAL,
                       "PostgreSQL at %s takes no writes; the store needs the primary: %.*s",
                       pg->server, STR_ARG(line));
    }
    return err_set(err, ERR_INTERNAL, "PostgreSQL at %s cannot be reached: %.*s", pg->server,
                   STR_ARG(line));
}

static bool prepare_all(const struct pg *pg, PGconn *pq, struct err *err)
{
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        if (i == STATEMENT_RECOVER && !pg->is_distributed) {
            continue; /* a function of Citus */
        }
        PGresult *result = PQsendPrepare(pq, statements[i].name, statements[i].sql, 0, NULL)
                               ? await_result(pq)
                               : NULL;
        bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;
        const char *problem = result != NULL ? "the table gramme.kv is not one of this version"
                                             : "a session cannot be set up";
        PQclear(result);
        if (!ok) {
            return set_sql_error(err, pg, problem, pq);
        }
    }
    return true;
}

static bool run(PGconn *pq, const char *sql)
{
    PGresult *result = execute(pq, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool make_ready(const struct pg *pg, PGconn *pq, bool is_pipelined, struct err *err)
{
    if (PQstatus(pq) != CONNECTION_OK) {
        return set_connect_error(err, pg, pq);
    }
    if (PQserverVersion(pq) < PG_VERSION_MIN) {
        return err_set(err, ERR_INTERNAL, "PostgreSQL at %s is version %d; 13 or newer is needed",
                       pg->server, PQserverVersion(pq) / 10000);
    }
    if (!run(pq, session_sql) || (pg->is_distributed && !run(pq, distributed_session_sql))) {
        return set_sql_error(err, pg, "a session cannot be set up", pq);
    }
    return !is_pipelined || (prepare_all(pg, pq, err) && PQenterPipelineMode(pq) == 1 &&
                             PQsetnonblocking(pq, 1) == 0);
}

PGconn *pg_connect(struct pg *pg, bool is_pipelined, struct err *err)
{
    PGconn *pq = pg_connect_to_hosts(pg);
    if (!make_ready(pg, pq, is_pipelined, err)) {
        PQfinish(pq);
        return NULL;
    }
    return pq;
}

/* The identity --------------------------------------------------------------------------------- */

enum { IDENTITY_LEN = 4 + 8 }; /* format (u32), seed (u64), then the owner */

static PGresult *read_identity(PGconn *pq, struct str key)
{
    struct param params[] = {param_bytes(key)};
    return pg_query(pq, "SELECT v FROM gramme.kv WHERE b = 73 AND k = $1::bytea", params, 1);
}

static bool is_true(PGconn *pq, const char *sql)
{
    PGresult *result = execute(pq, sql);
    bool yes = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0 &&
               *PQgetvalue(result, 0, 0) == 't';
    PQclear(result);
    return yes;
}

/* Runs a statement with the identity row as its second parameter: `seed` and `owner`. */
static bool store_identity(struct pg *pg, PGconn *pq, const char *sql, struct str key,
                           struct err *err)
{
    struct buf row = {0};
    put_u32_be(buf_reserve(&row, IDENTITY_LEN), PG_FORMAT);
    put_u64_be(row.data + 4, pg->store.seed);
    buf_added(&row, IDENTITY_LEN);
    buf_add(&row, pg->store.owner);
    struct param params[] = {param_bytes(key), param_bytes(buf_str(&row))};
    PGresult *result = pg_query(pq, sql, params, 2);
    bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    buf_finish(&row);
    return ok || set_sql_error(err, pg, "the table gramme.kv cannot be written", pq);
}

static void set_owner(struct pg *pg, struct str owner)
{
    pg->owner.len = 0;
    buf_add(&pg->owner, owner);
    pg->store.owner = owner.len > 0 ? buf_str(&pg->owner) : STR_NULL;
}

static bool create_identity(struct pg *pg, PGconn *pq, struct str key,
                            const struct store_options *options, struct err *err)
{
    pg->store.seed = options->seed;
    if (options->seed == 0) {
        random_system(&pg->store.seed, sizeof(pg->store.seed));
    }
    set_owner(pg, options->claims ? options->owner : STR_NULL);
    return store_identity(pg, pq, "INSERT INTO gramme.kv VALUES (73, $1::bytea, 0, $2::bytea)", key,
                          err);
}

static bool check_identity(struct pg *pg, struct str row, struct str owner, struct err *err)
{
    uint32_t format = row.len < IDENTITY_LEN ? 0 : get_u32_be(row.data);
    if (format != PG_FORMAT && format != PG_FORMAT_WITHOUT_HISTORY) {
        return err_set(err, ERR_INTERNAL,
                       "PostgreSQL at %s: the table gramme.kv was made by another version of "
                       "Gramme (format %u, this is %d)",
                       pg->server, format, PG_FORMAT);
    }
    pg->store.seed = get_u64_be(row.data + 4);
    struct str stored = str_skip(row, IDENTITY_LEN);
    if (owner.len > 0 && stored.len > 0 && !str_eq(owner, stored)) {
        return err_set(err, ERR_INTERNAL,
                       "PostgreSQL at %s: the store belongs to account and region %.*s, not %.*s",
                       pg->server, STR_ARG(stored), STR_ARG(owner));
    }
    return true;
}

/* Takes over the stored identity, and stores what changes: the owner of a store that had none, and
 * the format. Format 2 differs from 1 by its number only, so that servers which do not write
 * histories refuse the store. Runs in the transaction that has read the row. */
static bool renew_identity(struct pg *pg, PGconn *pq, struct str key, struct str row,
                           const struct store_options *options, struct err *err)
{
    struct str stored = str_skip(row, IDENTITY_LEN);
    bool is_old = get_u32_be(row.data) != PG_FORMAT;
    bool is_claimed = stored.len == 0 && options->claims && options->owner.len > 0;
    set_owner(pg, is_claimed ? options->owner : stored);
    if (!is_old && !is_claimed) {
        return true;
    }
    if (!store_identity(pg, pq, "UPDATE gramme.kv SET v = $2::bytea WHERE b = 73 AND k = $1::bytea",
                        key, err)) {
        return false;
    }
    if (is_old) {
        log_write(LOG_INFO, "store", "the store in PostgreSQL at %s was upgraded to format %d",
                  pg->server, PG_FORMAT);
    }
    return true;
}

static bool load_identity(struct pg *pg, PGconn *pq, const struct store_options *options,
                          struct err *err)
{
    uint8_t key[OWN_KEY_MAX];
    struct str name = str_make(key, pg_own_key(key, OWN_IDENTITY, STR("")));
    PGresult *result = read_identity(pq, name);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    if (!ok) {
        ok = set_sql_error(err, pg, "the table gramme.kv cannot be read", pq);
    } else if (PQntuples(result) > 0) {
        struct str row = str_make(PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
        ok = check_identity(pg, row, options->owner, err) &&
             renew_identity(pg, pq, name, row, options, err);
    } else if (is_true(pq, "SELECT true FROM gramme.kv LIMIT 1")) {
        ok = err_set(err, ERR_INTERNAL,
                     "PostgreSQL at %s: the table gramme.kv holds rows of something else",
                     pg->server);
    } else {
        ok = create_identity(pg, pq, name, options, err);
    }
    PQclear(result);
    return ok;
}

/* Whether Citus spreads the table over several servers. */
static bool is_spread(PGconn *pq)
{
    return is_true(pq, "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL") &&
           is_true(pq, "SELECT true FROM pg_catalog.pg_dist_partition "
                       "WHERE logicalrelid = to_regclass('gramme.kv')");
}

/* Finds out whether the table is to be used as one that is distributed: if the setting
 * gramme.distributed says so. Refuses one that is distributed without it. */
static bool check_distributed(struct pg *pg, PGconn *pq, struct err *err)
{
    pg->is_distributed = is_true(pq, "SELECT current_setting('gramme.distributed', true) = 'on'");
    if (!pg->is_distributed && is_spread(pq)) {
        return err_set(err, ERR_VALIDATION,
                       "the table gramme.kv on %s is distributed by Citus, which this version was "
                       "not tried with; to use it all the same: ALTER DATABASE ... SET "
                       "gramme.distributed = on",
                       pg->server);
    }
    return !pg->is_distributed || run(pq, distributed_session_sql) ||
           set_sql_error(err, pg, "a session cannot be set up", pq);
}

/* The sequence may be missing in a store of an earlier version. */
static bool check_clock(const struct pg *pg, PGconn *pq, struct err *err)
{
    if (!is_true(pq, "SELECT to_regclass('gramme.clock') IS NOT NULL") && !run(pq, clock_sql)) {
        return set_sql_error(err, pg,
                             "the sequence gramme.clock is missing and cannot be created; start "
                             "one server with the role that owns the schema",
                             pq);
    }
    return is_true(pq, "SELECT has_sequence_privilege('gramme.clock', 'UPDATE')") ||
           err_set(err, ERR_INTERNAL,
                   "PostgreSQL at %s: the role lacks a right: GRANT UPDATE ON SEQUENCE "
                   "gramme.clock TO it",
                   pg->server);
}

/* Takes a lock, so that servers which start at the same time create the table one after the other.
 */
bool pg_check_schema(struct pg *pg, PGconn *pq, const struct store_options *options,
                     struct err *err)
{
    if (!check_distributed(pg, pq, err)) {
        return false;
    }
    if (!run(pq, "BEGIN") || !run(pq, "SELECT pg_advisory_xact_lock(7165)")) {
        return set_sql_error(err, pg, "a transaction cannot be started", pq);
    }
    bool exists = is_true(pq, "SELECT to_regclass('gramme.kv') IS NOT NULL");
    bool ok = exists || run(pq, table_sql) ||
              set_sql_error(err, pg, "the table gramme.kv is missing and cannot be created", pq);
    ok = ok && check_clock(pg, pq, err) && load_identity(pg, pq, options, err);
    if (!run(pq, ok ? "COMMIT" : "ROLLBACK") && ok) {
        ok = set_sql_error(err, pg, "the table cannot be written", pq);
    }
    return ok && prepare_all(pg, pq, err);
}

bool pg_load_drops(struct pg *pg, PGconn *pq, struct err *err)
{
    PGresult *result = pg_query(
        pq, "SELECT k FROM gramme.kv WHERE b = 68 AND k >= '\\x0000000044' AND k < '\\x0000000045'",
        NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    for (int i = 0; ok && i < PQntuples(result); i++) {
        space_set_add(&pg->gone, get_u32_be(PQgetvalue(result, i, 0) + STORE_SPACE_LEN + 1));
    }
    PQclear(result);
    return ok || set_sql_error(err, pg, "the dropped spaces cannot be read", pq);
}
