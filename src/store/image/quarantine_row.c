/* Encodes and decodes the rows that list bad blocks in quarantine: see quarantine_row.h. Called by
 * the committer, when a store is opened, and by the commands that read closed stores. */
#include "store/image/quarantine_row.h"

#include "base/bytes.h"

enum { HEAD_LEN = 5 };

void quarantine_prefix(char out[STORE_PREFIX_LEN])
{
    static const char part[] = "quarantine";
    memset(out, 0, STORE_PREFIX_LEN);
    memcpy(out + STORE_SPACE_LEN, part, sizeof(part) - 1);
}

bool quarantine_accepts(struct str first, struct str last)
{
    return first.len >= STORE_SPACE_LEN && last.len >= STORE_SPACE_LEN &&
           store_key_space(first) == store_key_space(last) && store_key_space(first) != 0 &&
           str_cmp(first, last) <= 0;
}

void quarantine_row_encode(const struct quarantine_row *row, char out_key[QUARANTINE_KEY_LEN],
                           struct buf *out_value)
{
    assert(quarantine_accepts(row->first, row->last));
    quarantine_prefix(out_key);
    put_u64_be(out_key + STORE_PREFIX_LEN, row->sst);
    put_u64_be(out_key + STORE_PREFIX_LEN + 8, row->offset);
    char head[HEAD_LEN] = {(char)row->is_corrected};
    put_u32_le(head + 1, (uint32_t)row->first.len);
    out_value->len = 0;
    buf_add(out_value, str_make(head, sizeof(head)));
    buf_add(out_value, row->first);
    buf_add(out_value, row->last);
}

bool quarantine_row_decode(struct str key, struct str value, struct quarantine_row *out)
{
    if (key.len != QUARANTINE_KEY_LEN || value.len < HEAD_LEN) {
        return false;
    }
    uint32_t len = get_u32_le(value.data + 1);
    struct str rest = str_skip(value, HEAD_LEN);
    if (len > rest.len) {
        return false;
    }
    *out = (struct quarantine_row){.sst = get_u64_be(key.data + STORE_PREFIX_LEN),
                                   .offset = get_u64_be(key.data + STORE_PREFIX_LEN + 8),
                                   .first = str_make(rest.data, len),
                                   .last = str_skip(rest, len),
                                   .is_corrected = value.data[0] != 0};
    return quarantine_accepts(out->first, out->last);
}
