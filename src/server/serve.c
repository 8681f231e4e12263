/* `gramme serve`: opens the store, the engine and the HTTP server, waits for signals, and closes
 * everything in order. Runs on the main thread. */
#include "server/serve.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "aws/credentials.h"
#include "base/clock.h"
#include "base/mem.h"
#include "err/messages.h"
#include "http/http.h"
#include "kinesis/kinesis.h"
#include "server/console.h"
#include "server/control.h"
#include "server/notify.h"
#include "server/route.h"
#include "server/until_eof.h"
#include "server/users.h"
#include "transfer/transfer.h"

static int thread_count(const struct config *config)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return config->threads > 0 ? config->threads : (int)MAX(processors, 1);
}

/* Returns the memory of the machine, or the limit of the container. */
static size_t memory_bytes(void)
{
    size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
    if (file != NULL) {
        size_t allowed; /* or the word "max" */
        bytes = fscanf(file, "%zu", &allowed) == 1 ? MIN(bytes, allowed) : bytes;
        fclose(file);
    }
    return bytes;
}

/* Raises the limit of open files: each connection is one, and RocksDB keeps its tables open. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Returns the largest number of connections that leaves enough files for the store: RocksDB uses
 * half of the limit, or 10,000 (store/rocks/database/rocksdb_options.c); some more are for the log,
 * and for connections that are refused. */
static int connections_max(const struct config *config)
{
    enum { STORE_FILES_MAX = 10000, OTHER_FILES = 192, CONNECTIONS_MIN = 16 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return config->connections;
    }
    int64_t files = (int64_t)MIN(limit.rlim_cur, (rlim_t)INT32_MAX);
    int64_t most = files - MIN(files / 2, STORE_FILES_MAX) - OTHER_FILES;
    if (most >= config->connections) {
        return config->connections;
    }
    most = MAX(most, CONNECTIONS_MIN);
    log_write(LOG_WARN, "server", "at most %lld connections: the process may have %lld files open",
              (long long)most, (long long)files);
    return (int)most;
}

/* Blocks the signals, so that only this thread gets them, when it waits for them. */
static void block_signals(sigset_t *out)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGHUP);
    sigaddset(out, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, out, NULL);
}

/* The parts of a running server, in the order in which they are opened. */
struct server {
    struct memory_pool memory; /* of all requests */
    struct users users;
    struct guard *guard;
    struct audit *audit; /* or NULL */
    struct store *store;
    struct engine *engine;
    struct transfer *transfer;
    struct kinesis *kinesis; /* delivers changes of tables */
    struct meter *meter;     /* NULL: insight is off */
    struct router *router;
    struct http_server *http;
    struct control *control; /* NULL: there is none */
    struct notify notify;
};

enum {
    /* Blocks of at least this size are returned to the system when freed. RocksDB's memtables use
     * blocks of 1 MiB, which are kept for the next memtable: new memory costs a page fault for each
     * 4 KiB. */
    MALLOC_MMAP_BYTES = 2 << 20,
    MALLOC_KEPT_BYTES = 4 << 20, /* of freed memory at the end of each thread's heap */
    ARENA_BYTES_MAX = 256 << 20, /* of one request: a transaction of 100 items of 400 KB fits */
    TRIM_BYTES_MIN = 32 << 20,   /* requests must have freed so much before heaps are searched */
};

/* Without this glibc learns to keep ever larger blocks, and memory never shrinks after a peak. */
static void set_up_malloc(void)
{
    mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_BYTES);
    mallopt(M_TRIM_THRESHOLD, MALLOC_KEPT_BYTES);
}

/* Called every second: returns memory inside the heaps to the system after requests held much. */
static void trim_memory(const struct memory_pool *memory, size_t *peak_bytes)
{
    size_t used = memory_pool_used(memory);
    if (*peak_bytes > used + TRIM_BYTES_MIN) {
        malloc_trim(0);
        *peak_bytes = used;
    }
    *peak_bytes = MAX(*peak_bytes, used);
}

