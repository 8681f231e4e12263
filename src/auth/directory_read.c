/* Parses the JSON records of users, roles and policies, one function for each kind of object.
 * Called while a directory is loaded, by the thread that loads it; the snapshot is not shared
 * yet. */
#include "auth/directory_internal.h"
#include "json/reader.h"

/* The record that is being parsed. */
struct record {
    struct directory *directory;
    const struct seal_key *key;
    struct json_reader *reader;
    struct err *err;
};

/* Names ------------------------------------------------------------------------------------- */

static bool has_only(struct str text, size_t min, size_t max, const char *others)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return text.len >= min && text.len <= max;
}

bool directory_is_name(struct str name)
{
    return has_only(name, 1, DIRECTORY_NAME_MAX, "+=,.@_-");
}

bool directory_is_key_id(struct str id)
{
    return has_only(id, 3, 128, "_-");
}

bool directory_is_secret(struct str secret)
{
    for (size_t i = 0; i < secret.len; i++) {
        if (secret.data[i] <= ' ' || secret.data[i] > '~') {
            return false;
        }
    }
    return secret.len >= 8 && secret.len <= 128;
}

/* Pieces of JSON ---------------------------------------------------------------------------- */

/* Reports a member that is unknown or has a value of the wrong type. Returns false. */
static bool bad_member(struct record *record, struct str name)
{
    return err_set(record->err, ERR_VALIDATION, "member '%.*s' is unknown or has the wrong type",
                   STR_ARG(name));
}

static bool read_text(struct record *record, struct str *out)
{
    struct json_string text;
    if (json_peek(record->reader) != JSON_STRING || !json_read_string(record->reader, &text)) {
        return false;
    }
    *out = arena_copy(&record->directory->arena, text.text);
    return true;
}

static bool read_number(struct record *record, int64_t *out)
{
    struct str text;
    return json_peek(record->reader) == JSON_NUMBER && json_read_number(record->reader, &text) &&
           str_to_int64(text, out);
}

static bool read_flag(struct record *record, bool *out)
{
    return json_peek(record->reader) == JSON_BOOL && json_read_bool(record->reader, out);
}

static bool read_names(struct record *record, const struct str **out, size_t *out_count)
{
    struct arena *arena = &record->directory->arena;
    struct str *names = ARENA_ARRAY(arena, struct str, DIRECTORY_ATTACHED_MAX);
    size_t count = 0;
    if (json_peek(record->reader) != JSON_ARRAY || !json_enter_array(record->reader)) {
        return false;
    }
    while (json_next_element(record->reader)) {
        if (count == DIRECTORY_ATTACHED_MAX || !read_text(record, &names[count])) {
            return false;
        }
        count++;
    }
    *out = names;
    *out_count = count;
    return true;
}

static bool read_tags(struct record *record, struct context_tags *out)
{
    struct arena *arena = &record->directory->arena;
    struct context_tag *tags = ARENA_ARRAY(arena, struct context_tag, DIRECTORY_TAGS_MAX);
    struct json_string name;
    size_t count = 0;
    if (json_peek(record->reader) != JSON_OBJECT || !json_enter_object(record->reader)) {
        return false;
    }
    while (json_next_member(record->reader, &name)) {
        if (count == DIRECTORY_TAGS_MAX) {
            return false;
        }
        tags[count].name = arena_copy(arena, name.text);
        if (!read_text(record, &tags[count].value)) {
            return false;
        }
        count++;
    }
    *out = (struct context_tags){.tags = tags, .count = count};
    return true;
}

/* Keys -------------------------------------------------------------------------------------- */

/* Reads a secret in plain text and copies it to the secret arena only. */
static bool read_secret(struct record *record, struct directory_key *key)
{
    struct json_string text;
    if (json_peek(record->reader) != JSON_STRING || !json_read_string(record->reader, &text)) {
        return false;
    }
    key->secret = secret_copy(&record->directory->secrets, text.text);
    return true;
}

