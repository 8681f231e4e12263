/* Unit tests of the lines, manifests and streams of exports. */
#include "archive/write_records.h"

#include <zlib.h>

#include "archive/gzip.h"
#include "archive/manifest.h"
#include "base/testing.h"
#include "wire/value_json.h"

/* Reads an item from DynamoDB JSON. */
static struct value item_of(struct arena *arena, const char *text)
{
    struct json_reader json;
    json_reader_init(&json, arena, str_from_c(text));
    struct value_reader reader = {.json = &json, .complaint = STR_NULL};
    builder_init(&reader.builder, arena, 0);
    if (!value_json_read_item(&reader, PLACE_MEMBER) || reader.problem.fault != FAULT_NONE) {
        fail_msg("%s", text);
    }
    return builder_finish(&reader.builder);
}

static const struct {
    const char *item;
    const char *ion;
} items[] = {
    {"{\"Id\":{\"N\":\"103\"},\"Title\":{\"S\":\"x\"}}", "{Id:103.,Title:\"x\"}"},
    {"{\"a\":{\"N\":\"600\"},\"b\":{\"N\":\"-0.5\"},\"c\":{\"N\":\"0\"},\"d\":{\"N\":\"12.5\"}}",
     "{a:6d2,b:-0.5,c:0.,d:12.5}"},
    {"{\"a\":{\"N\":\"0.000001\"},\"b\":{\"N\":\"0.0000001\"},\"c\":{\"N\":\"1e20\"}}",
     "{a:0.000001,b:1d-7,c:1d20}"},
    {"{\"a\":{\"N\":\"-12345678901234567890123456789012345678\"}}",
     "{a:-12345678901234567890123456789012345678.}"},
    {"{\"a\":{\"S\":\"q\\\"\\\\\\n\\u0001\\u0000\xc3\xa9'\"}}",
     "{a:\"q\\\"\\\\\\n\\x01\\0\xc3\xa9'\"}"},
    {"{\"b\":{\"B\":\"AAEC\"},\"n\":{\"NULL\":true},\"t\":{\"BOOL\":true},\"f\":{\"BOOL\":false}}",
     "{b:{{AAEC}},f:false,n:null,t:true}"},
    {"{\"s\":{\"SS\":[\"b\",\"a\"]},\"n\":{\"NS\":[\"10\",\"2\"]},\"b\":{\"BS\":[\"AA==\"]}}",
     "{b:$dynamodb_BS::[{{AA==}}],n:$dynamodb_NS::[2.,1d1],s:$dynamodb_SS::[\"a\",\"b\"]}"},
    {"{\"l\":{\"L\":[{\"S\":\"\"},{\"M\":{}},{\"L\":[]}]},\"m\":{\"M\":{\"k\":{\"N\":\"1\"}}}}",
     "{l:[\"\",{},[]],m:{k:1.}}"},
    {"{\"null\":{\"S\":\"\"},\"a b\":{\"S\":\"\"},\"$1\":{\"S\":\"\"},\"$a\":{\"S\":\"\"},"
     "\"1a\":{\"S\":\"\"},\"a'\":{\"S\":\"\"},\"\xc3\xa9\":{\"S\":\"\"},\"_\":{\"S\":\"\"}}",
     "{'$1':\"\",$a:\"\",'1a':\"\",_:\"\",'a b':\"\",'a\\'':\"\",'null':\"\",'\xc3\xa9':\"\"}"},
};

static void test_items(void **state)
{
    (void)state;
    struct arena arena;
    struct buf out = {0};
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        struct value item = item_of(&arena, items[i].item);
        out.len = 0;
        archive_write_item(&out, ARCHIVE_ION, item);
        CHECK_STR_EQ(items[i].item, buf_str(&out),
                     arena_format(&arena, "$ion_1_0 {Item:%s}\n", items[i].ion));
    }
    out.len = 0;
    archive_write_item(&out, ARCHIVE_DYNAMODB_JSON, item_of(&arena, items[0].item));
    CHECK_STR_EQ("JSON", buf_str(&out),
                 STR("{\"Item\":{\"Id\":{\"N\":\"103\"},\"Title\":{\"S\":\"x\"}}}\n"));
    buf_finish(&out);
    arena_finish(&arena);
}

