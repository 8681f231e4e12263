/* Writes the manifests of exports. Called by src/transfer, on its thread. */
#include "archive/manifest.h"

#include <openssl/evp.h>
#include <time.h>

#include "base/base64.h"
#include "base/mem.h"
#include "json/writer.h"

/* --- JSON --- */

/* Appends `,"name":"value"`, or null. */
static void add_text(struct buf *out, const char *name, struct str value)
{
    buf_format(out, ",\"%s\":", name);
    if (str_is_null(value)) {
        buf_add(out, STR("null"));
    } else {
        json_write_string(out, value);
    }
}

static void add_number(struct buf *out, const char *name, int64_t value)
{
    buf_format(out, ",\"%s\":%lld", name, (long long)value);
}

void manifest_write_time(struct buf *out, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm parts;
    char text[32];
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    buf_format(out, "%s.%03dZ", text, (int)(time_ms % 1000));
}

static void add_time(struct buf *out, const char *name, int64_t time_ms)
{
    buf_format(out, ",\"%s\":\"", name);
    manifest_write_time(out, time_ms);
    buf_add_char(out, '"');
}

void manifest_write_file(struct buf *out, const struct manifest_file *file)
{
    buf_format(out, "{\"itemCount\":%lld", (long long)file->item_count);
    add_text(out, "md5Checksum", file->md5);
    add_text(out, "etag", file->etag);
    add_text(out, "dataFileS3Key", file->key);
    buf_add(out, STR("}\n"));
}

void manifest_write_summary(struct buf *out, const struct manifest_summary *summary)
{
    buf_add(out, summary->is_incremental ? STR("{\"version\":\"2023-08-01\"")
                                         : STR("{\"version\":\"2020-06-30\""));
    add_text(out, "exportArn", summary->export_arn);
    add_time(out, "startTime", summary->start_ms);
    add_time(out, "endTime", summary->end_ms);
    add_text(out, "tableArn", summary->table_arn);
    add_text(out, "tableId", summary->table_id);
    if (summary->is_incremental) {
        add_time(out, "exportFromTime", summary->time_ms);
        add_time(out, "exportToTime", summary->to_ms);
    } else {
        add_time(out, "exportTime", summary->time_ms);
    }
    add_text(out, "s3Bucket", summary->bucket);
    add_text(out, "s3Prefix", summary->prefix);
    add_text(out, "s3SseAlgorithm", str_from_c(summary->sse_algorithm));
    add_text(out, "s3SseKmsKeyId", summary->sse_key_id);
    add_text(out, "manifestFilesS3Key", summary->files_key);
    add_number(out, "billedSizeBytes", summary->billed_bytes);
    add_number(out, "itemCount", summary->item_count);
    add_text(out, "outputFormat", str_from_c(summary->format));
    if (summary->is_incremental) {
        add_text(out, "outputView", str_from_c(summary->view));
        add_text(out, "exportType", STR("INCREMENTAL_EXPORT"));
    }
    buf_add_char(out, '}');
}

/* --- checksums and names --- */

void manifest_md5(struct str bytes, char out[MANIFEST_MD5_TEXT_LEN])
{
    unsigned char md5[MANIFEST_MD5_LEN];
    int done = EVP_Digest(bytes.data, bytes.len, md5, NULL, EVP_md5(), NULL);
    assert(done == 1);
    base64_encode(str_make(md5, sizeof(md5)), out);
}

struct manifest_md5 {
    EVP_MD_CTX *context;
};

struct manifest_md5 *manifest_md5_create(void)
{
    struct manifest_md5 *md5 = mem_zalloc(sizeof(*md5));
    md5->context = EVP_MD_CTX_new();
    int done = EVP_DigestInit_ex(md5->context, EVP_md5(), NULL);
    assert(done == 1);
    return md5;
}

void manifest_md5_add(struct manifest_md5 *md5, struct str bytes)
{
    int done = EVP_DigestUpdate(md5->context, bytes.data, bytes.len);
    assert(done == 1);
}

void manifest_md5_end(struct manifest_md5 *md5, char out[MANIFEST_MD5_TEXT_LEN])
{
    unsigned char result[MANIFEST_MD5_LEN];
    int done = EVP_DigestFinal_ex(md5->context, result, NULL);
    assert(done == 1);
    base64_encode(str_make(result, sizeof(result)), out);
}

void manifest_md5_destroy(struct manifest_md5 *md5)
{
    if (md5 != NULL) {
        EVP_MD_CTX_free(md5->context);
        mem_free(md5);
    }
}

void manifest_file_name(struct str export_name, uint32_t number, char out[MANIFEST_NAME_LEN])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    struct buf text = {0};
    unsigned char hash[32];
    buf_format(&text, "%.*s %u", STR_ARG(export_name), number);
    int done = EVP_Digest(text.data, text.len, hash, NULL, EVP_sha256(), NULL);
    assert(done == 1);
    buf_finish(&text);
    for (int i = 0; i < MANIFEST_NAME_LEN; i++) {
        out[i] = letters[hash[i] & 31];
    }
}
