/* Opens and closes the store on PostgreSQL, on the caller's thread: parses the URL, connects,
 * checks the table, joins as a member, and starts the I/O, connector and slow threads. Closing
 * waits until no request is under way. Also the functions by which tests let connections and
 * commits fail. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/pg_internal.h"

static void wake_io(struct mailbox *box)
{
    struct pg *pg = CONTAINER_OF(box, struct pg, box);
    uint64_t one = 1;
    ssize_t written = write(pg->wake_fd, &one, sizeof(one));
    (void)written; /* a full eventfd has woken the thread already */
}

/* Returns hosts, ports and database of the URL for messages, without user and password. */
static char *describe_server(const char *conninfo)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &message);
    const char *host = NULL;
    const char *port = NULL;
    const char *database = NULL;
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL;
         option++) {
        host = strcmp(option->keyword, "host") == 0 ? option->val : host;
        port = strcmp(option->keyword, "port") == 0 ? option->val : port;
        database = strcmp(option->keyword, "dbname") == 0 ? option->val : database;
    }
    struct buf text = {0};
    buf_format(&text, "%s:%s/%s", host != NULL ? host : "localhost", port != NULL ? port : "5432",
               database != NULL ? database : "");
    PQconninfoFree(options);
    PQfreemem(message);
    return text.data;
}

/* Whether a part of the URL has an @ that is not the first character of a host. */
static bool has_stray_at(const char *part)
{
    const char *at = part;
    while (at != NULL && (at = strchr(at, '@')) != NULL && (at == part || at[-1] == ',')) {
        at++;
    }
    return at != NULL;
}

/* Refuses a URL whose password has a / or @: libpq takes the rest of the password for a host or a
 * database, and messages would show it. */
static bool check_options(const PQconninfoOption *options, struct err *err)
{
    bool is_stray = false;
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        bool is_shown =
            strcmp(option->keyword, "host") == 0 || strcmp(option->keyword, "dbname") == 0;
        is_stray = is_stray || (is_shown && has_stray_at(option->val));
    }
    return !is_stray || err_set(err, ERR_VALIDATION,
                                "the user or password in the store's URL has characters that must "
                                "be encoded: write / as %%2F and @ as %%40");
}

/* Whether libpq's message about a URL cannot hold a part of its password: it names a parameter, and
 * the parameters hold neither a password nor the end of one, which is an @. */
static bool is_safe_to_show(const char *message, const char *conninfo)
{
    const char *authority = strstr(conninfo, "//");
    const char *end = authority != NULL ? strpbrk(authority + 2, "@/") : NULL;
    const char *host = end != NULL && *end == '@' ? end + 1 : authority;
    const char *parameters = host != NULL ? strchr(host, '?') : NULL;
    return parameters != NULL && strchr(parameters, '@') == NULL &&
           strstr(parameters, "password") == NULL &&
           strstr(message, "invalid URI query parameter") != NULL;
}

static bool check_url(const char *conninfo, struct err *err)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &message);
    bool ok = options != NULL && check_options(options, err);
    if (options == NULL && message != NULL && is_safe_to_show(message, conninfo)) {
        err_set(err, ERR_VALIDATION, "the store's URL is not valid: %.*s",
                (int)strcspn(message, "\n"), message);
    } else if (options == NULL) {
        err_set(err, ERR_VALIDATION,
                "the store's URL is not valid; in a user or password %% must be written as %%25, / "
                "as %%2F and @ as %%40");
    }
    PQconninfoFree(options);
    PQfreemem(message);
    return ok;
}

/* libpq wants a URL with a scheme, which happens to be the prefix that stores.def cuts off. */
static struct pg *create(struct str rest)
{
    struct pg *pg = mem_zalloc(sizeof(*pg));
    struct buf url = {0};
    buf_format(&url, "postgresql:%.*s", STR_ARG(rest));
    pg->conninfo = url.data;
    pg->store.key_len_max = PG_KEY_MAX;
    random_init(&pg->random);
    mailbox_init(&pg->box, wake_io);
    pg->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pg->connector_box = waiting_mailbox_create();
    pg->slow_box = waiting_mailbox_create();
    pthread_mutex_init(&pg->settle_mutex, NULL);
    map_init(&pg->busy);
    space_set_init(&pg->gone);
    pg->conn_count = PG_CONNS_DEFAULT;
    for (int i = 0; i < PG_CONNS_MAX; i++) {
        struct conn *conn = &pg->conns[i];
        conn->pg = pg;
        conn->number = i;
        conn->is_writer = i % 2 == 0;
        map_init(&conn->counters);
    }
    return pg;
}

static void finish_conn(struct conn *conn)
{
    PQfinish(conn->pq);
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(&conn->counters, &at, &key, &value)) {
        mem_free(value);
    }
    map_finish(&conn->counters);
    mem_free(conn->pendings);
}

static void destroy(struct pg *pg)
{
    for (int i = 0; i < PG_CONNS_MAX; i++) {
        finish_conn(&pg->conns[i]);
    }
    space_set_finish(&pg->gone);
    map_finish(&pg->busy);
    pthread_mutex_destroy(&pg->settle_mutex);
    waiting_mailbox_destroy(pg->slow_box);
    waiting_mailbox_destroy(pg->connector_box);
    close(pg->wake_fd);
    mem_free(pg->drops);
    buf_finish(&pg->owner);
    mem_free(pg->server);
    mem_free(pg->conninfo);
    mem_free(pg);
}

static void do_nothing(struct task *task)
{
    (void)task;
}

