/* Signed texts, key files and encodings. */
#include "apps/common/signed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/testing.h"

/* RFC 4231, test case 2; FIPS 180-2, appendix B.1. */
static void hashes_are_the_standard_ones(void **state)
{
    (void)state;
    unsigned char hash[SIGNED_HASH_LEN];
    char text[2 * SIGNED_HASH_LEN + 1];
    signed_hmac("Jefe", 4, STR("what do ya want for nothing?"), hash);
    hex_encode_c(str_make(hash, sizeof(hash)), text);
    assert_string_equal(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    signed_sha256(STR("abc"), hash);
    hex_encode_c(str_make(hash, sizeof(hash)), text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void base64url_has_no_padding_and_other_signs(void **state)
{
    (void)state;
    static const struct {
        struct str bytes;
        const char *text;
    } rows[] = {
        {{"", 0}, ""},        {{"f", 1}, "Zg"},         {{"fo", 2}, "Zm8"},
        {{"foo", 3}, "Zm9v"}, {{"\xfb\xff", 2}, "-_8"}, {{"\xff\xff\xff", 3}, "____"},
        {{"\0\0", 2}, "AAA"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(base64url_encode(&arena, rows[i].bytes), rows[i].text);
        CHECK_STR_EQ(rows[i].text, base64url_decode(&arena, str_from_c(rows[i].text)),
                     rows[i].bytes);
    }
    static const char *const bad[] = {"Zg==", "Zg=", "-+8", "_/8", "Z", "Zm9vZ", "Zm 9", "Zm\n9"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_true(str_is_null(base64url_decode(&arena, str_from_c(bad[i]))));
    }
    arena_finish(&arena);
}

static void a_token_is_known_again(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct signing_key key;
    struct signing_key other;
    signing_key_random(&key);
    signing_key_random(&other);
    struct str payload = STR("{\"id\":\"ana\"}");
    struct str token = str_from_c(signed_make(&key, &arena, "session", payload));
    CHECK_STR_EQ("same key and purpose", signed_read(&key, &arena, "session", token), payload);
    assert_true(str_is_null(signed_read(&other, &arena, "session", token)));
    assert_true(str_is_null(signed_read(&key, &arena, "feed", token)));
    assert_true(str_is_null(signed_read(&key, &arena, "session", STR_NULL)));
    arena_finish(&arena);
}

/* A token with a changed character or a missing end is refused. */
static void a_changed_token_is_none(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct signing_key key;
    signing_key_random(&key);
    struct str token = str_from_c(signed_make(&key, &arena, "session", STR("roles: none")));
    char changed[256];
    for (size_t i = 0; i < token.len; i++) {
        memcpy(changed, token.data, token.len);
        changed[i] = changed[i] == 'A' ? 'Q' : 'A';
        struct str read = signed_read(&key, &arena, "session", str_make(changed, token.len));
        /* The last character of a base64 text may have unused bits. */
        assert_true(str_is_null(read) || str_eq(read, STR("roles: none")));
        assert_true(str_is_null(signed_read(&key, &arena, "session", str_make(token.data, i))));
    }
    arena_finish(&arena);
}

/* "a" for purpose "b:c" differs from "c:a" for purpose "b". */
static void purposes_are_kept_apart(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct signing_key key;
    signing_key_random(&key);
    struct str token = str_from_c(signed_make(&key, &arena, "feed", STR("session:x")));
    assert_true(str_is_null(signed_read(&key, &arena, "session", token)));
    arena_finish(&arena);
}

static void keys_live_in_files(void **state)
{
    (void)state;
    char directory[] = "/tmp/gramme-signed-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char path[64];
    snprintf(path, sizeof(path), "%s/key", directory);
    struct signing_key made;
    struct signing_key again;
    assert_true(signing_key_load(&made, path));
    assert_true(signing_key_load(&again, path));
    assert_memory_equal(made.bytes, again.bytes, sizeof(made.bytes));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    FILE *file = fopen(path, "w"); /* too short */
    assert_non_null(file);
    fputs("short", file);
    fclose(file);
    assert_false(signing_key_load(&again, path));
    unlink(path);
    rmdir(directory);
    assert_false(signing_key_load(&again, path)); /* the directory is gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_the_standard_ones),
        cmocka_unit_test(base64url_has_no_padding_and_other_signs),
        cmocka_unit_test(a_token_is_known_again),
        cmocka_unit_test(a_changed_token_is_none),
        cmocka_unit_test(purposes_are_kept_apart),
        cmocka_unit_test(keys_live_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
