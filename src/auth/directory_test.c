/* Records of users, roles and policies, sealed secrets, and sessions. */
#include "auth/session_token.h"
#include "auth/sign_in.h"
#include "base/testing.h"

#define ACCOUNT STR("000000000000")
#define ALLOW                                                                                      \
    "{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"dynamodb:GetItem\",\"Resource\":\"*\"}}"

static const struct seal_key master = {.bytes = "0123456789abcdef0123456789abcde"};
static const struct seal_key other_master = {.bytes = "x123456789abcdef0123456789abcde"};

static struct str message_of(struct arena *arena, const char *text, const struct seal_key *key)
{
    struct err err = ERR_INIT(arena);
    struct directory *directory = directory_create(ACCOUNT);
    bool good = directory_add_file(directory, str_from_c(text), key, &err) &&
                directory_complete(directory, 1, &err);
    directory_release(directory);
    return good ? STR("good") : err.message;
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"{}", "good"},
        {"{\"users\":[]}", "good"},
        {"{\"users\":[{\"name\":\"ada\",\"policies\":[\"full\"],\"boundary\":\"readonly\"}]}",
         "good"},
        {"{\"users\":[{\"name\":\"ada\",\"policies\":[\"fool\"]}]}",
         "ada: there is no policy 'fool'"},
        {"{\"policies\":[{\"name\":\"p\",\"document\":" ALLOW
         "}],\"users\":[{\"name\":\"ada\",\"policies\":[\"p\"]}]}",
         "good"},
        {"{\"policies\":[{\"name\":\"full\",\"document\":" ALLOW "}]}",
         "policy 'full': no such name is possible, or it exists twice"},
        {"{\"users\":[{\"name\":\"\"}]}", "'' is not a valid name for a user"},
        {"{\"users\":[{\"name\":\"ada\",\"trust\":{}}]}",
         "member 'trust' is unknown or has the wrong type"},
        {"{\"roles\":[{\"name\":\"r\"}]}", "role 'r' has no trust policy"},
        {"{\"users\":[{\"name\":\"a\",\"keys\":[{\"id\":\"AKIA1\",\"secret\":\"12345678\"}]},"
         "{\"name\":\"b\",\"keys\":[{\"id\":\"AKIA1\",\"secret\":\"12345678\"}]}]}",
         "the key 'AKIA1' exists twice"},
        {"{\"users\":[{\"name\":\"a\"}]", "byte 23: unexpected end"},
        {"{\"people\":[]}", "member 'people' is unknown or has the wrong type"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str message = message_of(&arena, rows[i].text, NULL);
        if (str_starts_with(str_from_c(rows[i].message), STR("byte"))) {
            assert_true(str_starts_with(message, STR("byte")));
        } else {
            CHECK_STR_EQ(rows[i].text, message, str_from_c(rows[i].message));
        }
    }
    arena_finish(&arena);
}

/* What is written can be read again, with the same master key only. */
static void test_records(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    const struct str names[] = {STR("readonly")};
    struct directory_principal user = {
        .kind = CALLER_USER,
        .name = STR("ada"),
        .id = STR("AIDA1"),
        .created = 12,
        .policy_names = names,
        .policy_count = 1,
        .keys = {{.id = STR("AKIA1"), .secret = STR("top/secret+1"), .created = 5}},
        .key_count = 1,
    };
    struct buf record = {0};
    directory_write_principal(&user, &master, &arena, &record);
    assert_false(str_contains(buf_str(&record), STR("secret+1")));
    struct directory *directory = directory_create(ACCOUNT);
    assert_true(directory_add(directory, DIRECTORY_USER, buf_str(&record), &master, &err));
    assert_true(directory_complete(directory, 7, &err));
    assert_int_equal(directory_revision(directory), 7);
    const struct directory_key *key = directory_find_key(directory, STR("AKIA1"));
    assert_non_null(key);
    CHECK_STR_EQ(__func__, key->secret, STR("top/secret+1"));
    CHECK_STR_EQ(__func__, key->user->arn, STR("arn:aws:iam::000000000000:user/ada"));
    assert_null(directory_find_key(directory, STR("AKIA2")));
    directory_release(directory);
    directory = directory_create(ACCOUNT);
    assert_false(directory_add(directory, DIRECTORY_USER, buf_str(&record), &other_master, &err));
    assert_true(str_contains(err.message, STR("the master key is another one")));
    directory_release(directory);
    buf_finish(&record);
    arena_finish(&arena);
}

static void test_seals(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct secret_arena secrets = {0};
    struct str sealed = seal_text(&master, "test", STR("name"), STR("text"), &arena);
    CHECK_STR_EQ(__func__, seal_open(&master, "test", STR("name"), sealed, &secrets), STR("text"));
    assert_true(str_is_null(seal_open(&other_master, "test", STR("name"), sealed, &secrets)));
    assert_true(str_is_null(seal_open(&master, "tent", STR("name"), sealed, &secrets)));
    assert_true(str_is_null(seal_open(&master, "test", STR("nam"), sealed, &secrets)));
    assert_true(str_is_null(seal_open(&master, "test", STR("name"), STR(""), &secrets)));
    for (size_t i = 0; i < sealed.len; i++) {
        struct str changed = arena_copy(&arena, sealed);
        ((char *)changed.data)[i] = changed.data[i] == 'A' ? 'B' : 'A';
        assert_true(str_is_null(seal_open(&master, "test", STR("name"), changed, &secrets)));
    }
    secret_arena_finish(&secrets);
    arena_finish(&arena);
}

static void test_master_keys(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    static const char *const good[] = {
        "3031323334353637383961626364656630313233343536373839616263646500",
        " 3031323334353637383961626364656630313233343536373839616263646500\n",
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQA=\n",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct err err = ERR_INIT(&arena);
        struct seal_key key;
        assert_true(seal_key_parse(str_from_c(good[i]), &key, &err));
        assert_memory_equal(key.bytes, master.bytes, SEAL_KEY_LEN);
    }
    struct err err = ERR_INIT(&arena);
    struct seal_key key;
    assert_false(seal_key_parse(STR("password"), &key, &err));
    arena_finish(&arena);
}

static void test_sessions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct directory_principal role = {
        .kind = CALLER_ROLE_SESSION, .name = STR("reader"), .id = STR("AROA1")};
    struct session_request request = {
        .principal = &role,
        .name = STR("me"),
        .issued = 100,
        .expires = 200,
        .document = STR(ALLOW),
    };
    struct session_credentials made;
    session_issue(&master, &request, &arena, &made);
    assert_int_equal(made.access_key_id.len, SESSION_KEY_ID_LEN);
    struct auth_session *session = session_open(&master, made.access_key_id, made.token);
    assert_non_null(session);
    assert_true(session->is_role);
    CHECK_STR_EQ(__func__, session->principal, STR("reader"));
    CHECK_STR_EQ(__func__, session->id, STR("AROA1"));
    CHECK_STR_EQ(__func__, session->name, STR("me"));
    assert_true(str_eq(session->secret, made.secret));
    assert_int_equal(session->expires, 200);
    assert_non_null(session->policy);
    session_release(session);
    assert_null(session_open(&other_master, made.access_key_id, made.token));
    assert_null(session_open(&master, STR("ASIAOTHER"), made.token));
    assert_null(session_open(&master, made.access_key_id, STR("junk")));
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),    cmocka_unit_test(test_records),
        cmocka_unit_test(test_seals),    cmocka_unit_test(test_master_keys),
        cmocka_unit_test(test_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
