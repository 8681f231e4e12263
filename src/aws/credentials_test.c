/* Unit tests of profile files, the order of sources of credentials, and addresses. Sources over
 * HTTP are tested with a server, in tests/client. */
#include "aws/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aws/endpoint.h"
#include "aws/metadata_internal.h"
#include "aws/profile.h"
#include "base/mem.h"
#include "base/testing.h"

static const char *const variables[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_MAX_ATTEMPTS",
};

static char directory[] = "/tmp/gramme-credentials-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        unsetenv(variables[i]);
    }
    setenv("HOME", directory, 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    return 0;
}

/* Writes a file in the directory; NULL deletes it. Its path is valid until the next call. */
static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (text == NULL) {
        unlink(path);
        return path;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void test_profiles(void **state)
{
    (void)state;
    static const char text[] = "# a comment\n"
                               "[default]\n"
                               "region = eu-west-1 ; not this\n"
                               "aws_access_key_id=AKID#1\r\n"
                               "empty =\n"
                               "s3 =\n"
                               "  region = nested\n"
                               "; another\n"
                               "[profile  two ]\n"
                               "REGION = us-west-2\n"
                               "region = us-west-3\n"
                               "[two]\n"
                               "region = of-section\n"
                               "[broken\n"
                               "region = lost\n";
    static const struct {
        const char *profile;
        const char *name;
        bool sections_are_profiles;
        const char *expected;
    } rows[] = {
        {"default", "region", false, "eu-west-1"},
        {"default", "region", true, "eu-west-1"},
        {"default", "aws_access_key_id", true, "AKID#1"},
        {"default", "empty", true, NULL},
        {"default", "absent", true, NULL},
        {"two", "region", false, "us-west-3"},
        {"two", "region", true, "of-section"},
        {"three", "region", true, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str got = profile_find(STR(text), str_from_c(rows[i].profile),
                                      str_from_c(rows[i].name), rows[i].sections_are_profiles);
        CHECK_STR_EQ(rows[i].name, got, str_from_c(rows[i].expected));
    }
}

/* Checks the access key id that is found, or "none". */
static void check_key(const char *what, const struct aws_options *options, bool is_local,
                      const char *expected)
{
    struct secret_arena arena = {0};
    struct credential_source *source = credential_source_create(options, is_local);
    struct credentials found = {0};
    struct str problem = STR_NULL;
    bool good = credential_source_get(source, &arena, &found, &problem);
    CHECK_STR_EQ(what, good ? found.access_key_id : STR("none"), str_from_c(expected));
    assert_int_equal(good, problem.len == 0);
    credential_source_destroy(source);
    secret_arena_finish(&arena);
}

static void test_order(void **state)
{
    (void)state;
    struct aws_options options = {.service = "dynamodb"};
    check_key("nothing", &options, false, "none");
    check_key("nothing, here", &options, true, "local");
    setenv("AWS_CONFIG_FILE",
           write_file("config", "[default]\naws_access_key_id = config\n"
                                "aws_secret_access_key = s\n"
                                "[profile other]\naws_access_key_id = other\n"
                                "aws_secret_access_key = s\n"),
           1);
    check_key("config file", &options, true, "config");
    setenv("AWS_SHARED_CREDENTIALS_FILE",
           write_file("credentials", "[default]\naws_access_key_id = shared\n"
                                     "aws_secret_access_key = s\n"),
           1);
    check_key("credentials file", &options, false, "shared");
    setenv("AWS_PROFILE", "other", 1);
    check_key("another profile", &options, false, "other");
    setenv("AWS_ACCESS_KEY_ID", "environment", 1);
    check_key("half of it", &options, false, "other");
    setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
    check_key("environment", &options, false, "environment");
    options.profile = "default";
    check_key("profile of the options", &options, false, "shared");
    options.access_key_id = "options";
    options.secret_access_key = "s";
    check_key("options", &options, false, "options");
    options = (struct aws_options){.service = "dynamodb"};
    setenv("AWS_SECRET_ACCESS_KEY", "taken", 1);
    credentials_take_environment();
    check_key("taken from the environment", &options, false, "environment");
    assert_string_equal(getenv("AWS_SECRET_ACCESS_KEY"), "");
    write_file("config", NULL);
    write_file("credentials", NULL);
}

/* Files are read once, and again when the service says that the credentials have expired. */
static void test_renewal(void **state)
{
    (void)state;
    struct secret_arena arena = {0};
    struct aws_options options = {.service = "dynamodb"};
    setenv("AWS_SHARED_CREDENTIALS_FILE",
           write_file("credentials", "[default]\naws_access_key_id = old\n"
                                     "aws_secret_access_key = s\naws_session_token = t\n"),
           1);
    struct credential_source *source = credential_source_create(&options, false);
    struct credentials found;
    struct str problem;
    assert_true(credential_source_get(source, &arena, &found, &problem));
    CHECK_STR_EQ("token", found.session_token, STR("t"));
    write_file("credentials", "[default]\naws_access_key_id = new\naws_secret_access_key = s\n");
    assert_true(credential_source_get(source, &arena, &found, &problem));
    CHECK_STR_EQ("kept", found.access_key_id, STR("old"));
    assert_true(credential_source_renew(source));
    assert_true(credential_source_get(source, &arena, &found, &problem));
    CHECK_STR_EQ("renewed", found.access_key_id, STR("new"));
    assert_true(str_is_null(found.session_token));
    credential_source_destroy(source);
    secret_arena_finish(&arena);
    write_file("credentials", NULL);
}

/* Writes a file of 100 KB with a secret, in another process, so that this one has no copy. */
static void write_large_file(const char *mirrored)
{
    pid_t child = fork();
    if (child == 0) {
        char secret[64];
        char text[100 * 1000] = "[default]\naws_access_key_id = large\naws_secret_access_key = ";
        reverse_text(mirrored, secret);
        size_t len = strlen(text);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", secret);
        memset(text + len, '#', sizeof(text) - 1 - len);
        write_file("credentials", text);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void test_large_files_leave_no_copies(void **state)
{
    (void)state;
    static const char mirrored[] = "9876543210zyxwvutsrqponmlkjihgfedcba";
    struct aws_options options = {.service = "dynamodb"};
    write_large_file(mirrored);
    char path[256];
    snprintf(path, sizeof(path), "%s/credentials", directory);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    char *hole = mem_alloc(100 * 1000); /* a buffer that begins there and grows must move */
    char *behind = mem_alloc(50 * 1000);
    mem_free(hole);
    check_key("large file", &options, false, "large");
    assert_false(heap_contains(mirrored));
    mem_free(behind);
    write_file("credentials", NULL);
}

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *variable; /* AWS_REGION */
        const char *expected; /* url host region local, or the code of the error */
    } rows[] = {
        {"http://localhost:8000", NULL, "http://localhost:8000 localhost:8000 us-east-1 local"},
        {"http://localhost:80/", "eu-west-1", "http://localhost:80/ localhost eu-west-1 local"},
        {"http://[::1]:8000", NULL, "http://[::1]:8000 [::1]:8000 us-east-1 local"},
        {"https://dynamodb.eu-central-1.amazonaws.com", "us-east-2",
         "https://dynamodb.eu-central-1.amazonaws.com dynamodb.eu-central-1.amazonaws.com "
         "eu-central-1 far"},
        {"https://streams.dynamodb.eu-west-2.amazonaws.com", NULL,
         "https://streams.dynamodb.eu-west-2.amazonaws.com "
         "streams.dynamodb.eu-west-2.amazonaws.com eu-west-2 far"},
        {"https://dynamodb.dualstack.eu-west-2.amazonaws.com", NULL,
         "https://dynamodb.dualstack.eu-west-2.amazonaws.com "
         "dynamodb.dualstack.eu-west-2.amazonaws.com eu-west-2 far"},
        {"aws:", "eu-west-3",
         "https://dynamodb.eu-west-3.amazonaws.com dynamodb.eu-west-3.amazonaws.com eu-west-3 far"},
        {"aws:", "cn-north-1",
         "https://dynamodb.cn-north-1.amazonaws.com.cn dynamodb.cn-north-1.amazonaws.com.cn "
         "cn-north-1 far"},
        {"aws:", NULL, AWS_NO_REGION},
        {"http://", NULL, AWS_BAD_ADDRESS},
        {"http://host/path", NULL, AWS_BAD_ADDRESS},
        {"http://user:word@host", NULL, AWS_BAD_ADDRESS},
        {"http://host:99999", NULL, AWS_BAD_ADDRESS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        if (rows[i].variable != NULL) {
            setenv("AWS_REGION", rows[i].variable, 1);
        } else {
            unsetenv("AWS_REGION");
        }
        struct aws_options options = {.service = "dynamodb", .url = rows[i].url};
        struct aws_problem problem = {0};
        struct endpoint found;
        bool good = endpoint_find(&arena, &options, &found, &problem);
        struct str got = good ? arena_format(&arena, "%.*s %.*s %.*s %s", STR_ARG(found.url),
                                             STR_ARG(found.host), STR_ARG(found.region),
                                             found.is_local ? "local" : "far")
                              : str_from_c(problem.code);
        CHECK_STR_EQ(rows[i].url, got, str_from_c(rows[i].expected));
        arena_finish(&arena);
    }
}

static void test_endpoint_variables(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct aws_options options = {.service = "dynamodb"};
    struct endpoint found;
    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
    assert_true(endpoint_find(&arena, &options, &found, NULL));
    CHECK_STR_EQ("general", found.url, STR("http://127.0.0.1:1"));
    setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:2", 1);
    assert_true(endpoint_find(&arena, &options, &found, NULL));
    CHECK_STR_EQ("particular", found.url, STR("http://127.0.0.1:2"));
    arena_finish(&arena);
}

static void test_attempts(void **state)
{
    (void)state;
    struct aws_options options = {.service = "dynamodb"};
    assert_int_equal(endpoint_attempts(&options), 4);
    setenv("AWS_CONFIG_FILE", write_file("config", "[default]\nmax_attempts = 6\n"), 1);
    assert_int_equal(endpoint_attempts(&options), 6);
    setenv("AWS_MAX_ATTEMPTS", "7", 1);
    assert_int_equal(endpoint_attempts(&options), 7);
    setenv("AWS_MAX_ATTEMPTS", "none", 1);
    assert_int_equal(endpoint_attempts(&options), 4);
    options.attempts_max = 1;
    assert_int_equal(endpoint_attempts(&options), 1);
    write_file("config", NULL);
}

static void test_container_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool may;
    } rows[] = {
        {"http://127.0.0.1:9/x", true},
        {"http://localhost/x", true},
        {"http://[::1]:9/x", true},
        {"http://169.254.170.2/v2", true},
        {"http://169.254.170.23/", true},
        {"http://[fd00:ec2::23]/", true},
        {"https://example.com/x", true},
        {"http://example.com/x", false},
        {"http://10.0.0.1/x", false},
        {"ftp://127.0.0.1", false},
        {"http://127.example.com", false},
        {"nonsense", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (metadata_may_ask(rows[i].url) != rows[i].may) {
            fail_msg("%s", rows[i].url);
        }
    }
}

int main(void)
{
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiles),
        cmocka_unit_test_setup(test_order, set_up),
        cmocka_unit_test_setup(test_renewal, set_up),
        cmocka_unit_test_setup(test_large_files_leave_no_copies, set_up),
        cmocka_unit_test_setup(test_addresses, set_up),
        cmocka_unit_test_setup(test_endpoint_variables, set_up),
        cmocka_unit_test_setup(test_attempts, set_up),
        cmocka_unit_test(test_container_addresses),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
