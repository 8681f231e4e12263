/* Objects at an S3-compatible service, by the REST API of S3 with SigV4 (src/aws). Called on
 * background threads. */
#include <stdio.h>

#include "aws/client.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/percent.h"
#include "objects/objects_internal.h"

static const int64_t default_patience_ms = (int64_t)5 * 60 * 1000;
/* After so long it is checked whether an attempt to complete an upload was successful. */
static const int64_t complete_patience_ms = (int64_t)5 * 1000;
enum {
    HEADERS_MAX = 8,
    LIST_BYTES_MAX = 16 << 20,
    RESPONSE_BYTES_MAX = 1 << 20,
    LATE_ATTEMPTS = 5,
};

struct s3 {
    struct objects objects;
    struct aws_client *client;
    int64_t patience_ms;
    bool uses_virtual_host;
};

/* A request that is being put together. */
struct s3_call {
    struct s3 *s3;
    struct arena arena;
    struct aws_request request;
    struct sigv4_header headers[HEADERS_MAX];
    char content_hash[SIGV4_HEX_LEN];
    struct aws_response response;
    /* Headers of the response. */
    char etag[OBJECT_ETAG_MAX + 1];
    int64_t size_bytes; /* -1: not known */
};

/* --- requests --- */

static void take_header(void *context, struct str name, struct str value)
{
    struct s3_call *call = context;
    if (str_eq_nocase(name, STR("etag"))) {
        s3_copy_etag(value, call->etag);
    } else if (str_eq_nocase(name, STR("content-length"))) {
        int64_t number;
        call->size_bytes = str_to_int64(value, &number) && number >= 0 ? number : -1;
    }
}

static void add_header(struct s3_call *call, struct str name, struct str value)
{
    assert(call->request.header_count < HEADERS_MAX);
    call->headers[call->request.header_count++] = (struct sigv4_header){name, value};
}

/* Starts a request for a bucket (`key` empty) or an object. */
static void call_init(struct s3_call *call, struct objects *objects, const char *method,
                      struct str bucket, struct str key)
{
    *call = (struct s3_call){.s3 = CONTAINER_OF(objects, struct s3, objects), .size_bytes = -1};
    arena_init(&call->arena);
    struct str name = percent_encode(&call->arena, key, "/");
    bool is_virtual = call->s3->uses_virtual_host;
    call->request = (struct aws_request){
        .method = str_from_c(method),
        .host_prefix = is_virtual ? arena_format(&call->arena, "%.*s.", STR_ARG(bucket)) : STR_NULL,
        .path = is_virtual
                    ? arena_format(&call->arena, "/%.*s", STR_ARG(name))
                    : arena_format(&call->arena, "/%.*s/%.*s", STR_ARG(bucket), STR_ARG(name)),
        .headers = call->headers,
        .response_bytes_max = RESPONSE_BYTES_MAX,
        .take_header = take_header,
        .context = call,
        .stop = &objects->stop,
    };
}

static void call_finish(struct s3_call *call)
{
    aws_response_finish(&call->response);
    arena_finish(&call->arena);
}

/* Sets the body, with the MD5 by which the service checks it. */
static void set_body(struct s3_call *call, struct str body)
{
    unsigned char md5[OBJECT_MD5_LEN];
    char *text = arena_bytes(&call->arena, BASE64_ENCODED_LEN(OBJECT_MD5_LEN));
    object_md5(body, md5);
    base64_encode(str_make(md5, sizeof(md5)), text);
    call->request.body = body;
    add_header(call, STR("Content-MD5"), str_make(text, BASE64_ENCODED_LEN(OBJECT_MD5_LEN)));
}

static void add_attributes(struct s3_call *call, const struct object_attributes *attributes)
{
    struct str type = attributes->content_type;
    add_header(call, STR("Content-Type"), type.len > 0 ? type : STR("application/octet-stream"));
    if (attributes->sse.len > 0) {
        add_header(call, STR("X-Amz-Server-Side-Encryption"), attributes->sse);
    }
    if (attributes->sse_key_id.len > 0) {
        add_header(call, STR("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"),
                   attributes->sse_key_id);
    }
}