static bool read_key_member(struct record *record, struct str name, struct directory_key *key,
                            struct str *out_sealed)
{
    if (str_eq(name, STR("id"))) {
        return read_text(record, &key->id);
    }
    if (str_eq(name, STR("secret"))) {
        return read_secret(record, key);
    }
    if (str_eq(name, STR("sealed"))) {
        return read_text(record, out_sealed);
    }
    if (str_eq(name, STR("disabled"))) {
        return read_flag(record, &key->is_disabled);
    }
    return str_eq(name, STR("created")) && read_number(record, &key->created);
}

static bool open_secret(struct record *record, struct directory_key *key, struct str sealed)
{
    if (record->key == NULL) {
        return err_set(record->err, ERR_VALIDATION,
                       "secret keys are sealed, and there is no master key: give it with "
                       "--master-key-file or GRAMME_MASTER_KEY");
    }
    key->secret = seal_open(record->key, SEAL_SECRET, key->id, sealed, &record->directory->secrets);
    return !str_is_null(key->secret) ||
           err_set(record->err, ERR_VALIDATION,
                   "the secret of key '%.*s' cannot be opened: the master key is another one",
                   STR_ARG(key->id));
}

static bool read_key(struct record *record, struct directory_principal *user)
{
    struct directory *directory = record->directory;
    struct directory_key *key = &user->keys[user->key_count];
    struct json_string name;
    struct str sealed = STR_NULL;
    if (json_peek(record->reader) != JSON_OBJECT || !json_enter_object(record->reader)) {
        return false;
    }
    while (json_next_member(record->reader, &name)) {
        if (!read_key_member(record, name.text, key, &sealed)) {
            return bad_member(record, name.text);
        }
    }
    if (!directory_is_key_id(key->id)) {
        return err_set(record->err, ERR_VALIDATION, "'%.*s' is not an access key id",
                       STR_ARG(key->id));
    }
    if (!str_is_null(sealed) && !open_secret(record, key, sealed)) {
        return false;
    }
    if (!directory_is_secret(key->secret)) {
        return err_set(record->err, ERR_VALIDATION, "key '%.*s' has no usable secret",
                       STR_ARG(key->id));
    }
    key->user = user;
    user->key_count++;
    return map_put(&directory->keys, key->id, key) == NULL ||
           err_set(record->err, ERR_VALIDATION, "the key '%.*s' exists twice", STR_ARG(key->id));
}

static bool read_keys(struct record *record, struct directory_principal *user)
{
    if (json_peek(record->reader) != JSON_ARRAY || !json_enter_array(record->reader)) {
        return false;
    }
    while (json_next_element(record->reader)) {
        if (user->key_count == DIRECTORY_KEYS_MAX) {
            return err_set(record->err, ERR_VALIDATION, "a user has at most %d keys",
                           DIRECTORY_KEYS_MAX);
        }
        if (!read_key(record, user)) {
            return false;
        }
    }
    return true;
}

/* Users and roles --------------------------------------------------------------------------- */

static bool read_trust(struct record *record, struct directory_principal *role)
{
    struct str raw;
    if (json_peek(record->reader) != JSON_OBJECT || !json_read_raw(record->reader, &raw)) {
        return false;
    }
    role->trust_document = arena_copy(&record->directory->arena, raw);
    policy_destroy(role->trust); /* set already if the record has the member twice */
    role->trust = NULL;
    return policy_parse(raw, POLICY_TRUST, &role->trust, record->err);
}

