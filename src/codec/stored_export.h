/* codec/stored_export.h: an export as the value of its catalog row:
 *
 *   version (1 byte, 1) | state (1) | format (1) | view (1) | flags (1) | seven numbers (i64_le, in
 *   the order of struct export) | attempt, file count (u32_le) | table id (36) | texts, each as
 *   length (u32_le, FFFFFFFF: none) and bytes, in the order of struct export
 *
 * Rows are named as those of backups (codec/stored_backup.h): ID/TABLE. */
#ifndef GRAMME_CODEC_STORED_EXPORT_H
#define GRAMME_CODEC_STORED_EXPORT_H

#include "base/random.h"
#include "err/err.h"

enum export_state { EXPORT_IN_PROGRESS, EXPORT_COMPLETED, EXPORT_FAILED };
enum export_format { EXPORT_DYNAMODB_JSON, EXPORT_ION };
enum export_view { EXPORT_NEW_IMAGE, EXPORT_NEW_AND_OLD_IMAGES };

struct export
{
    enum export_state state;
    enum export_format format;
    enum export_view view; /* of incremental exports */
    bool is_incremental;
    bool is_type_given; /* ExportType was in the request */
    bool sse_kms;
    bool is_read; /* all items are in data files; the manifests are missing */

    int64_t start_ms;
    int64_t end_ms;     /* 0: in progress */
    int64_t time_ms;    /* ExportTime, or ExportFromTime */
    int64_t to_ms;      /* ExportToTime; 0: a full export */
    int64_t item_count; /* in finished data files, like the next */
    int64_t item_bytes;
    int64_t billed_bytes;

    uint32_t attempt;    /* incremented by each thread that begins or resumes it */
    uint32_t file_count; /* finished data files */
    char table_id[UUID_TEXT_LEN];

    struct str table_name;
    struct str token;
    struct str bucket;
    struct str owner; /* STR_NULL: not given, like the next two */
    struct str prefix;
    struct str sse_key_id;
    struct str pin;    /* the backup's row that holds the items of time_ms */
    struct str pin_to; /* the same of to_ms; STR_NULL: a full export */
    struct str cursor; /* the first row key that is in no finished data file; STR_NULL: the first */
    struct str manifest; /* the key of manifest-summary.json; STR_NULL: not yet */
    struct str failure_code;
    struct str failure_message;
};

/* Encodes an export in `arena`. */
struct str export_encode(struct arena *arena, const struct export *export);
/* Decodes an export; its texts are copied to `arena`. ERR_INTERNAL if the bytes cannot be read. */
MUST_USE bool export_decode(struct arena *arena, struct str bytes, struct export *out,
                            struct err *err);

#endif
