/* The administration operations: each is a function that reads its request, derives changed records
 * from the directory as it is, and writes its answer. If another server has changed the directory
 * meanwhile, the operation is run again. Called on slow threads of the server, and by the program
 * `gramme` on its main thread. */
#include "server/admin.h"

#include "base/clock.h"
#include "base/random.h"
#include "json/writer.h"
#include "wire/shape.h"

enum { TRIES_MAX = 8, KEY_ID_LEN = 20, SECRET_LEN = 40, ID_LEN = 21, DOCUMENT_BYTES_MAX = 6144 };

/* One try of an operation. */
struct admin {
    struct admin_call *call;
    struct directory *directory; /* a reference */
    struct arena *arena;
    struct buf *out;
    struct err *err;
    struct record_change changes[RECORD_CHANGES_MAX];
    size_t change_count;
};

/* Requests ---------------------------------------------------------------------------------- */

/* Members of all requests; each operation says which of them it takes. */
struct admin_request {
    struct str user;
    struct str role;
    struct str policy;
    struct str document;
    struct str key_id;
    struct str secret;
    struct str action;
    struct str resource;
    struct wire_bool disabled;
    struct wire_bool as_boundary;
    struct wire_int session_seconds;
    struct wire_map context; /* of wire_list of struct str */
    struct wire_map tags;    /* of struct str */
};

static const struct shape shape_text = {.kind = SHAPE_STRING, .min = 1, .max = 1 << 20};
static const struct shape shape_flag = {.kind = SHAPE_BOOL};
static const struct shape shape_seconds = {.kind = SHAPE_INTEGER, .min = 900, .max = 43200};
static const struct shape shape_texts = {
    .kind = SHAPE_LIST, .java = "List", .element = &shape_text};
static const struct shape shape_context = {
    .kind = SHAPE_MAP, .java = "Map", .element = &shape_texts};
static const struct shape shape_tags = {.kind = SHAPE_MAP, .java = "Map", .element = &shape_text};

#define MEMBER(member_, name_, shape_) FIELD(struct admin_request, member_, name_, shape_)
static const struct field request_fields[] = {
    MEMBER(user, "UserName", shape_text),
    MEMBER(role, "RoleName", shape_text),
    MEMBER(policy, "PolicyName", shape_text),
    MEMBER(document, "Document", shape_text),
    MEMBER(key_id, "AccessKeyId", shape_text),
    MEMBER(secret, "SecretAccessKey", shape_text),
    MEMBER(action, "Action", shape_text),
    MEMBER(resource, "Resource", shape_text),
    MEMBER(disabled, "Disabled", shape_flag),
    MEMBER(as_boundary, "AsBoundary", shape_flag),
    MEMBER(session_seconds, "SessionSeconds", shape_seconds),
    MEMBER(context, "Context", shape_context),
    MEMBER(tags, "Tags", shape_tags),
    FIELD_END,
};
static const struct shape shape_request = {
    .kind = SHAPE_STRUCT, .fields = request_fields, .size = sizeof(struct admin_request)};

/* Finding ----------------------------------------------------------------------------------- */

static bool missing(struct admin *admin, const char *what, struct str name)
{
    return err_set(admin->err, ERR_RESOURCE_NOT_FOUND, "There is no %s '%.*s'", what,
                   STR_ARG(name));
}

static bool require(struct admin *admin, struct str text, const char *member)
{
    return !str_is_null(text) || err_set(admin->err, ERR_VALIDATION, "%s is required", member);
}

/* A copy of a user or role, to be changed and saved; NULL: *err. */
static struct directory_principal *edit(struct admin *admin, enum directory_kind kind,
                                        struct str name)
{
    const struct directory_principal *found = kind == DIRECTORY_USER
                                                  ? directory_find_user(admin->directory, name)
                                                  : directory_find_role(admin->directory, name);
    if (found == NULL) {
        missing(admin, directory_kind_name(kind), name);
        return NULL;
    }
    struct directory_principal *copy = ARENA_NEW(admin->arena, struct directory_principal);
    *copy = *found;
    return copy;
}

static struct directory_principal *edit_user(struct admin *admin, struct str name)
{
    return require(admin, name, "UserName") ? edit(admin, DIRECTORY_USER, name) : NULL;
}