static bool read_member(struct record *record, struct str name,
                        struct directory_principal *principal)
{
    bool is_role = principal->kind == CALLER_ROLE_SESSION;
    if (str_eq(name, STR("name"))) {
        return read_text(record, &principal->name);
    }
    if (str_eq(name, STR("id"))) {
        return read_text(record, &principal->id);
    }
    if (str_eq(name, STR("disabled"))) {
        return read_flag(record, &principal->is_disabled);
    }
    if (str_eq(name, STR("created"))) {
        return read_number(record, &principal->created);
    }
    if (str_eq(name, STR("sessionsSince"))) {
        return read_number(record, &principal->sessions_since);
    }
    if (str_eq(name, STR("tags"))) {
        return read_tags(record, &principal->tags);
    }
    if (str_eq(name, STR("policies"))) {
        return read_names(record, &principal->policy_names, &principal->policy_count);
    }
    if (str_eq(name, STR("boundary"))) {
        return read_text(record, &principal->boundary_name);
    }
    if (str_eq(name, STR("keys"))) {
        return !is_role && read_keys(record, principal);
    }
    if (str_eq(name, STR("trust"))) {
        return is_role && read_trust(record, principal);
    }
    return is_role && str_eq(name, STR("sessionSeconds")) &&
           read_number(record, &principal->session_seconds_max);
}

/* Checks a principal after all members have been read, and derives its ARN. The id defaults to the
 * name. */
static bool complete_principal(struct record *record, struct directory_principal *principal)
{
    struct directory *directory = record->directory;
    bool is_role = principal->kind == CALLER_ROLE_SESSION;
    if (!directory_is_name(principal->name)) {
        return err_set(record->err, ERR_VALIDATION, "'%.*s' is not a valid name for a %s",
                       STR_ARG(principal->name), is_role ? "role" : "user");
    }
    if (!is_role && str_eq(principal->name, STR(DIRECTORY_ROOT))) {
        principal->kind = CALLER_ROOT;
        principal->arn =
            arena_format(&directory->arena, "arn:aws:iam::%.*s:root", STR_ARG(directory->account));
    } else {
        principal->arn = arena_format(&directory->arena, "arn:aws:iam::%.*s:%s/%.*s",
                                      STR_ARG(directory->account), is_role ? "role" : "user",
                                      STR_ARG(principal->name));
    }
    if (str_is_null(principal->id)) {
        principal->id = principal->name;
    }
    if (is_role && principal->trust == NULL) {
        return err_set(record->err, ERR_VALIDATION, "role '%.*s' has no trust policy",
                       STR_ARG(principal->name));
    }
    return true;
}

static bool read_principal(struct record *record, enum caller_kind kind)
{
    struct directory *directory = record->directory;
    struct directory_principal *principal =
        ARENA_NEW(&directory->arena, struct directory_principal);
    principal->kind = kind;
    principal->session_seconds_max = 3600;
    struct json_string name;
    bool good = json_peek(record->reader) == JSON_OBJECT && json_enter_object(record->reader);
    while (good && json_next_member(record->reader, &name)) {
        good = read_member(record, name.text, principal) || bad_member(record, name.text);
    }
    good = good && record->reader->mistake == NULL && complete_principal(record, principal);
    struct map *map = kind == CALLER_ROLE_SESSION ? &directory->roles : &directory->users;
    if (!good || map_get(map, principal->name) != NULL) {
        policy_destroy(principal->trust);
        return good ? err_set(record->err, ERR_VALIDATION, "'%.*s' exists twice",
                              STR_ARG(principal->name))
                    : err_set(record->err, ERR_VALIDATION, "'%.*s' is not well formed",
                              STR_ARG(principal->name));
    }
    map_put(map, principal->name, principal);
    return true;
}

/* Policies ---------------------------------------------------------------------------------- */

static bool keep_policy(struct record *record, struct str name, struct str document)
{
    struct directory *directory = record->directory;
    if (!directory_is_name(name) || directory_is_built_in(name) ||
        map_get(&directory->policies, name) != NULL) {
        return err_set(record->err, ERR_VALIDATION,
                       "policy '%.*s': no such name is possible, or it exists twice",
                       STR_ARG(name));
    }
    struct err problem = ERR_INIT(record->err->arena);
    return directory_put_policy(directory, &directory->policies, name, document, &problem) ||
           err_set(record->err, ERR_VALIDATION, "policy '%.*s': %.*s", STR_ARG(name),
                   STR_ARG(problem.message));
}

