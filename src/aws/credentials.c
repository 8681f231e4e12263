/* Finds credentials where the AWS SDKs do, and keeps them until shortly before they expire. Any
 * thread; one lock. */
#include "aws/credentials.h"

#include <pthread.h>

#include "aws/metadata_internal.h"
#include "aws/profile.h"
#include "base/clock.h"
#include "base/mem.h"

enum {
    RENEW_BEFORE_MS = 5 * 60 * 1000, /* this long before expiry */
    RENEW_AGAIN_MS = 60 * 1000,      /* after a failure, while the old ones are still valid */
};

struct credential_source {
    bool is_local;
    struct secret_arena given_arena; /* of `given` and `profile`, which do not change */
    struct credentials given;        /* by the options */
    struct str profile;              /* by the options; ends with NUL, or STR_NULL */

    pthread_mutex_t lock;      /* of all below */
    struct secret_arena arena; /* of `current` */
    struct credentials current;
    bool renewable;   /* the source can provide new ones */
    int64_t renew_ms; /* when to renew; wall clock */
};

/* Variables that were taken from the environment, which is one for the whole process as well. */
static struct {
    struct secret_arena arena;
    struct str secret_access_key; /* STR_NULL: not taken */
    struct str session_token;
} taken;

void credentials_take_environment(void)
{
    taken.secret_access_key = secret_take_environment(&taken.arena, "AWS_SECRET_ACCESS_KEY");
    taken.session_token = secret_take_environment(&taken.arena, "AWS_SESSION_TOKEN");
}

static struct str keep(struct secret_arena *arena, const char *text)
{
    return text == NULL || text[0] == '\0' ? STR_NULL : secret_copy(arena, str_from_c(text));
}

struct credential_source *credential_source_create(const struct aws_options *options, bool is_local)
{
    struct credential_source *source = mem_zalloc(sizeof(*source));
    source->is_local = is_local;
    source->given = (struct credentials){
        .access_key_id = keep(&source->given_arena, options->access_key_id),
        .secret_access_key = keep(&source->given_arena, options->secret_access_key),
        .session_token = keep(&source->given_arena, options->session_token),
        .expires_ms = INT64_MAX,
    };
    source->profile = keep(&source->given_arena, options->profile);
    pthread_mutex_init(&source->lock, NULL);
    return source;
}

void credential_source_destroy(struct credential_source *source)
{
    if (source != NULL) {
        pthread_mutex_destroy(&source->lock);
        secret_arena_finish(&source->arena);
        secret_arena_finish(&source->given_arena);
        mem_free(source);
    }
}

/* --- where to look --- */

static bool is_complete(const struct credentials *credentials)
{
    return !str_is_null(credentials->access_key_id) && !str_is_null(credentials->secret_access_key);
}

static struct str variable(const char *name, struct str taken_value)
{
    const char *value = profile_variable(name);
    return value != NULL ? str_from_c(value) : taken_value.len > 0 ? taken_value : STR_NULL;
}

static bool from_environment(struct credentials *out)
{
    *out = (struct credentials){
        .access_key_id = variable("AWS_ACCESS_KEY_ID", STR_NULL),
        .secret_access_key = variable("AWS_SECRET_ACCESS_KEY", taken.secret_access_key),
        .session_token = variable("AWS_SESSION_TOKEN", taken.session_token),
        .expires_ms = INT64_MAX,
    };
    return is_complete(out);
}

static bool from_files(struct arena *arena, struct str profile, struct credentials *out)
{
    *out = (struct credentials){
        .access_key_id = profile_setting(arena, profile.data, "aws_access_key_id"),
        .secret_access_key = profile_setting(arena, profile.data, "aws_secret_access_key"),
        .session_token = profile_setting(arena, profile.data, "aws_session_token"),
        .expires_ms = INT64_MAX,
    };
    return is_complete(out);
}

