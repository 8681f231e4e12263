/* Posts deliveries, by libcurl. Each of the poller's threads has its own struct webhook. */
#include "apps/reconciliation/webhook.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/common/signed.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

struct webhook {
    CURL *curl;
    char *secret; /* NULL: none */
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

struct webhook *webhook_create(const char *url, int64_t timeout_ms, const char *secret)
{
    struct webhook *webhook = mem_zalloc(sizeof(*webhook));
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = webhook->curl = curl_easy_init();
    if (curl == NULL) {
        abort();
    }
    webhook->secret = secret == NULL ? NULL : mem_strdup(secret);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
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
    mem_free(webhook->secret);
    buf_finish(&webhook->answer);
    mem_free(webhook);
    curl_global_cleanup();
}

void webhook_sign(const char *secret, int64_t now_s, const char *json,
                  char out[WEBHOOK_SIGNATURE_SIZE])
{
    struct buf text = {0};
    unsigned char mac[SIGNED_HASH_LEN];
    char hex[2 * SIGNED_HASH_LEN + 1];
    buf_format(&text, "%lld.%s", (long long)now_s, json);
    signed_hmac(secret, strlen(secret), buf_str(&text), mac);
    buf_finish(&text);
    hex_encode_c(str_make(mac, sizeof(mac)), hex);
    snprintf(out, WEBHOOK_SIGNATURE_SIZE, "t=%lld,v1=%s", (long long)now_s, hex);
}

static struct curl_slist *make_headers(const struct webhook *webhook, const char *json)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    if (webhook->secret != NULL) {
        char line[WEBHOOK_SIGNATURE_SIZE + 32] = "X-Gramme-Signature: ";
        webhook_sign(webhook->secret, clock_wall_ms() / 1000, json, line + strlen(line));
        headers = curl_slist_append(headers, line);
    }
    return headers;
}

int webhook_post(struct webhook *webhook, const char *json, const atomic_bool *stopping,
                 struct str *out)
{
    long status = 0;
    webhook->answer.len = 0;
    curl_easy_setopt(webhook->curl, CURLOPT_POSTFIELDS, json);
    curl_easy_setopt(webhook->curl, CURLOPT_XFERINFODATA, stopping);
    struct curl_slist *headers = make_headers(webhook, json);
    curl_easy_setopt(webhook->curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(webhook->curl);
    if (code == CURLE_OK) {
        curl_easy_getinfo(webhook->curl, CURLINFO_RESPONSE_CODE, &status);
    } else {
        webhook->answer.len = 0;
        buf_add(&webhook->answer, str_from_c(curl_easy_strerror(code)));
    }
    curl_easy_setopt(webhook->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    *out = buf_str(&webhook->answer);
    return (int)status;
}
