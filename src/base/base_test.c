/* Unit tests of src/base, one function per header. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/testing.h"
#include "base/utf8.h"

static void test_str(void **state)
{
    (void)state;
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("b"), STR("ab")) > 0);
    assert_true(str_cmp(STR(""), STR_NULL) == 0);
    assert_true(str_contains(STR("abc"), STR("bc")) && !str_contains(STR("abc"), STR("cb")));
    assert_true(str_contains(STR("abc"), STR("")) && str_contains(STR(""), STR("")));
    assert_true(str_contains(STR("abc"), STR("c")) && !str_contains(STR(""), STR("c")));
    assert_false(str_contains(STR("abc"), STR("abcd")));
    assert_true(str_eq_nocase(STR("Host"), STR("hOST")) && str_eq_nocase(STR(""), STR_NULL));
    assert_false(str_eq_nocase(STR("host"), STR("hos")) || str_eq_nocase(STR("@"), STR("`")));
    assert_false(str_eq_nocase(STR("a\0b"), STR("a\0c"))); /* NUL is an ordinary byte */
    int64_t number;
    assert_true(str_to_int64(STR("-9223372036854775808"), &number) && number == INT64_MIN);
    assert_true(str_to_int64(STR("9223372036854775807"), &number) && number == INT64_MAX);
    assert_false(str_to_int64(STR("9223372036854775808"), &number));
    assert_false(str_to_int64(STR(""), &number) || str_to_int64(STR("-"), &number) ||
                 str_to_int64(STR("1x"), &number));
}

static void test_arena(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct str kept = arena_format(&arena, "%d %s", 7, "seven");
    struct arena_mark mark = arena_mark(&arena);
    for (int i = 0; i < 100; i++) {
        memset(arena_alloc(&arena, 1000), 0xAA, 1000);
    }
    char *big = arena_bytes(&arena, 1 << 20);
    memset(big, 0xBB, 1 << 20);
    arena_trim(&arena, big, 1 << 20, 10);
    arena_rewind(&arena, mark);
    CHECK_STR_EQ("kept", kept, STR("7 seven"));
    int64_t *zeros = ARENA_ARRAY(&arena, int64_t, 100);
    assert_true(zeros[0] == 0 && zeros[99] == 0 && (uintptr_t)zeros % 8 == 0);
    arena_reset(&arena);
    arena_finish(&arena);
}

static void test_map(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    static int values[1000];
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "name%d", i);
        assert_null(map_put(&map, str_from_c(name), &values[i]));
    }
    for (int i = 0; i < 1000; i += 2) {
        snprintf(name, sizeof(name), "name%d", i);
        assert_ptr_equal(map_remove(&map, str_from_c(name)), &values[i]);
    }
    assert_null(map_remove(&map, STR("name0")));
    assert_int_equal(map.count, 500);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "name%d", i);
        assert_ptr_equal(map_get(&map, str_from_c(name)), i % 2 == 0 ? NULL : &values[i]);
    }
    size_t seen = 0;
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(&map, &at, &key, &value)) {
        seen++;
    }
    assert_int_equal(seen, 500);
    map_finish(&map);
}

static void test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *plain;
        const char *coded;
    } good[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    char out[64];
    size_t len;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct str plain = str_from_c(good[i].plain);
        base64_encode(plain, out);
        CHECK_STR_EQ(good[i].plain, str_make(out, BASE64_ENCODED_LEN(plain.len)),
                     str_from_c(good[i].coded));
        assert_true(base64_decode(str_from_c(good[i].coded), out, &len));
        CHECK_STR_EQ(good[i].coded, str_make(out, len), plain);
    }
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9v!"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (base64_decode(str_from_c(bad[i]), out, &len)) {
            fail_msg("%s was accepted", bad[i]);
        }
    }
}

static void test_hex(void **state)
{
    (void)state;
    char text[7];
    char bytes[3];
    hex_encode_c(str_make("\x00\xff\x1a", 3), text);
    assert_string_equal(text, "00ff1a");
    assert_true(hex_decode(STR("00Ff1a"), bytes));
    assert_memory_equal(bytes, "\x00\xff\x1a", 3);
    assert_false(hex_decode(STR("0"), bytes));
    assert_false(hex_decode(STR("0g"), bytes));
}

static void test_percent(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct str text = STR("a/b c~\xc3\xa9%");
    CHECK_STR_EQ("slash", percent_encode(&arena, text, "/"), STR("a/b%20c~%C3%A9%25"));
    CHECK_STR_EQ("all", percent_encode(&arena, text, ""), STR("a%2Fb%20c~%C3%A9%25"));
    CHECK_STR_EQ("back", percent_decode(&arena, percent_encode(&arena, text, ""), '+'), text);
    CHECK_STR_EQ("kept", percent_decode(&arena, STR("%2 %zz+%41"), ' '), STR("%2 %zz A"));
    arena_finish(&arena);
}

