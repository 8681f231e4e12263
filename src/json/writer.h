/* json/writer.h: writes JSON text to a buffer. The caller writes commas and colons itself, as parts
 * of literals: the structure of an answer is known where it is written. */
#ifndef GRAMME_JSON_WRITER_H
#define GRAMME_JSON_WRITER_H

#include "base/buf.h"

/* A literal piece of JSON, e.g. JSON_PUT(out, ",\"Count\":"). */
#define JSON_PUT(buf, literal) buf_add((buf), STR(literal))

/* Writes a string with quotes and escapes; `text` is valid UTF-8. */
void json_write_string(struct buf *buf, struct str text);
/* As json_write_string() for text that is known to need no escape. */
void json_write_plain_string(struct buf *buf, struct str text);
/* Writes true or false. */
void json_write_bool(struct buf *buf, bool value);
/* Writes bytes as a base64 string. */
void json_write_base64(struct buf *buf, struct str bytes);
/* Writes a number with one to six decimals, as few as show the value: "0.5", "1.0", "12.25". */
void json_write_double(struct buf *buf, double value);

#endif
