/* Rows as they were before some writes: of a table, several writes of one item, ranges. */
#include "engine/past.h"

#include "base/testing.h"
#include "codec/row.h"
#include "model/builder.h"

static struct arena arena;

static struct value item(const char *text)
{
    struct builder builder;
    if (text == NULL) {
        return VALUE_ABSENT;
    }
    builder_init(&builder, &arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("v"));
    builder_add_string(&builder, str_from_c(text));
    builder_close_map(&builder, open, 1);
    return builder_finish(&builder);
}

/* "a=1 b=- " of the rows; "-" stands for none. */
static struct str text_of(struct past past)
{
    struct str text = STR("");
    for (size_t i = 0; i < past.count; i++) {
        struct row row = row_decode(past.rows[i].row);
        struct str value =
            value_is_absent(row.item) ? STR("-") : value_bytes(value_map_get(row.item, STR("v")));
        assert_true(value_is_absent(row.item) || row.size == item_size(row.item));
        text = arena_format(&arena, "%.*s%.*s=%.*s ", STR_ARG(text), STR_ARG(past.rows[i].key),
                            STR_ARG(value));
    }
    return text;
}

struct write {
    const char *row;
    const char *old;
    const char *new;
};

static const struct {
    const char *name;
    struct write writes[5];
    const char *lo;
    const char *hi;
    const char *expected;
} rows[] = {
    {"no writes", {{0}}, "a", "z", ""},
    {"new", {{"b", NULL, "1"}}, "a", "z", "b=- "},
    {"changed", {{"b", "1", "2"}}, "a", "z", "b=1 "},
    {"deleted", {{"b", "1", NULL}}, "a", "z", "b=1 "},
    {"of one item the oldest counts", {{"b", "1", "2"}, {"b", "2", "3"}}, "a", "z", "b=1 "},
    {"new and changed", {{"b", NULL, "2"}, {"b", "2", NULL}, {"b", NULL, "4"}}, "a", "z", "b=- "},
    {"in order", {{"d", "1", "2"}, {"b", "2", "3"}, {"c", NULL, "1"}}, "a", "z", "b=2 c=- d=1 "},
    {"in the range only", {{"a", "1", "2"}, {"b", "2", "3"}, {"d", "4", NULL}}, "b", "d", "b=2 "},
    {"an empty range", {{"a", "1", "2"}}, "b", "b", ""},
};

static void test_table(void **state)
{
    (void)state;
    const struct table table = {.version = 3};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct past_write writes[5];
        size_t count = 0;
        for (; count < 5 && rows[i].writes[count].row != NULL; count++) {
            const struct write *write = &rows[i].writes[count];
            writes[count] = (struct past_write){.row = str_from_c(write->row),
                                                .old_item = item(write->old),
                                                .new_item = item(write->new)};
        }
        struct past_range range = {
            .table = &table, .lo = str_from_c(rows[i].lo), .hi = str_from_c(rows[i].hi)};
        struct past past = past_before(NULL, &range, writes, count, &arena);
        CHECK_STR_EQ(rows[i].name, text_of(past), str_from_c(rows[i].expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    arena_init(&arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_finish(&arena);
    return failed;
}
