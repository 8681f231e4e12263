/* The insight API and the metrics as HTTP. The handler runs on a network thread and passes the work
 * to a slow thread. */
#include "server/insight_pages.h"

#include "engine/history.h"
#include "kinesis/kinesis.h"
#include "meter/insight.h"

bool insight_pages_has(const struct insight_pages *pages, struct str target)
{
    return pages->meter != NULL &&
           (str_starts_with(target, STR(INSIGHT_PREFIX)) || str_eq(target, STR(METRICS_TARGET)));
}

static void answer(const struct insight_pages *pages, struct http_exchange *exchange, int status,
                   struct str type)
{
    struct str headers = arena_format(exchange->arena,
                                      "Cache-Control: no-store\r\n"
                                      "X-Content-Type-Options: nosniff\r\n%.*s",
                                      STR_ARG(pages->headers));
    http_reply(exchange, &(struct http_answer){
                             .status = status,
                             .content_type = type,
                             .headers = headers,
                         });
}

/* Names of tables need no escaping: letters, digits and "_.-". */
static void write_history_metric(struct buf *out, const char *name, const char *help,
                                 const struct history_size *sizes, size_t count, bool is_bytes)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
    for (size_t i = 0; i < count; i++) {
        buf_format(out, "%s{table=\"%.*s\",deleted=\"%s\"} %lld\n", name,
                   STR_ARG(sizes[i].table_name), sizes[i].is_deleted ? "true" : "false",
                   (long long)(is_bytes ? sizes[i].bytes : sizes[i].records));
    }
}

static void write_history_metrics(struct engine *engine, struct buf *out)
{
    struct arena arena;
    struct history_size *sizes;
    arena_init(&arena);
    size_t count = engine_history_sizes(engine, &arena, &sizes);
    write_history_metric(out, "gramme_history_records",
                         "Earlier versions of items, kept for backups and recovery", sizes, count,
                         false);
    write_history_metric(out, "gramme_history_bytes", "Their bytes in the store", sizes, count,
                         true);
    arena_finish(&arena);
}

static void answer_metrics(const struct insight_pages *pages, struct http_exchange *exchange)
{
    insight_write_metrics(pages->meter, exchange->out);
    kinesis_write_metrics(pages->kinesis, exchange->out);
    write_history_metrics(pages->engine, exchange->out);
    guard_write_metrics(pages->guard, exchange->out);
    answer(pages, exchange, 200, STR("text/plain; version=0.0.4"));
}

/* The request for the insight API; HEAD is answered like GET. */
static struct insight_request request_of(const struct http_exchange *exchange)
{
    struct str path = str_skip(exchange->target, STR(INSIGHT_PREFIX).len);
    const char *question = memchr(path.data, '?', path.len);
    size_t len = question == NULL ? path.len : (size_t)(question - path.data);
    bool is_head = str_eq(exchange->method, STR("HEAD"));
    return (struct insight_request){
        .method = is_head ? STR("GET") : exchange->method,
        .path = str_make(path.data, len),
        .query = question == NULL ? STR_NULL : str_skip(path, len + 1),
        .body = exchange->body,
        .arena = exchange->arena,
    };
}

static void run(void *context, struct http_exchange *exchange)
{
    struct insight_pages *pages = context;
    if (str_eq(exchange->target, STR(METRICS_TARGET))) {
        answer_metrics(pages, exchange);
        return;
    }
    struct insight_request request = request_of(exchange);
    int status = insight_answer(pages->meter, &request, exchange->out);
    if (pages->answered != NULL) {
        pages->answered(pages, exchange, status);
    }
    answer(pages, exchange, status, STR("application/json"));
}

void insight_pages_handle(struct insight_pages *pages, struct http_exchange *exchange)
{
    http_run_slowly(exchange, run, pages);
}
