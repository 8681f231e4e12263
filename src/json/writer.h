/* json/writer.h: JSON text straight into a buffer. Commas and colons are the caller's: what we
 * write is known in shape, and a comma put by hand costs nothing. */
#ifndef GRAMME_JSON_WRITER_H
#define GRAMME_JSON_WRITER_H

#include "base/buf.h"

/* A literal piece of JSON, e.g. JSON_PUT(out, ",\"Count\":"). */
#define JSON_PUT(buf, literal) buf_add((buf), STR(literal))

/* A string with quotes and escapes; `text` is valid UTF-8. */
void json_write_string(struct buf *buf, struct str text);
/* The same for text that is known to need no escape. */
void json_write_plain_string(struct buf *buf, struct str text);
void json_write_bool(struct buf *buf, bool value);
/* Bytes as a base64 string. */
void json_write_base64(struct buf *buf, struct str bytes);
/* One to six decimals, as few as show the value ("0.5", "1.0", "12.25"). */
void json_write_double(struct buf *buf, double value);

#endif