/* Responses to HEAD have no body, so no code either. */
static void word_error(const struct aws_error *from, struct object_error *out)
{
    bool has_code = strcmp(from->code, AWS_BAD_ANSWER) != 0 || from->status == 0;
    const char *code = has_code              ? from->code
                       : from->status == 404 ? "NotFound"
                       : from->status == 403 ? "AccessDenied"
                       : from->status == 412 ? "PreconditionFailed"
                                             : from->code;
    object_fail(out, from->status, code, "%s", from->message);
}

/* Sends the request, with retries. */
static bool call_run(struct s3_call *call, struct object_error *error)
{
    sigv4_hash(call->request.body, call->content_hash);
    add_header(call, STR("X-Amz-Content-Sha256"), str_make(call->content_hash, SIGV4_HEX_LEN));
    if (aws_client_call(call->s3->client, &call->request, &call->response)) {
        return true;
    }
    struct aws_error failure;
    aws_response_error(&call->response, &failure);
    if (error != NULL) {
        word_error(&failure, error);
    }
    return false;
}

/* --- reading --- */

static bool s3_head(struct objects *objects, struct str bucket, struct str key,
                    struct object_info *out, struct object_error *error)
{
    struct s3_call call;
    call_init(&call, objects, "HEAD", bucket, key);
    bool good = call_run(&call, error);
    if (good && call.size_bytes < 0) {
        good = object_fail(error, 200, "InvalidResponse", "the size of the object is missing");
    }
    if (good) {
        out->size_bytes = (uint64_t)call.size_bytes;
        memcpy(out->etag, call.etag, sizeof(out->etag));
    }
    call_finish(&call);
    return good;
}

static bool s3_read(struct objects *objects, struct str bucket, struct str key,
                    struct object_range range, const char *etag, struct buf *out,
                    struct object_error *error)
{
    struct s3_call call;
    struct object_error failure = {0};
    call_init(&call, objects, "GET", bucket, key);
    add_header(&call, STR("Range"),
               arena_format(&call.arena, "bytes=%llu-%llu", (unsigned long long)range.offset,
                            (unsigned long long)(range.offset + range.bytes - 1)));
    if (etag != NULL && etag[0] != '\0') {
        add_header(&call, STR("If-Match"), arena_format(&call.arena, "\"%s\"", etag));
    }
    call.request.response_bytes_max = range.bytes + RESPONSE_BYTES_MAX;
    bool good = range.bytes == 0 || call_run(&call, &failure);
    if (!good && failure.status == 416) {
        good = true; /* the range begins at the object's end */
    } else if (!good) {
        *error = failure;
    } else if (call.response.status == 200 && range.offset > 0) {
        good = object_fail(error, 200, "InvalidResponse", "the service does not know ranges");
    } else {
        buf_add(out, buf_str(&call.response.body));
    }
    call_finish(&call);
    return good;
}

static bool s3_list(struct objects *objects, struct arena *arena, struct str bucket,
                    struct object_list *list, struct object_error *error)
{
    struct s3_call call;
    call_init(&call, objects, "GET", bucket, STR(""));
    struct str prefix = percent_encode(&call.arena, list->prefix, "");
    struct str after = percent_encode(&call.arena, list->after, "");
    /* Sorted by name, as signatures need it. */
    call.request.query = arena_format(
        &call.arena, "encoding-type=url&list-type=2&max-keys=%zu&prefix=%.*s%s%.*s", list->limit,
        STR_ARG(prefix), list->after.len > 0 ? "&start-after=" : "", STR_ARG(after));
    call.request.response_bytes_max = LIST_BYTES_MAX;
    bool good = call_run(&call, error);
    if (good && !s3_read_list(arena, buf_str(&call.response.body), list)) {
        good = object_fail(error, 200, "InvalidResponse", "the list cannot be read");
    }
    call_finish(&call);
    return good;
}

/* --- writing --- */

