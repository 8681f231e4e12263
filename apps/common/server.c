/* The server. Its HTTP threads receive requests, worker threads run the handlers, and the thread
 * that received a request sends the answer. */
#include "apps/common/server.h"

#include <pthread.h>

#include "apps/common/pages.h"
#include "apps/common/request_internal.h"
#include "base/budget.h"
#include "base/mem.h"

enum { WORKERS_MAX = 64, APPS_MAX = 8, POLL_MS = 5000 };

/* The memory of all connections, bodies and answers. It is limited because bodies are received
 * before their senders are authenticated. */
#define MEMORY_BYTES_MAX ((size_t)512 * 1024 * 1024)

struct app_server {
    struct http_server *http;
    struct memory_pool memory;
    struct pages pages;
    struct app apps[APPS_MAX];
    size_t app_count;
    struct app auth_app; /* sign-in */

    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct task *oldest; /* requests that wait for a worker */
    struct task **newest;
    bool stopping;
    pthread_t workers[WORKERS_MAX];
    int worker_count;
};

/* --- workers --- */

static void reply(struct task *task)
{
    struct app_request *request = CONTAINER_OF(task, struct app_request, task);
    struct http_exchange *exchange = request->exchange;
    request_log(request);
    buf_format(&request->headers, "X-Request-Id: %s\r\nX-Content-Type-Options: nosniff\r\n",
               request->id);
    struct buf headers = request->headers;
    if (request->is_stream) {
        live_subscribe(request->app->live, exchange, &request->identity, buf_str(&headers),
                       request_header(request, "last-event-id"));
        buf_finish(&headers);
        return;
    }
    struct buf out = request->out;
    buf_add(exchange->out, buf_str(&out));
    http_reply(exchange, &(struct http_answer){
                             .status = request->status,
                             .content_type = out.len > 0 ? request->content_type : STR_NULL,
                             .headers = buf_str(&headers),
                         });
    buf_finish(&headers);
    buf_finish(&out);
}

static void note_write(struct app *app)
{
    if (app->live != NULL) {
        live_note_write(app->live);
    }
    if (app->follower != NULL) {
        follower_note_write(app->follower);
    }
}

static void handle(struct app_request *request)
{
    if (request_admit(request)) {
        request->route->handle(request);
    }
    assert(request->status != 0); /* every handler answers */
    gramme_value_destroy(request->body);
    if (request->status < 300 && !str_eq(request->exchange->method, STR("GET"))) {
        note_write(request->app);
    }
    request->task.run = reply;
    mailbox_post(request->exchange->mailbox, &request->task);
}

