/* objects/objects.h: objects in buckets, as of S3: in folders of this machine, or at any
 * S3-compatible service. Exports write them, imports read them.
 *
 * All functions block, for minutes if the service does not respond: call them on background
 * threads. Any number of threads may use one `struct objects`; a writer belongs to one thread.
 * Texts are UTF-8. Bucket names and keys are checked by every function. */
#ifndef GRAMME_OBJECTS_OBJECTS_H
#define GRAMME_OBJECTS_OBJECTS_H

#include "base/buf.h"
#include "err/err.h"

enum {
    OBJECT_KEY_MAX = 1024,       /* bytes */
    OBJECT_PART_BYTES = 8 << 20, /* of a multipart upload, but for the last */
    OBJECT_PARTS_MAX = 10000,    /* so an object has at most 78 GiB */
    OBJECT_LIST_MAX = 1000,      /* keys of a page */
    OBJECT_ETAG_MAX = 63,
};

struct objects_options {
    struct str directory;   /* folders: each bucket is a folder in it; created when needed */
    struct str endpoint;    /* not empty: the address of a service instead, or "aws:" */
    struct str region;      /* of the service; empty: as the AWS SDKs find it */
    bool uses_virtual_host; /* http://BUCKET.HOST/KEY instead of http://HOST/BUCKET/KEY */
    int64_t patience_ms;    /* how long transient failures are retried; 0: five minutes */
};

struct objects;

/* Opens a place for objects; creates nothing and sends nothing yet. Copies the options. False: *err
 * says what is wrong with them. */
MUST_USE bool objects_open(const struct objects_options *options, struct objects **out,
                           struct err *err);
/* Frees it; no call may be in progress. Accepts NULL. */
void objects_close(struct objects *objects);
/* Makes calls in progress and all later ones fail soon, with the code "Stopped". Any thread. */
void objects_stop(struct objects *objects);

/* Why a call failed. */
struct object_error {
    int status;        /* of HTTP; 0: none */
    char code[128];    /* S3's: "NoSuchBucket", "NoSuchKey", "AccessDenied", "InvalidBucketName";
                        * "Stopped"; or why there was no response: "ConnectionFailed", "TimedOut" */
    char message[512]; /* the message of S3, if S3 has one for this error */
};
/* Whether it has this code. */
MUST_USE bool object_error_is(const struct object_error *error, const char *code);

/* Size and etag of an object. */
struct object_info {
    uint64_t size_bytes;
    char etag[OBJECT_ETAG_MAX + 1]; /* without quotes; changes with the object */
};

/* --- reading --- */

/* Reads the size and etag of an object. False: "NoSuchKey" or "NoSuchBucket", or "NotFound" where
 * the service does not say which. */
MUST_USE bool object_head(struct objects *objects, struct str bucket, struct str key,
                          struct object_info *out, struct object_error *error);

/* The bytes to read. */
struct object_range {
    uint64_t offset; /* at most the object's size */
    size_t bytes;    /* fewer are returned at the object's end */
};
/* Appends a part of an object to `out`: nothing at its end. `etag`, not empty: fails with
 * "PreconditionFailed" if the object has changed since object_head() gave it. Read large objects
 * piece by piece, OBJECT_PART_BYTES at a time. */
MUST_USE bool object_read(struct objects *objects, struct str bucket, struct str key,
                          struct object_range range, const char *etag, struct buf *out,
                          struct object_error *error);

struct object_entry {
    struct str key;
    struct object_info info;
};
struct object_list {
    struct str prefix; /* keys that start with it; empty: all */
    struct str after;  /* behind this key, in the order of bytes; empty: from the first */
    size_t limit;      /* 1 to OBJECT_LIST_MAX; 0: that */

    struct object_entry *entries; /* set by object_list(), in the order of bytes, in the arena */
    size_t count;
    bool more; /* there are further ones behind the last */
};
/* Lists objects, a page at a time. */
MUST_USE bool object_list(struct objects *objects, struct arena *arena, struct str bucket,
                          struct object_list *list, struct object_error *error);

/* --- writing --- */

/* The attributes of an object. */
struct object_attributes {
    struct str content_type; /* empty: application/octet-stream */
    struct str sse;          /* "AES256" or "aws:kms"; empty: not requested */
    struct str sse_key_id;   /* of aws:kms; empty: the default key */
};

/* Writes an object atomically: after a failure the object is as before the call, or complete. *out
 * may be NULL. */
MUST_USE bool object_put(struct objects *objects, struct str bucket, struct str key,
                         struct str body, const struct object_attributes *attributes,
                         struct object_info *out, struct object_error *error);
/* Deletes an object; one that does not exist is no failure. */
MUST_USE bool object_delete(struct objects *objects, struct str bucket, struct str key,
                            struct object_error *error);

/* Writes an object piece by piece, as a multipart upload, with one part in memory. */
struct object_writer;
/* Starts an object. Nothing is visible before object_writer_close(). NULL: *error. */
MUST_USE struct object_writer *object_writer_open(struct objects *objects, struct str bucket,
                                                  struct str key,
                                                  const struct object_attributes *attributes,
                                                  struct object_error *error);
/* Appends bytes. False: only object_writer_abort() may follow. */
MUST_USE bool object_writer_add(struct object_writer *writer, struct str bytes,
                                struct object_error *error);
/* Completes the object and frees the writer. False: there is no new object; the writer is freed,
 * too. */
MUST_USE bool object_writer_close(struct object_writer *writer, struct object_info *out,
                                  struct object_error *error);
/* Aborts the upload and frees the writer. Accepts NULL. */
void object_writer_abort(struct object_writer *writer);

/* --- names --- */

/* Whether the name is valid for a bucket: 3 to 63 lower-case letters, digits, hyphens and dots;
 * begins and ends with a letter or digit; no two dots in a row; not an IP address. */
MUST_USE bool object_bucket_is_valid(struct str bucket);
/* Whether the key is valid for an object: 1 to 1,024 bytes of UTF-8. Folders take fewer: see
 * objects/README.md. */
MUST_USE bool object_key_is_valid(struct str key);

#endif
