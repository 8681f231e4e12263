/* Encodes and decodes backups. Called by src/engine, in evals and by its background threads; keeps
 * no state. */
#include "codec/stored_backup.h"

#include "base/bytes.h"
#include "codec/stored_table.h"

enum { BACKUP_VERSION = 1, HEAD_LEN = 3 + 6 * 8, TEXT_HEAD_LEN = 4 };

static size_t put_text(char *at, struct str text)
{
    put_u32_le(at, (uint32_t)text.len);
    if (text.len > 0) {
        memcpy(at + TEXT_HEAD_LEN, text.data, text.len);
    }
    return TEXT_HEAD_LEN + text.len;
}

struct str backup_encode(struct arena *arena, const struct backup *backup)
{
    struct str table = table_encode(arena, &backup->table);
    size_t len = HEAD_LEN + 2 * TEXT_HEAD_LEN + backup->name.len + backup->target.len + table.len;
    char *bytes = arena_bytes(arena, len);
    bytes[0] = BACKUP_VERSION;
    bytes[1] = (char)backup->state;
    bytes[2] = (char)backup->kind;
    put_u64_le(bytes + 3, (uint64_t)backup->created_ms);
    put_u64_le(bytes + 11, (uint64_t)backup->instant_ns);
    put_u64_le(bytes + 19, (uint64_t)backup->expires_ms);
    put_u64_le(bytes + 27, (uint64_t)backup->size_bytes);
    put_u64_le(bytes + 35, (uint64_t)backup->item_count);
    put_u64_le(bytes + 43, backup->ready_version);
    size_t at = HEAD_LEN;
    at += put_text(bytes + at, backup->name);
    at += put_text(bytes + at, backup->target);
    memcpy(bytes + at, table.data, table.len);
    assert(at + table.len == len);
    return str_make(bytes, len);
}

/* Takes a text off the front of *rest. */
static bool take_text(struct arena *arena, struct str *rest, struct str *out)
{
    size_t len = rest->len >= TEXT_HEAD_LEN ? get_u32_le(rest->data) : SIZE_MAX;
    if (rest->len < TEXT_HEAD_LEN || rest->len - TEXT_HEAD_LEN < len) {
        return false;
    }
    *out = len == 0 ? STR_NULL : arena_copy(arena, str_make(rest->data + TEXT_HEAD_LEN, len));
    *rest = str_skip(*rest, TEXT_HEAD_LEN + len);
    return true;
}

bool backup_decode(struct arena *arena, struct str bytes, struct backup *out, struct err *err)
{
    *out = (struct backup){0};
    struct str rest = bytes.len >= HEAD_LEN ? str_skip(bytes, HEAD_LEN) : STR_NULL;
    if (bytes.len < HEAD_LEN || bytes.data[0] != BACKUP_VERSION ||
        (uint8_t)bytes.data[1] > BACKUP_AVAILABLE || (uint8_t)bytes.data[2] > BACKUP_INTERNAL ||
        !take_text(arena, &rest, &out->name) || !take_text(arena, &rest, &out->target)) {
        return err_set(err, ERR_INTERNAL,
                       "a backup in the store cannot be read: another version of Gramme wrote it, "
                       "or it is damaged");
    }
    out->state = (enum backup_state)bytes.data[1];
    out->kind = (enum backup_kind)bytes.data[2];
    out->created_ms = (int64_t)get_u64_le(bytes.data + 3);
    out->instant_ns = (int64_t)get_u64_le(bytes.data + 11);
    out->expires_ms = (int64_t)get_u64_le(bytes.data + 19);
    out->size_bytes = (int64_t)get_u64_le(bytes.data + 27);
    out->item_count = (int64_t)get_u64_le(bytes.data + 35);
    out->ready_version = get_u64_le(bytes.data + 43);
    return table_decode(arena, rest, &out->table, err);
}
