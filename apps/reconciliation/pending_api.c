/* The part of the REST API about pending calls: their list and their totals, both from the index in
 * memory (mirror.h). Handlers, called on worker threads, where they wait for the database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/api_internal.h"
#include "base/base.h"

enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 100, LOOKBACK_DAYS_MAX = 36500 };

/* --- answers --- */

/* Reads the time of a call, from its attribute or from the key of the index. */
static bool read_when(const struct gramme_value *item, int64_t *out)
{
    const char *text = gramme_get_string(item, "CallDateTime");
    const char *key = gramme_get_string(item, "GSI_Recon_SK");
    char when[WHEN_SIZE];
    if (text == NULL && key != NULL) {
        snprintf(when, sizeof(when), "%.*s", (int)MIN(strcspn(key, "#"), sizeof(when) - 1), key);
        text = when;
    }
    return when_parse(text, out);
}

void recon_show_pending(const struct identity *who, const struct gramme_value *item,
                        struct gramme_value *out)
{
    static const char *const names[][2] = {
        {"AudioReceived", "audioReceived"},
        {"ProcessingStatus", "processingStatus"},
        {"NotBefore", "notBefore"},
    };
    (void)who;
    gramme_set_string(out, "tenantId", recon_tenant_id(item));
    gramme_set_string(out, "callId", recon_call_id(item));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        gramme_set_value(out, names[i][1], gramme_get(item, names[i][0]));
    }
    const char *pk = gramme_get_string(item, "GSI_Recon_PK");
    const char *shard = pk == NULL ? NULL : strrchr(pk, '#');
    int64_t when;
    gramme_set_bool(out, "pending", pk != NULL);
    if (read_when(item, &when)) {
        char text[WHEN_SIZE];
        when_format_seconds(text, when);
        gramme_set_string(out, "callDateTime", text);
        gramme_set_bool(out, "abandoned",
                        pk != NULL && when <= when_now() - recon_settings.lookback_days * WHEN_DAY);
    }
    if (shard != NULL) { /* "STATUS#PENDING" is the only shard */
        gramme_set_int(out, "shard", shard[1] >= '0' && shard[1] <= '9' ? atoi(shard + 1) : 0);
    }
}

/* --- requests --- */

bool recon_query_word(struct app_request *request, const char *name, const char *const *words,
                      const char **out)
{
    *out = request_query(request, name);
    if (*out == NULL) {
        return true;
    }
    for (const char *const *word = words; *word != NULL; word++) {
        if (strcmp(*word, *out) == 0) {
            return true;
        }
    }
    answer_bad_field(request, name, "%s must be %s or %s", name, words[0], words[1]);
    return false;
}

/* Reads the filter from the query: tenant, shard, status, audio, age, lookbackDays. False: an error
 * has been answered. */
static bool read_filter(struct app_request *request, struct mirror_filter *out)
{
    int64_t days;
    int64_t shard;
    const char *age;
    if (!request_require(request, ROLE_OPERATOR)) {
        return false;
    }
    *out = (struct mirror_filter){.tenant = request_query(request, "tenant"), .now = when_now()};
    if (out->tenant != NULL && !recon_id_is_valid(out->tenant)) {
        answer_bad_field(request, "tenant", "tenant must be %s", RECON_ID_RULE);
        return false;
    }
    if (!recon_query_word(request, "status", FIELDS("PENDING", "FAILED"), &out->status) ||
        !recon_query_word(request, "audio", FIELDS("missing", "received"), &out->audio) ||
        !recon_query_word(request, "age", FIELDS("current", "abandoned", "all"), &age) ||
        !request_query_int(request, "shard", 0, recon_settings.shards - 1, -1, &shard) ||
        !request_query_int(request, "lookbackDays", 1, LOOKBACK_DAYS_MAX,
                           recon_settings.lookback_days, &days)) {
        return false;
    }
    out->age = age == NULL || age[0] == 'c'    ? MIRROR_CURRENT
               : strcmp(age, "abandoned") == 0 ? MIRROR_ABANDONED
                                               : MIRROR_ALL;
    out->since = out->now - days * WHEN_DAY;
    out->has_shard = shard >= 0;
    out->shard = (int)shard;
    return true;
}

/* --- handlers --- */

/* Answers with a page of pending calls, by age. */
static void answer_pending(struct app_request *request, const struct mirror_filter *filter,
                           const struct mirror_page *page)
{
    const struct recon_state *state = request_state(request);
    struct mirror_result result;
    struct gramme_error *error = NULL;
    bool is_fresh = request_sync(request);
    if (!mirror_list(state->mirror, request_db(request), is_fresh, filter, page, &result, &error)) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    const struct gramme_value *found = gramme_get(result.items, "items");
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        recon_show_pending(request_identity(request), gramme_value_at(found, i),
                           gramme_add_map(items));
    }
    gramme_set_int(body, "total", (int64_t)result.total);
    if (result.cursor != NULL) {
        gramme_set_string(body, "cursor", result.cursor);
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
    gramme_value_destroy(result.items);
}

void recon_api_list_pending(struct app_request *request)
{
    struct mirror_filter filter;
    struct mirror_page page = {.after = request_query(request, "cursor")};
    const char *order;
    int64_t limit;
    if (!read_filter(request, &filter) ||
        !recon_query_word(request, "order", FIELDS("oldest", "newest"), &order)) {
        return; /* answered */
    }
    if (page.after != NULL && !mirror_cursor_is_valid(page.after)) {
        answer_problem(request, 400, "bad_cursor", "The cursor is none of this list");
    } else if (request_query_int(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit)) {
        page.limit = (size_t)limit;
        page.newest_first = order != NULL && strcmp(order, "newest") == 0;
        answer_pending(request, &filter, &page);
    }
}

void recon_api_summarize(struct app_request *request)
{
    const struct recon_state *state = request_state(request);
    struct mirror_filter filter;
    if (!read_filter(request, &filter)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_value *body = gramme_map_create();
    bool is_fresh = request_sync(request);
    if (mirror_summarize(state->mirror, request_db(request), is_fresh, &filter, body, &error)) {
        answer_value(request, 200, body);
    } else {
        answer_error(request, error);
    }
    gramme_value_destroy(body);
    gramme_error_destroy(error);
}