static void test_changes(void **state)
{
    (void)state;
    struct arena arena;
    struct buf out = {0};
    arena_init(&arena);
    struct key_schema key = {.hash = {{STR("z"), VALUE_S}},
                             .hash_count = 1,
                             .range = {{STR("a b"), VALUE_N}},
                             .range_count = 1};
    struct value old_item =
        item_of(&arena, "{\"z\":{\"S\":\"h\"},\"a b\":{\"N\":\"1\"},\"x\":{\"S\":\"old\"}}");
    struct value new_item =
        item_of(&arena, "{\"z\":{\"S\":\"h\"},\"a b\":{\"N\":\"1\"},\"x\":{\"S\":\"new\"}}");
    struct archive_change change = {.time_us = 1680109764000000,
                                    .key = &key,
                                    .old_item = old_item,
                                    .new_item = new_item,
                                    .key_item = new_item};
    archive_write_change(&out, ARCHIVE_DYNAMODB_JSON, &change);
    CHECK_STR_EQ(
        "both", buf_str(&out),
        STR("{\"Metadata\":{\"WriteTimestampMicros\":{\"N\":\"1680109764000000\"}},"
            "\"Keys\":{\"z\":{\"S\":\"h\"},\"a b\":{\"N\":\"1\"}},"
            "\"OldImage\":{\"a b\":{\"N\":\"1\"},\"x\":{\"S\":\"old\"},\"z\":{\"S\":\"h\"}},"
            "\"NewImage\":{\"a b\":{\"N\":\"1\"},\"x\":{\"S\":\"new\"},\"z\":{\"S\":\"h\"}"
            "}}\n"));
    out.len = 0;
    archive_write_change(&out, ARCHIVE_ION, &change);
    CHECK_STR_EQ("Ion", buf_str(&out),
                 STR("$ion_1_0 {Record:{Keys:{z:\"h\",'a b':1.},"
                     "Metadata:{WriteTimestampMicros:1680109764000000.},"
                     "OldImage:{'a b':1.,x:\"old\",z:\"h\"},"
                     "NewImage:{'a b':1.,x:\"new\",z:\"h\"}}}\n"));
    out.len = 0;
    change.new_item = change.old_item = VALUE_ABSENT;
    archive_write_change(&out, ARCHIVE_DYNAMODB_JSON, &change);
    CHECK_STR_EQ("deleted", buf_str(&out),
                 STR("{\"Metadata\":{\"WriteTimestampMicros\":{\"N\":\"1680109764000000\"}},"
                     "\"Keys\":{\"z\":{\"S\":\"h\"},\"a b\":{\"N\":\"1\"}}}\n"));
    buf_finish(&out);
    arena_finish(&arena);
}

static void test_manifest_summary(void **state)
{
    (void)state;
    struct buf out = {0};
    struct manifest_summary summary = {
        .export_arn = STR("arn"),
        .start_ms = 1693467621041,
        .end_ms = 1693467622000,
        .table_arn = STR("table"),
        .table_id = STR("id"),
        .time_ms = 1693467621041,
        .bucket = STR("b"),
        .sse_algorithm = "AES256",
        .files_key = STR("AWSDynamoDB/1/manifest-files.json"),
        .item_count = 8,
        .format = "DYNAMODB_JSON",
        .view = "NEW_IMAGE",
    };
    manifest_write_summary(&out, &summary);
    CHECK_STR_EQ("full", buf_str(&out),
                 STR("{\"version\":\"2020-06-30\",\"exportArn\":\"arn\","
                     "\"startTime\":\"2023-08-31T07:40:21.041Z\","
                     "\"endTime\":\"2023-08-31T07:40:22.000Z\",\"tableArn\":\"table\","
                     "\"tableId\":\"id\",\"exportTime\":\"2023-08-31T07:40:21.041Z\","
                     "\"s3Bucket\":\"b\",\"s3Prefix\":null,\"s3SseAlgorithm\":\"AES256\","
                     "\"s3SseKmsKeyId\":null,"
                     "\"manifestFilesS3Key\":\"AWSDynamoDB/1/manifest-files.json\","
                     "\"billedSizeBytes\":0,\"itemCount\":8,\"outputFormat\":\"DYNAMODB_JSON\"}"));
    out.len = 0;
    summary.is_incremental = true;
    summary.to_ms = 1693467622000;
    summary.prefix = STR("p/\"q");
    manifest_write_summary(&out, &summary);
    CHECK_STR_EQ("incremental", buf_str(&out),
                 STR("{\"version\":\"2023-08-01\",\"exportArn\":\"arn\","
                     "\"startTime\":\"2023-08-31T07:40:21.041Z\","
                     "\"endTime\":\"2023-08-31T07:40:22.000Z\",\"tableArn\":\"table\","
                     "\"tableId\":\"id\",\"exportFromTime\":\"2023-08-31T07:40:21.041Z\","
                     "\"exportToTime\":\"2023-08-31T07:40:22.000Z\","
                     "\"s3Bucket\":\"b\",\"s3Prefix\":\"p/\\\"q\",\"s3SseAlgorithm\":\"AES256\","
                     "\"s3SseKmsKeyId\":null,"
                     "\"manifestFilesS3Key\":\"AWSDynamoDB/1/manifest-files.json\","
                     "\"billedSizeBytes\":0,\"itemCount\":8,\"outputFormat\":\"DYNAMODB_JSON\","
                     "\"outputView\":\"NEW_IMAGE\",\"exportType\":\"INCREMENTAL_EXPORT\"}"));
    buf_finish(&out);
}

