/* Administration operations on users and their access keys. Called by admin_run(). */
#include "server/admin_internal.h"

enum { KEY_ID_LEN = 20, SECRET_LEN = 40 };

/* Users ------------------------------------------------------------------------------------- */

static void write_keys(struct buf *out, const struct directory_principal *user)
{
    JSON_PUT(out, ",\"AccessKeys\":[");
    for (size_t i = 0; i < user->key_count; i++) {
        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        admin_write_text_member(out, "AccessKeyId", user->keys[i].id);
        buf_format(out, ",\"Disabled\":%s,\"Created\":%lld}",
                   user->keys[i].is_disabled ? "true" : "false", (long long)user->keys[i].created);
    }
    buf_add_char(out, ']');
}

static void write_principal(struct buf *out, const struct directory_principal *principal)
{
    bool is_role = principal->kind == CALLER_ROLE_SESSION;
    buf_add_char(out, '{');
    admin_write_text_member(out, is_role ? "RoleName" : "UserName", principal->name);
    buf_add_char(out, ',');
    admin_write_text_member(out, "Arn", principal->arn);
    buf_format(out, ",\"Disabled\":%s,\"Created\":%lld,\"Policies\":[",
               principal->is_disabled ? "true" : "false", (long long)principal->created);
    for (size_t i = 0; i < principal->policy_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, principal->policy_names[i]);
    }
    buf_add_char(out, ']');
    if (!str_is_null(principal->boundary_name)) {
        buf_add_char(out, ',');
        admin_write_text_member(out, "Boundary", principal->boundary_name);
    }
    if (is_role) {
        buf_format(
            out, ",\"SessionSeconds\":%lld,\"Trust\":", (long long)principal->session_seconds_max);
        buf_add(out, principal->trust_document);
    } else {
        write_keys(out, principal);
    }
    buf_add_char(out, '}');
}

bool admin_list_principals(struct admin *admin, enum directory_kind kind, const char *member)
{
    size_t at = 0;
    const struct directory_principal *principal;
    buf_format(admin->out, "{\"%s\":[", member);
    for (size_t i = 0; (principal = directory_next_principal(admin->directory, kind, &at)) != NULL;
         i++) {
        buf_add(admin->out, i > 0 ? STR(",") : STR(""));
        write_principal(admin->out, principal);
    }
    JSON_PUT(admin->out, "]}");
    return true;
}

bool admin_list_users(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    return admin_list_principals(admin, DIRECTORY_USER, "Users");
}

/* The tags of a request. A record with more of them could not be read again. */
static bool read_tags(struct admin *admin, const struct wire_map *map, struct context_tags *out)
{
    if (map->count > DIRECTORY_TAGS_MAX) {
        return err_set(admin->err, ERR_LIMIT_EXCEEDED, "A user has at most %d tags",
                       DIRECTORY_TAGS_MAX);
    }
    struct context_tag *tags = ARENA_ARRAY(admin->arena, struct context_tag, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        tags[i] = (struct context_tag){.name = map->names[i],
                                       .value = ((const struct str *)map->values)[i]};
    }
    *out = (struct context_tags){.tags = tags, .count = map->count};
    return true;
}

bool admin_create_user(struct admin *admin, const struct admin_request *request)
{
    struct str name = request->user;
    if (!admin_require(admin, name, "UserName")) {
        return false;
    }
    if (!admin_check_name(admin, name)) {
        return false;
    }
    if (directory_find_user(admin->directory, name) != NULL) {
        return err_set(admin->err, ERR_RESOURCE_IN_USE, "User '%.*s' exists already",
                       STR_ARG(name));
    }
    struct directory_principal user = {
        .kind = CALLER_USER,
        .name = name,
        .id = admin_new_id(admin->arena, "AIDA"),
        .created = clock_wall_ms() / 1000,
    };
    if (!read_tags(admin, &request->tags, &user.tags)) {
        return false;
    }
    admin_answer_name(admin, "UserName", name);
    return admin_save(admin, &user);
}

bool admin_update_user(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = admin_edit_user(admin, request->user);
    if (user == NULL) {
        return false;
    }
    if (request->disabled.given) {
        user->is_disabled = request->disabled.value;
    }
    if (request->tags.given && !read_tags(admin, &request->tags, &user->tags)) {
        return false;
    }
    admin_answer_name(admin, "UserName", user->name);
    return admin_save(admin, user);
}

bool admin_delete_user(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = admin_edit_user(admin, request->user);
    if (user == NULL) {
        return false;
    }
    admin_add_change(admin, DIRECTORY_USER, user->name, STR_NULL);
    admin_answer_name(admin, "UserName", user->name);
    return true;
}