/* The user or role of a request that takes either. */
static struct directory_principal *edit_principal(struct admin *admin,
                                                  const struct admin_request *request)
{
    if (str_is_null(request->user) == str_is_null(request->role)) {
        err_set(admin->err, ERR_VALIDATION, "Either UserName or RoleName is required");
        return NULL;
    }
    return str_is_null(request->role) ? edit(admin, DIRECTORY_USER, request->user)
                                      : edit(admin, DIRECTORY_ROLE, request->role);
}

/* Saving ------------------------------------------------------------------------------------ */

static void add_change(struct admin *admin, enum directory_kind kind, struct str name,
                       struct str value)
{
    assert(admin->change_count < RECORD_CHANGES_MAX);
    admin->changes[admin->change_count++] =
        (struct record_change){.kind = directory_kind_name(kind), .name = name, .value = value};
}

static bool save(struct admin *admin, const struct directory_principal *principal)
{
    const struct seal_key *key = admin->call->users->key;
    enum directory_kind kind =
        principal->kind == CALLER_ROLE_SESSION ? DIRECTORY_ROLE : DIRECTORY_USER;
    if (key == NULL) {
        return err_set(admin->err, ERR_VALIDATION,
                       "Users are kept in the store under a master key, and the server has none");
    }
    struct buf record = {0};
    directory_write_principal(principal, key, admin->arena, &record);
    add_change(admin, kind, principal->name, arena_copy(admin->arena, buf_str(&record)));
    buf_finish(&record);
    return true;
}

static void answer_name(struct admin *admin, const char *member, struct str name)
{
    buf_format(admin->out, "{\"%s\":", member);
    json_write_string(admin->out, name);
    buf_add_char(admin->out, '}');
}

/* A random id as IAM has them: AIDA... of users, AROA... of roles. */
static struct str new_id(struct arena *arena, const char *prefix)
{
    char *id = arena_bytes(arena, ID_LEN);
    memcpy(id, prefix, 4);
    session_random_text(id + 4, ID_LEN - 4, true);
    return str_make(id, ID_LEN);
}

/* Users ------------------------------------------------------------------------------------- */

static void write_text_member(struct buf *out, const char *name, struct str text)
{
    buf_format(out, "\"%s\":", name);
    json_write_string(out, text);
}

static void write_keys(struct buf *out, const struct directory_principal *user)
{
    JSON_PUT(out, ",\"AccessKeys\":[");
    for (size_t i = 0; i < user->key_count; i++) {
        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        write_text_member(out, "AccessKeyId", user->keys[i].id);
        buf_format(out, ",\"Disabled\":%s,\"Created\":%lld}",
                   user->keys[i].is_disabled ? "true" : "false", (long long)user->keys[i].created);
    }
    buf_add_char(out, ']');
}

static void write_principal(struct buf *out, const struct directory_principal *principal)
{
    bool is_role = principal->kind == CALLER_ROLE_SESSION;
    buf_add_char(out, '{');
    write_text_member(out, is_role ? "RoleName" : "UserName", principal->name);
    buf_add_char(out, ',');
    write_text_member(out, "Arn", principal->arn);
    buf_format(out, ",\"Disabled\":%s,\"Created\":%lld,\"Policies\":[",
               principal->is_disabled ? "true" : "false", (long long)principal->created);
    for (size_t i = 0; i < principal->policy_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, principal->policy_names[i]);
    }
    buf_add_char(out, ']');
    if (!str_is_null(principal->boundary_name)) {
        buf_add_char(out, ',');
        write_text_member(out, "Boundary", principal->boundary_name);
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

static bool list_principals(struct admin *admin, enum directory_kind kind, const char *member)
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

static bool list_users(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    return list_principals(admin, DIRECTORY_USER, "Users");
}

static struct context_tags tags_of(struct admin *admin, const struct wire_map *map)
{
    struct context_tag *tags = ARENA_ARRAY(admin->arena, struct context_tag, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        tags[i] = (struct context_tag){.name = map->names[i],
                                       .value = ((const struct str *)map->values)[i]};
    }
    return (struct context_tags){.tags = tags, .count = map->count};
}

static bool create_user(struct admin *admin, const struct admin_request *request)
{
    struct str name = request->user;
    if (!require(admin, name, "UserName")) {
        return false;
    }
    if (!directory_is_name(name)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "A name has 1 to 64 letters, digits and any of +=,.@_-");
    }
    if (directory_find_user(admin->directory, name) != NULL) {
        return err_set(admin->err, ERR_RESOURCE_IN_USE, "User '%.*s' exists already",
                       STR_ARG(name));
    }
    struct directory_principal user = {
        .kind = CALLER_USER,
        .name = name,
        .id = new_id(admin->arena, "AIDA"),
        .created = clock_wall_ms() / 1000,
        .tags = tags_of(admin, &request->tags),
    };
    answer_name(admin, "UserName", name);
    return save(admin, &user);
}