#define BUSY_BODY                                                                                  \
    "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ThrottlingException\",\"message\":"            \
    "\"" MESSAGE_OVERLOADED "\"}"

/* Logs why a client could not connect, at level debug: any client can cause such lines. */
static void log_tls_failure(const uint8_t peer[16], const char *why)
{
    char text[INET6_ADDRSTRLEN];
    guard_write_peer(peer, text);
    log_write(LOG_DEBUG, "server", "TLS handshake with %s failed: %s", text, why);
}

static struct http_options http_options_of(struct server *server, const struct config *config)
{
    struct http_options options = http_options_default();
    size_t memory = config->memory_bytes > 0 ? config->memory_bytes : memory_bytes() / 4;
    server->memory.bytes_max = memory;
    memcpy(options.listeners, config->listeners, sizeof(options.listeners));
    options.listener_count = config->listener_count;
    options.tls_failure = log_tls_failure;
    options.tls_client = router_note_client;
    options.thread_count = thread_count(config);
    options.connections_max = connections_max(config);
    options.rate_bytes_min = config->rate_bytes_min;
    options.server_name = STR("Gramme/" GRAMME_VERSION);
    options.large_head_status = 400; /* like the next, as the service has it */
    options.bad_coding_status = 500;
    options.head_check = config->auth == AUTH_ON ? router_check_head : NULL;
    options.memory = &server->memory;
    options.arena_bytes_max = MIN(memory / 2, (size_t)ARENA_BYTES_MAX);
    options.busy = (struct http_busy){
        .content_type = STR("application/x-amz-json-1.0"),
        .body = STR(BUSY_BODY),
        .crc32_header = STR("x-amz-crc32"),
    };
    return options;
}

static bool open_audit(struct server *server, const struct config *config, struct err *err)
{
    return config->audit_file.len == 0 ||
           audit_open(config->audit_file, config->audit_all, &server->audit, err);
}

/* Reads the certificates, for the caller to install; NULL: no listener needs any. */
static bool read_tls(const struct config *config, struct http_tls **out, struct err *err)
{
    *out = NULL;
    return !config_uses_tls(config) || http_tls_create(&config->tls, out, err);
}

static bool open_transfer(struct server *server, const struct config *config, struct err *err)
{
    struct objects_options options = {
        .directory = config->s3_directory,
        .endpoint = config->s3_endpoint,
        .region = config->s3_region.len > 0 ? config->s3_region : config->region,
        .uses_virtual_host = str_eq(config->s3_style, STR("virtual")),
    };
    return transfer_open(server->engine, server->store, &options, &server->transfer, err);
}

static bool start_kinesis(struct server *server, const struct config *config, struct err *err)
{
    struct kinesis_options options = {
        .endpoint = config->kinesis_endpoint,
        .region = config->region,
        .retention_ms = config->stream_retention_ms,
        .backlog_bytes_max = config->kinesis_backlog_bytes,
    };
    return kinesis_start(server->engine, &options, &server->kinesis, err);
}

static bool open_data(struct server *server, const struct config *config, struct arena *arena,
                      struct err *err)
{
    struct store_options store_options = {
        .worker_count = 2,
        .scrub_bytes_per_second = config->scrub_bytes_per_second,
        .reserve_bytes = config->reserve_bytes,
        .owner =
            arena_format(arena, "%.*s/%.*s", STR_ARG(config->account), STR_ARG(config->region)),
        .claims = true,
        .does_transfers = true,
        .cache_bytes = config->cache_bytes > 0 ? config->cache_bytes : memory_bytes() / 4,
    };
    struct engine_options engine_options = {
        .region = config->region,
        .account = config->account,
        .table_delay_ms = config->table_delay_ms,
        .ttl_delay_ms = config->ttl_delay_ms,
        .recovery_lag_ms = config->recovery_lag_ms,
        .clock_confirm_ms = config->clock_confirm_ms,
        .stream_shards = (uint32_t)config->stream_shards,
        .stream_shard_ms = config->stream_shard_ms,
        .stream_retention_ms = config->stream_retention_ms,
    };
    return store_open(config->store, &store_options, &server->store, err) &&
           engine_open(server->store, &engine_options, &server->engine, err);
}