/* Sessions that began before now are refused. */
bool admin_revoke_sessions(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = admin_edit_principal(admin, request);
    if (principal == NULL) {
        return false;
    }
    principal->sessions_since = clock_wall_ms() / 1000 + 1;
    admin_answer_name(admin, "Name", principal->name);
    return admin_save(admin, principal);
}

/* Keys -------------------------------------------------------------------------------------- */

static struct directory_key generate_key(struct arena *arena)
{
    char *id = arena_bytes(arena, KEY_ID_LEN);
    char *secret = arena_bytes(arena, SECRET_LEN);
    memcpy(id, "AKIA", 4);
    session_random_text(id + 4, KEY_ID_LEN - 4, true);
    session_random_text(secret, SECRET_LEN, false);
    return (struct directory_key){.id = str_make(id, KEY_ID_LEN),
                                  .secret = str_make(secret, SECRET_LEN)};
}

/* A new key, or the one that the request brings. */
static bool make_key(struct admin *admin, const struct admin_request *request,
                     struct directory_key *out)
{
    if (str_is_null(request->key_id) != str_is_null(request->secret)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "AccessKeyId and SecretAccessKey come together or not at all");
    }
    *out = str_is_null(request->key_id)
               ? generate_key(admin->arena)
               : (struct directory_key){.id = request->key_id, .secret = request->secret};
    out->created = clock_wall_ms() / 1000;
    if (!directory_is_key_id(out->id) || !directory_is_secret(out->secret) ||
        str_starts_with(out->id, STR(SESSION_KEY_PREFIX))) {
        return err_set(admin->err, ERR_VALIDATION,
                       "An access key id has 3 to 128 letters, digits, _ and -, and does not begin "
                       "with " SESSION_KEY_PREFIX
                       "; a secret has 8 to 128 characters without space");
    }
    return directory_find_key(admin->directory, out->id) == NULL ||
           err_set(admin->err, ERR_RESOURCE_IN_USE, "Access key '%.*s' exists already",
                   STR_ARG(out->id));
}

bool admin_create_access_key(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = admin_edit_user(admin, request->user);
    if (user == NULL) {
        return false;
    }
    if (user->key_count == DIRECTORY_KEYS_MAX) {
        return err_set(admin->err, ERR_LIMIT_EXCEEDED,
                       "User '%.*s' has %d keys: remove one of them first", STR_ARG(user->name),
                       DIRECTORY_KEYS_MAX);
    }
    struct directory_key *key = &user->keys[user->key_count];
    if (!make_key(admin, request, key)) {
        return false;
    }
    user->key_count++;
    buf_add_char(admin->out, '{');
    admin_write_text_member(admin->out, "UserName", user->name);
    buf_add_char(admin->out, ',');
    admin_write_text_member(admin->out, "AccessKeyId", key->id);
    buf_add_char(admin->out, ',');
    admin_write_text_member(admin->out, "SecretAccessKey", key->secret);
    buf_add_char(admin->out, '}');
    return admin_save(admin, user);
}

/* The user that has the key, to be changed; *out_number says which of the keys it is. */
static struct directory_principal *edit_key(struct admin *admin,
                                            const struct admin_request *request, size_t *out_number)
{
    if (!admin_require(admin, request->key_id, "AccessKeyId")) {
        return NULL;
    }
    const struct directory_key *key = directory_find_key(admin->directory, request->key_id);
    if (key == NULL) {
        admin_missing(admin, "access key", request->key_id);
        return NULL;
    }
    struct directory_principal *user = admin_edit(admin, DIRECTORY_USER, key->user->name);
    *out_number = (size_t)(key - key->user->keys);
    return user;
}

bool admin_update_access_key(struct admin *admin, const struct admin_request *request)
{
    size_t number;
    struct directory_principal *user = edit_key(admin, request, &number);
    if (user == NULL) {
        return false;
    }
    if (!request->disabled.given) {
        return err_set(admin->err, ERR_VALIDATION, "Disabled is required");
    }
    user->keys[number].is_disabled = request->disabled.value;
    admin_answer_name(admin, "AccessKeyId", request->key_id);
    return admin_save(admin, user);
}

bool admin_delete_access_key(struct admin *admin, const struct admin_request *request)
{
    size_t number;
    struct directory_principal *user = edit_key(admin, request, &number);
    if (user == NULL) {
        return false;
    }
    user->key_count--;
    memmove(&user->keys[number], &user->keys[number + 1],
            (user->key_count - number) * sizeof(user->keys[0]));
    admin_answer_name(admin, "AccessKeyId", request->key_id);
    return admin_save(admin, user);
}