static void test_utf8(void **state)
{
    (void)state;
    assert_true(utf8_is_valid(STR("")) &&
                utf8_is_valid(STR("abcdefghij\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")));
    assert_false(utf8_is_valid(STR("\x80")) || utf8_is_valid(STR("abcdefgh\xc3")) ||
                 utf8_is_valid(STR("\xe0\x80\x80")) || utf8_is_valid(STR("\xf4\x90\x80\x80")) ||
                 utf8_is_valid(STR("\xed\xa0\x80")));
    assert_int_equal(utf8_utf16_len(STR("a\xc3\xa9\xf0\x9f\x98\x80")), 4);
    static const uint32_t code_points[] = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF};
    for (size_t i = 0; i < COUNT_OF(code_points); i++) {
        char bytes[4];
        size_t len = utf8_encode(code_points[i], bytes);
        uint32_t decoded;
        assert_int_equal(utf8_decode(str_make(bytes, len), &decoded), len);
        assert_int_equal(decoded, code_points[i]);
    }
    for (size_t i = 0; i < 9; i++) {
        static const size_t kept[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
        assert_int_equal(utf8_prefix(STR("a\xc3\xa9\xf0\x9f\x98\x80"), i).len, kept[i]);
    }
}

/* Tasks of each poster run in order, and none is lost. */
struct note {
    struct task task;
    int poster;
    int number;
};

enum { POSTERS = 4, NOTES = 2000 };
static struct note notes[POSTERS][NOTES];
static int next_number[POSTERS];
static int ran;
static bool all_ran;

static void run_note(struct task *task)
{
    struct note *note = CONTAINER_OF(task, struct note, task);
    assert_int_equal(note->number, next_number[note->poster]++);
    all_ran = ++ran == POSTERS * NOTES;
}

struct poster {
    struct mailbox *mailbox;
    int number;
};

static void *post_all(void *arg)
{
    struct poster *poster = arg;
    for (int i = 0; i < NOTES; i++) {
        struct note *note = &notes[poster->number][i];
        *note = (struct note){.task.run = run_note, .poster = poster->number, .number = i};
        mailbox_post(poster->mailbox, &note->task);
    }
    return NULL;
}

static void test_mailbox(void **state)
{
    (void)state;
    struct waiting_mailbox *waiting = waiting_mailbox_create();
    pthread_t threads[POSTERS];
    struct poster posters[POSTERS];
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.mailbox = waiting_mailbox_box(waiting), .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    waiting_mailbox_run(waiting, &all_ran);
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(ran, POSTERS * NOTES);
    waiting_mailbox_destroy(waiting);
}

static void test_buf(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_add_int64(&buf, INT64_MIN);
    buf_add_char(&buf, ' ');
    buf_add_int64(&buf, 0);
    buf_format(&buf, " %s %d", "x", 5);
    CHECK_STR_EQ("buf", buf_str(&buf), STR("-9223372036854775808 0 x 5"));
    buf.len = 0;
    buf_format(&buf, "%.*s|%03d|%-4s|%zu|%lld|%c|%04x|%%|%.1f", STR_ARG(STR("a\0b")), 7, "yz",
               (size_t)8, -9LL, 'c', 255, 0.5);
    CHECK_STR_EQ("formats", buf_str(&buf), STR("a\0b|007|yz  |8|-9|c|00ff|%|0.5"));
    buf_finish(&buf);
}

static void test_budget(void **state)
{
    (void)state;
    struct memory_pool pool = {.bytes_max = 8 << 20};
    struct budget large;
    struct budget small;
    budget_init(&large, &pool, 0);
    budget_init(&small, &pool, 100000);
    struct buf buf = {.budget = &large};
    (void)buf_reserve(&buf, 5 << 20);
    assert_int_equal(budget_used(&large), buf.capacity);
    assert_int_equal(memory_pool_used(&pool), buf.capacity);
    assert_int_equal(budget_state(&large), BUDGET_FITS);
    (void)buf_reserve(&buf, (7 << 20) + 1); /* an eighth is reserved for small requests */
    assert_int_equal(budget_state(&large), BUDGET_OVER_POOL);

    struct arena arena;
    arena_init(&arena);
    arena_set_budget(&arena, &small);
    memset(arena_bytes(&arena, 10), 0, 10);
    assert_int_equal(budget_state(&small), BUDGET_FITS);
    assert_false(arena_is_over_budget(&arena));
    struct arena_mark mark = arena_mark(&arena);
    memset(arena_bytes(&arena, 100000), 0, 100000);
    assert_true(arena_is_over_budget(&arena));
    arena_rewind(&arena, mark);
    assert_true(arena_is_over_budget(&arena)); /* until the next request */
    budget_restart(&small);
    assert_false(arena_is_over_budget(&arena));
    arena_finish(&arena);
    assert_int_equal(budget_used(&small), 0);

    buf.len = 10;
    buf_shrink(&buf, 1000);
    assert_int_equal(buf.capacity, 1000);
    assert_int_equal(memory_pool_used(&pool), 1000);
    buf_finish(&buf);
    assert_int_equal(memory_pool_used(&pool), 0);
}

