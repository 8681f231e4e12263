/* Pages, filters and totals of the index in memory. */
#include "apps/reconciliation/mirror.h"

#include <stdio.h>
#include <string.h>

#include "apps/common/when.h"
#include "base/base.h"
#include "base/testing.h"

extern const char reconciliation_schema[];

static const char NOW[] = "2026-02-09T12:00:00Z";

static const struct {
    const char *tenant;
    const char *call;
    const char *when;
    bool audio;
    const char *status;
} rows[] = {
    {"north", "c-1", "2026-02-09T11:50:00Z", true, "FAILED"},
    {"north", "c-2", "2026-02-08T11:00:00Z", false, "SUCCESS"},
    {"south", "c-3", "2026-02-07T11:00:00Z", false, "PENDING"},
    {"south", "c-4", "2026-01-01T00:00:00Z", true, "PENDING"}, /* older than the look-back */
    {"south", "c-5", "2026-02-09T11:00:00Z", true, "SUCCESS"}, /* not pending */
};

static int64_t when_of(const char *text)
{
    int64_t when = 0;
    assert_true(when_parse(text, &when));
    return when;
}

static struct gramme_db *db;
static struct replica *mirror;

static int open_mirror(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    db = gramme_open("memory:", NULL, &error);
    assert_non_null(db);
    assert_true(gramme_create_table(db, reconciliation_schema, strlen(reconciliation_schema), 1000,
                                    &error));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_answer *answer =
            recon_ingest_call(db,
                              &(struct recon_call){.tenant_id = rows[i].tenant,
                                                   .call_id = rows[i].call,
                                                   .when = when_of(rows[i].when),
                                                   .audio_received = rows[i].audio,
                                                   .processing_status = rows[i].status},
                              NULL, &error);
        assert_non_null(answer);
        gramme_answer_destroy(answer);
    }
    mirror = mirror_create();
    return 0;
}

static int close_mirror(void **state)
{
    (void)state;
    replica_destroy(mirror);
    gramme_close(db);
    return 0;
}

static struct mirror_filter filter_of(const char *tenant, const char *status, const char *audio,
                                      enum mirror_age age)
{
    int64_t now = when_of(NOW);
    return (struct mirror_filter){.tenant = tenant,
                                  .status = status,
                                  .audio = audio,
                                  .age = age,
                                  .since = now - 7 * WHEN_DAY,
                                  .now = now};
}

/* Writes the ids of a page, "c-1 c-2". */
static void list(const struct mirror_filter *filter, struct mirror_page page, char *out,
                 size_t size, char *out_cursor, size_t *out_total)
{
    struct mirror_result result;
    struct gramme_error *error = NULL;
    assert_true(mirror_list(mirror, db, true, filter, &page, &result, &error));
    const struct gramme_value *items = gramme_get(result.items, "items");
    out[0] = '\0';
    for (size_t i = 0; i < gramme_value_count(items); i++) {
        size_t len = strlen(out);
        snprintf(out + len, size - len, "%s%s", i > 0 ? " " : "",
                 recon_call_id(gramme_value_at(items, i)));
    }
    snprintf(out_cursor, 128, "%s", result.cursor == NULL ? "" : result.cursor);
    *out_total = result.total;
    gramme_value_destroy(result.items);
}

