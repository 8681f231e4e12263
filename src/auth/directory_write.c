/* Writes users, roles and policies as the JSON records that directory_read.c parses. Called when a
 * directory is changed or exported, on the thread that does so; keeps no state. */
#include "auth/directory_internal.h"
#include "json/writer.h"

static void write_member(struct buf *out, const char *name, struct str text)
{
    buf_format(out, ",\"%s\":", name);
    json_write_string(out, text);
}

static void write_keys(const struct directory_principal *user, const struct seal_key *key,
                       struct arena *arena, struct buf *out)
{
    JSON_PUT(out, ",\"keys\":[");
    for (size_t i = 0; i < user->key_count; i++) {
        const struct directory_key *one = &user->keys[i];
        buf_add(out, i > 0 ? STR(",{\"id\":") : STR("{\"id\":"));
        json_write_string(out, one->id);
        write_member(out, "sealed", seal_text(key, SEAL_SECRET, one->id, one->secret, arena));
        buf_format(out, ",\"disabled\":%s,\"created\":%lld}", one->is_disabled ? "true" : "false",
                   (long long)one->created);
    }
    buf_add_char(out, ']');
}

static void write_policies(const struct directory_principal *principal, struct buf *out)
{
    JSON_PUT(out, ",\"policies\":[");
    for (size_t i = 0; i < principal->policy_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, principal->policy_names[i]);
    }
    buf_add_char(out, ']');
    if (!str_is_null(principal->boundary_name)) {
        write_member(out, "boundary", principal->boundary_name);
    }
}

static void write_tags(const struct context_tags *tags, struct buf *out)
{
    JSON_PUT(out, ",\"tags\":{");
    for (size_t i = 0; i < tags->count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, tags->tags[i].name);
        buf_add_char(out, ':');
        json_write_string(out, tags->tags[i].value);
    }
    buf_add_char(out, '}');
}

void directory_write_principal(const struct directory_principal *principal,
                               const struct seal_key *key, struct arena *arena, struct buf *out)
{
    JSON_PUT(out, "{\"name\":");
    json_write_string(out, principal->name);
    write_member(out, "id", principal->id);
    buf_format(out, ",\"disabled\":%s,\"created\":%lld,\"sessionsSince\":%lld",
               principal->is_disabled ? "true" : "false", (long long)principal->created,
               (long long)principal->sessions_since);
    write_policies(principal, out);
    write_tags(&principal->tags, out);
    if (principal->kind == CALLER_ROLE_SESSION) {
        buf_format(
            out, ",\"sessionSeconds\":%lld,\"trust\":", (long long)principal->session_seconds_max);
        buf_add(out, principal->trust_document);
    } else {
        write_keys(principal, key, arena, out);
    }
    buf_add_char(out, '}');
}

void directory_write_policy(struct str name, struct str document, struct buf *out)
{
    JSON_PUT(out, "{\"name\":");
    json_write_string(out, name);
    JSON_PUT(out, ",\"document\":");
    buf_add(out, document);
    buf_add_char(out, '}');
}
