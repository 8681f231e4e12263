/* Objects in buckets: checks names, and passes the calls on to folders (folders.c) or a service
 * (s3.c). Called on background threads. */
#include "objects/objects.h"

#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "objects/objects_internal.h"

/* --- failures --- */

bool object_fail(struct object_error *error, int status, const char *code, const char *format, ...)
{
    if (error != NULL) {
        va_list args;
        va_start(args, format);
        error->status = status;
        snprintf(error->code, sizeof(error->code), "%s", code);
        vsnprintf(error->message, sizeof(error->message), format, args);
        va_end(args);
    }
    return false;
}

bool object_error_is(const struct object_error *error, const char *code)
{
    return strcmp(error->code, code) == 0;
}

/* --- names --- */

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Four groups of digits: such a name would be an address in a URL. */
static bool looks_like_address(struct str name)
{
    size_t dots = 0;
    for (size_t i = 0; i < name.len; i++) {
        bool is_digit = name.data[i] >= '0' && name.data[i] <= '9';
        dots += name.data[i] == '.';
        if (!is_digit && name.data[i] != '.') {
            return false;
        }
    }
    return dots == 3;
}

bool object_bucket_is_valid(struct str bucket)
{
    if (bucket.len < 3 || bucket.len > 63 || looks_like_address(bucket) ||
        !is_lower_or_digit(bucket.data[0]) || !is_lower_or_digit(bucket.data[bucket.len - 1])) {
        return false;
    }
    for (size_t i = 0; i < bucket.len; i++) {
        char c = bucket.data[i];
        bool is_dot_pair = c == '.' && bucket.data[i + 1] == '.';
        if (is_dot_pair || (!is_lower_or_digit(c) && c != '-' && c != '.')) {
            return false;
        }
    }
    return true;
}

bool object_key_is_valid(struct str key)
{
    return key.len > 0 && key.len <= OBJECT_KEY_MAX && utf8_is_valid(key) &&
           memchr(key.data, '\0', key.len) == NULL;
}

static bool check_bucket(struct objects *objects, struct str bucket, struct object_error *error)
{
    if (atomic_load(&objects->stop)) {
        return object_fail(error, 0, "Stopped", "stopped");
    }
    return object_bucket_is_valid(bucket) ||
           object_fail(error, 400, "InvalidBucketName", "The specified bucket is not valid.");
}

static bool check_key(struct objects *objects, struct str bucket, struct str key,
                      struct object_error *error)
{
    if (!check_bucket(objects, bucket, error)) {
        return false;
    }
    if (key.len > OBJECT_KEY_MAX) {
        return object_fail(error, 400, "KeyTooLongError", "Your key is too long");
    }
    return object_key_is_valid(key) ||
           object_fail(error, 400, "InvalidArgument", "the key is empty or not UTF-8");
}

/* --- checksums --- */

void object_md5(struct str bytes, unsigned char out[OBJECT_MD5_LEN])
{
    int done = EVP_Digest(bytes.data, bytes.len, out, NULL, EVP_md5(), NULL);
    assert(done == 1);
}

void object_etag_of(struct str bytes, char out[OBJECT_ETAG_MAX + 1])
{
    unsigned char md5[OBJECT_MD5_LEN];
    object_md5(bytes, md5);
    hex_encode_c(str_make(md5, sizeof(md5)), out);
}

void object_etag_of_parts(const struct object_writer *writer, char out[OBJECT_ETAG_MAX + 1])
{
    object_etag_of(buf_str(&writer->part_md5s), out);
    size_t len = strlen(out);
    snprintf(out + len, OBJECT_ETAG_MAX + 1 - len, "-%zu", writer->part_count);
}

/* --- the calls --- */

bool objects_open(const struct objects_options *options, struct objects **out, struct err *err)
{
    return options->endpoint.len > 0 ? objects_open_service(options, out, err)
                                     : objects_open_folders(options, out, err);
}

void objects_close(struct objects *objects)
{
    if (objects != NULL) {
        objects->kind->close(objects);
    }
}

void objects_stop(struct objects *objects)
{
    atomic_store(&objects->stop, true);
}

bool object_head(struct objects *objects, struct str bucket, struct str key,
                 struct object_info *out, struct object_error *error)
{
    return check_key(objects, bucket, key, error) &&
           objects->kind->head(objects, bucket, key, out, error);
}

bool object_read(struct objects *objects, struct str bucket, struct str key,
                 struct object_range range, const char *etag, struct buf *out,
                 struct object_error *error)
{
    return check_key(objects, bucket, key, error) &&
           objects->kind->read(objects, bucket, key, range, etag, out, error);
}