static void *work(void *arg)
{
    struct app_server *server = arg;
    pthread_mutex_lock(&server->mutex);
    while (!server->stopping || server->oldest != NULL) {
        struct task *task = server->oldest;
        if (task == NULL) {
            pthread_cond_wait(&server->came, &server->mutex);
            continue;
        }
        server->oldest = task->next;
        if (server->oldest == NULL) {
            server->newest = &server->oldest;
        }
        pthread_mutex_unlock(&server->mutex);
        handle(CONTAINER_OF(task, struct app_request, task));
        pthread_mutex_lock(&server->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

static void enqueue(struct app_server *server, struct app_request *request)
{
    request->task.next = NULL;
    pthread_mutex_lock(&server->mutex);
    *server->newest = &request->task;
    server->newest = &request->task.next;
    pthread_cond_signal(&server->came);
    pthread_mutex_unlock(&server->mutex);
}

/* --- requests --- */

/* Answers a request that is refused before it reaches a handler. */
static void refuse(struct app_request *request, int status, const char *code, const char *message)
{
    answer_problem(request, status, code, "%s", message);
    reply(&request->task);
}

static void route(struct app_server *server, struct app_request *request, struct str path)
{
    if (!query_is_valid(request->exchange->arena, request->query)) {
        refuse(request, 400, "bad_parameter", "The query is not encoded as it should be");
        return;
    }
    bool known;
    request->route = router_find(request, path, &known);
    const char *unknown = request->route == NULL ? NULL : router_unknown_parameter(request);
    if (unknown != NULL) {
        answer_unknown(request, unknown, "parameter");
        reply(&request->task);
    } else if (request->route != NULL) {
        enqueue(server, request);
    } else if (known) {
        answer_header(request, "Allow", "%.*s", STR_ARG(router_methods(request, path)));
        refuse(request, 405, "method_not_allowed", "This path does not know the method");
    } else {
        refuse(request, 404, "not_found", "There is no such path");
    }
}

/* Returns whether a path is `base` or below it; *out_rest is the part after `base`. */
static bool is_below(struct str path, struct str base, struct str *out_rest)
{
    if (!str_starts_with(path, base) || (path.len > base.len && path.data[base.len] != '/')) {
        return false;
    }
    *out_rest = str_skip(path, base.len);
    return true;
}

/* Returns the application of a path under its API or of a file beside its pages; *rest is the part
 * for its routes. NULL: there is none. */
static struct app *app_of(struct app_server *server, struct app_request *request, struct str path,
                          struct str *rest)
{
    struct arena *arena = request->exchange->arena;
    if (is_below(path, STR("/auth"), rest)) {
        return &server->auth_app;
    }
    for (size_t i = 0; i < server->app_count; i++) {
        struct app *app = &server->apps[i];
        if (is_below(path, arena_format(arena, "/%s/api", app->definition->name), rest)) {
            return app;
        }
        bool known;
        if (app->definition->page_route_count > 0 &&
            is_below(path, arena_format(arena, "/%s", app->definition->name), rest)) {
            request->app = app;
            request->is_of_pages = true;
            router_find(request, *rest, &known);
            if (known) {
                return app;
            }
            request->is_of_pages = false;
        }
    }
    return NULL;
}

static void answer_file(struct app_server *server, struct http_exchange *exchange, struct str path)
{
    struct http_answer answer = {.status = 404, .content_type = STR("text/plain")};
    if (!str_eq(exchange->method, STR("GET")) && !str_eq(exchange->method, STR("HEAD"))) {
        buf_add(exchange->out, STR("Pages know the methods GET and HEAD only.\n"));
        answer.status = 405;
        answer.headers = STR("Allow: GET, HEAD\r\n");
    } else if (pages_answer(&server->pages, exchange, path)) {
        return;
    } else if (server->pages.files.count == 0) {
        buf_add(exchange->out, STR("The pages have not been built: run make pages.\n"));
    } else {
        buf_add(exchange->out, STR("There is no such page.\n"));
    }
    http_reply(exchange, &answer);
}

static void answer_request(void *context, struct http_exchange *exchange)
{
    struct app_server *server = context;
    struct str target = exchange->target;
    const char *mark = memchr(target.data, '?', target.len);
    size_t len = mark == NULL ? target.len : (size_t)(mark - target.data);
    struct str path = str_make(target.data, len);
    struct app_request *request = ARENA_NEW(exchange->arena, struct app_request);
    request->exchange = exchange;
    request->path = path;
    request->query = mark == NULL ? STR("") : str_skip(target, len + 1);
    struct str rest;
    struct app *app = app_of(server, request, path, &rest);
    if (app == NULL) {
        answer_file(server, exchange, path);
        return;
    }
    request->app = app;
    request->base = str_make(path.data, path.len - rest.len);
    request_begin(request);
    route(server, request, rest);
}

/* --- opening and closing --- */

/* Starts the threads that read the application's stream. */
static void start_streams(struct app *app, struct gramme_db *streams,
                          const struct app_server_options *options)
{
    if (app->definition->live != NULL) {
        app->live = live_create(&(struct live_options){
            .app = app->definition->live,
            .state = app->state,
            .db = app->db,
            .streams = streams,
            .interval_ms = options->live_interval_ms,
            .poll_ms = POLL_MS,
        });
    }
    if (app->definition->follower != NULL) {
        app->follower = follower_create(&(struct follower_options){
            .app = app->definition->follower,
            .db = app->db,
            .streams = streams,
        });
    }
}

static bool start_apps(struct app_server *server, const struct app_server_options *options,
                       struct err *err)
{
    assert(options->app_count <= APPS_MAX);
    for (size_t i = 0; i < options->app_count; i++) {
        struct app *app = &server->apps[i];
        app->definition = options->apps[i];
        app->db = options->connections[i].db;
        app->auth = options->auth;
        app->name_user = options->name_user;
        app->logs_routes = options->logs_routes;
        app->insight = options->connections[i].insight;
        struct gramme_error *error = NULL;
        if (app->definition->start != NULL) {
            app->state = app->definition->start(app->db, &error);
        }
        if (error != NULL) {
            err_set(err, ERR_INTERNAL, "%s does not start: %s", app->definition->name,
                    gramme_error_message(error));
            gramme_error_destroy(error);
            return false;
        }
        server->app_count++;
        start_streams(app, options->connections[i].streams, options);
    }
    server->auth_app = (struct app){.definition = &auth_app,
                                    .state = options->auth,
                                    .auth = options->auth,
                                    .name_user = options->name_user,
                                    .logs_routes = options->logs_routes};
    return true;
}

static bool start_workers(struct app_server *server, int count, struct err *err)
{
    while (server->worker_count < MIN(count, (int)WORKERS_MAX)) {
        if (pthread_create(&server->workers[server->worker_count], NULL, work, server) != 0) {
            return err_set(err, ERR_INTERNAL, "cannot start a thread");
        }
        server->worker_count++;
    }
    return true;
}

bool app_server_open(const struct app_server_options *options, struct app_server **out,
                     struct err *err)
{
    struct app_server *server = mem_zalloc(sizeof(*server));
    pthread_mutex_init(&server->mutex, NULL);
    pthread_cond_init(&server->came, NULL);
    server->newest = &server->oldest;
    pages_init(&server->pages, options->pages);
    struct http_options http = http_options_default();
    http.host = options->host;
    http.port = options->port;
    http.thread_count = 1;
    http.body_bytes_max = 1 << 20;
    http.server_name = STR("gramme-apps/" GRAMME_VERSION);
    http.failure = request_describe_failure;
    server->memory.bytes_max = MEMORY_BYTES_MAX;
    http.memory = &server->memory;
    http.busy = (struct http_busy){
        .content_type = STR("application/json"),
        .body = STR("{\"error\":{\"code\":\"unavailable\",\"message\":\"Too many requests at "
                    "once: try again in a moment\"}}"),
    };
    if (!start_apps(server, options, err) || !start_workers(server, options->worker_count, err) ||
        !http_server_open(&http, answer_request, server, &server->http, err)) {
        app_server_close(server);
        return false;
    }
    *out = server;
    return true;
}

int app_server_port(const struct app_server *server)
{
    return http_server_port(server->http);
}

void app_server_close(struct app_server *server)
{
    if (server == NULL) {
        return;
    }
    for (size_t i = 0; i < server->app_count; i++) {
        live_stop(server->apps[i].live);
        follower_stop(server->apps[i].follower);
    }
    http_server_close(server->http, 5000);
    pthread_mutex_lock(&server->mutex);
    server->stopping = true;
    pthread_cond_broadcast(&server->came);
    pthread_mutex_unlock(&server->mutex);
    for (int i = 0; i < server->worker_count; i++) {
        pthread_join(server->workers[i], NULL);
    }
    for (size_t i = 0; i < server->app_count; i++) {
        struct app *app = &server->apps[i];
        live_destroy(app->live);
        follower_destroy(app->follower);
        if (app->definition->stop != NULL) {
            app->definition->stop(app->state);
        }
    }
    pages_finish(&server->pages);
    pthread_cond_destroy(&server->came);
    pthread_mutex_destroy(&server->mutex);
    mem_free(server);
}