/* Waits for requests, then stops the I/O thread, the connector and the slow thread, and leaves. */
static void pg_close(struct store *store)
{
    struct pg *pg = pg_of(store);
    struct task wake_connector = {.run = do_nothing};
    struct task wake_slow = {.run = do_nothing};
    while (pg->io_started && atomic_load(&pg->under_way) > 0) {
        usleep(1000);
    }
    atomic_store(&pg->close_by_ns, clock_monotonic_ns() + (int64_t)3 * 1000 * 1000 * 1000);
    atomic_store(&pg->closing, true);
    if (pg->io_started) {
        wake_io(&pg->box);
        pthread_join(pg->io_thread, NULL);
    }
    if (pg->connector_started) {
        mailbox_post(waiting_mailbox_box(pg->connector_box), &wake_connector);
        pthread_join(pg->connector, NULL);
    }
    if (pg->slow_started) {
        mailbox_post(waiting_mailbox_box(pg->slow_box), &wake_slow);
        pthread_join(pg->slow, NULL);
    }
    members_close(pg);
    destroy(pg);
}

static bool start(pthread_t *thread, bool *started, void *(*main)(void *), struct pg *pg,
                  const char *name, struct err *err)
{
    *started = pthread_create(thread, NULL, main, pg) == 0;
    if (!*started) {
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
    }
    pthread_setname_np(*thread, name);
    return true;
}

static bool start_threads(struct pg *pg, struct err *err)
{
    if (!start(&pg->connector, &pg->connector_started, pg_connector_main, pg, "pg-connect", err) ||
        !start(&pg->slow, &pg->slow_started, pg_slow_main, pg, "pg-slow", err) ||
        !start(&pg->io_thread, &pg->io_started, pg_io_main, pg, "pg-io", err)) {
        return false;
    }
    for (int i = 0; i < pg->conn_count; i++) {
        conn_open(&pg->conns[i]);
    }
    return true;
}

static const struct store_ops pg_ops = {
    .close = pg_close,
    .get = pg_get,
    .range = pg_range,
    .update = pg_update,
    .drop_space = pg_drop_space,
    .settle = pg_settle,
    .watch = members_watch,
    .announce = members_announce,
    .slowest = members_slowest,
    .is_leader = members_is_leader,
    .leads_transfers = members_leads_transfers,
    .may_serve = members_store_may_serve,
};

/* Checks the URL and takes from it what is not for libpq. */
static bool take_url(struct pg *pg, struct err *err)
{
    bool ok = pg_take_pool(pg, err) && check_url(pg->conninfo, err);
    pg->server = describe_server(pg->conninfo);
    return ok;
}

static bool check_database(struct pg *pg, const struct store_options *options, struct err *err)
{
    PGconn *pq = pg_connect(pg, false, err);
    bool ok = pq != NULL && pg_check_schema(pg, pq, options, err) && pg_load_drops(pg, pq, err);
    PQfinish(pq);
    return ok;
}

bool pg_open(struct str rest, const struct store_options *options, struct store **out,
             struct err *err)
{
    struct pg *pg = create(rest);
    pg->store.ops = &pg_ops;
    pg->does_transfers = options->does_transfers;
    if (!take_url(pg, err) || !check_database(pg, options, err) || !members_open(pg, err) ||
        !start_threads(pg, err)) {
        pg_close(&pg->store);
        return false;
    }
    *out = &pg->store;
    return true;
}

/* For tests --------------------------------------------------------------------------------- */

void pg_fault_every(struct store *store, enum pg_fault fault, uint32_t nth)
{
    struct pg *pg = pg_of(store);
    atomic_store(&pg->faults.chances[fault], 0);
    atomic_store(&pg->faults.every[fault], nth);
}

uint64_t pg_fault_count(struct store *store, enum pg_fault fault)
{
    return atomic_load(&pg_of(store)->faults.counts[fault]);
}

int64_t pg_count_rows(struct store *store, uint32_t space)
{
    struct pg *pg = pg_of(store);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    PGconn *pq = pg_connect(pg, false, &err);
    if (pq == NULL) {
        log_write(LOG_WARN, "store", "%.*s", STR_ARG(err.message));
    }
    arena_finish(&arena);
    if (pq == NULL) {
        return -1;
    }
    uint8_t lo[STORE_SPACE_LEN];
    uint8_t hi[STORE_SPACE_LEN];
    put_u32_be(lo, space);
    put_u32_be(hi, space + 1);
    const char *values[] = {(const char *)lo, (const char *)hi};
    int lengths[] = {sizeof(lo), sizeof(hi)};
    int formats[] = {1, 1};
    PGresult *result =
        PQexecParams(pq, "SELECT count(*) FROM gramme.kv WHERE k >= $1::bytea AND k < $2::bytea", 2,
                     NULL, values, lengths, formats, 1);
    int64_t count = PQresultStatus(result) == PGRES_TUPLES_OK
                        ? (int64_t)get_u64_be(PQgetvalue(result, 0, 0))
                        : -1;
    PQclear(result);
    PQfinish(pq);
    return count;
}

bool pg_erase_all(struct str rest, struct err *err)
{
    struct pg *pg = create(rest);
    PGconn *pq = take_url(pg, err) ? pg_connect(pg, false, err) : NULL;
    bool ok = pq != NULL;
    if (ok) {
        PGresult *result =
            PQexec(pq, "DROP TABLE IF EXISTS gramme.kv; DROP SEQUENCE IF EXISTS gramme.clock");
        ok = PQresultStatus(result) == PGRES_COMMAND_OK ||
             err_set(err, ERR_INTERNAL, "%s", PQresultErrorMessage(result));
        PQclear(result);
    }
    PQfinish(pq);
    destroy(pg);
    return ok;
}
