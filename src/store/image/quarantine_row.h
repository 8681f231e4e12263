/* store/image/quarantine_row.h: the rows of the store itself that list bad blocks in quarantine:
 * blocks of SST files that were replaced, and whose keys must not be read any more. If a single
 * flipped bit explained the damage, the block was corrected instead: servers do not read it either,
 * because a correction can be wrong (one in 60,000, if the damage was larger), but a repair does.
 *
 *   key: space 0, part "quarantine", number of the SST file (u64, big-endian), offset (u64, b.-e.)
 *   row: 1 if it was corrected, else 0 (1) | length of `first` (u32, little-endian) | first | last
 */
#ifndef GRAMME_STORE_IMAGE_QUARANTINE_ROW_H
#define GRAMME_STORE_IMAGE_QUARANTINE_ROW_H

#include "base/buf.h"
#include "store/store.h"

struct quarantine_row {
    uint64_t sst; /* number of the file that held the block */
    uint64_t offset;
    struct str first; /* the keys first <= key <= last, all of one space that is not 0 */
    struct str last;
    bool is_corrected;
};

enum { QUARANTINE_KEY_LEN = STORE_PREFIX_LEN + 16 };
/* More blocks are not put into quarantine. */
enum { QUARANTINE_MAX = 1000 };

/* Writes the prefix of all keys of such rows. */
void quarantine_prefix(char out[STORE_PREFIX_LEN]);
/* Encodes a row: its key to `out_key`, its value to `out_value`, which is emptied first. */
void quarantine_row_encode(const struct quarantine_row *row, char out_key[QUARANTINE_KEY_LEN],
                           struct buf *out_value);
/* Decodes a row whose key has the prefix; *out borrows `value`. False: it is malformed. */
MUST_USE bool quarantine_row_decode(struct str key, struct str value, struct quarantine_row *out);
/* Returns whether the keys from `first` to `last` can be put into quarantine: they are of one
 * space, and that is not the store's own. */
MUST_USE bool quarantine_accepts(struct str first, struct str last);

#endif
