/* Text that is safe for terminals, and its width. */
#include "base/testing.h"

#include <locale.h>

#include "base/terminal.h"

static void test_safe(void **state)
{
    static const struct {
        const char *text;
        const char *plain;
        const char *json;
    } rows[] = {
        {"plain", "plain", "plain"},
        {"a\nb\tc", "a\\nb\\tc", "a\nb\tc"},
        {"\x1b[31m\x07", "\\x1b[31m\\x07", "\\u001b[31m\\u0007"},
        {"\x7f", "\\x7f", "\\u007f"},
        {"\xc2\x9b", "\\x9b", "\\u009b"},
        {"\xe2\x80\xae", "\\u{202e}", "\\u202e"},
        {"\xf3\xa0\x81\x81", "\\u{e0041}", "\\udb40\\udc41"},
        {"\xff\xc3", "\\xff\\xc3", "\\ufffd\\ufffd"},
        {"\xc3\xa9\xe6\x97\xa5", "\xc3\xa9\xe6\x97\xa5", "\xc3\xa9\xe6\x97\xa5"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf plain = {0};
        struct buf json = {0};
        terminal_add_text(&plain, str_from_c(rows[i].text));
        terminal_add_json(&json, str_from_c(rows[i].text));
        CHECK_STR_EQ("plain", buf_str(&plain), str_from_c(rows[i].plain));
        CHECK_STR_EQ("json", buf_str(&json), str_from_c(rows[i].json));
        buf_finish(&plain);
        buf_finish(&json);
    }
}

static void test_cells(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        bool right;
        const char *expected;
    } rows[] = {
        {"ab", 4, false, "ab  "},
        {"ab", 4, true, "  ab"},
        {"abcd", 4, false, "abcd"},
        {"abcde", 4, false, "abc\xe2\x80\xa6"},
        {"abc", 0, false, ""},
        {"\xe6\x97\xa5\xe6\x9c\xac", 4, false, "\xe6\x97\xa5\xe6\x9c\xac"},
        {"\xe6\x97\xa5\xe6\x9c\xac", 5, true, " \xe6\x97\xa5\xe6\x9c\xac"},
        {"\xe6\x97\xa5\xe6\x9c\xac", 3, false, "\xe6\x97\xa5\xe2\x80\xa6"},
        {"\xe6\x97\xa5\xe6\x9c\xac", 2, false, "\xe2\x80\xa6 "},
        {"e\xcc\x81x", 3, false, "e\xcc\x81x "}, /* a combining accent has no width */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf out = {0};
        terminal_add_cell(&out, str_from_c(rows[i].text), rows[i].width, rows[i].right);
        CHECK_STR_EQ(rows[i].text, buf_str(&out), str_from_c(rows[i].expected));
        assert_int_equal(terminal_width(buf_str(&out)), rows[i].width);
        buf_finish(&out);
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_safe), cmocka_unit_test(test_cells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
