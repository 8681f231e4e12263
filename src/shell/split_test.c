/* Where statements and commands end, and the words of commands. */
#include "base/testing.h"

#include "base/buf.h"
#include "shell/split_internal.h"

/* Shows everything that a text is split into: [one][two]; '+' at the end: more lines are needed. */
static void show_parts(struct buf *out, struct str text)
{
    struct str one;
    enum split_result result;
    while ((result = split_next(&text, &one)) == SPLIT_ONE) {
        buf_format(out, "[%.*s]", STR_ARG(one));
    }
    buf_add(out, result == SPLIT_MORE ? STR("+") : STR(""));
}

static void test_parts(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"", ""},
        {" ; ;\n", ""},
        {"a", "+"},
        {"a;", "[a]"},
        {"a ; b;", "[a][b]"},
        {"a\n b\n;c", "[a\n b]+"},
        {"'x;''y;' z;", "['x;''y;' z]"},
        {"\"x;\" ;", "[\"x;\"]"},
        {"'open;", "+"},
        {"-- c;\na;", "[a]"},
        {"a -- c;\n;", "[a -- c;]"},
        {"/* ; */ a;", "[a]"},
        {"/* open", "+"},
        {"/* c */", ""},
        {"\\x a;b\ny;", "[\\x a;b][y]"},
        {"\\x", "[\\x]"},
        {"\\x {\n\"a\": 1}\n", "[\\x {\n\"a\": 1}]"},
        {"\\x {\"}\": \"\\\"}\"} b\n", "[\\x {\"}\": \"\\\"}\"} b]"},
        {"\\x {", "+"},
        {"\\x 'open\ny;", "[\\x 'open][y]"},
        {"a;\\x\n", "[a][\\x]"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf out = {0};
        show_parts(&out, str_from_c(rows[i].text));
        CHECK_STR_EQ(rows[i].text, buf_str(&out), str_from_c(rows[i].expected));
        buf_finish(&out);
    }
}

static void test_verbs(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"", ""},
        {"SELECT * FROM a", "SELECT"},
        {"delete/**/from a", "delete"},
        {"delete--\nfrom a", "delete"},
        {"delete\tfrom a", "delete"},
        {"delete\nfrom a", "delete"},
        {"delete\"a\"", "delete"},
        {"delete", "delete"},
        {"(delete from a)", "delete"},
        {" ( /* c */ (-- c\n delete from a))", "delete"},
        {"/* open delete", ""},
        {"\xc2\xa0"
         "delete from a",
         ""},
        {"'select'", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR_EQ(rows[i].text, split_verb(str_from_c(rows[i].text)),
                     str_from_c(rows[i].expected));
    }
}

static void test_words(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"", ""},
        {"\\get a b", "[\\get][a][b]"},
        {"a  'b c'\t\"d e\"", "[a][b c][d e]"},
        {"'it''s' ''", "[it's][]"},
        {"\"a\".\"b c\"", "[\"a\".\"b c\"]"},
        {"x {\"a\": [1, \"}\"]} y", "[x][{\"a\": [1, \"}\"]}][y]"},
        {"[1, 2]", "[[1, 2]]"},
        {"it's", "[it's]"},
        {"'open", "a quote is not closed"},
        {"{\"a\"", "a bracket is not closed"},
        {"1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3", "too many words"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        struct words words;
        struct buf out = {0};
        arena_init(&arena);
        const char *problem = split_words(&arena, str_from_c(rows[i].text), &words);
        for (size_t w = 0; problem == NULL && w < words.count; w++) {
            buf_format(&out, "[%.*s]", STR_ARG(words.text[w]));
        }
        buf_add(&out, str_from_c(problem));
        CHECK_STR_EQ(rows[i].text, buf_str(&out), str_from_c(rows[i].expected));
        buf_finish(&out);
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_verbs),
                                       cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
