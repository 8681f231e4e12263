/* Unit tests of numbers: parsing, order, arithmetic and formatting, as rows of a table. */
#include "model/number.h"

#include "base/random.h"
#include "base/testing.h"

static const struct {
    const char *text;
    const char *expected; /* NULL: refused */
    enum number_status status;
    size_t size;
} cases[] = {
    {"0", "0", NUMBER_OK, 1},
    {"-0", "0", NUMBER_OK, 1},
    {"00042", "42", NUMBER_OK, 2},
    {"+5", "5", NUMBER_OK, 2},
    {"+1e2", "100", NUMBER_OK, 2},
    {"1.5E2", "150", NUMBER_OK, 2},
    {"3.1400", "3.14", NUMBER_OK, 3},
    {"-3.14", "-3.14", NUMBER_OK, 4},
    {"0.0000001", "0.0000001", NUMBER_OK, 2},
    {".5", "0.5", NUMBER_OK, 2},
    {"5.", "5", NUMBER_OK, 2},
    {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678", NUMBER_OK,
     20},
    {"1E-130", NULL, NUMBER_OK, 2},
    {"123456789012345678901234567890123456789", NULL, NUMBER_PRECISION, 0},
    {"1E126", NULL, NUMBER_OVERFLOW, 0},
    {"1E-131", NULL, NUMBER_UNDERFLOW, 0},
    {"0e126", NULL, NUMBER_OVERFLOW, 0},
    {"0.0e126", "0", NUMBER_OK, 1},
    {"", NULL, NUMBER_BAD_TEXT, 0},
    {"+", NULL, NUMBER_BAD_TEXT, 0},
    {".", NULL, NUMBER_BAD_TEXT, 0},
    {"1e", NULL, NUMBER_BAD_TEXT, 0},
    {"1e+", NULL, NUMBER_BAD_TEXT, 0},
    {"+e2", NULL, NUMBER_BAD_TEXT, 0},
    {"1.2.3", NULL, NUMBER_BAD_TEXT, 0},
    {"1+2", NULL, NUMBER_BAD_TEXT, 0},
    {" 1", NULL, NUMBER_BAD_TEXT, 0},
    {"1 ", NULL, NUMBER_BAD_TEXT, 0},
    {"0x10", NULL, NUMBER_BAD_TEXT, 0},
    {"NaN", NULL, NUMBER_BAD_TEXT, 0},
};

static void test_parse_and_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct number number;
        enum number_status status = number_parse(str_from_c(cases[i].text), &number);
        if (status != cases[i].status) {
            fail_msg("%s: status %d, expected %d", cases[i].text, status, cases[i].status);
        }
        if (status != NUMBER_OK) {
            continue;
        }
        assert_true(number_is_valid(number_str(&number)));
        assert_int_equal(number_size(number_str(&number)), cases[i].size);
        char text[NUMBER_TEXT_MAX];
        size_t len = number_format(number_str(&number), text);
        if (cases[i].expected != NULL) {
            CHECK_STR_EQ(cases[i].text, str_make(text, len), str_from_c(cases[i].expected));
        }
    }
}

static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *hex;
    } vectors[] = {
        {"0", "02"},           {"1", "03820b"},
        {"-1", "017df4ff"},    {"10", "03830b"},
        {"12", "03830d"},      {"123", "03840d1f"},
        {"0.5", "038133"},     {"-123.45", "017bf2dcccff"},
        {"9.9E125", "03ff64"}, {"1E-130", "03000b"},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct number number;
        assert_int_equal(number_parse(str_from_c(vectors[i].text), &number), NUMBER_OK);
        char hex[NUMBER_BYTES_MAX * 2];
        for (size_t k = 0; k < number.len; k++) {
            static const char digits[] = "0123456789abcdef";
            hex[k * 2] = digits[number.bytes[k] >> 4];
            hex[k * 2 + 1] = digits[number.bytes[k] & 15];
        }
        CHECK_STR_EQ(vectors[i].text, str_make(hex, number.len * 2u), str_from_c(vectors[i].hex));
    }
}

static struct number parsed(const char *text)
{
    struct number number = {0};
    assert_int_equal(number_parse(str_from_c(text), &number), NUMBER_OK);
    return number;
}

static void test_order(void **state)
{
    (void)state;
    static const char *const ascending[] = {
        "-9.9E125", "-1000", "-999.9", "-123.46", "-123.45", "-123",   "-12",
        "-1.1",     "-1",    "-0.5",   "-1E-130", "0",       "1E-130", "0.05",
        "0.5",      "0.51",  "1",      "1.01",    "1.1",     "9",      "10",
        "10.5",     "12",    "100",    "123",     "123.45",  "1E20",   "1E125",
    };
    for (size_t i = 1; i < COUNT_OF(ascending); i++) {
        struct number a = parsed(ascending[i - 1]);
        struct number b = parsed(ascending[i]);
        if (str_cmp(number_str(&a), number_str(&b)) >= 0) {
            fail_msg("%s is not before %s", ascending[i - 1], ascending[i]);
        }
    }
}

static void test_arithmetic(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        const char *sum; /* NULL: more than 38 digits, or out of range */
        const char *difference;
    } sums[] = {
        {"1", "1", "2", "0"},
        {"0.1", "0.2", "0.3", "-0.1"},
        {"100", "-0.01", "99.99", "100.01"},
        {"1E125", "1", NULL, NULL},
        {"9E125", "9E125", NULL, "0"},
        {"1E38", "1", NULL, "99999999999999999999999999999999999999"},
        {"99999999999999999999999999999999999999", "1", "100000000000000000000000000000000000000",
         "99999999999999999999999999999999999998"},
        {"12345678901234567890", "0.00000000000000001", "12345678901234567890.00000000000000001",
         "12345678901234567889.99999999999999999"},
        {"0", "-7", "-7", "7"},
    };
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct number a = parsed(sums[i].a);
        struct number b = parsed(sums[i].b);
        struct number result;
        char text[NUMBER_TEXT_MAX];
        for (int minus = 0; minus < 2; minus++) {
            enum number_status status =
                minus ? number_subtract(number_str(&a), number_str(&b), &result)
                      : number_add(number_str(&a), number_str(&b), &result);
            const char *expected = minus ? sums[i].difference : sums[i].sum;
            if (expected == NULL) {
                assert_int_not_equal(status, NUMBER_OK);
                continue;
            }
            assert_int_equal(status, NUMBER_OK);
            size_t len = number_format(number_str(&result), text);
            CHECK_STR_EQ(sums[i].a, str_make(text, len), str_from_c(expected));
        }
    }
}

static void test_random_integers(void **state)
{
    (void)state;
    struct random random;
    random_init_seed(&random, 7);
    for (int i = 0; i < 20000; i++) {
        int64_t a = (int64_t)random_next(&random) >> (random_next(&random) % 62 + 1);
        int64_t b = (int64_t)random_next(&random) >> (random_next(&random) % 62 + 1);
        struct number na;
        struct number nb;
        struct number sum;
        number_from_int64(a, &na);
        number_from_int64(b, &nb);
        int order = str_cmp(number_str(&na), number_str(&nb));
        assert_true((order < 0) == (a < b) && (order == 0) == (a == b));
        assert_int_equal(number_add(number_str(&na), number_str(&nb), &sum), NUMBER_OK);
        int64_t back;
        assert_true(number_to_int64(number_str(&sum), &back));
        assert_true(back == a + b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_and_format),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_random_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