/* Looks in the usual order: options, environment, files, container, instance; then dummy
 * credentials, if allowed. */
static bool find(const struct credential_source *source, struct arena *arena,
                 struct credentials *out, bool *renewable, struct str *problem)
{
    *renewable = false;
    if (is_complete(&source->given)) {
        *out = source->given;
        return true;
    }
    /* A profile that the program names has precedence over the environment. */
    if (str_is_null(source->profile) && from_environment(out)) {
        return true;
    }
    *renewable = true;
    if (from_files(arena, source->profile, out)) {
        return true;
    }
    if (metadata_has_container()) {
        return metadata_from_container(arena, out, problem);
    }
    if (source->is_local) {
        *renewable = false;
        *out = (struct credentials){.access_key_id = STR("local"),
                                    .secret_access_key = STR("local"),
                                    .expires_ms = INT64_MAX};
        return true;
    }
    if (metadata_has_instance()) {
        return metadata_from_instance(arena, out, problem);
    }
    *problem = STR("not in options, environment or profile");
    return false;
}

/* --- keeping them --- */

static struct str copy_or_null(struct secret_arena *arena, struct str text)
{
    return str_is_null(text) ? text : secret_copy(arena, text);
}

static struct credentials copy_credentials(struct secret_arena *arena,
                                           const struct credentials *from)
{
    return (struct credentials){
        .access_key_id = copy_or_null(arena, from->access_key_id),
        .secret_access_key = copy_or_null(arena, from->secret_access_key),
        .session_token = copy_or_null(arena, from->session_token),
        .expires_ms = from->expires_ms,
    };
}

/* Returns when to renew. Some credentials are issued shortly before they expire. */
static int64_t renewal_ms(int64_t expires_ms, int64_t now_ms)
{
    return expires_ms == INT64_MAX
               ? INT64_MAX
               : MAX(expires_ms - RENEW_BEFORE_MS, MIN(expires_ms, now_ms + RENEW_AGAIN_MS));
}

/* Looks for new credentials. The old ones are kept if there are none and they are still valid. */
static bool renew(struct credential_source *source, int64_t now_ms, struct str *problem)
{
    struct arena arena;
    arena_init(&arena);
    struct credentials found;
    bool renewable;
    bool usable = find(source, &arena, &found, &renewable, problem);
    if (usable) {
        secret_arena_finish(&source->arena);
        source->current = copy_credentials(&source->arena, &found);
        source->renewable = renewable;
        source->renew_ms = renewal_ms(found.expires_ms, now_ms);
    } else if (is_complete(&source->current) && source->current.expires_ms > now_ms) {
        source->renew_ms = now_ms + RENEW_AGAIN_MS;
        usable = true;
    } else {
        /* The text may be in the arena that is reset. */
        secret_arena_finish(&source->arena);
        source->current = (struct credentials){0};
        *problem = secret_copy(&source->arena, *problem);
    }
    arena_erase(&arena);
    arena_finish(&arena);
    return usable;
}

bool credential_source_get(struct credential_source *source, struct secret_arena *arena,
                           struct credentials *out, struct str *problem)
{
    pthread_mutex_lock(&source->lock);
    int64_t now_ms = clock_wall_ms() - clock_wall_moved_ms(); /* expiry is by another's clock */
    bool usable = is_complete(&source->current) && now_ms < source->renew_ms;
    if (!usable) {
        usable = renew(source, now_ms, problem);
    }
    if (usable) {
        *out = copy_credentials(arena, &source->current);
    } else {
        *problem = secret_copy(arena, *problem);
    }
    pthread_mutex_unlock(&source->lock);
    return usable;
}

bool credential_source_renew(struct credential_source *source)
{
    pthread_mutex_lock(&source->lock);
    bool renewable = source->renewable;
    if (renewable) {
        source->renew_ms = INT64_MIN;
    }
    pthread_mutex_unlock(&source->lock);
    return renewable;
}
