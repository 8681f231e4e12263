/* Unit tests of objects: names, folders, the XML of lists. The service is tested against S3
 * servers, in tests/blackbox/test_exports_s3.py. */
#include "objects/objects.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "objects/objects_internal.h"

static void test_buckets(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool valid;
    } rows[] = {
        {"abc", true},
        {"my-bucket.1", true},
        {"0ab", true},
        {"ab", false},
        {"", false},
        {"Abc", false},
        {"-abc", false},
        {"abc-", false},
        {"a..b", false},
        {"..", false},
        {"a/b", false},
        {"1.2.3.4", false},
        {"1.2.3.4a", true},
        {"a_b", false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (object_bucket_is_valid(str_from_c(rows[i].name)) != rows[i].valid) {
            fail_msg("%s", rows[i].name);
        }
    }
}

/* --- folders --- */

static char directory[] = "/tmp/gramme-objects-XXXXXX";

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static struct objects *open_folders(struct arena *arena)
{
    struct err err = ERR_INIT(arena);
    struct objects *objects = NULL;
    struct objects_options options = {.directory = arena_format(arena, "%s/deep/er", directory)};
    assert_true(objects_open(&options, &objects, &err));
    return objects;
}

static void put(struct objects *objects, const char *key, const char *body)
{
    struct object_error error = {0};
    struct object_info info;
    if (!object_put(objects, STR("bucket"), str_from_c(key), str_from_c(body), NULL, &info,
                    &error)) {
        fail_msg("%s: %s %s", key, error.code, error.message);
    }
}

static void check_refused(struct objects *objects, const char *key, const char *code)
{
    struct object_error error = {0};
    struct object_info info;
    assert_false(object_put(objects, STR("bucket"), str_from_c(key), STR("x"), NULL, NULL, &error));
    CHECK_STR_EQ(key, str_from_c(error.code), str_from_c(code));
    assert_false(object_head(objects, STR("bucket"), str_from_c(key), &info, &error));
}