static bool update_user(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = edit_user(admin, request->user);
    if (user == NULL) {
        return false;
    }
    if (request->disabled.given) {
        user->is_disabled = request->disabled.value;
    }
    if (request->tags.given) {
        user->tags = tags_of(admin, &request->tags);
    }
    answer_name(admin, "UserName", user->name);
    return save(admin, user);
}

static bool delete_user(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = edit_user(admin, request->user);
    if (user == NULL) {
        return false;
    }
    add_change(admin, DIRECTORY_USER, user->name, STR_NULL);
    answer_name(admin, "UserName", user->name);
    return true;
}

/* Sessions that began before now are refused. */
static bool revoke_sessions(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = edit_principal(admin, request);
    if (principal == NULL) {
        return false;
    }
    principal->sessions_since = clock_wall_ms() / 1000 + 1;
    answer_name(admin, "Name", principal->name);
    return save(admin, principal);
}

/* Keys -------------------------------------------------------------------------------------- */

/* A new key, or the one that the request brings. */
static bool make_key(struct admin *admin, const struct admin_request *request,
                     struct directory_key *out)
{
    if (str_is_null(request->key_id) != str_is_null(request->secret)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "AccessKeyId and SecretAccessKey come together or not at all");
    }
    if (!str_is_null(request->key_id)) {
        *out = (struct directory_key){.id = request->key_id, .secret = request->secret};
    } else {
        char *id = arena_bytes(admin->arena, KEY_ID_LEN);
        char *secret = arena_bytes(admin->arena, SECRET_LEN);
        memcpy(id, "AKIA", 4);
        session_random_text(id + 4, KEY_ID_LEN - 4, true);
        session_random_text(secret, SECRET_LEN, false);
        *out = (struct directory_key){.id = str_make(id, KEY_ID_LEN),
                                      .secret = str_make(secret, SECRET_LEN)};
    }
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

static bool create_access_key(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *user = edit_user(admin, request->user);
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
    write_text_member(admin->out, "UserName", user->name);
    buf_add_char(admin->out, ',');
    write_text_member(admin->out, "AccessKeyId", key->id);
    buf_add_char(admin->out, ',');
    write_text_member(admin->out, "SecretAccessKey", key->secret);
    buf_add_char(admin->out, '}');
    return save(admin, user);
}

/* The user that has the key, to be changed; *out_number says which of the keys it is. */
static struct directory_principal *edit_key(struct admin *admin,
                                            const struct admin_request *request, size_t *out_number)
{
    if (!require(admin, request->key_id, "AccessKeyId")) {
        return NULL;
    }
    const struct directory_key *key = directory_find_key(admin->directory, request->key_id);
    if (key == NULL) {
        missing(admin, "access key", request->key_id);
        return NULL;
    }
    struct directory_principal *user = edit(admin, DIRECTORY_USER, key->user->name);
    *out_number = (size_t)(key - key->user->keys);
    return user;
}

static bool update_access_key(struct admin *admin, const struct admin_request *request)
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
    answer_name(admin, "AccessKeyId", request->key_id);
    return save(admin, user);
}

static bool delete_access_key(struct admin *admin, const struct admin_request *request)
{
    size_t number;
    struct directory_principal *user = edit_key(admin, request, &number);
    if (user == NULL) {
        return false;
    }
    user->key_count--;
    memmove(&user->keys[number], &user->keys[number + 1],
            (user->key_count - number) * sizeof(user->keys[0]));
    answer_name(admin, "AccessKeyId", request->key_id);
    return save(admin, user);
}

/* Policies ---------------------------------------------------------------------------------- */

