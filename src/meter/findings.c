/* GET findings of the insight API: collects the data that the rules need, runs them, and writes the
 * findings. Runs on a slow thread of the HTTP server. */
#include "meter/findings_internal.h"

#include <stdlib.h>

#include "base/clock.h"

static const struct {
    const char *id;
    const char *severity;
    const char *title;
} kinds[] = {
#define FINDING(name_, id_, severity_, title_) {id_, severity_, title_},
#include "meter/findings.def"
#undef FINDING
};

void finding_add(struct search *search, const struct finding *finding)
{
    if (search->count < search->max) {
        search->findings[search->count++] = *finding;
    }
}

static int compare(const void *a, const void *b)
{
    const struct finding *left = a;
    const struct finding *right = b;
    if (left->kind != right->kind) {
        return left->kind < right->kind ? -1 : 1;
    }
    int order = str_cmp(left->table, right->table);
    return order != 0 ? order : str_cmp(left->evidence, right->evidence);
}

/* Remembers how many items each table has, for its growth from now on. */
static void remember_items(struct search *search)
{
    enum { DAY_MS = 24 * 3600 * 1000 };
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < search->tables.count; i++) {
        struct table_sums *sums =
            map_get(&search->insight->meter->tables, search->tables.tables[i]->name);
        if (sums != NULL && (sums->items_ms == 0 || now_ms - sums->items_ms > DAY_MS)) {
            sums->items = search->tables.sizes[i].item_count;
            sums->items_ms = now_ms;
        }
    }
}

/* Finds everything; tables stay acquired. The mutex is held when it returns. */
static void find_all(struct insight *insight, struct search *search)
{
    struct meter *meter = insight->meter;
    *search = (struct search){.insight = insight, .max = FINDINGS_MAX};
    search->findings = ARENA_ARRAY(insight->arena, struct finding, search->max);
    insight_all_tables(insight, &search->tables);
    search->surveys = ARENA_ARRAY(insight->arena, const struct survey *, search->tables.count + 1);
    survey_tables(insight, &search->tables);
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    remember_items(search);
    for (size_t i = 0; i < search->tables.count; i++) {
        search->surveys[i] = survey_kept(meter, search->tables.tables[i]);
        search->surveyed_count += search->surveys[i]->has_table;
    }
    findings_of_patterns(search);
    for (size_t i = 0; i < search->tables.count; i++) {
        findings_of_table(search, i);
    }
    qsort(search->findings, search->count, sizeof(*search->findings), compare);
    meter->finding_count = search->count;
    meter->findings_ms = clock_monotonic_us() / 1000;
}

static void write_finding(struct buf *out, const struct finding *finding)
{
    buf_format(out, "{\"id\":\"%s\",\"severity\":\"%s\",\"table\":", kinds[finding->kind].id,
               finding->severity != NULL ? finding->severity : kinds[finding->kind].severity);
    insight_write_text(out, finding->table);
    JSON_PUT(out, ",\"index\":");
    insight_write_text(out, finding->index);
    if (finding->pattern == NULL) {
        JSON_PUT(out, ",\"pattern\":null");
    } else {
        buf_format(out, ",\"pattern\":\"%016llx\"", (unsigned long long)finding->pattern->text.id);
    }
    JSON_PUT(out, ",\"title\":");
    json_write_string(
        out, str_from_c(finding->title != NULL ? finding->title : kinds[finding->kind].title));
    JSON_PUT(out, ",\"evidence\":");
    json_write_string(out, finding->evidence);
    JSON_PUT(out, ",\"remedy\":");
    json_write_string(out, finding->remedy);
    buf_format(out, ",\"numbers\":{%.*s},\"docs\":\"findings/%s.md\"}", STR_ARG(finding->numbers),
               kinds[finding->kind].id);
}

void insight_findings(struct insight *insight)
{
    struct search search;
    struct buf *out = insight->out;
    struct str table = insight_parameter(insight, "table", 0);
    size_t limit = insight_limit(insight, LIMIT_DEFAULT);
    size_t total = 0;
    find_all(insight, &search);
    for (size_t i = 0; i < search.count; i++) {
        total += str_is_null(table) || str_eq(table, search.findings[i].table);
    }
    buf_format(out, "{\"total\":%zu,\"tables\":%zu,\"tablesExamined\":%zu,\"findings\":[", total,
               search.tables.count, search.surveyed_count);
    size_t written = 0;
    for (size_t i = 0; i < search.count && written < limit; i++) {
        if (str_is_null(table) || str_eq(table, search.findings[i].table)) {
            buf_add(out, written++ > 0 ? STR(",") : STR(""));
            write_finding(out, &search.findings[i]);
        }
    }
    JSON_PUT(out, "]}");
    pthread_mutex_unlock(&insight->meter->mutex);
    insight_release_tables(&search.tables);
}

size_t insight_finding_count(struct insight *insight)
{
    enum { FRESH_MS = 10 * 1000 };
    struct meter *meter = insight->meter;
    pthread_mutex_lock(&meter->mutex);
    bool is_fresh =
        meter->findings_ms != 0 && clock_monotonic_us() / 1000 - meter->findings_ms < FRESH_MS;
    size_t count = meter->finding_count;
    pthread_mutex_unlock(&meter->mutex);
    if (!is_fresh) {
        struct search search;
        find_all(insight, &search);
        count = search.count;
        pthread_mutex_unlock(&meter->mutex);
        insight_release_tables(&search.tables);
    }
    return count;
}
