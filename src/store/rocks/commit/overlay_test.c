/* Tests the overlay: the rows that a group has written. */
#include "store/rocks/commit/overlay.h"

#include <stdio.h>

#include "base/random.h"
#include "base/testing.h"

enum { KEYS = 3000 };

static char names[KEYS][8];

static struct str key_of(size_t i)
{
    return str_make(names[i], strlen(names[i]));
}

/* Compares random writes with an array; with as many keys as a large group has. */
static void agrees_with_an_array(void **state)
{
    (void)state;
    struct overlay *overlay = overlay_create();
    struct random random;
    random_init_seed(&random, 7);
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "k%zu", i);
    }
    for (int round = 0; round < 20; round++) {
        bool set[KEYS] = {false};
        struct str values[KEYS];
        size_t writes = round % 2 == 0 ? 20 : (size_t)2 * KEYS;
        for (size_t i = 0; i < writes; i++) {
            size_t key = random_next(&random) % KEYS;
            set[key] = true;
            values[key] = i % 5 == 0 ? STR_NULL : key_of(i % KEYS);
            overlay_set(overlay, key_of(key), values[key]);
        }
        for (size_t i = 0; i < KEYS; i++) {
            struct str value = STR("untouched");
            assert_int_equal(overlay_get(overlay, key_of(i), &value), set[i]);
            if (set[i]) {
                CHECK_STR_EQ("value", value, values[i]);
                assert_int_equal(str_is_null(value), str_is_null(values[i]));
            }
        }
        overlay_clear(overlay);
    }
    overlay_destroy(overlay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