static void lists_follow_their_filters(void **state)
{
    (void)state;
    static const struct {
        const char *tenant;
        const char *status;
        const char *audio;
        enum mirror_age age;
        bool newest_first;
        const char *found;
    } cases[] = {
        {NULL, NULL, NULL, MIRROR_CURRENT, false, "c-3 c-2 c-1"},
        {NULL, NULL, NULL, MIRROR_CURRENT, true, "c-1 c-2 c-3"},
        {NULL, NULL, NULL, MIRROR_ABANDONED, false, "c-4"},
        {NULL, NULL, NULL, MIRROR_ALL, false, "c-4 c-3 c-2 c-1"},
        {"north", NULL, NULL, MIRROR_ALL, false, "c-2 c-1"},
        {"nowhere", NULL, NULL, MIRROR_ALL, false, ""},
        {NULL, "FAILED", NULL, MIRROR_ALL, false, "c-1"},
        {NULL, "PENDING", NULL, MIRROR_CURRENT, false, "c-3 c-2"}, /* only the audio is missing */
        {NULL, NULL, "missing", MIRROR_ALL, false, "c-3 c-2"},
        {"south", NULL, "received", MIRROR_ALL, false, "c-4"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char found[128];
        char cursor[128];
        size_t total;
        struct mirror_filter filter =
            filter_of(cases[i].tenant, cases[i].status, cases[i].audio, cases[i].age);
        list(&filter, (struct mirror_page){.limit = 10, .newest_first = cases[i].newest_first},
             found, sizeof(found), cursor, &total);
        assert_string_equal(found, cases[i].found);
    }
}

static void pages_go_on_where_the_last_one_ended(void **state)
{
    (void)state;
    struct mirror_filter filter = filter_of(NULL, NULL, NULL, MIRROR_ALL);
    char found[128];
    char cursor[128];
    size_t total;
    list(&filter, (struct mirror_page){.limit = 3}, found, sizeof(found), cursor, &total);
    assert_string_equal(found, "c-4 c-3 c-2");
    assert_int_equal(total, 4);
    assert_true(mirror_cursor_is_valid(cursor));
    list(&filter, (struct mirror_page){.limit = 3, .after = cursor}, found, sizeof(found), cursor,
         &total);
    assert_string_equal(found, "c-1");
    assert_int_equal(total, 4);
    assert_string_equal(cursor, "");
    static const char *const bad[] = {"", "x", "#", "|", "a|b#c", "a#b|", "a#b"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(mirror_cursor_is_valid(bad[i]));
    }
}

static void the_summary_counts_what_is_listed(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct mirror_filter filter = filter_of(NULL, NULL, NULL, MIRROR_CURRENT);
    struct gramme_value *out = gramme_map_create();
    assert_true(mirror_summarize(mirror, db, true, &filter, out, &error));
    assert_int_equal(gramme_get_int(out, "pending", -1), 3);
    assert_int_equal(gramme_get_int(out, "audioMissing", -1), 2);
    const struct gramme_value *abandoned = gramme_get(out, "abandoned");
    assert_int_equal(gramme_get_int(abandoned, "count", -1), 1);
    assert_string_equal(gramme_get_string(abandoned, "oldest"), "2026-01-01T00:00:00Z");
    assert_int_equal(gramme_get_int(gramme_get(out, "byStatus"), "FAILED", -1), 1);
    assert_int_equal(gramme_value_count(gramme_get(gramme_get(out, "choices"), "tenants")), 2);
    gramme_value_destroy(out);
}

/* Stream records remove resolved calls and add failed ones. */
static void changes_are_followed(void **state)
{
    (void)state;
    char found[128];
    char cursor[128];
    size_t total;
    struct mirror_filter filter = filter_of(NULL, NULL, NULL, MIRROR_CURRENT);
    struct mirror_page page = {.limit = 10};
    list(&filter, page, found, sizeof(found), cursor, &total);
    struct gramme_value *item = gramme_map_create();
    gramme_set_string(item, "PK", "TENANT#north");
    gramme_set_string(item, "SK", "CALL#c-1");
    replica_apply(mirror, NULL, item); /* without the keys of the index */
    gramme_set_string(item, "SK", "CALL#c-9");
    gramme_set_string(item, "GSI_Recon_PK", "STATUS#PENDING#3");
    gramme_set_string(item, "GSI_Recon_SK", "2026-02-09T11:59:00Z#north");
    replica_apply(mirror, NULL, item);
    list(&filter, page, found, sizeof(found), cursor, &total);
    assert_string_equal(found, "c-3 c-2 c-9");
    replica_apply(mirror, item, NULL);
    list(&filter, page, found, sizeof(found), cursor, &total);
    assert_string_equal(found, "c-3 c-2");
    gramme_value_destroy(item);
}

static void calls_that_were_tried_are_listed_whatever_their_age(void **state)
{
    (void)state;
    static const char *const waits[][2] = {
        {"c-1", "2026-02-09T12:05:00Z"}, {"c-4", "2026-02-09T12:15:00Z"}, {"c-9", NULL}};
    struct gramme_error *error = NULL;
    struct mirror_result result;
    assert_true(mirror_list_tried(mirror, db, true, 10, &result, &error)); /* reads the index */
    assert_int_equal(gramme_value_count(gramme_get(result.items, "items")), 0);
    gramme_value_destroy(result.items);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        struct gramme_value *item = gramme_map_create();
        gramme_set_string(item, "PK", "TENANT#north");
        gramme_set_format(item, "SK", "CALL#%s", waits[i][0]);
        gramme_set_string(item, "GSI_Recon_PK", "STATUS#PENDING#1");
        gramme_set_string(item, "GSI_Recon_SK", "2025-01-01T00:00:00Z#north");
        if (waits[i][1] != NULL) {
            gramme_set_string(item, "NotBefore", waits[i][1]);
        }
        replica_apply(mirror, NULL, item);
        gramme_value_destroy(item);
    }
    for (size_t limit = 1; limit <= 3; limit++) {
        assert_true(mirror_list_tried(mirror, db, true, limit, &result, &error));
        const struct gramme_value *items = gramme_get(result.items, "items");
        assert_int_equal(gramme_value_count(items), MIN(limit, (size_t)2));
        assert_string_equal(recon_tenant_id(gramme_value_at(items, 0)), "north");
        assert_string_equal(recon_call_id(gramme_value_at(items, 0)), "c-4");
        gramme_value_destroy(result.items);
    }
}

