/* NextToken as base64 text:
 *
 *   version (1) | checksum of what follows (16) | digest of the request (16) | range (u32_le) | key
 *
 * The key, of the row that was read last, is an M value, or nothing. The digest binds the token to
 * statement, parameters and table (its id, so that a table made anew is another one); the index is
 * named in the statement. */
#include "api/statements/partiql.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "err/messages.h"

enum { TOKEN_VERSION = 1, HASH_LEN = 16, RANGE_AT = 1 + 2 * HASH_LEN, HEAD_LEN = RANGE_AT + 4 };

static void request_digest(const struct partiql *partiql, struct arena *arena,
                           uint8_t out[HASH_LEN])
{
    const struct statement_request *request = partiql->request;
    const struct wire_value *parameters = request->parameters.elements;
    struct arena_mark mark = arena_mark(arena);
    struct builder builder;
    builder_init(&builder, arena, request->text.len + 256);
    builder_add_string(&builder, request->text);
    builder_add_string(&builder, str_make(partiql->table->id, sizeof(partiql->table->id)));
    for (size_t i = 0; i < request->parameters.count; i++) {
        builder_add_value(&builder, parameters[i].value);
    }
    hash_128(str_make(builder.data, builder.len), 0, out);
    arena_rewind(arena, mark);
}

struct str partiql_token_write(const struct partiql *partiql, const struct read_position *position,
                               struct arena *arena)
{
    size_t len = HEAD_LEN + position->last_key.len;
    uint8_t *bytes = arena_alloc(arena, len);
    uint8_t *body = bytes + 1 + HASH_LEN;
    bytes[0] = TOKEN_VERSION;
    request_digest(partiql, arena, body);
    put_u32_le(bytes + RANGE_AT, position->range);
    if (position->last_key.len > 0) {
        memcpy(bytes + HEAD_LEN, position->last_key.data, position->last_key.len);
    }
    hash_128(str_make(body, len - 1 - HASH_LEN), TOKEN_VERSION, bytes + 1);
    char *text = arena_bytes(arena, BASE64_ENCODED_LEN(len));
    base64_encode(str_make(bytes, len), text);
    return str_make(text, BASE64_ENCODED_LEN(len));
}

static bool is_intact(const uint8_t *bytes, size_t len)
{
    uint8_t checksum[HASH_LEN];
    if (len < HEAD_LEN || bytes[0] != TOKEN_VERSION) {
        return false;
    }
    hash_128(str_make(bytes + 1 + HASH_LEN, len - 1 - HASH_LEN), TOKEN_VERSION, checksum);
    return memcmp(checksum, bytes + 1, HASH_LEN) == 0;
}

bool partiql_token_read(const struct partiql *partiql, struct str text, struct read_position *out,
                        struct arena *arena, struct err *err)
{
    size_t len = 0;
    char *bytes = arena_bytes(arena, BASE64_DECODED_MAX(text.len) + 1);
    if (!base64_decode(text, bytes, &len) || !is_intact((const uint8_t *)bytes, len)) {
        return err_set(err, ERR_VALIDATION, MESSAGE_NEXT_TOKEN);
    }
    uint8_t digest[HASH_LEN];
    request_digest(partiql, arena, digest);
    if (memcmp(digest, bytes + 1 + HASH_LEN, HASH_LEN) != 0) {
        return err_set(err, ERR_VALIDATION, MESSAGE_NEXT_TOKEN_MISMATCH);
    }
    *out = (struct read_position){0};
    out->range = get_u32_le(bytes + RANGE_AT);
    struct str key = str_make(bytes + HEAD_LEN, len - HEAD_LEN);
    if (key.len == 0) {
        return true;
    }
    out->last_key = (struct value){(const uint8_t *)key.data, key.len};
    return (value_is_valid(key) && value_type(out->last_key) == VALUE_M) ||
           err_set(err, ERR_VALIDATION, MESSAGE_NEXT_TOKEN);
}
