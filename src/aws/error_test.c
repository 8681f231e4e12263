/* Unit tests of reading errors from responses. Attempts and retries are tested with servers, in
 * tests/client and tests/blackbox. */
#include "aws/client.h"
#include "base/testing.h"

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *failure;
        const char *body;
        const char *code;
        const char *message;
    } rows[] = {
        {404, NULL,
         "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>The specified bucket "
         "does not exist</Message></Error>",
         "NoSuchBucket", "The specified bucket does not exist"},
        {400, NULL,
         "{\"__type\":\"com.amazonaws.kinesis#ResourceNotFoundException\",\"message\":\"no\"}",
         "ResourceNotFoundException", "no"},
        {400, NULL,
         "{\"message\":{\"a\":1},\"__type\":\"LimitExceededException\",\"Message\":\"m\"}",
         "LimitExceededException", "m"},
        {503, NULL, "", "BadAnswer", "HTTP status 503"},
        {502, NULL, "<html>", "BadAnswer", "HTTP status 502"},
        {500, NULL, "<Error><Code>cut", "BadAnswer", "HTTP status 500"},
        {500, NULL, "{\"__type\":\"cut", "BadAnswer", "HTTP status 500"},
        {500, NULL, "{\"message\":\"\\x\"}", "BadAnswer", "HTTP status 500"},
        {0, AWS_TIMED_OUT, "", "TimedOut", "detail"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct aws_response response = {.status = rows[i].status, .failure = rows[i].failure};
        strcpy(response.detail, "detail");
        buf_add(&response.body, str_from_c(rows[i].body));
        struct aws_error error;
        aws_response_error(&response, &error);
        CHECK_STR_EQ(rows[i].body, str_from_c(error.code), str_from_c(rows[i].code));
        CHECK_STR_EQ(rows[i].body, str_from_c(error.message), str_from_c(rows[i].message));
        aws_response_finish(&response);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