static void test_manifest_file(void **state)
{
    (void)state;
    struct buf out = {0};
    manifest_write_file(&out, &(struct manifest_file){.item_count = 8670,
                                                      .md5 = STR("sQMSpEILNgoQmarvDFonGQ=="),
                                                      .etag = STR("af83d6f217c19b8b0fff-1"),
                                                      .key = STR("data/x.json.gz")});
    CHECK_STR_EQ(
        "file", buf_str(&out),
        STR("{\"itemCount\":8670,\"md5Checksum\":\"sQMSpEILNgoQmarvDFonGQ==\","
            "\"etag\":\"af83d6f217c19b8b0fff-1\",\"dataFileS3Key\":\"data/x.json.gz\"}\n"));
    buf_finish(&out);
}

static void test_manifest_md5(void **state)
{
    (void)state;
    char md5[MANIFEST_MD5_TEXT_LEN];
    manifest_md5(STR(""), md5);
    CHECK_STR_EQ("md5", str_make(md5, sizeof(md5)), STR("1B2M2Y8AsgTpgAmY7PhCfg=="));
    struct manifest_md5 *stream = manifest_md5_create();
    manifest_md5_add(stream, STR("a"));
    manifest_md5_add(stream, STR("bc"));
    manifest_md5_end(stream, md5);
    manifest_md5_destroy(stream);
    CHECK_STR_EQ("stream", str_make(md5, sizeof(md5)), STR("kAFQmDzST7DWlj99KOF/cg=="));
}

/* What is compressed in pieces is what comes out. */
static void test_gzip(void **state)
{
    (void)state;
    struct buf in = {0};
    struct buf out = {0};
    for (int i = 0; i < 200000; i++) {
        buf_format(&in, "%d,", i * 7919);
    }
    struct gzip_writer *writer = gzip_writer_create();
    for (size_t at = 0; at < in.len;) {
        size_t len = MIN(in.len - at, at % 5000 + 1);
        gzip_writer_add(writer, str_make(in.data + at, len), &out);
        at += len;
    }
    gzip_writer_end(writer, &out);
    gzip_writer_destroy(writer);
    struct buf back = {0};
    z_stream stream = {.next_in = (Bytef *)out.data, .avail_in = (uInt)out.len};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_out = (Bytef *)buf_reserve(&back, in.len + 1);
    stream.avail_out = (uInt)in.len + 1;
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    assert_int_equal(stream.total_out, in.len);
    assert_memory_equal(back.data, in.data, in.len);
    buf_finish(&in);
    buf_finish(&out);
    buf_finish(&back);
}

static void test_file_names(void **state)
{
    (void)state;
    char names[3][MANIFEST_NAME_LEN];
    manifest_file_name(STR("01-a/t"), 0, names[0]);
    manifest_file_name(STR("01-a/t"), 0, names[1]);
    manifest_file_name(STR("01-a/t"), 1, names[2]);
    assert_memory_equal(names[0], names[1], MANIFEST_NAME_LEN);
    assert_memory_not_equal(names[0], names[2], MANIFEST_NAME_LEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_names),    cmocka_unit_test(test_items),
        cmocka_unit_test(test_changes),       cmocka_unit_test(test_manifest_summary),
        cmocka_unit_test(test_manifest_file), cmocka_unit_test(test_manifest_md5),
        cmocka_unit_test(test_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
