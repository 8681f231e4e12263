/* The URL of the store: its parameter `pool`, and connecting to its hosts, beginning with the one
 * that was reached last. A host whose machine has vanished answers nothing, and costs each
 * connection that tries it first the whole connect_timeout. Any thread; connecting blocks. */
#include <stdlib.h>

#include "base/buf.h"
#include "store/pg/pg_internal.h"

/* The pool --------------------------------------------------------------------------------- */

/* Returns the parameter in the URL, which begins with '?' or '&'; NULL: there is none. */
static char *find_parameter(char *url, const char *name)
{
    char *at = strrchr(url, '@'); /* a password may contain anything but an @ */
    char *start = strchr(at != NULL ? at : url, '?');
    for (; start != NULL; start = strchr(start + 1, '&')) {
        if (strncmp(start + 1, name, strlen(name)) == 0 && start[1 + strlen(name)] == '=') {
            return start;
        }
    }
    return NULL;
}

bool pg_take_pool(struct pg *pg, struct err *err)
{
    char *parameter = find_parameter(pg->conninfo, "pool");
    if (parameter == NULL) {
        return true;
    }
    char *end;
    long count = strtol(strchr(parameter, '=') + 1, &end, 10);
    if ((*end != '\0' && *end != '&') || count < PG_CONNS_MIN || count > PG_CONNS_MAX) {
        return err_set(err, ERR_VALIDATION,
                       "the parameter pool of the store's URL must be a number of connections "
                       "from %d to %d",
                       PG_CONNS_MIN, PG_CONNS_MAX);
    }
    pg->conn_count = (int)count;
    if (*end == '&') { /* the next parameter takes its place */
        memmove(parameter + 1, end + 1, strlen(end + 1) + 1);
    } else {
        *parameter = '\0';
    }
    return true;
}

/* Hosts ------------------------------------------------------------------------------------ */

/* Returns element number `index` of a list with commas; a list of one element is for all hosts. */
static struct str element(const char *list, size_t index)
{
    const char *start = list;
    const char *comma;
    while ((comma = strchr(start, ',')) != NULL && index > 0) {
        start = comma + 1;
        index--;
    }
    comma = strchrnul(start, ',');
    return str_make(start, (size_t)(comma - start));
}

static size_t element_count(const char *list)
{
    size_t count = 1;
    for (const char *at = list; (at = strchr(at, ',')) != NULL; at++) {
        count++;
    }
    return count;
}

/* Adds the list to `out`, beginning at its element number `first`, and a NUL. */
static void rotate(struct buf *out, const char *list, size_t first)
{
    size_t count = element_count(list);
    for (size_t i = 0; i < count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        buf_add(out, element(list, (first + i) % count));
    }
    buf_add_char(out, '\0');
}

/* The lists of the URL; NULL: not given. */
enum list { LIST_HOST, LIST_ADDRESS, LIST_PORT, LIST_COUNT };
static const char *const list_names[LIST_COUNT] = {"host", "hostaddr", "port"};

static void find_lists(const PQconninfoOption *options, const char *out[LIST_COUNT])
{
    for (; options != NULL && options->keyword != NULL; options++) {
        for (size_t i = 0; i < LIST_COUNT; i++) {
            if (strcmp(options->keyword, list_names[i]) == 0) {
                out[i] = options->val;
            }
        }
    }
}

/* Defaults come first, so that parameters of the URL override them; the rotated lists come last. */
static PGconn *connect_in_order(const struct pg *pg, const char *const lists[LIST_COUNT])
{
    const char *const names[] = {"connect_timeout",      "keepalives",
                                 "keepalives_idle",      "keepalives_interval",
                                 "keepalives_count",     "tcp_user_timeout",
                                 "client_encoding",      "fallback_application_name",
                                 "target_session_attrs", "dbname",
                                 list_names[LIST_HOST],  list_names[LIST_ADDRESS],
                                 list_names[LIST_PORT],  NULL};
    const char *const values[] = {"3",
                                  "1",
                                  "5",
                                  "2",
                                  "3",
                                  "10000",
                                  "UTF8",
                                  "gramme",
                                  "read-write",
                                  pg->conninfo,
                                  lists[LIST_HOST],
                                  lists[LIST_ADDRESS],
                                  lists[LIST_PORT],
                                  NULL};
    return PQconnectdbParams(names, values, 1);
}

static bool is_port(struct str port, const char *reached)
{
    bool is_default = port.len == 0 && (*reached == '\0' || strcmp(reached, "5432") == 0);
    return is_default || str_eq(port, str_from_c(reached));
}

/* Notes which host of the URL was reached. */
static void note_host(struct pg *pg, PGconn *pq, const char *hosts, const char *ports)
{
    size_t count = element_count(hosts);
    for (size_t i = 0; i < count; i++) {
        bool is_host = str_eq(element(hosts, i), str_from_c(PQhost(pq)));
        if (is_host && (ports == NULL || is_port(element(ports, i), PQport(pq)))) {
            atomic_store(&pg->last_host, i);
        }
    }
}

PGconn *pg_connect_to_hosts(struct pg *pg)
{
    PQconninfoOption *options = PQconninfoParse(pg->conninfo, NULL);
    const char *lists[LIST_COUNT] = {NULL};
    const char *rotated[LIST_COUNT] = {NULL};
    struct buf memories[LIST_COUNT] = {{0}};
    find_lists(options, lists);
    for (size_t i = 0; i < LIST_COUNT; i++) {
        if (lists[i] != NULL) {
            rotate(&memories[i], lists[i], atomic_load(&pg->last_host));
            rotated[i] = memories[i].data;
        }
    }
    PGconn *pq = connect_in_order(pg, rotated);
    const char *hosts = lists[LIST_HOST] != NULL ? lists[LIST_HOST] : lists[LIST_ADDRESS];
    if (PQstatus(pq) == CONNECTION_OK && hosts != NULL) {
        note_host(pg, pq, hosts, lists[LIST_PORT]);
    }
    for (size_t i = 0; i < LIST_COUNT; i++) {
        buf_finish(&memories[i]);
    }
    PQconninfoFree(options);
    return pq;
}
