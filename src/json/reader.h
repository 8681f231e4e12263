/* json/reader.h: a pull parser for strict JSON (RFC 8259). It builds no tree: the caller asks for
 * the values that it expects. The first mistake in the text is kept: from then on every call
 * returns false. Malformed UTF-8, bytes after the end and more than JSON_DEPTH_MAX levels are
 * mistakes; duplicate names are left to the caller.
 *
 * Used by one thread at a time. */
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
    JSON_BAD, /* no value follows, or there was a mistake */
};

struct json_reader {
    struct arena *arena; /* for strings that have escapes */
    const char *start;
    const char *at;
    const char *end;
    const char *mistake; /* NULL: none so far; else a short English phrase */
    int depth;
    bool first; /* no entry of the innermost container has been read */
};

/* A string after unescaping. `plain`: it needs no escape when it is written as JSON again. */
struct json_string {
    struct str text;
    bool plain;
};

/* Starts reading `source`, which the reader and the strings it returns borrow. Unescaped strings
 * are allocated from `arena`. */
void json_reader_init(struct json_reader *reader, struct arena *arena, struct str source);

/* Returns the kind of the next value. Consumes only white space. */
MUST_USE enum json_kind json_peek(struct json_reader *reader);

/* Consumes null. Like the functions below, it fails if another kind of value follows. */
MUST_USE bool json_read_null(struct json_reader *reader);
/* Consumes true or false. */
MUST_USE bool json_read_bool(struct json_reader *reader, bool *out);
/* Consumes a string. */
MUST_USE bool json_read_string(struct json_reader *reader, struct json_string *out);
/* Consumes a number and returns its text, which follows JSON's grammar. */
MUST_USE bool json_read_number(struct json_reader *reader, struct str *out);
/* Consumes a number from 0 to `max`, of at most 63 characters. False: it is not one; *out may have
 * been set. */
MUST_USE bool json_read_amount(struct json_reader *reader, double max, double *out);

/* Enters an object. Then call json_next_member() until it returns false; after each true read or
 * skip one value. False without a mistake: the container has ended and was consumed. */
MUST_USE bool json_enter_object(struct json_reader *reader);
/* Reads the name of the next member of an object. */
MUST_USE bool json_next_member(struct json_reader *reader, struct json_string *out_name);
/* Enters an array; continue with json_next_element() in the same way. */
MUST_USE bool json_enter_array(struct json_reader *reader);
/* Whether one more element of the array follows. */
MUST_USE bool json_next_element(struct json_reader *reader);

/* Consumes one value of any kind. */
bool json_skip(struct json_reader *reader);
/* Consumes one value of any kind and returns its text. */
MUST_USE bool json_read_raw(struct json_reader *reader, struct str *out);

/* Whether the text has ended (only white space is left) without a mistake. */
MUST_USE bool json_at_end(struct json_reader *reader);

#endif
