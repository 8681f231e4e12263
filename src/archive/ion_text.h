/* archive/ion_text.h: Amazon Ion text (https://amazon-ion.github.io/ion-docs/docs/spec.html) as far
 * as items need it. Ion's types are read as the service reads them: string S, decimal, int and
 * float N, blob B, bool BOOL, null NULL, list L, struct M; lists with the annotations $dynamodb_SS,
 * $dynamodb_NS and $dynamodb_BS are sets. Symbols as values, timestamps, clobs and s-expressions
 * have no counterpart. */
#ifndef GRAMME_ARCHIVE_ION_TEXT_H
#define GRAMME_ARCHIVE_ION_TEXT_H

#include "err/err.h"
#include "model/value.h"

enum ion_scan { ION_SCAN_FOUND, ION_SCAN_MORE, ION_SCAN_BAD };

/* Finds the end of the struct that `text` starts with ("{"): it has the first *out_len bytes.
 * ION_SCAN_MORE: the text ends before it. `is_all`: nothing follows the text. */
enum ion_scan ion_scan_struct(struct str text, bool is_all, size_t *out_len);
/* Skips white space and comments; the same results, *out_len is what was skipped. */
enum ion_scan ion_scan_blanks(struct str text, bool is_all, size_t *out_len);

/* Reads a struct, whose extent ion_scan_struct() has found, as an M value in `arena`. False:
 * ERR_SERIALIZATION if it is not Ion, ERR_VALIDATION if it is not what an item can hold. */
MUST_USE bool ion_read_struct(struct arena *arena, struct str text, struct value *out,
                              struct err *err);

#endif