static bool read_policy(struct record *record)
{
    struct json_string member;
    struct str name = STR_NULL;
    struct str document = STR_NULL;
    bool good = json_peek(record->reader) == JSON_OBJECT && json_enter_object(record->reader);
    while (good && json_next_member(record->reader, &member)) {
        if (str_eq(member.text, STR("name"))) {
            good = read_text(record, &name);
        } else if (str_eq(member.text, STR("document"))) {
            good = json_peek(record->reader) == JSON_OBJECT &&
                   json_read_raw(record->reader, &document);
        } else {
            good = bad_member(record, member.text);
        }
    }
    if (!good || str_is_null(name) || str_is_null(document) || record->reader->mistake != NULL) {
        return err_set(record->err, ERR_VALIDATION, "policy '%.*s' is not well formed",
                       STR_ARG(name));
    }
    return keep_policy(record, name, document);
}

static bool read_record(struct record *record, enum directory_kind kind)
{
    switch (kind) {
    case DIRECTORY_POLICY:
        return read_policy(record);
    case DIRECTORY_ROLE:
        return read_principal(record, CALLER_ROLE_SESSION);
    default:
        return read_principal(record, CALLER_USER);
    }
}

/* The reader unescapes text into an arena of its own, overwritten here, because the text may be a
 * secret. */
bool directory_add(struct directory *directory, enum directory_kind kind, struct str text,
                   const struct seal_key *key, struct err *err)
{
    struct arena scratch;
    arena_init(&scratch);
    struct json_reader reader;
    json_reader_init(&reader, &scratch, text);
    struct record record = {.directory = directory, .key = key, .reader = &reader, .err = err};
    bool good = read_record(&record, kind) &&
                (json_at_end(&reader) || err_set(err, ERR_VALIDATION, "a record is not JSON"));
    arena_erase(&scratch);
    arena_finish(&scratch);
    return good;
}

static bool read_list(struct record *record, struct str name)
{
    static const char *const lists[DIRECTORY_KIND_COUNT] = {
        [DIRECTORY_POLICY] = "policies",
        [DIRECTORY_ROLE] = "roles",
        [DIRECTORY_USER] = "users",
    };
    for (int kind = 0; kind < DIRECTORY_KIND_COUNT; kind++) {
        if (!str_eq(name, str_from_c(lists[kind]))) {
            continue;
        }
        if (json_peek(record->reader) != JSON_ARRAY || !json_enter_array(record->reader)) {
            return bad_member(record, name);
        }
        while (json_next_element(record->reader)) {
            if (!read_record(record, (enum directory_kind)kind)) {
                return false;
            }
        }
        return true;
    }
    return bad_member(record, name);
}

bool directory_add_file(struct directory *directory, struct str text, const struct seal_key *key,
                        struct err *err)
{
    struct arena scratch;
    arena_init(&scratch);
    struct json_reader reader;
    json_reader_init(&reader, &scratch, text);
    struct record record = {.directory = directory, .key = key, .reader = &reader, .err = err};
    struct json_string name;
    bool good = json_peek(&reader) == JSON_OBJECT && json_enter_object(&reader);
    while (good && json_next_member(&reader, &name)) {
        good = read_list(&record, name.text);
    }
    if (reader.mistake != NULL) {
        good = err_set(err, ERR_VALIDATION, "byte %zu: %s", (size_t)(reader.at - reader.start),
                       reader.mistake);
    } else if (!good || !json_at_end(&reader)) {
        good = err_set(err, ERR_VALIDATION,
                       "expected {\"users\": [...], \"roles\": [...], \"policies\": [...]}");
    }
    arena_erase(&scratch);
    arena_finish(&scratch);
    return good;
}
