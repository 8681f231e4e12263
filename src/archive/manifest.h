/* archive/manifest.h: the manifests of an export, to the byte as the service writes them. No
 * function keeps state: any thread. */
#ifndef GRAMME_ARCHIVE_MANIFEST_H
#define GRAMME_ARCHIVE_MANIFEST_H

#include "base/buf.h"

enum { MANIFEST_MD5_LEN = 16, MANIFEST_MD5_TEXT_LEN = 24 };

/* One line of manifest-files.json. */
struct manifest_file {
    int64_t item_count;
    struct str md5;  /* of the compressed file, in base64 */
    struct str etag; /* "<hex>-1" */
    struct str key;
};
/* Appends the line of a data file. */
void manifest_write_file(struct buf *out, const struct manifest_file *file);

/* manifest-summary.json. */
struct manifest_summary {
    struct str export_arn;
    int64_t start_ms;
    int64_t end_ms;
    struct str table_arn;
    struct str table_id;
    bool is_incremental;
    int64_t time_ms; /* ExportTime; incremental: ExportFromTime */
    int64_t to_ms;   /* incremental: ExportToTime */
    struct str bucket;
    struct str prefix; /* STR_NULL: none, like the next */
    const char *sse_algorithm;
    struct str sse_key_id;
    struct str files_key; /* of manifest-files.json */
    int64_t billed_bytes;
    int64_t item_count;
    const char *format; /* "DYNAMODB_JSON" */
    const char *view;   /* incremental: "NEW_AND_OLD_IMAGES" */
};
/* Appends the summary, one line without an end. */
void manifest_write_summary(struct buf *out, const struct manifest_summary *summary);

/* Writes the MD5 of some bytes in base64: what a .md5 file holds. */
void manifest_md5(struct str bytes, char out[MANIFEST_MD5_TEXT_LEN]);
/* Appends a time: 2023-08-31T07:40:21.041Z */
void manifest_write_time(struct buf *out, int64_t time_ms);

/* The MD5 of a stream of bytes. */
struct manifest_md5;
/* Starts it. */
MUST_USE struct manifest_md5 *manifest_md5_create(void);
/* Adds bytes. */
void manifest_md5_add(struct manifest_md5 *md5, struct str bytes);
/* Writes the result in base64. Nothing may be added after that. */
void manifest_md5_end(struct manifest_md5 *md5, char out[MANIFEST_MD5_TEXT_LEN]);
/* Frees it. Accepts NULL. */
void manifest_md5_destroy(struct manifest_md5 *md5);

enum { MANIFEST_NAME_LEN = 26 };
/* Makes the name of an export's data file, without its ending: characters of base32 that look
 * random. A file has the same name each time: when an export is resumed after the server was killed
 * between writing a file and recording it, the file is replaced and not left beside a second one.
 */
void manifest_file_name(struct str export_name, uint32_t number, char out[MANIFEST_NAME_LEN]);

#endif
