/* Tests which part of a store's URL messages and the log show. */
#include "store/store.h"

#include "base/testing.h"

static void test_url_to_show(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *shown;
    } cases[] = {
        {"memory:", "memory:"},
        {"rocksdb:/data//user:x@y?password", "rocksdb:/data//user:x@y?password"},
        {"postgresql://db/gramme", "postgresql://db/gramme"},
        {"postgresql://user@db/gramme?pool=4", "postgresql://user@db/gramme?pool=4"},
        {"postgresql://user:secret@db/gramme", "postgresql://user@db/gramme"},
        {"postgres://user:a/b?secret@db/gramme", "postgres://user@db/gramme"},
        {"postgresql://user@db/gramme?password=secret", "postgresql://user@db/gramme"},
        {"postgress://user:secret@db/gramme", "postgress://user@db/gramme"},
        {"postgresql:user:secret@db/gramme", "postgresql..."},
        {"pgsql:user:secret@db/gramme", "pgsql..."},
        {"pgsql:user:secret//secret@db/gramme", "pgsql..."},
        {"host=db user=u password=secret", "host..."},
        {"password=//secret", "password..."},
        {"user:secret@db/gramme", "user..."},
        {"//user:secret@db/gramme", "//user..."},
        {"localhost:5432", "localhost..."},
        {"./data", "./data"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena);
        struct str shown = store_url_to_show(&arena, str_from_c(cases[i].url));
        CHECK_STR_EQ(cases[i].url, shown, str_from_c(cases[i].shown));
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_to_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
