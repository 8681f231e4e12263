/* Encodes and decodes exports. Called by src/engine, in evals and for the threads of src/transfer;
 * keeps no state. */
#include "codec/stored_export.h"

#include "base/bytes.h"

enum {
    EXPORT_VERSION = 1,
    HEAD_LEN = 5,
    NUMBERS = 7,
    TEXTS = 12,
    FIXED_LEN = HEAD_LEN + NUMBERS * 8 + 2 * 4 + UUID_TEXT_LEN,
    TEXT_HEAD_LEN = 4,
};
static const uint32_t no_text = UINT32_MAX;

enum { FLAG_INCREMENTAL = 1, FLAG_TYPE_GIVEN = 2, FLAG_KMS = 4, FLAG_READ = 8 };

static void list_numbers(struct export *export, int64_t *out[NUMBERS])
{
    int64_t *numbers[NUMBERS] = {
        &export->start_ms,   &export->end_ms,     &export->time_ms,      &export->to_ms,
        &export->item_count, &export->item_bytes, &export->billed_bytes,
    };
    memcpy(out, numbers, sizeof(numbers));
}

static void list_texts(struct export *export, struct str *out[TEXTS])
{
    struct str *texts[TEXTS] = {
        &export->table_name, &export->token,      &export->bucket,       &export->owner,
        &export->prefix,     &export->sse_key_id, &export->pin,          &export->pin_to,
        &export->cursor,     &export->manifest,   &export->failure_code, &export->failure_message,
    };
    memcpy(out, texts, sizeof(texts));
}

struct str export_encode(struct arena *arena, const struct export *from)
{
    struct export export = *from;
    int64_t *numbers[NUMBERS];
    struct str *texts[TEXTS];
    list_numbers(&export, numbers);
    list_texts(&export, texts);
    size_t len = FIXED_LEN;
    for (size_t i = 0; i < TEXTS; i++) {
        len += TEXT_HEAD_LEN + texts[i]->len;
    }
    char *bytes = arena_bytes(arena, len);
    bytes[0] = EXPORT_VERSION;
    bytes[1] = (char)export.state;
    bytes[2] = (char)export.format;
    bytes[3] = (char)export.view;
    bytes[4] = (char)((export.is_incremental ? FLAG_INCREMENTAL : 0) |
                      (export.is_type_given ? FLAG_TYPE_GIVEN : 0) |
                      (export.sse_kms ? FLAG_KMS : 0) | (export.is_read ? FLAG_READ : 0));
    char *at = bytes + HEAD_LEN;
    for (size_t i = 0; i < NUMBERS; i++, at += 8) {
        put_u64_le(at, (uint64_t)*numbers[i]);
    }
    put_u32_le(at, export.attempt);
    put_u32_le(at + 4, export.file_count);
    memcpy(at + 8, export.table_id, UUID_TEXT_LEN);
    at += 8 + UUID_TEXT_LEN;
    for (size_t i = 0; i < TEXTS; i++) {
        put_u32_le(at, str_is_null(*texts[i]) ? no_text : (uint32_t)texts[i]->len);
        if (texts[i]->len > 0) {
            memcpy(at + TEXT_HEAD_LEN, texts[i]->data, texts[i]->len);
        }
        at += TEXT_HEAD_LEN + texts[i]->len;
    }
    assert(at == bytes + len);
    return str_make(bytes, len);
}

/* Takes a text off the front of *rest. */
static bool take_text(struct arena *arena, struct str *rest, struct str *out)
{
    if (rest->len < TEXT_HEAD_LEN) {
        return false;
    }
    uint32_t head = get_u32_le(rest->data);
    size_t len = head == no_text ? 0 : head;
    *rest = str_skip(*rest, TEXT_HEAD_LEN);
    if (len > rest->len) {
        return false;
    }
    *out = head == no_text ? STR_NULL : arena_copy(arena, str_make(rest->data, len));
    *rest = str_skip(*rest, len);
    return true;
}

static bool take_texts(struct arena *arena, struct str rest, struct export *out)
{
    struct str *texts[TEXTS];
    list_texts(out, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        if (!take_text(arena, &rest, texts[i])) {
            return false;
        }
    }
    return rest.len == 0;
}

bool export_decode(struct arena *arena, struct str bytes, struct export *out, struct err *err)
{
    *out = (struct export){0};
    if (bytes.len < FIXED_LEN || bytes.data[0] != EXPORT_VERSION ||
        (uint8_t)bytes.data[1] > EXPORT_FAILED || (uint8_t)bytes.data[2] > EXPORT_ION ||
        (uint8_t)bytes.data[3] > EXPORT_NEW_AND_OLD_IMAGES ||
        !take_texts(arena, str_skip(bytes, FIXED_LEN), out)) {
        return err_set(err, ERR_INTERNAL,
                       "an export in the store cannot be read: another version of Gramme wrote it, "
                       "or it is damaged");
    }
    out->state = (enum export_state)bytes.data[1];
    out->format = (enum export_format)bytes.data[2];
    out->view = (enum export_view)bytes.data[3];
    out->is_incremental = (bytes.data[4] & FLAG_INCREMENTAL) != 0;
    out->is_type_given = (bytes.data[4] & FLAG_TYPE_GIVEN) != 0;
    out->sse_kms = (bytes.data[4] & FLAG_KMS) != 0;
    out->is_read = (bytes.data[4] & FLAG_READ) != 0;
    int64_t *numbers[NUMBERS];
    list_numbers(out, numbers);
    const char *at = bytes.data + HEAD_LEN;
    for (size_t i = 0; i < NUMBERS; i++, at += 8) {
        *numbers[i] = (int64_t)get_u64_le(at);
    }
    out->attempt = get_u32_le(at);
    out->file_count = get_u32_le(at + 4);
    memcpy(out->table_id, at + 8, UUID_TEXT_LEN);
    return true;
}
