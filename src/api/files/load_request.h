/* api/files/load_request.h: what the operations on imports and bulk operations share: ARNs, tokens
 * of lists, parts of requests, loads as JSON. */
#ifndef GRAMME_API_FILES_LOAD_REQUEST_H
#define GRAMME_API_FILES_LOAD_REQUEST_H

#include "api/api_internal.h"
#include "engine/load.h"

/* S3BucketSource of ImportTable; InputS3Configuration of StartBulkPutItems has further members. */
struct bucket_request {
    struct str owner;
    struct str bucket;
    struct str prefix;
    struct wire_enum format;      /* InputS3Configuration only, like the next */
    struct wire_enum compression; /* in the order of enum load_compression */
};

extern const struct shape shape_client_token;
extern const struct shape shape_bucket;
extern const struct shape shape_bucket_owner;
extern const struct shape shape_bucket_prefix;
extern const struct shape shape_compression;
extern const struct shape shape_load_arn; /* ImportArn, BulkOperationArn */

extern const struct shape shape_load_page; /* PageSize of ListImports, MaxResults */

/* Returns whether the text has the form of a NextToken: groups of 16 hexadecimal digits. */
bool load_request_is_token(struct str text);
#define LOAD_TOKEN_PATTERN "([0-9a-f]{16})+"

/* The values of shape_compression, in the order in which the service prints them. */
enum { WIRE_ZSTD, WIRE_NONE, WIRE_GZIP };
/* The compression; LOAD_NONE if it is not given. */
enum load_compression load_request_compression(const struct wire_enum *given);

/* The name of the load's row, from its ARN. False: call->err. */
MUST_USE bool load_request_row(struct api_call *call, enum load_kind kind, struct str arn,
                               struct str *out);

/* Writes the answer of a list: `member` with what `put` writes of each load, and NextToken; or
 * the error. Ends the call. */
void load_request_answer_list(struct api_call *call, const struct load_list *list,
                              struct str member,
                              void (*put)(struct api_call *call, const struct load_entry *entry));
/* The row's name in a NextToken; STR_NULL for STR_NULL. False: call->err. */
MUST_USE bool load_request_position(struct api_call *call, struct str token, struct str *out);

/* The token of the request, or a new one. */
struct str load_request_client_token(struct api_call *call, struct str given);

/* Starts a load for ImportTable or StartBulkPutItems. */
struct load_begin {
    struct api_call *call;
    struct load load;
    /* Writes the answer and ends the call. */
    void (*answer)(struct api_call *call, struct str row_name, const struct load *load);
    /* The error of a token that was used with other parameters. */
    enum err_code conflict_code;
    const char *conflict_text;

    struct load_list running; /* private, as the next two */
    struct load_start start;
    struct load_get repeated;
};
/* Starts the load, unless too many are running, and answers. A request with a token that was used
 * before is answered with the load of that token. */
void load_request_begin(struct load_begin *begin);

/* A decoded request as JSON, which is stored with the load and part of its description. */
struct str load_request_write(struct api_call *call, const struct shape *shape,
                              const void *decoded);

/* The name of a state, as of BulkOperationStatus and ImportStatus. */
const char *load_request_state(const struct load *load);
/* Writes the member TableArn. */
void load_request_table_arn(struct api_call *call, struct str table_name);
/* Writes a member that is a text. */
void load_request_text(struct api_call *call, struct str name, struct str text);
/* Writes a member that is a number. */
void load_request_int(struct api_call *call, struct str name, int64_t value);
/* Writes a member whose value is JSON, unless `json` is STR_NULL. */
void load_request_json(struct api_call *call, struct str name, struct str json);

#endif
