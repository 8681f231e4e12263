#include "client/credentials_internal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct credential_source {
    bool is_local;
    pthread_mutex_t lock; /* of all below */
    struct arena arena;   /* of `given` */
    struct credentials given;
};

static struct str copy(struct arena *arena, const char *text)
{
    return text == NULL || text[0] == '\0' ? STR_NULL : arena_copy(arena, str_from_c(text));
}

struct credential_source *credential_source_create(const struct gramme_options *options,
                                                   bool is_local)
{
    struct credential_source *source = mem_zalloc(sizeof(*source));
    source->is_local = is_local;
    pthread_mutex_init(&source->lock, NULL);
    arena_init(&source->arena);
    source->given = (struct credentials){
        .access_key_id = copy(&source->arena, options->access_key_id),
        .secret_access_key = copy(&source->arena, options->secret_access_key),
        .session_token = copy(&source->arena, options->session_token),
        .expires_ms = INT64_MAX,
    };
    return source;
}

void credential_source_destroy(struct credential_source *source)
{
    if (source != NULL) {
        pthread_mutex_destroy(&source->lock);
        arena_finish(&source->arena);
        mem_free(source);
    }
}

static bool from_environment(struct arena *arena, struct credentials *out)
{
    *out = (struct credentials){
        .access_key_id = copy(arena, getenv("AWS_ACCESS_KEY_ID")),
        .secret_access_key = copy(arena, getenv("AWS_SECRET_ACCESS_KEY")),
        .session_token = copy(arena, getenv("AWS_SESSION_TOKEN")),
        .expires_ms = INT64_MAX,
    };
    return !str_is_null(out->access_key_id) && !str_is_null(out->secret_access_key);
}

bool credential_source_get(struct credential_source *source, struct arena *arena,
                           struct credentials *out, struct str *problem)
{
    if (!str_is_null(source->given.access_key_id)) {
        *out = source->given;
        return true;
    }
    if (from_environment(arena, out)) {
        return true;
    }
    if (source->is_local) {
        *out = (struct credentials){.access_key_id = STR("local"),
                                    .secret_access_key = STR("local"),
                                    .expires_ms = INT64_MAX};
        return true;
    }
    *problem = STR("no credentials");
    return false;
}

bool credential_source_renew(struct credential_source *source)
{
    (void)source;
    return false;
}
