/* archive/write_records.h: the records of exports: items and changes as lines of DynamoDB JSON or
 * Ion text, as the service writes them. No function keeps state: any thread. */
#ifndef GRAMME_ARCHIVE_WRITE_RECORDS_H
#define GRAMME_ARCHIVE_WRITE_RECORDS_H

#include "base/buf.h"
#include "model/table.h"

enum archive_format { ARCHIVE_DYNAMODB_JSON, ARCHIVE_ION };

/* Appends an item as a line:
 *   {"Item":{"Id":{"N":"103"}}}      $ion_1_0 {Item:{Id:103.}} */
void archive_write_item(struct buf *out, enum archive_format format, struct value item);

/* The change of an item between two instants. */
struct archive_change {
    int64_t time_us; /* of its last change */
    const struct key_schema *key;
    struct value old_item; /* VALUE_ABSENT: there was none, or it is not wanted */
    struct value new_item; /* VALUE_ABSENT: the item was deleted */
    struct value key_item; /* an item to take the key from */
};
/* Appends a change as a line, in DynamoDB JSON or Ion:
 *   {"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{},"OldImage":{},"NewImage":{}} */
void archive_write_change(struct buf *out, enum archive_format format,
                          const struct archive_change *change);

/* Appends one value or item as Ion text: 103. */
void archive_write_ion_value(struct buf *out, struct value value);
/* Appends a name as an Ion symbol: quoted, unless it is an identifier. */
void archive_write_ion_symbol(struct buf *out, struct str name);

#endif