bool object_list(struct objects *objects, struct arena *arena, struct str bucket,
                 struct object_list *list, struct object_error *error)
{
    list->count = 0;
    list->more = false;
    list->limit = list->limit == 0 ? OBJECT_LIST_MAX : MIN(list->limit, (size_t)OBJECT_LIST_MAX);
    return check_bucket(objects, bucket, error) &&
           objects->kind->list(objects, arena, bucket, list, error);
}

static const struct object_attributes no_attributes = {0};

/* Attributes become HTTP headers: a line break in one would begin another header. */
static bool is_header_value(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c > '~') {
            return false;
        }
    }
    return true;
}

static bool check_attributes(const struct object_attributes *attributes, struct object_error *error)
{
    return (is_header_value(attributes->content_type) && is_header_value(attributes->sse) &&
            is_header_value(attributes->sse_key_id)) ||
           object_fail(error, 400, "InvalidArgument",
                       "The KMS key id has characters that it cannot have");
}

bool object_put(struct objects *objects, struct str bucket, struct str key, struct str body,
                const struct object_attributes *attributes, struct object_info *out,
                struct object_error *error)
{
    struct object_info ignored;
    attributes = attributes != NULL ? attributes : &no_attributes;
    return check_key(objects, bucket, key, error) && check_attributes(attributes, error) &&
           objects->kind->put(objects, bucket, key, body, attributes, out != NULL ? out : &ignored,
                              error);
}

bool object_delete(struct objects *objects, struct str bucket, struct str key,
                   struct object_error *error)
{
    return check_key(objects, bucket, key, error) &&
           objects->kind->remove(objects, bucket, key, error);
}

/* --- the writer --- */

static void destroy_writer(struct object_writer *writer)
{
    buf_finish(&writer->part);
    buf_finish(&writer->part_md5s);
    buf_finish(&writer->part_etags);
    arena_finish(&writer->arena);
    mem_free(writer);
}

struct object_writer *object_writer_open(struct objects *objects, struct str bucket, struct str key,
                                         const struct object_attributes *attributes,
                                         struct object_error *error)
{
    attributes = attributes != NULL ? attributes : &no_attributes;
    if (!check_key(objects, bucket, key, error) || !check_attributes(attributes, error)) {
        return NULL;
    }
    struct object_writer *writer = mem_zalloc(sizeof(*writer));
    arena_init(&writer->arena);
    writer->objects = objects;
    writer->fd = -1;
    writer->bucket = arena_copy(&writer->arena, bucket);
    writer->key = arena_copy(&writer->arena, key);
    writer->attributes = (struct object_attributes){
        .content_type = arena_copy(&writer->arena, attributes->content_type),
        .sse = arena_copy(&writer->arena, attributes->sse),
        .sse_key_id = arena_copy(&writer->arena, attributes->sse_key_id),
    };
    if (!objects->kind->begin(writer, error)) {
        destroy_writer(writer);
        return NULL;
    }
    return writer;
}

/* Stores the part that is in memory. */
static bool finish_part(struct object_writer *writer, struct object_error *error)
{
    if (writer->part_count == OBJECT_PARTS_MAX) {
        return object_fail(error, 400, "EntityTooLarge", "an object has at most %d parts",
                           OBJECT_PARTS_MAX);
    }
    if (atomic_load(&writer->objects->stop)) {
        return object_fail(error, 0, "Stopped", "stopped");
    }
    if (!writer->objects->kind->add_part(writer, error)) {
        return false;
    }
    unsigned char md5[OBJECT_MD5_LEN];
    object_md5(buf_str(&writer->part), md5);
    buf_add(&writer->part_md5s, str_make(md5, sizeof(md5)));
    writer->part_count++;
    writer->size_bytes += writer->part.len;
    writer->part.len = 0;
    return true;
}

bool object_writer_add(struct object_writer *writer, struct str bytes, struct object_error *error)
{
    while (bytes.len > 0) {
        size_t len = MIN(bytes.len, OBJECT_PART_BYTES - writer->part.len);
        buf_add(&writer->part, str_make(bytes.data, len));
        bytes = str_skip(bytes, len);
        if (writer->part.len == OBJECT_PART_BYTES && !finish_part(writer, error)) {
            return false;
        }
    }
    return true;
}

bool object_writer_close(struct object_writer *writer, struct object_info *out,
                         struct object_error *error)
{
    struct object_info ignored;
    bool has_rest = writer->part.len > 0 || writer->part_count == 0; /* at least one part */
    bool good = (!has_rest || finish_part(writer, error)) &&
                writer->objects->kind->complete(writer, out != NULL ? out : &ignored, error);
    if (!good) {
        writer->objects->kind->abort(writer);
    }
    destroy_writer(writer);
    return good;
}

void object_writer_abort(struct object_writer *writer)
{
    if (writer != NULL) {
        writer->objects->kind->abort(writer);
        destroy_writer(writer);
    }
}