static bool s3_put(struct objects *objects, struct str bucket, struct str key, struct str body,
                   const struct object_attributes *attributes, struct object_info *out,
                   struct object_error *error)
{
    struct s3_call call;
    call_init(&call, objects, "PUT", bucket, key);
    add_attributes(&call, attributes);
    set_body(&call, body);
    bool good = call_run(&call, error);
    if (good) {
        out->size_bytes = body.len;
        memcpy(out->etag, call.etag, sizeof(out->etag));
    }
    call_finish(&call);
    return good;
}

static bool s3_remove(struct objects *objects, struct str bucket, struct str key,
                      struct object_error *error)
{
    struct s3_call call;
    struct object_error failure = {0};
    call_init(&call, objects, "DELETE", bucket, key);
    bool good = call_run(&call, &failure) || object_error_is(&failure, "NoSuchKey");
    if (!good) {
        *error = failure;
    }
    call_finish(&call);
    return good;
}

/* The text of an element; STR_NULL: there is none. */
static struct str element(struct str body, struct str start, struct str end)
{
    struct str text;
    return s3_take_element(&body, start, end, &text) ? text : STR_NULL;
}

static bool s3_begin(struct object_writer *writer, struct object_error *error)
{
    struct s3_call call;
    call_init(&call, writer->objects, "POST", writer->bucket, writer->key);
    call.request.query = STR("uploads=");
    add_attributes(&call, &writer->attributes);
    bool good = call_run(&call, error);
    struct str id =
        good ? element(buf_str(&call.response.body), STR("<UploadId>"), STR("</UploadId>"))
             : STR_NULL;
    if (good && id.len == 0) {
        good = object_fail(error, 200, "InvalidResponse", "no id of a multipart upload");
    }
    writer->upload = good ? percent_encode(&writer->arena, id, "") : STR_NULL;
    call_finish(&call);
    return good;
}

static bool s3_add_part(struct object_writer *writer, struct object_error *error)
{
    struct s3_call call;
    call_init(&call, writer->objects, "PUT", writer->bucket, writer->key);
    call.request.query = arena_format(&call.arena, "partNumber=%zu&uploadId=%.*s",
                                      writer->part_count + 1, STR_ARG(writer->upload));
    set_body(&call, buf_str(&writer->part));
    bool good = call_run(&call, error);
    if (good) {
        buf_add(&writer->part_etags, str_from_c(call.etag));
        buf_add_char(&writer->part_etags, '\0');
    }
    call_finish(&call);
    return good;
}

static void write_parts(const struct object_writer *writer, struct buf *out)
{
    const char *etag = writer->part_etags.data;
    buf_add(out,
            STR("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"));
    for (size_t i = 0; i < writer->part_count; i++) {
        buf_format(out, "<Part><PartNumber>%zu</PartNumber><ETag>&quot;%s&quot;</ETag></Part>",
                   i + 1, etag);
        etag += strlen(etag) + 1;
    }
    buf_add(out, STR("</CompleteMultipartUpload>"));
}

/* Whether the object exists although its upload could not be completed: an attempt whose response
 * was lost has completed it. Then S3 answers NoSuchUpload, and other services with a failure of
 * their own. Etags of encrypted objects cannot be computed, so the sizes are compared. */
static bool is_complete(struct object_writer *writer, struct object_info *out)
{
    struct object_info found;
    struct object_error ignored;
    if (!s3_head(writer->objects, writer->bucket, writer->key, &found, &ignored) ||
        found.size_bytes != writer->size_bytes) {
        return false;
    }
    *out = found;
    return true;
}

/* Whether the service failed, or did not respond. */
static bool is_transient(const struct object_error *error)
{
    return (error->status == 0 && !object_error_is(error, AWS_STOPPED)) || error->status >= 500;
}

