/* The insight API and the metrics as HTTP. The handler runs on a network thread and passes the work
 * to a slow thread. */
#include "server/insight_pages.h"

#include "kinesis/kinesis.h"
#include "meter/insight.h"

bool insight_pages_has(const struct insight_pages *pages, struct str target)
{
    return pages->meter != NULL &&
           (str_starts_with(target, STR(INSIGHT_PREFIX)) || str_eq(target, STR(METRICS_TARGET)));
}

static void answer(struct http_exchange *exchange, int status, struct str type)
{
    http_reply(exchange, &(struct http_answer){
                             .status = status,
                             .content_type = type,
                             .headers = STR("Cache-Control: no-store\r\n"
                                            "X-Content-Type-Options: nosniff\r\n"),
                         });
}

static void run(void *context, struct http_exchange *exchange)
{
    struct insight_pages *pages = context;
    struct str target = exchange->target;
    if (str_eq(target, STR(METRICS_TARGET))) {
        insight_write_metrics(pages->meter, exchange->out);
        kinesis_write_metrics(pages->kinesis, exchange->out);
        answer(exchange, 200, STR("text/plain; version=0.0.4"));
        return;
    }
    struct str path = str_skip(target, STR(INSIGHT_PREFIX).len);
    const char *question = memchr(path.data, '?', path.len);
    size_t len = question == NULL ? path.len : (size_t)(question - path.data);
    struct insight_request request = {
        .method = exchange->method,
        .path = str_make(path.data, len),
        .query = question == NULL ? STR_NULL : str_skip(path, len + 1),
        .body = exchange->body,
        .arena = exchange->arena,
    };
    if (str_eq(request.method, STR("HEAD"))) {
        request.method = STR("GET");
    }
    int status = insight_answer(pages->meter, &request, exchange->out);
    answer(exchange, status, STR("application/json"));
}

void insight_pages_handle(struct insight_pages *pages, struct http_exchange *exchange)
{
    http_run_slowly(exchange, run, pages);
}