static bool check_document(struct admin *admin, struct str document, enum policy_kind kind)
{
    struct policy *policy = NULL;
    struct err problem = ERR_INIT(admin->arena);
    if (document.len > DOCUMENT_BYTES_MAX) {
        return err_set(admin->err, ERR_LIMIT_EXCEEDED, "A policy has at most %d bytes",
                       DOCUMENT_BYTES_MAX);
    }
    if (!policy_parse(document, kind, &policy, &problem)) {
        return err_set(admin->err, ERR_VALIDATION, "Invalid policy document: %.*s",
                       STR_ARG(problem.message));
    }
    policy_destroy(policy);
    return true;
}

static bool is_built_in(struct admin *admin, struct str name)
{
    size_t at = 0;
    const struct directory_policy *policy;
    while ((policy = directory_next_policy(admin->directory, &at)) != NULL) {
        if (str_eq(policy->name, name)) {
            return false;
        }
    }
    return directory_find_policy(admin->directory, name) != NULL;
}

static bool put_policy(struct admin *admin, const struct admin_request *request)
{
    if (!require(admin, request->policy, "PolicyName") ||
        !require(admin, request->document, "Document") ||
        !check_document(admin, request->document, POLICY_IDENTITY)) {
        return false;
    }
    if (!directory_is_name(request->policy) || is_built_in(admin, request->policy)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "'%.*s' is built in, or no name for a policy: 1 to 64 letters, digits and "
                       "any of +=,.@_-",
                       STR_ARG(request->policy));
    }
    struct buf record = {0};
    directory_write_policy(request->policy, request->document, &record);
    add_change(admin, DIRECTORY_POLICY, request->policy,
               arena_copy(admin->arena, buf_str(&record)));
    buf_finish(&record);
    answer_name(admin, "PolicyName", request->policy);
    return true;
}

static bool get_policy(struct admin *admin, const struct admin_request *request)
{
    if (!require(admin, request->policy, "PolicyName")) {
        return false;
    }
    const struct directory_policy *policy =
        directory_find_policy(admin->directory, request->policy);
    if (policy == NULL) {
        return missing(admin, "policy", request->policy);
    }
    buf_add_char(admin->out, '{');
    write_text_member(admin->out, "PolicyName", policy->name);
    buf_add_char(admin->out, ',');
    write_text_member(admin->out, "Document", policy->document);
    buf_add_char(admin->out, '}');
    return true;
}

static bool list_policies(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    static const char *const built_in[] = {"administrator", "full", "readonly", "readwrite"};
    size_t at = 0;
    const struct directory_policy *policy;
    JSON_PUT(admin->out, "{\"Policies\":[");
    for (size_t i = 0; i < COUNT_OF(built_in); i++) {
        buf_format(admin->out, "%s{\"PolicyName\":\"%s\",\"IsBuiltIn\":true}", i > 0 ? "," : "",
                   built_in[i]);
    }
    while ((policy = directory_next_policy(admin->directory, &at)) != NULL) {
        JSON_PUT(admin->out, ",{");
        write_text_member(admin->out, "PolicyName", policy->name);
        JSON_PUT(admin->out, ",\"IsBuiltIn\":false}");
    }
    JSON_PUT(admin->out, "]}");
    return true;
}

static bool uses_policy(const struct directory_principal *principal, struct str name)
{
    bool uses = !str_is_null(principal->boundary_name) && str_eq(principal->boundary_name, name);
    for (size_t i = 0; i < principal->policy_count; i++) {
        uses = uses || str_eq(principal->policy_names[i], name);
    }
    return uses;
}

static bool delete_policy(struct admin *admin, const struct admin_request *request)
{
    static const enum directory_kind kinds[] = {DIRECTORY_USER, DIRECTORY_ROLE};
    if (!require(admin, request->policy, "PolicyName")) {
        return false;
    }
    if (directory_find_policy(admin->directory, request->policy) == NULL ||
        is_built_in(admin, request->policy)) {
        return missing(admin, "policy", request->policy);
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t at = 0;
        const struct directory_principal *principal;
        while ((principal = directory_next_principal(admin->directory, kinds[i], &at)) != NULL) {
            if (uses_policy(principal, request->policy)) {
                return err_set(admin->err, ERR_RESOURCE_IN_USE,
                               "Policy '%.*s' is attached to %s '%.*s'", STR_ARG(request->policy),
                               directory_kind_name(kinds[i]), STR_ARG(principal->name));
            }
        }
    }
    add_change(admin, DIRECTORY_POLICY, request->policy, STR_NULL);
    answer_name(admin, "PolicyName", request->policy);
    return true;
}