/* The service may answer 200 and fail later: then the body has an error. */
static bool complete_once(struct object_writer *writer, struct object_info *out,
                          struct object_error *error)
{
    struct s3_call call;
    struct buf parts = {0};
    struct object_error failure = {0};
    call_init(&call, writer->objects, "POST", writer->bucket, writer->key);
    call.request.query = arena_format(&call.arena, "uploadId=%.*s", STR_ARG(writer->upload));
    call.request.patience_ms = complete_patience_ms;
    add_header(&call, STR("Content-Type"), STR("application/xml"));
    write_parts(writer, &parts);
    call.request.body = buf_str(&parts);
    bool good = call_run(&call, &failure);
    struct str body = buf_str(&call.response.body);
    struct str code = good ? element(body, STR("<Code>"), STR("</Code>")) : STR_NULL;
    if (!str_is_null(code)) {
        good = object_fail(&failure, 200, "InternalError", "%.*s", STR_ARG(code));
    }
    object_etag_of_parts(writer, out->etag);
    out->size_bytes = writer->size_bytes;
    if (good) {
        struct str etag = element(body, STR("<ETag>"), STR("</ETag>"));
        if (etag.len > 0) {
            s3_copy_etag(s3_without_entities(&call.arena, etag), out->etag);
        }
    } else if (object_error_is(&failure, "NoSuchUpload") || is_transient(&failure)) {
        good = is_complete(writer, out);
    }
    if (!good) {
        *error = failure;
    }
    buf_finish(&parts);
    call_finish(&call);
    return good;
}

static bool s3_complete(struct object_writer *writer, struct object_info *out,
                        struct object_error *error)
{
    const struct s3 *s3 = CONTAINER_OF(writer->objects, struct s3, objects);
    int64_t until_us = clock_monotonic_us() + s3->patience_ms * 1000;
    for (int i = 1;; i++) {
        if (complete_once(writer, out, error)) {
            return true;
        }
        bool is_late = error->status == 200 && object_error_is(error, "InternalError");
        bool is_worth_it =
            is_late ? i < LATE_ATTEMPTS : is_transient(error) && clock_monotonic_us() < until_us;
        if (!is_worth_it || atomic_load(&writer->objects->stop)) {
            return false;
        }
    }
}

static void s3_abort(struct object_writer *writer)
{
    struct s3_call call;
    struct object_error ignored;
    if (atomic_load(&writer->objects->stop)) {
        return; /* the process ends: nothing is sent any more */
    }
    call_init(&call, writer->objects, "DELETE", writer->bucket, writer->key);
    call.request.query = arena_format(&call.arena, "uploadId=%.*s", STR_ARG(writer->upload));
    bool done = call_run(&call, &ignored);
    (void)done; /* the bucket's rule for incomplete uploads deletes the rest */
    call_finish(&call);
}

static void s3_close(struct objects *objects)
{
    struct s3 *s3 = CONTAINER_OF(objects, struct s3, objects);
    aws_client_close(s3->client);
    mem_free(s3);
}

static const struct objects_kind s3_kind = {
    .close = s3_close,
    .head = s3_head,
    .read = s3_read,
    .list = s3_list,
    .put = s3_put,
    .remove = s3_remove,
    .begin = s3_begin,
    .add_part = s3_add_part,
    .complete = s3_complete,
    .abort = s3_abort,
};

bool objects_open_service(const struct objects_options *options, struct objects **out,
                          struct err *err)
{
    struct arena arena;
    struct aws_problem problem;
    arena_init(&arena);
    struct s3 *s3 = mem_zalloc(sizeof(*s3));
    s3->objects.kind = &s3_kind;
    s3->uses_virtual_host = options->uses_virtual_host;
    s3->patience_ms = options->patience_ms > 0 ? options->patience_ms : default_patience_ms;
    struct aws_options aws = {
        .service = "s3",
        .url = arena_copy_c(&arena, options->endpoint).data,
        .region = options->region.len > 0 ? arena_copy_c(&arena, options->region).data : NULL,
        .patience_ms = s3->patience_ms,
    };
    bool good = aws_client_open(&aws, &s3->client, &problem);
    if (good) {
        *out = &s3->objects;
    } else {
        err_set(err, ERR_INTERNAL, "--s3-endpoint: %s", problem.text);
        mem_free(s3);
    }
    arena_finish(&arena);
    return good;
}
