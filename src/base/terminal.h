/* base/terminal.h: text from the database as a terminal may show it: no control characters,
 * and with a known width in columns. */
#ifndef GRAMME_BASE_TERMINAL_H
#define GRAMME_BASE_TERMINAL_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends `text` with everything a terminal could obey or hide replaced by a visible form: control
 * characters, DEL, C1, bidirectional controls and bytes that are not UTF-8. "\n" and "\t" become
 * two characters. */
void terminal_add_text(struct buf *out, struct str text);
/* Returns such a text in `arena`, NUL-terminated. */
MUST_USE struct str terminal_text(struct arena *arena, struct str text);
/* The same as terminal_add_text() for JSON: the replacements are JSON escapes, so that the meaning
 * stays. */
void terminal_add_json(struct buf *out, struct str json);
/* Returns how many columns a safe text takes. */
MUST_USE size_t terminal_width(struct str text);
/* Appends a safe text in exactly `width` columns: cut with an ellipsis, or padded with spaces
 * (before it if `right`). */
void terminal_add_cell(struct buf *out, struct str text, size_t width, bool right);

#endif