static bool attach_policy(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = edit_principal(admin, request);
    if (principal == NULL || !require(admin, request->policy, "PolicyName")) {
        return false;
    }
    if (directory_find_policy(admin->directory, request->policy) == NULL) {
        return missing(admin, "policy", request->policy);
    }
    if (request->as_boundary.value) {
        principal->boundary_name = request->policy;
    } else {
        struct str *names = ARENA_ARRAY(admin->arena, struct str, principal->policy_count + 1);
        size_t count = 0;
        for (size_t i = 0; i < principal->policy_count; i++) {
            if (!str_eq(principal->policy_names[i], request->policy)) {
                names[count++] = principal->policy_names[i];
            }
        }
        names[count++] = request->policy;
        principal->policy_names = names;
        principal->policy_count = count;
        if (count > DIRECTORY_ATTACHED_MAX) {
            return err_set(admin->err, ERR_LIMIT_EXCEEDED, "At most %d policies can be attached",
                           DIRECTORY_ATTACHED_MAX);
        }
    }
    answer_name(admin, "PolicyName", request->policy);
    return save(admin, principal);
}

static bool detach_policy(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = edit_principal(admin, request);
    if (principal == NULL || !require(admin, request->policy, "PolicyName")) {
        return false;
    }
    if (!uses_policy(principal, request->policy)) {
        return missing(admin, "attached policy", request->policy);
    }
    if (request->as_boundary.value) {
        principal->boundary_name = STR_NULL;
    } else {
        struct str *names = ARENA_ARRAY(admin->arena, struct str, principal->policy_count + 1);
        size_t count = 0;
        for (size_t i = 0; i < principal->policy_count; i++) {
            if (!str_eq(principal->policy_names[i], request->policy)) {
                names[count++] = principal->policy_names[i];
            }
        }
        principal->policy_names = names;
        principal->policy_count = count;
    }
    answer_name(admin, "PolicyName", request->policy);
    return save(admin, principal);
}

/* Roles ------------------------------------------------------------------------------------- */

static bool list_roles(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    return list_principals(admin, DIRECTORY_ROLE, "Roles");
}

static bool put_role(struct admin *admin, const struct admin_request *request)
{
    if (!require(admin, request->role, "RoleName") ||
        !require(admin, request->document, "Document") ||
        !check_document(admin, request->document, POLICY_TRUST)) {
        return false;
    }
    if (!directory_is_name(request->role)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "A name has 1 to 64 letters, digits and any of +=,.@_-");
    }
    const struct directory_principal *before = directory_find_role(admin->directory, request->role);
    struct directory_principal role = {
        .kind = CALLER_ROLE_SESSION,
        .name = request->role,
        .id = new_id(admin->arena, "AROA"),
        .created = clock_wall_ms() / 1000,
        .session_seconds_max = 3600,
    };
    if (before != NULL) {
        role = *before;
    }
    role.trust_document = request->document;
    if (request->session_seconds.given) {
        role.session_seconds_max = request->session_seconds.value;
    }
    answer_name(admin, "RoleName", request->role);
    return save(admin, &role);
}

static bool delete_role(struct admin *admin, const struct admin_request *request)
{
    if (!require(admin, request->role, "RoleName") ||
        edit(admin, DIRECTORY_ROLE, request->role) == NULL) {
        return false;
    }
    add_change(admin, DIRECTORY_ROLE, request->role, STR_NULL);
    answer_name(admin, "RoleName", request->role);
    return true;
}

/* Questions --------------------------------------------------------------------------------- */

/* The context that the request gives. Tags: aws:PrincipalTag/k and so on. */
static bool read_context(struct admin *admin, const struct wire_map *given,
                         struct auth_context *out)
{
    for (size_t i = 0; i < given->count; i++) {
        const struct wire_list *list = &((const struct wire_list *)given->values)[i];
        struct context_key key = context_key_from_name(given->names[i]);
        if (key.id < CONTEXT_KEY_COUNT) {
            out->keys[key.id] = (struct context_values){
                .values = list->elements, .count = list->count, .is_present = true};
        } else if (key.id != CONTEXT_UNKNOWN && list->count == 1) {
            struct context_tags *family = &out->tags[key.id - CONTEXT_KEY_COUNT];
            struct context_tag *tags =
                ARENA_ARRAY(admin->arena, struct context_tag, family->count + 1);
            if (family->count > 0) {
                memcpy(tags, family->tags, family->count * sizeof(*tags));
            }
            tags[family->count] = (struct context_tag){
                .name = key.tag, .value = ((const struct str *)list->elements)[0]};
            *family = (struct context_tags){.tags = tags, .count = family->count + 1};
        } else {
            return err_set(admin->err, ERR_VALIDATION, "'%.*s' is no condition key of a request",
                           STR_ARG(given->names[i]));
        }
    }
    return true;
}

