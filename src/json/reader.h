/* json/reader.h: strict JSON (RFC 8259), pulled value by value, no tree.
 *
 * The caller asks for what it expects; the first mistake in the text sticks: from then on every
 * call returns false. Text with bad UTF-8, trailing bytes or more than JSON_DEPTH_MAX levels is a
 * mistake; duplicate names are the caller's matter. */
#ifndef GRAMME_JSON_READER_H
#define GRAMME_JSON_READER_H

#include "base/arena.h"

#define JSON_DEPTH_MAX 512

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
    JSON_BAD, /* no value stands here, or an earlier mistake */
};

struct json_reader {
    struct arena *arena; /* strings with escapes are unescaped into it */
    const char *start;
    const char *at;
    const char *end;
    const char *mistake; /* NULL: none so far; else a short English phrase */
    int depth;
    bool first; /* nothing of the innermost container has been read */
};

/* A string's bytes after unescaping. `plain`: needs no escape when written as JSON again. */
struct json_string {
    struct str text;
    bool plain;
};

/* The reader and slices that it hands out borrow `source`. */
void json_reader_init(struct json_reader *reader, struct arena *arena, struct str source);

/* The kind of the value that comes next; consumes nothing but white space. */
MUST_USE enum json_kind json_peek(struct json_reader *reader);

/* Each consumes one value of its kind; any other kind is a mistake. */
MUST_USE bool json_read_null(struct json_reader *reader);
MUST_USE bool json_read_bool(struct json_reader *reader, bool *out);
MUST_USE bool json_read_string(struct json_reader *reader, struct json_string *out);
/* The number's text as it stands, valid by JSON's grammar. */
MUST_USE bool json_read_number(struct json_reader *reader, struct str *out);

/* Containers: enter, then next until it returns false; each true is followed by reading or
 * skipping one value. False without a mistake: the container has ended and was consumed. */
MUST_USE bool json_enter_object(struct json_reader *reader);
MUST_USE bool json_next_member(struct json_reader *reader, struct json_string *out_name);
MUST_USE bool json_enter_array(struct json_reader *reader);
MUST_USE bool json_next_element(struct json_reader *reader);

/* Consumes one value of any kind. */
bool json_skip(struct json_reader *reader);
/* Consumes one value of any kind and returns its text. */
MUST_USE bool json_read_raw(struct json_reader *reader, struct str *out);

/* True if nothing but white space is left and there was no mistake. */
MUST_USE bool json_at_end(struct json_reader *reader);

#endif
