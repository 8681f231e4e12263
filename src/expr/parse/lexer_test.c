/* Unit tests of the lexer, and of the order of the reserved words. */
#include "expr/parse/lexer_internal.h"

#include "base/arena.h"
#include "base/testing.h"
#include "expr/parse/reserved_internal.h"

/* Names of kinds in the order of the enum; tokens that are their own name are NULL. */
static const char *const kinds[] = {
    "end", "name",    "#",      ":",  "number", "=",  "<>",     "<",   "<=",    ">",
    ">=",  "+",       "-",      ".",  ",",      "(",  ")",      "[",   "]",     "ADD",
    "AND", "BETWEEN", "DELETE", "IN", "NOT",    "OR", "REMOVE", "SET", "other",
};

static struct str dump(struct arena *arena, struct str text)
{
    struct str list = STR("");
    struct token token = lexer_next(text, 0);
    while (token.kind != TOKEN_END) {
        list = arena_format(arena, "%.*s%s%s'%.*s'", STR_ARG(list), list.len > 0 ? " " : "",
                            kinds[token.kind], STR_ARG(span_str(token.span, text)));
        token = lexer_next(text, (size_t)token.span.at + token.span.len);
    }
    return list;
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"", ""},
        {" \t\r\n", ""},
        {"a1_b", "name'a1_b'"},
        {"#a #0 #_ :v :1", "#'#a' #'#0' #'#_' :':v' :':1'"},
        {"# :", "other'#' other':'"},
        {"#-", "other'#' -'-'"},
        {"_a", "other'_' name'a'"},
        {"0 17 01 1a", "number'0' number'17' number'0' number'1' number'1' name'a'"},
        {"= <> < <= > >= =< <>=", "='=' <>'<>' <'<' <='<=' >'>' >='>=' ='=' <'<' <>'<>' ='='"},
        {"+-.,()[]", "+'+' -'-' .'.' ,',' ('(' )')' ['[' ]']'"},
        {"and Or nOT BETWEEN in", "AND'and' OR'Or' NOT'nOT' BETWEEN'BETWEEN' IN'in'"},
        {"set remove add delete", "SET'set' REMOVE'remove' ADD'add' DELETE'delete'"},
        {"android sets", "name'android' name'sets'"},
        {"'a b' \"c\" 'd", "other''a b'' other'\"c\"' other''' name'd'"},
        {"'a\\'b'", "other''a\\'b''"},
        {"é€", "other'é' other'€'"},
        {"a!b", "name'a' other'!' name'b'"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR_EQ(rows[i].text, dump(&arena, str_from_c(rows[i].text)),
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_placeholders(void **state)
{
    (void)state;
    assert_true(lexer_is_placeholder(STR("#a"), '#'));
    assert_true(lexer_is_placeholder(STR(":0_Z"), ':'));
    assert_false(lexer_is_placeholder(STR(":a"), '#'));
    assert_false(lexer_is_placeholder(STR("#"), '#'));
    assert_false(lexer_is_placeholder(STR("#a-b"), '#'));
    assert_false(lexer_is_placeholder(STR("#é"), '#'));
    assert_false(lexer_is_placeholder(STR(""), '#'));
}

static void test_reserved(void **state)
{
    (void)state;
    static const char *const reserved[] = {"ABORT", "abort", "Size", "ZONE", "authorization"};
    static const char *const free_names[] = {"",      "a",      "aborts",
                                             "zones", "remove", "a_name_longer_than_any"};
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        assert_true(reserved_has(str_from_c(reserved[i])));
    }
    for (size_t i = 0; i < COUNT_OF(free_names); i++) {
        assert_false(reserved_has(str_from_c(free_names[i])));
    }
}

/* The look-up is a binary search, so the list must be sorted. */
static void test_reserved_is_sorted(void **state)
{
    (void)state;
#define RESERVED(word_) #word_,
    static const char *const words[] = {
#include "expr/parse/reserved.def"
    };
#undef RESERVED
    assert_int_equal(COUNT_OF(words), 573);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        assert_true(reserved_has(str_from_c(words[i])));
        assert_true(i == 0 || strcmp(words[i - 1], words[i]) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_placeholders),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_reserved_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