static void test_keys(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct objects *objects = open_folders(&arena);
    static const char *const bad[] = {
        "..", "../x",       "a/../b", "a/./b",           "/a", "a//b", "a/",
        ".",  ".uploads/x", "\xff",   "a/../../../etc/x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        check_refused(objects, bad[i], "InvalidArgument");
    }
    char longest[OBJECT_KEY_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    longest[OBJECT_KEY_MAX + 1] = '\0';
    check_refused(objects, longest, "KeyTooLongError");
    put(objects, "a/b/c", "1");
    check_refused(objects, "a/b/c/d", "InvalidArgument");
    check_refused(objects, "a/b", "InvalidArgument");
    put(objects, "x/.uploads", "1");
    objects_close(objects);
    arena_finish(&arena);
}

static void test_reading(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct objects *objects = open_folders(&arena);
    struct object_error error = {0};
    struct object_info info;
    struct buf out = {0};
    put(objects, "read/me", "0123456789");
    assert_true(object_head(objects, STR("bucket"), STR("read/me"), &info, &error));
    assert_int_equal(info.size_bytes, 10);
    assert_true(object_read(objects, STR("bucket"), STR("read/me"), (struct object_range){3, 4},
                            info.etag, &out, &error));
    CHECK_STR_EQ("range", buf_str(&out), STR("3456"));
    assert_true(object_read(objects, STR("bucket"), STR("read/me"), (struct object_range){8, 99},
                            NULL, &out, &error));
    CHECK_STR_EQ("end", buf_str(&out), STR("345689"));
    assert_true(object_read(objects, STR("bucket"), STR("read/me"), (struct object_range){10, 9},
                            NULL, &out, &error));
    put(objects, "read/me", "changed");
    assert_false(object_read(objects, STR("bucket"), STR("read/me"), (struct object_range){0, 9},
                             info.etag, &out, &error));
    CHECK_STR_EQ("changed", str_from_c(error.code), STR("PreconditionFailed"));
    assert_true(object_delete(objects, STR("bucket"), STR("read/me"), &error));
    assert_true(object_delete(objects, STR("bucket"), STR("read/me"), &error));
    assert_false(object_head(objects, STR("bucket"), STR("read/me"), &info, &error));
    CHECK_STR_EQ("deleted", str_from_c(error.code), STR("NoSuchKey"));
    assert_false(object_head(objects, STR("other"), STR("read/me"), &info, &error));
    CHECK_STR_EQ("no bucket", str_from_c(error.code), STR("NoSuchBucket"));
    objects_stop(objects);
    assert_false(object_head(objects, STR("other"), STR("read/me"), &info, &error));
    CHECK_STR_EQ("stopped", str_from_c(error.code), STR("Stopped"));
    buf_finish(&out);
    objects_close(objects);
    arena_finish(&arena);
}

/* Joins the keys of all pages. */
static struct str list_all(struct objects *objects, struct arena *arena, const char *prefix,
                           size_t limit)
{
    struct object_error error = {0};
    struct object_list list = {.prefix = str_from_c(prefix), .after = STR(""), .limit = limit};
    struct str joined = STR("");
    do {
        assert_true(object_list(objects, arena, STR("listed"), &list, &error));
        assert_true(list.count <= limit);
        for (size_t i = 0; i < list.count; i++) {
            joined =
                arena_format(arena, "%.*s%.*s ", STR_ARG(joined), STR_ARG(list.entries[i].key));
        }
        list.after = list.count > 0 ? list.entries[list.count - 1].key : list.after;
    } while (list.more);
    return joined;
}

/* The order is that of the keys' bytes: '-' and '.' are before '/'. */
static void test_listing(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct objects *objects = open_folders(&arena);
    struct object_error error = {0};
    static const char *const keys[] = {"b/2", "a/b", "a-b", "a.b", "a0", "b/1/x", "c", "b/1.x"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_true(
            object_put(objects, STR("listed"), str_from_c(keys[i]), STR("x"), NULL, NULL, &error));
    }
    for (size_t limit = 1; limit < 10; limit++) {
        CHECK_STR_EQ("all", list_all(objects, &arena, "", limit),
                     STR("a-b a.b a/b a0 b/1.x b/1/x b/2 c "));
        CHECK_STR_EQ("prefix", list_all(objects, &arena, "b/1", limit), STR("b/1.x b/1/x "));
        CHECK_STR_EQ("folder", list_all(objects, &arena, "a/", limit), STR("a/b "));
        CHECK_STR_EQ("nothing", list_all(objects, &arena, "d", limit), STR(""));
    }
    struct object_list list = {0};
    assert_false(object_list(objects, &arena, STR("absent"), &list, &error));
    CHECK_STR_EQ("no bucket", str_from_c(error.code), STR("NoSuchBucket"));
    objects_close(objects);
    arena_finish(&arena);
}

/* Parts, and what is visible before and after the end. */
static void test_writer(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct objects *objects = open_folders(&arena);
    struct object_error error = {0};
    struct object_info info;
    struct object_list list = {.prefix = STR("w/")};
    struct buf bytes = {0};
    for (size_t i = 0; i < OBJECT_PART_BYTES + 10; i++) {
        buf_add_char(&bytes, (char)(i * 7));
    }
    struct object_writer *writer =
        object_writer_open(objects, STR("bucket"), STR("w/two"), NULL, &error);
    assert_non_null(writer);
    assert_true(object_writer_add(writer, buf_str(&bytes), &error));
    assert_false(object_head(objects, STR("bucket"), STR("w/two"), &info, &error));
    assert_true(object_writer_close(writer, &info, &error));
    assert_int_equal(info.size_bytes, OBJECT_PART_BYTES + 10);
    CHECK_STR_EQ("etag", str_make(info.etag + 32, 2), STR("-2"));
    assert_true(object_head(objects, STR("bucket"), STR("w/two"), &info, &error));
    writer = object_writer_open(objects, STR("bucket"), STR("w/none"), NULL, &error);
    object_writer_abort(writer);
    writer = object_writer_open(objects, STR("bucket"), STR("w/empty"), NULL, &error);
    assert_true(object_writer_close(writer, &info, &error));
    /* the MD5 of the MD5 of nothing */
    CHECK_STR_EQ("empty", str_from_c(info.etag), STR("59adb24ef3cdbe0297f05b395827453f-1"));
    assert_true(object_list(objects, &arena, STR("bucket"), &list, &error));
    assert_int_equal(list.count, 2);
    buf_finish(&bytes);
    objects_close(objects);
    arena_finish(&arena);
}

/* A line break would begin another header of the request to the service. */
static void test_attributes(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct objects *objects = open_folders(&arena);
    struct object_error error = {0};
    struct object_attributes good = {.sse = STR("aws:kms"), .sse_key_id = STR("alias/my-key")};
    struct object_attributes bad = {.sse = STR("aws:kms"), .sse_key_id = STR("k\r\nX-Amz-Acl: p")};
    assert_true(object_put(objects, STR("bucket"), STR("k"), STR("1"), &good, NULL, &error));
    assert_false(object_put(objects, STR("bucket"), STR("k"), STR("2"), &bad, NULL, &error));
    CHECK_STR_EQ("put", str_from_c(error.code), STR("InvalidArgument"));
    assert_null(object_writer_open(objects, STR("bucket"), STR("k"), &bad, &error));
    objects_close(objects);
    arena_finish(&arena);
}

/* --- the service --- */

static void test_xml(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    static const char body[] =
        "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\"><Name>b</Name>"
        "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
        "<Contents><Key>a%2Fb+c%26</Key><ETag>&quot;123&quot;</ETag><Size>5</Size></Contents>"
        "<Contents><Size>0</Size><Key>d</Key></Contents></ListBucketResult>";
    struct object_list list = {.limit = 10};
    assert_true(s3_read_list(&arena, STR(body), &list));
    assert_int_equal(list.count, 2);
    assert_true(list.more);
    CHECK_STR_EQ("key", list.entries[0].key, STR("a/b c&"));
    CHECK_STR_EQ("etag", str_from_c(list.entries[0].info.etag), STR("123"));
    assert_int_equal(list.entries[0].info.size_bytes, 5);
    static const char *const bad[] = {
        "",
        "<html></html>",
        "<ListBucketResult><Contents><Key>a</Key></Contents>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents>",
        /* more, but nothing to go on from */
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        /* the page before once more */
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
        "<Contents><Key>before</Key><Size>1</Size></Contents></ListBucketResult>",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct object_list again = {.limit = 10, .after = STR("before")};
        assert_false(s3_read_list(&arena, str_from_c(bad[i]), &again));
    }
    arena_finish(&arena);
}

int main(void)
{
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_reading), cmocka_unit_test(test_listing),
        cmocka_unit_test(test_writer),  cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_xml),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
