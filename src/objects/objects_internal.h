/* objects/objects_internal.h: the functions that both kinds of storage (folders, a service)
 * implement. */
#ifndef GRAMME_OBJECTS_OBJECTS_INTERNAL_H
#define GRAMME_OBJECTS_OBJECTS_INTERNAL_H

#include <stdatomic.h>

#include "objects/objects.h"

/* The functions of a kind. Names have been checked; `attributes` is not NULL. */
struct objects_kind {
    void (*close)(struct objects *objects);
    bool (*head)(struct objects *objects, struct str bucket, struct str key,
                 struct object_info *out, struct object_error *error);
    bool (*read)(struct objects *objects, struct str bucket, struct str key,
                 struct object_range range, const char *etag, struct buf *out,
                 struct object_error *error);
    bool (*list)(struct objects *objects, struct arena *arena, struct str bucket,
                 struct object_list *list, struct object_error *error);
    bool (*put)(struct objects *objects, struct str bucket, struct str key, struct str body,
                const struct object_attributes *attributes, struct object_info *out,
                struct object_error *error);
    bool (*remove)(struct objects *objects, struct str bucket, struct str key,
                   struct object_error *error);
    /* A multipart upload: begin() fills in writer->upload; add_part() stores writer->part as number
     * writer->part_count + 1; complete() makes the object; abort() discards it. */
    bool (*begin)(struct object_writer *writer, struct object_error *error);
    bool (*add_part)(struct object_writer *writer, struct object_error *error);
    bool (*complete)(struct object_writer *writer, struct object_info *out,
                     struct object_error *error);
    void (*abort)(struct object_writer *writer);
};

enum { OBJECT_MD5_LEN = 16 };

struct objects {
    const struct objects_kind *kind;
    atomic_bool stop;
};

struct object_writer {
    struct objects *objects;
    struct arena arena; /* of the texts */
    struct str bucket;
    struct str key;
    struct object_attributes attributes;
    struct buf part;       /* the part that is being filled */
    struct buf part_md5s;  /* OBJECT_MD5_LEN bytes of each finished part */
    struct buf part_etags; /* of the service: each with a NUL */
    size_t part_count;
    uint64_t size_bytes;
    struct str upload; /* of the kind: the upload's id, or the path of the temporary file */
    int fd;            /* of folders */
};

/* Opens folders. */
MUST_USE bool objects_open_folders(const struct objects_options *options, struct objects **out,
                                   struct err *err);
/* Opens a service. */
MUST_USE bool objects_open_service(const struct objects_options *options, struct objects **out,
                                   struct err *err);

/* Fills in *error, if it is not NULL, and returns false. */
bool object_fail(struct object_error *error, int status, const char *code, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* The MD5 of some bytes. */
void object_md5(struct str bytes, unsigned char out[OBJECT_MD5_LEN]);
/* Writes the etag of an object that was put whole: its MD5 in hexadecimal. */
void object_etag_of(struct str bytes, char out[OBJECT_ETAG_MAX + 1]);
/* Writes the etag that S3 gives to a multipart upload: the MD5 of its parts' MD5s, and their
 * number. */
void object_etag_of_parts(const struct object_writer *writer, char out[OBJECT_ETAG_MAX + 1]);

/* s3_list.c: takes the text between `start` and `end`, and all before it, off *rest. False: *rest
 * has no such element. */
MUST_USE bool s3_take_element(struct str *rest, struct str start, struct str end, struct str *out);
/* s3_list.c: replaces &amp; and the like. */
struct str s3_without_entities(struct arena *arena, struct str text);
/* s3_list.c: copies an etag without its quotes. */
void s3_copy_etag(struct str text, char out[OBJECT_ETAG_MAX + 1]);
/* s3_list.c: reads the body of a response of ListObjectsV2 to a request for what is behind
 * list->after. False: it is not such a response, or it is truncated and the list cannot be
 * continued. */
MUST_USE bool s3_read_list(struct arena *arena, struct str body, struct object_list *list);

#endif