/* A shard number out of range, and a tenant's id that is too long. */
static void rows_of_other_programs_do_no_harm(void **state)
{
    (void)state;
    char tenant[401];
    memset(tenant, 'x', sizeof(tenant) - 1);
    tenant[sizeof(tenant) - 1] = '\0';
    struct gramme_error *error = NULL;
    struct mirror_filter filter = filter_of(NULL, NULL, NULL, MIRROR_CURRENT);
    struct gramme_value *out = gramme_map_create();
    assert_true(mirror_summarize(mirror, db, true, &filter, out, &error)); /* reads the index */
    struct gramme_value *item = gramme_map_create();
    gramme_set_format(item, "PK", "TENANT#%s", tenant);
    gramme_set_string(item, "SK", "CALL#c-9");
    gramme_set_string(item, "GSI_Recon_SK", "2026-02-09T11:59:00Z#x");
    replica_apply(mirror, NULL, item); /* not in the index without the other key */
    assert_true(mirror_summarize(mirror, db, true, &filter, out, &error));
    assert_int_equal(gramme_get_int(out, "pending", -1), 3);
    gramme_set_string(item, "GSI_Recon_PK", "STATUS#PENDING#-2000000000");
    replica_apply(mirror, NULL, item);
    gramme_set_string(item, "SK", "CALL#c-10");
    replica_apply(mirror, NULL, item);
    assert_true(mirror_summarize(mirror, db, true, &filter, out, &error));
    assert_int_equal(gramme_get_int(out, "pending", -1), 5);
    assert_int_equal(gramme_value_count(gramme_get(gramme_get(out, "choices"), "tenants")), 3);
    gramme_value_destroy(item);
    gramme_value_destroy(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_follow_their_filters, open_mirror, close_mirror),
        cmocka_unit_test_setup_teardown(pages_go_on_where_the_last_one_ended, open_mirror,
                                        close_mirror),
        cmocka_unit_test_setup_teardown(the_summary_counts_what_is_listed, open_mirror,
                                        close_mirror),
        cmocka_unit_test_setup_teardown(changes_are_followed, open_mirror, close_mirror),
        cmocka_unit_test_setup_teardown(calls_that_were_tried_are_listed_whatever_their_age,
                                        open_mirror, close_mirror),
        cmocka_unit_test_setup_teardown(rows_of_other_programs_do_no_harm, open_mirror,
                                        close_mirror),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