static bool open_users(struct server *server, const struct config *config, struct err *err)
{
    struct users_options options = {
        .file = config->users_file,
        .master_key_file = config->master_key_file,
        .account = config->account,
    };
    return users_open(&server->users, &options, err);
}

static bool load_users(struct server *server, const struct config *config, struct err *err)
{
    return !auth_mode_checks(config->auth) || users_load(&server->users, server->engine, err);
}

static struct guard *make_guard(struct server *server, const struct config *config,
                                int thread_count)
{
    struct guard_options options = {
        .mode = config->auth,
        .thread_count = thread_count,
        .region = config->region,
        .skew_ms = config->auth_skew_ms,
        .source = &server->users.source,
        .key = server->users.token_key,
        .key_requests_max = config->key_requests,
        .key_bytes_max = config->key_bytes,
    };
    return guard_create(&options);
}

static bool open_meter(struct server *server, const struct config *config, int thread_count,
                       struct err *err)
{
    struct meter_options options = {
        .thread_count = thread_count,
        .prices = config->prices,
        .store = config->store,
        .keep = store_url_is_persistent(config->store),
        .shared = store_url_is_shared(config->store),
    };
    return !config->insight || meter_create(server->engine, &options, &server->meter, err);
}

static struct router *make_router(struct server *server, const struct config *config,
                                  int loop_count, int thread_count)
{
    struct router_options options = {
        .loop_count = loop_count,
        .thread_count = thread_count,
        .guard = server->guard,
        .users = auth_mode_checks(config->auth) ? &server->users : NULL,
        .audit = server->audit,
        .cors = config->cors,
        .hosts = config->hosts,
        .test_clock = config->test_clock,
        .console = config->console,
        .store = server->store,
        .memory = &server->memory,
        .meter = server->meter,
        .kinesis = server->kinesis,
    };
    return router_create(server->engine, &options);
}

static bool open_server(struct server *server, const struct config *config, struct arena *arena,
                        struct err *err)
{
    struct http_options http_options = http_options_of(server, config);
    int thread_count = http_options.thread_count + http_options.slow_thread_count;
    if (!open_users(server, config, err) || !open_audit(server, config, err) ||
        !open_data(server, config, arena, err) || !open_transfer(server, config, err) ||
        !start_kinesis(server, config, err) || !load_users(server, config, err)) {
        return false;
    }
    server->guard = make_guard(server, config, thread_count);
    if (!open_meter(server, config, thread_count, err)) {
        return false;
    }
    server->router = make_router(server, config, http_options.thread_count, thread_count);
    server->control = control_start(server->store);
    struct http_tls *tls;
    return read_tls(config, &tls, err) && http_server_open_tls(&http_options, tls, router_handle,
                                                               server->router, &server->http, err);
}

static void close_server(struct server *server)
{
    control_stop(server->control);
    http_server_close(server->http, 5000);
    router_destroy(server->router);
    guard_destroy(server->guard);
    meter_destroy(server->meter);
    transfer_close(server->transfer);
    kinesis_stop(server->kinesis);
    engine_close(server->engine);
    store_close(server->store);
    users_close(&server->users);
    audit_close(server->audit);
}

static bool open_log_file(struct str path, struct arena *arena, struct err *err)
{
    return str_eq(path, STR("-")) || log_open_file(arena_copy_c(arena, path).data) ||
           err_set(err, ERR_INTERNAL, "cannot open the log file %.*s: %s", STR_ARG(path),
                   strerror(errno));
}

/* What SIGHUP reads again. */
struct reloading {
    struct server *server;
    const struct config *running;
    struct config again;        /* the settings as they are now */
    const struct config *valid; /* these, or `running` if they have a mistake */
    bool is_used;               /* the server uses the part that is read */
    struct arena *arena;
};