/* Of requests that together need more than there is, one finishes. */
static void test_favored_budget(void **state)
{
    enum { MIB = 1 << 20 };
    (void)state;
    struct memory_pool pool = {.bytes_max = 8 * MIB};
    struct budget first;
    struct budget second;
    struct budget answer;
    budget_init(&first, &pool, 20 * MIB);
    budget_init(&second, &pool, 20 * MIB);
    budget_init(&answer, &pool, 0);
    budget_charge(&first, 3 * MIB);
    budget_charge(&second, 3 * MIB);
    budget_charge(&first, 3 * MIB); /* the first that does not fit */
    assert_int_equal(budget_state(&first), BUDGET_FITS);
    budget_charge(&second, 3 * MIB);
    assert_int_equal(budget_state(&second), BUDGET_OVER_POOL);
    budget_charge(&answer, MIB); /* has no limit of its own */
    assert_int_equal(budget_state(&answer), BUDGET_OVER_POOL);
    budget_release(&second, 6 * MIB);
    budget_restart(&second);
    budget_charge(&first, 9 * MIB);
    assert_int_equal(budget_state(&first), BUDGET_FITS);
    assert_int_equal(memory_pool_used(&pool), 16 * MIB);
    assert_false(memory_pool_is_full(&pool)); /* small requests are served meanwhile */
    budget_charge(&second, MIB);
    assert_int_equal(budget_state(&second), BUDGET_FITS);
    budget_yield(&first); /* from now on all of it counts */
    assert_true(memory_pool_is_full(&pool));
    budget_charge(&second, MIB);
    assert_int_equal(budget_state(&second), BUDGET_FITS); /* favored in turn */
    budget_release(&first, 15 * MIB);
    budget_charge(&second, 19 * MIB);
    assert_int_equal(budget_state(&second), BUDGET_OVER_OWN);
    budget_release(&second, 21 * MIB);
    budget_restart(&second);
    budget_release(&answer, MIB);
    assert_int_equal(memory_pool_limited(&pool), 0);
    assert_int_equal(memory_pool_used(&pool), 0);
}

static void test_bytes(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xFF, 1, 2, 3, 4, 5, 6, 7, 0x88};
    assert_int_equal(get_u16_le(bytes + 1), 0x0201);
    assert_int_equal(get_u16_be(bytes + 1), 0x0102);
    assert_int_equal(get_u32_le(bytes + 1), 0x04030201);
    assert_int_equal(get_u32_be(bytes + 1), 0x01020304);
    assert_true(get_u64_le(bytes + 1) == 0x8807060504030201);
    assert_true(get_u64_be(bytes + 1) == 0x0102030405060788);
    uint8_t out[9] = {0xFF};
    put_u64_le(out + 1, 0x8807060504030201);
    assert_memory_equal(out, bytes, sizeof(out));
    put_u64_be(out + 1, 0x0102030405060788);
    assert_memory_equal(out, bytes, sizeof(out));
    put_u32_le(out + 1, 0x04030201);
    put_u32_be(out + 5, 0x05060788);
    assert_memory_equal(out, bytes, sizeof(out));
    put_u16_be(out + 1, 0x0102);
    put_u16_le(out + 3, 0x0403);
    assert_memory_equal(out, bytes, sizeof(out));
}

/* Text of a client neither makes a line of its own nor controls a terminal. */
static void test_log(void **state)
{
    (void)state;
    char path[] = "/tmp/gramme-log-XXXXXX";
    char text[256] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && log_open_file(path));
    log_write(LOG_ERROR, "test", "said: %s", "a\nb\x1b[2J");
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "error test: said: a b [2J\n"));
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str),     cmocka_unit_test(test_arena),
        cmocka_unit_test(test_map),     cmocka_unit_test(test_base64),
        cmocka_unit_test(test_log),     cmocka_unit_test(test_hex),
        cmocka_unit_test(test_percent), cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_mailbox), cmocka_unit_test(test_buf),
        cmocka_unit_test(test_budget),  cmocka_unit_test(test_favored_budget),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
