#include "apps/reconciliation/webhook.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "base/mem.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

struct webhook {
    CURL *curl;
    struct curl_slist *headers;
    struct buf answer;
};

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
    struct webhook *webhook = context;
    size_t len = size * count;
    if (webhook->answer.len + len > ANSWER_BYTES_MAX) {
        return 0; /* ends the transfer */
    }
    buf_add(&webhook->answer, str_make(data, len));
    return len;
}

static int check_stopping(void *context, curl_off_t down_total, curl_off_t down,
                          curl_off_t up_total, curl_off_t up)
{
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return atomic_load((const atomic_bool *)context) ? 1 : 0;
}

struct webhook *webhook_create(const char *url, int64_t timeout_ms)
{
    struct webhook *webhook = mem_zalloc(sizeof(*webhook));
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = webhook->curl = curl_easy_init();
    if (curl == NULL) {
        abort();
    }
    webhook->headers = curl_slist_append(NULL, "Content-Type: application/json");
    webhook->headers = curl_slist_append(webhook->headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, webhook->headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gramme-apps/" GRAMME_VERSION);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, webhook);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stopping);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    return webhook;
}

void webhook_destroy(struct webhook *webhook)
{
    if (webhook == NULL) {
        return;
    }
    curl_easy_cleanup(webhook->curl);
    curl_slist_free_all(webhook->headers);
    buf_finish(&webhook->answer);
    mem_free(webhook);
    curl_global_cleanup();
}

int webhook_post(struct webhook *webhook, const char *json, const atomic_bool *stopping,
                 struct str *out)
{
    long status = 0;
    webhook->answer.len = 0;
    curl_easy_setopt(webhook->curl, CURLOPT_POSTFIELDS, json);
    curl_easy_setopt(webhook->curl, CURLOPT_XFERINFODATA, stopping);
    if (curl_easy_perform(webhook->curl) == CURLE_OK) {
        curl_easy_getinfo(webhook->curl, CURLINFO_RESPONSE_CODE, &status);
    }
    *out = buf_str(&webhook->answer);
    return (int)status;
}
