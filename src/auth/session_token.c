/* Issues session tokens (called by the STS operations) and decrypts them (called by sign_in.c). Any
 * thread; keeps no state. */
#include "auth/session_token.h"

#include "base/mem.h"
#include "base/random.h"
#include "json/reader.h"
#include "json/writer.h"

#define SEAL_SESSION "session"

void session_random_text(char *out, size_t len, bool is_key_id)
{
    static const char key_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    static const char secret_letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[64];
    assert(len <= sizeof(bytes));
    random_system(bytes, len);
    for (size_t i = 0; i < len;
         i++) { /* alphabets of 32 and 64: every character is equally likely */
        out[i] = is_key_id ? key_letters[bytes[i] & 31] : secret_letters[bytes[i] & 63];
    }
    secret_erase(bytes, sizeof(bytes));
}

static void write_member(struct buf *out, const char *name, struct str text)
{
    if (!str_is_null(text)) {
        buf_format(out, ",\"%s\":", name);
        json_write_string(out, text);
    }
}

void session_issue(const struct seal_key *key, const struct session_request *request,
                   struct arena *arena, struct session_credentials *out)
{
    char *id = arena_bytes(arena, SESSION_KEY_ID_LEN);
    char *secret = arena_bytes(arena, SESSION_SECRET_LEN);
    memcpy(id, SESSION_KEY_PREFIX, 4);
    session_random_text(id + 4, SESSION_KEY_ID_LEN - 4, true);
    session_random_text(secret, SESSION_SECRET_LEN, false);
    out->access_key_id = str_make(id, SESSION_KEY_ID_LEN);
    out->secret = str_make(secret, SESSION_SECRET_LEN);
    struct buf text = {0};
    /* Growing would leave a copy of the secret. A character becomes at most six: \u0000. */
    (void)buf_reserve(&text, 4096 + 6 * request->document.len);
    buf_format(&text, "{\"issued\":%lld,\"expires\":%lld,\"role\":%s", (long long)request->issued,
               (long long)request->expires,
               request->principal->kind == CALLER_ROLE_SESSION ? "true" : "false");
    write_member(&text, "principal", request->principal->name);
    write_member(&text, "id", request->principal->id);
    write_member(&text, "name", request->name);
    write_member(&text, "secret", out->secret);
    write_member(&text, "policy", request->document);
    buf_add_char(&text, '}');
    out->token = seal_text(key, SEAL_SESSION, out->access_key_id, buf_str(&text), arena);
    buf_erase(&text);
    buf_finish(&text);
}

static bool read_text(struct auth_session *session, struct json_reader *reader, struct str *out)
{
    struct json_string text;
    if (!json_read_string(reader, &text)) {
        return false;
    }
    *out = secret_copy(&session->secrets, text.text);
    return true;
}

static bool read_number(struct json_reader *reader, int64_t *out)
{
    struct str text;
    return json_read_number(reader, &text) && str_to_int64(text, out);
}

static bool read_member(struct auth_session *session, struct json_reader *reader, struct str name)
{
    if (str_eq(name, STR("issued"))) {
        return read_number(reader, &session->issued);
    }
    if (str_eq(name, STR("expires"))) {
        return read_number(reader, &session->expires);
    }
    if (str_eq(name, STR("role"))) {
        return json_read_bool(reader, &session->is_role);
    }
    struct str *text = str_eq(name, STR("principal")) ? &session->principal
                       : str_eq(name, STR("id"))      ? &session->id
                       : str_eq(name, STR("name"))    ? &session->name
                       : str_eq(name, STR("secret"))  ? &session->secret
                       : str_eq(name, STR("policy"))  ? &session->document
                                                      : NULL;
    return text != NULL && read_text(session, reader, text);
}

static bool read_session(struct auth_session *session, struct str text)
{
    struct arena scratch; /* for unescaped text: policies contain escapes, secrets do not */
    arena_init(&scratch);
    struct json_reader reader;
    json_reader_init(&reader, &scratch, text);
    struct json_string name;
    bool good = json_enter_object(&reader);
    while (good && json_next_member(&reader, &name)) {
        good = read_member(session, &reader, name.text);
    }
    struct err err = ERR_INIT(&scratch);
    good = good && json_at_end(&reader) &&
           (str_is_null(session->document) ||
            policy_parse(session->document, POLICY_IDENTITY, &session->policy, &err));
    arena_finish(&scratch);
    return good;
}

struct auth_session *session_open(const struct seal_key *key, struct str access_key_id,
                                  struct str token)
{
    struct auth_session *session = mem_zalloc(sizeof(*session));
    atomic_init(&session->references, 1);
    session->token = secret_copy(&session->secrets, token);
    session->access_key_id = secret_copy(&session->secrets, access_key_id);
    struct str text = seal_open(key, SEAL_SESSION, access_key_id, token, &session->secrets);
    if (str_is_null(text) || !read_session(session, text)) {
        session_release(session);
        return NULL;
    }
    return session;
}

struct auth_session *session_hold(struct auth_session *session)
{
    atomic_fetch_add_explicit(&session->references, 1, memory_order_relaxed);
    return session;
}

void session_release(struct auth_session *session)
{
    if (session == NULL ||
        atomic_fetch_sub_explicit(&session->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    policy_destroy(session->policy);
    secret_arena_finish(&session->secrets);
    mem_free(session);
}