static void set_key(struct admin *admin, struct auth_context *context, enum context_key_id id,
                    struct str text)
{
    if (!context->keys[id].is_present) {
        struct str *kept = ARENA_NEW(admin->arena, struct str);
        *kept = text;
        context->keys[id] = (struct context_values){.values = kept, .count = 1, .is_present = true};
    }
}

static void write_decision(struct admin *admin, const struct directory_principal *user,
                           const struct policy_decision *decision)
{
    static const char *const sources[] = {
        [SOURCE_IDENTITY] = "identity-based policy",
        [SOURCE_RESOURCE] = "resource-based policy",
        [SOURCE_BOUNDARY] = "permissions boundary",
        [SOURCE_SESSION] = "session policy",
    };
    bool has_statement = decision->answer.effect != POLICY_NO_MATCH;
    buf_format(admin->out, "{\"Decision\":\"%s\",\"Source\":\"%s\"",
               decision->is_allowed    ? "allowed"
               : decision->is_explicit ? "explicitDeny"
                                       : "implicitDeny",
               user->kind == CALLER_ROOT ? "root" : sources[decision->source]);
    if (has_statement && decision->source == SOURCE_IDENTITY) {
        buf_add_char(admin->out, ',');
        write_text_member(admin->out, "PolicyName", user->policy_names[decision->identity]);
    }
    if (has_statement) {
        buf_format(admin->out, ",\"Statement\":%zu", decision->answer.statement + 1);
    }
    if (has_statement && !str_is_null(decision->answer.sid)) {
        buf_add_char(admin->out, ',');
        write_text_member(admin->out, "Sid", decision->answer.sid);
    }
    buf_add_char(admin->out, '}');
}

/* What the policies of a user or role say of an action; policies of tables are not asked. */
static bool simulate_policy(struct admin *admin, const struct admin_request *request)
{
    const struct directory_principal *user = edit_principal(admin, request);
    struct auth_context context = {0};
    if (user == NULL || !require(admin, request->action, "Action") ||
        !read_context(admin, &request->context, &context)) {
        return false;
    }
    if (user->kind == CALLER_USER) {
        set_key(admin, &context, CONTEXT_AWS_USERNAME, user->name);
    }
    set_key(admin, &context, CONTEXT_AWS_PRINCIPAL_ARN, user->arn);
    struct policy_caller caller = {
        .kind = user->kind,
        .arn = user->arn,
        .role_arn = user->arn,
        .account = directory_account(admin->directory),
    };
    struct policy_set policies = {
        .identity = user->policies,
        .identity_count = user->policy_count,
        .boundary = user->boundary,
    };
    struct policy_request question = {
        .caller = &caller,
        .action = request->action,
        .resource = str_is_null(request->resource) ? STR("*") : request->resource,
        .context = &context,
        .arena = admin->arena,
    };
    struct policy_decision decision = policy_decide(&policies, &question);
    write_decision(admin, user, &decision);
    return true;
}

/* The whole --------------------------------------------------------------------------------- */

static const struct operation {
    const char *name;
    const char *action;
    bool (*run)(struct admin *admin, const struct admin_request *request);
    bool is_change;
} operations[] = {
    {"AttachPolicy", "gramme:AttachPolicy", attach_policy, true},
    {"CreateAccessKey", "gramme:CreateAccessKey", create_access_key, true},
    {"CreateUser", "gramme:CreateUser", create_user, true},
    {"DeleteAccessKey", "gramme:DeleteAccessKey", delete_access_key, true},
    {"DeletePolicy", "gramme:DeletePolicy", delete_policy, true},
    {"DeleteRole", "gramme:DeleteRole", delete_role, true},
    {"DeleteUser", "gramme:DeleteUser", delete_user, true},
    {"DetachPolicy", "gramme:DetachPolicy", detach_policy, true},
    {"GetPolicy", "gramme:GetPolicy", get_policy, false},
    {"ListPolicies", "gramme:ListPolicies", list_policies, false},
    {"ListRoles", "gramme:ListRoles", list_roles, false},
    {"ListUsers", "gramme:ListUsers", list_users, false},
    {"PutPolicy", "gramme:PutPolicy", put_policy, true},
    {"PutRole", "gramme:PutRole", put_role, true},
    {"RevokeSessions", "gramme:RevokeSessions", revoke_sessions, true},
    {"SimulatePolicy", "gramme:SimulatePolicy", simulate_policy, false},
    {"UpdateAccessKey", "gramme:UpdateAccessKey", update_access_key, true},
    {"UpdateUser", "gramme:UpdateUser", update_user, true},
};

