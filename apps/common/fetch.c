/* HTTP requests to other services; called by sign-in on worker threads. */
#include "apps/common/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

enum { ANSWER_BYTES_MAX = 1 << 20, TIMEOUT_MS = 10000 };

static size_t take_bytes(char *data, size_t size, size_t count, void *context)
{
    struct buf *out = context;
    size_t len = size * count;
    if (out->len + len > ANSWER_BYTES_MAX) {
        return 0; /* ends the transfer */
    }
    buf_add(out, str_make(data, len));
    return len;
}

static void set_options(CURL *curl, const struct fetch *fetch, struct buf *out)
{
    curl_easy_setopt(curl, CURLOPT_URL, fetch->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gramme-apps/" GRAMME_VERSION);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    if (fetch->form != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, fetch->form);
    }
    if (fetch->user != NULL) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, fetch->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, fetch->password);
    }
    if (fetch->bearer != NULL) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, fetch->bearer);
    }
    if (fetch->ca_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, fetch->ca_file);
    }
}

int fetch_send(const struct fetch *fetch, struct buf *out)
{
    CURL *curl = curl_easy_init();
    if (curl == NULL) {
        abort(); /* no memory */
    }
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
    out->len = 0;
    set_options(curl, fetch, out);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    long status = 0;
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) {
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    } else {
        out->len = 0;
        buf_format(out, "%s", curl_easy_strerror(code));
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return (int)status;
}

char *fetch_escape(const char *text)
{
    size_t len = strlen(text);
    char *out = mem_alloc(3 * len + 1);
    char *at = out;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) != NULL;
        at += plain ? sprintf(at, "%c", c) : sprintf(at, "%%%02X", c);
    }
    *at = '\0';
    return out;
}
