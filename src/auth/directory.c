/* Snapshots of users, roles and policies: creation, references, look-up, and the built-in policies.
 * Called by the server when it loads a directory (one thread) and by sign_in.c and the
 * administration commands when they look something up (any thread). directory_read.c reads records,
 * directory_write.c writes them. */
#include "auth/directory_internal.h"
#include "base/mem.h"

#define ALLOW_ON_EVERYTHING(actions_)                                                              \
    "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":[" actions_       \
    "],\"Resource\":\"*\"}]}"
#define READ_ACTIONS                                                                               \
    "\"dynamodb:BatchGetItem\",\"dynamodb:Describe*\",\"dynamodb:Get*\",\"dynamodb:List*\","       \
    "\"dynamodb:PartiQLSelect\",\"dynamodb:Query\",\"dynamodb:Scan\""
#define WRITE_ACTIONS                                                                              \
    "\"dynamodb:BatchWriteItem\",\"dynamodb:ConditionCheckItem\",\"dynamodb:DeleteItem\","         \
    "\"dynamodb:PartiQLDelete\",\"dynamodb:PartiQLInsert\",\"dynamodb:PartiQLUpdate\","            \
    "\"dynamodb:PutItem\",\"dynamodb:UpdateItem\""

#define SEE_INSIGHT    "\"gramme:GetInsight\""
#define CHANGE_INSIGHT "\"gramme:ChangeInsight\""

static const struct {
    const char *name;
    const char *document;
} built_in[] = {
    {"administrator", ALLOW_ON_EVERYTHING("\"*\"")},
    {"full", ALLOW_ON_EVERYTHING("\"dynamodb:*\"," SEE_INSIGHT "," CHANGE_INSIGHT)},
    {"readonly", ALLOW_ON_EVERYTHING(READ_ACTIONS "," SEE_INSIGHT)},
    {"readwrite", ALLOW_ON_EVERYTHING(READ_ACTIONS "," WRITE_ACTIONS "," SEE_INSIGHT)},
};

const char *directory_kind_name(enum directory_kind kind)
{
    static const char *const names[] = {
        [DIRECTORY_POLICY] = "policy",
        [DIRECTORY_ROLE] = "role",
        [DIRECTORY_USER] = "user",
    };
    return names[kind];
}

bool directory_is_built_in(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(built_in); i++) {
        if (str_eq(name, str_from_c(built_in[i].name))) {
            return true;
        }
    }
    return false;
}

bool directory_put_policy(struct directory *directory, struct map *map, struct str name,
                          struct str document, struct err *err)
{
    struct policy *policy;
    if (!policy_parse(document, POLICY_IDENTITY, &policy, err)) {
        return false;
    }
    struct directory_policy *entry = ARENA_NEW(&directory->arena, struct directory_policy);
    entry->name = arena_copy(&directory->arena, name);
    entry->document = arena_copy(&directory->arena, document);
    entry->policy = policy;
    map_put(map, entry->name, entry);
    return true;
}

struct directory *directory_create(struct str account)
{
    struct directory *directory = mem_zalloc(sizeof(*directory));
    atomic_init(&directory->references, 1);
    arena_init(&directory->arena);
    directory->account = arena_copy(&directory->arena, account);
    map_init(&directory->users);
    map_init(&directory->roles);
    map_init(&directory->policies);
    map_init(&directory->built_in);
    map_init(&directory->keys);
    struct err err = ERR_INIT(&directory->arena);
    for (size_t i = 0; i < COUNT_OF(built_in); i++) {
        bool good =
            directory_put_policy(directory, &directory->built_in, str_from_c(built_in[i].name),
                                 str_from_c(built_in[i].document), &err);
        assert(good);
    }
    return directory;
}

/* Policies ---------------------------------------------------------------------------------- */

static bool find_attached(const struct directory *directory, struct directory_principal *principal,
                          struct str name, const struct policy **out, struct err *err)
{
    const struct directory_policy *policy = directory_find_policy(directory, name);
    if (policy == NULL) {
        return err_set(err, ERR_VALIDATION, "%.*s: there is no policy '%.*s'",
                       STR_ARG(principal->name), STR_ARG(name));
    }
    *out = policy->policy;
    principal->mentions |= policy_mentions(policy->policy);
    return true;
}

static bool attach_policies(struct directory *directory, const struct map *map, struct err *err)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(map, &at, &name, &value)) {
        struct directory_principal *principal = value;
        principal->policies =
            ARENA_ARRAY(&directory->arena, const struct policy *, principal->policy_count + 1);
        for (size_t i = 0; i < principal->policy_count; i++) {
            if (!find_attached(directory, principal, principal->policy_names[i],
                               &principal->policies[i], err)) {
                return false;
            }
        }
        if (!str_is_null(principal->boundary_name) &&
            !find_attached(directory, principal, principal->boundary_name, &principal->boundary,
                           err)) {
            return false;
        }
    }
    return true;
}

bool directory_complete(struct directory *directory, int64_t revision, struct err *err)
{
    directory->revision = revision;
    return attach_policies(directory, &directory->users, err) &&
           attach_policies(directory, &directory->roles, err);
}

/* References -------------------------------------------------------------------------------- */

struct directory *directory_hold(struct directory *directory)
{
    atomic_fetch_add_explicit(&directory->references, 1, memory_order_relaxed);
    return directory;
}

static void destroy_policies(struct map *map)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(map, &at, &name, &value)) {
        policy_destroy((struct policy *)((struct directory_policy *)value)->policy);
    }
    map_finish(map);
}

void directory_release(struct directory *directory)
{
    if (directory == NULL ||
        atomic_fetch_sub_explicit(&directory->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&directory->roles, &at, &name, &value)) {
        policy_destroy(((struct directory_principal *)value)->trust);
    }
    destroy_policies(&directory->policies);
    destroy_policies(&directory->built_in);
    map_finish(&directory->users);
    map_finish(&directory->roles);
    map_finish(&directory->keys);
    secret_arena_finish(&directory->secrets);
    arena_finish(&directory->arena);
    mem_free(directory);
}

/* Look-up ----------------------------------------------------------------------------------- */

int64_t directory_revision(const struct directory *directory)
{
    return directory->revision;
}

struct str directory_account(const struct directory *directory)
{
    return directory->account;
}

const struct directory_key *directory_find_key(const struct directory *directory, struct str id)
{
    return map_get(&directory->keys, id);
}

const struct directory_principal *directory_find_user(const struct directory *directory,
                                                      struct str name)
{
    return map_get(&directory->users, name);
}

const struct directory_principal *directory_find_role(const struct directory *directory,
                                                      struct str name)
{
    return map_get(&directory->roles, name);
}

const struct directory_policy *directory_find_policy(const struct directory *directory,
                                                     struct str name)
{
    const struct directory_policy *policy = map_get(&directory->policies, name);
    return policy != NULL ? policy : map_get(&directory->built_in, name);
}

static const void *next_value(const struct map *map, size_t *at)
{
    struct str name;
    void *value;
    return map_next(map, at, &name, &value) ? value : NULL;
}

const struct directory_principal *directory_next_principal(const struct directory *directory,
                                                           enum directory_kind kind, size_t *at)
{
    assert(kind != DIRECTORY_POLICY);
    return next_value(kind == DIRECTORY_USER ? &directory->users : &directory->roles, at);
}

const struct directory_policy *directory_next_policy(const struct directory *directory, size_t *at)
{
    return next_value(&directory->policies, at);
}