static bool reload_settings(struct reloading *reloading, struct err *err)
{
    const struct config *running = reloading->running;
    reloading->valid = running;
    if (!config_read(reloading->arena, running->argc, running->argv, &reloading->again, err)) {
        return false;
    }
    reloading->valid = &reloading->again;
    log_setup(reloading->again.log_level, reloading->again.log_format);
    return true;
}

static bool reload_log_file(struct reloading *reloading, struct err *err)
{
    return open_log_file(reloading->running->log_file, reloading->arena, err);
}

static bool reload_certificates(struct reloading *reloading, struct err *err)
{
    struct http_tls *tls;
    if (!read_tls(reloading->valid, &tls, err)) {
        return false;
    }
    reloading->is_used = tls != NULL;
    if (tls != NULL) {
        http_server_set_tls(reloading->server->http, tls);
    }
    return true;
}

static bool reload_users(struct reloading *reloading, struct err *err)
{
    struct users *users = &reloading->server->users;
    if (users->engine == NULL) {
        reloading->is_used = false;
        return true;
    }
    /* Else users read before a change could replace those read after it. */
    pthread_mutex_lock(&users->lock);
    bool good = users_reload(users, err);
    pthread_mutex_unlock(&users->lock);
    return good;
}

static bool reload_audit(struct reloading *reloading, struct err *err)
{
    struct audit *audit = reloading->server->audit;
    return audit == NULL || audit_reopen(audit, err);
}

/* Records that a part was read again, or why it was not. */
static void audit_reload(struct audit *audit, const char *what, const struct err *err)
{
    bool good = err->code == ERR_NONE;
    struct audit_entry entry = {
        .service = STR("gramme"),
        .operation = STR("Reload"),
        .resource = str_from_c(what),
        .error = good ? STR_NULL : str_from_c(err_wire_name(err->code)),
        .reason = good ? STR_NULL : err->message,
        .status = good ? 200 : err_http_status(err->code),
        .is_change = true,
    };
    audit_write(audit, &entry);
}

/* SIGHUP: opens the log files again, and applies the settings that can be changed in a running
 * server. What has a mistake stays as it is; the rest is read again nevertheless. */
static void reload(struct server *server, const struct config *config)
{
    static const struct {
        const char *what;
        bool (*run)(struct reloading *reloading, struct err *err);
        bool is_audited;
    } parts[] = {
        {"audit file", reload_audit, false}, /* first, so that it has the entries of the others */
        {"settings", reload_settings, true},         {"log file", reload_log_file, false},
        {"certificates", reload_certificates, true}, {"users", reload_users, true},
    };
    struct arena arena;
    arena_init(&arena);
    struct reloading reloading = {.server = server, .running = config, .arena = &arena};
    bool good = true;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct err err = ERR_INIT(&arena);
        reloading.is_used = true;
        if (!parts[i].run(&reloading, &err)) {
            log_write(LOG_WARN, "server", "SIGHUP: not read again: %s: %.*s", parts[i].what,
                      STR_ARG(err.message));
            good = false;
        }
        if (parts[i].is_audited && reloading.is_used) {
            audit_reload(server->audit, parts[i].what, &err);
        }
    }
    log_write(LOG_INFO, "server", "SIGHUP: %s",
              good ? "log reopened; log-level, log-format, users and certificates read again"
                   : "the rest was read again");
    arena_finish(&arena);
}

/* Sleeps until the server must stop; handles other signals meanwhile. */
static int wait_for_end(struct server *server, const struct config *config, const sigset_t *signals)
{
    const struct timespec second = {.tv_sec = 1};
    size_t peak_bytes = 0;
    for (;;) {
        int number = sigtimedwait(signals, NULL, &second);
        trim_memory(&server->memory, &peak_bytes);
        if (server->notify.has_watchdog && http_server_is_alive(server->http)) {
            notify_alive(&server->notify);
        }
        users_poll(&server->users);
        if (number == SIGTERM || number == SIGINT) {
            return number;
        }
        if (number == SIGHUP) {
            reload(server, config);
        } else if (number == SIGUSR1) {
            log_write(LOG_INFO, "server", "SIGUSR1: the clock is confirmed");
            engine_clock_moved(server->engine);
        }
    }
}