static const struct operation *find_operation(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        if (str_eq(name, str_from_c(operations[i].name))) {
            return &operations[i];
        }
    }
    return NULL;
}

bool admin_has_operation(struct str name)
{
    return find_operation(name) != NULL;
}

bool admin_is_change(struct str name)
{
    const struct operation *operation = find_operation(name);
    return operation != NULL && operation->is_change;
}

/* The ARN that policies of administrators name. A key belongs to its user. */
static struct str resource_of(struct admin *admin, const struct admin_request *request)
{
    struct str account = directory_account(admin->directory);
    struct str name = request->user;
    const char *kind = "user";
    const struct directory_key *key =
        str_is_null(request->key_id) ? NULL : directory_find_key(admin->directory, request->key_id);
    if (!str_is_null(request->role)) {
        name = request->role;
        kind = "role";
    } else if (str_is_null(name) && key != NULL) {
        name = key->user->name;
    } else if (str_is_null(name) && !str_is_null(request->policy)) {
        name = request->policy;
        kind = "policy";
    }
    return str_is_null(name) ? STR("*")
                             : arena_format(admin->arena, "arn:aws:iam::%.*s:%s/%.*s",
                                            STR_ARG(account), kind, STR_ARG(name));
}

static bool authorize(struct admin *admin, const struct operation *operation,
                      const struct admin_request *request)
{
    const struct admin_caller *caller = &admin->call->caller;
    if (caller->caller == NULL) {
        return true;
    }
    struct policy_request question = {
        .caller = caller->caller,
        .action = str_from_c(operation->action),
        .resource = resource_of(admin, request),
        .context = caller->context,
        .arena = admin->arena,
    };
    struct policy_decision decision = policy_decide(caller->policies, &question);
    if (decision.is_allowed) {
        return true;
    }
    return err_set_str(admin->err, ERR_ACCESS_DENIED, policy_denial_text(&decision, &question));
}

/* One try. RECORDS_STALE: the directory has changed meanwhile. */
static enum records_status run_once(struct admin_call *call, const struct operation *operation,
                                    const struct admin_request *request, struct err *err)
{
    struct admin admin = {
        .call = call,
        .directory = directory_current(&call->users->source),
        .arena = call->arena,
        .out = call->out,
        .err = err,
    };
    enum records_status status = RECORDS_FAILED;
    if (authorize(&admin, operation, request) && operation->run(&admin, request)) {
        status = admin.change_count == 0
                     ? RECORDS_CHANGED
                     : users_change(call->users, directory_revision(admin.directory), admin.changes,
                                    admin.change_count, err);
    }
    directory_release(admin.directory);
    return status;
}

bool admin_run(struct admin_call *call, struct err *err)
{
    const struct operation *operation = find_operation(call->operation);
    struct admin_request request;
    if (operation == NULL) {
        return err_set(err, ERR_UNKNOWN_OPERATION, "%s", "");
    }
    if (!wire_decode(call->arena, &shape_request, call->body, &request, err) ||
        !wire_validate(&shape_request, &request, WORDING_CURRENT, err)) {
        return false;
    }
    if (operation->is_change && call->users->options.file.len > 0) {
        return err_set(err, ERR_VALIDATION,
                       "Users come from the file of --users, which the server does not change");
    }
    size_t out_start = call->out->len;
    for (int i = 0; i < TRIES_MAX; i++) {
        call->out->len = out_start;
        enum records_status status = run_once(call, operation, &request, err);
        if (status != RECORDS_STALE) {
            return status == RECORDS_CHANGED;
        }
    }
    return err_set(err, ERR_SERVICE_UNAVAILABLE, "Others change users at the same time; try again");
}