/* http://HOST:PORT of a listener. */
static void add_address(struct buf *out, const struct server *server, const struct config *config,
                        int number)
{
    const struct http_listener *listener = &config->listeners[number];
    bool is_ipv6 = memchr(listener->host.data, ':', listener->host.len) != NULL;
    buf_format(out, "%s://%s%.*s%s:%d", listener->is_secure ? "https" : "http", is_ipv6 ? "[" : "",
               STR_ARG(listener->host), is_ipv6 ? "]" : "",
               http_server_listener_port(server->http, number));
}

/* Logs the line with the addresses of the server and the console. */
static void log_start(const struct server *server, const struct config *config, struct arena *arena,
                      int64_t start_us)
{
    struct str store = store_url_to_show(arena, config->store);
    struct buf line = {0};
    buf_add(&line, STR("gramme " GRAMME_VERSION " serves "));
    for (int i = 0; i < config->listener_count; i++) {
        buf_add(&line, i > 0 ? STR(", ") : STR(""));
        add_address(&line, server, config, i);
    }
    buf_format(&line, " from %.*s (ready in %lld ms)", STR_ARG(store),
               (long long)((clock_monotonic_us() - start_us) / 1000));
    if (config->console && console_is_built()) {
        buf_add(&line, STR("; console: "));
        add_address(&line, server, config, 0);
        buf_add(&line, STR(CONSOLE_TARGET));
    }
    log_write(LOG_INFO, "server", "%.*s", STR_ARG(buf_str(&line)));
    buf_finish(&line);
}

/* Serves for a while longer, so that load balancers notice; another signal ends it at once. */
static void drain(const struct server *server, const struct config *config, const sigset_t *signals)
{
    router_drain(server->router);
    int64_t until_us = clock_monotonic_us() + config->drain_ms * 1000;
    int64_t left_us;
    while ((left_us = until_us - clock_monotonic_us()) > 0) {
        struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
        int number = sigtimedwait(signals, NULL, &left);
        if (number == SIGTERM || number == SIGINT) {
            return;
        }
    }
}

/* Serves until a signal ends it, and lets the requests under way finish. */
static void run_until_signal(struct server *server, const struct config *config,
                             const sigset_t *signals)
{
    notify_send(&server->notify, "READY=1");
    int signal_number = wait_for_end(server, config, signals);
    log_write(LOG_INFO, "server", "stopping on %s",
              signal_number == SIGTERM ? "SIGTERM" : "SIGINT");
    notify_send(&server->notify, "STOPPING=1");
    if (signal_number == SIGTERM) {
        drain(server, config, signals);
    }
}

/* Sets what concerns the whole process. */
static void set_up_process(const struct config *config, sigset_t *out_signals)
{
    log_setup(config->log_level, config->log_format);
    umask(077); /* only the owner may read the data, and the log, which has names of tables */
    raise_file_limit();
    set_up_malloc();
    http_tls_prepare();
    credentials_take_environment();
    block_signals(out_signals);
}

int serve(const struct config *config)
{
    int64_t start_us = clock_monotonic_us();
    sigset_t signals;
    set_up_process(config, &signals);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct server server = {0};
    notify_open(&server.notify);
    int status = 0;
    if (open_log_file(config->log_file, &arena, &err) &&
        open_server(&server, config, &arena, &err) &&
        (!config->until_eof || until_eof_start(&err))) {
        log_start(&server, config, &arena, start_us);
        run_until_signal(&server, config, &signals);
    } else {
        log_write(LOG_ERROR, "server", "%.*s", STR_ARG(err.message));
        status = 1;
    }
    close_server(&server);
    notify_close(&server.notify);
    if (status == 0) {
        log_write(LOG_INFO, "server", "stopped");
    }
    arena_finish(&arena);
    return status;
}
