/* Authenticates requests. Called for every request when signatures are checked, on the thread that
 * serves it. Deriving the signing key of a day takes four HMACs, so derived keys are cached, and
 * decrypted sessions too. */
#include "auth/sign_in.h"

#include "base/hash.h"
#include "base/mem.h"

enum { CACHE_SLOTS = 64, KEY_ID_MAX = 128, REGION_MAX = 64, SERVICE_MAX = 16 };

/* A cache entry: the signing key of one access key, day, region and service. */
struct day_key {
    uint64_t publication; /* of the directory that has the secret; 0 for sessions, whose secret
                             never changes */
    size_t id_len;
    size_t region_len;
    size_t service_len;
    char id[KEY_ID_MAX];
    char day[SIGV4_DAY_LEN];
    char region[REGION_MAX];
    char service[SERVICE_MAX];
    unsigned char key[SIGV4_HASH_LEN];
};

struct sign_in {
    struct sign_in_options options;
    struct directory *directory; /* an owned reference to the directory of `publication`, or NULL */
    uint64_t publication;
    struct secret_arena secrets;
    struct day_key *day_keys; /* CACHE_SLOTS entries, in `secrets` */
    struct auth_session *sessions[CACHE_SLOTS];
};

/* Directories ------------------------------------------------------------------------------- */

void directory_source_init(struct directory_source *source)
{
    pthread_mutex_init(&source->lock, NULL);
    source->current = NULL;
    atomic_init(&source->publication, 1);
}

void directory_source_finish(struct directory_source *source)
{
    directory_release(source->current);
    source->current = NULL;
    pthread_mutex_destroy(&source->lock);
}

void directory_publish(struct directory_source *source, struct directory *directory)
{
    pthread_mutex_lock(&source->lock);
    struct directory *before = source->current;
    source->current = directory;
    atomic_fetch_add_explicit(&source->publication, 1, memory_order_release);
    pthread_mutex_unlock(&source->lock);
    directory_release(before);
}

struct directory *directory_current(struct directory_source *source)
{
    pthread_mutex_lock(&source->lock);
    struct directory *directory = source->current == NULL ? NULL : directory_hold(source->current);
    pthread_mutex_unlock(&source->lock);
    return directory;
}

/* Returns the current directory, borrowed from `sign_in`. Takes the lock only after a new directory
 * was published. */
static struct directory *current_directory(struct sign_in *sign_in)
{
    struct directory_source *source = sign_in->options.source;
    uint64_t newest = atomic_load_explicit(&source->publication, memory_order_acquire);
    if (UNLIKELY(newest != sign_in->publication)) {
        directory_release(sign_in->directory);
        sign_in->directory = directory_current(source);
        sign_in->publication = newest;
    }
    return sign_in->directory;
}

struct sign_in *sign_in_create(const struct sign_in_options *options)
{
    struct sign_in *sign_in = mem_zalloc(sizeof(*sign_in));
    sign_in->options = *options;
    sign_in->day_keys = secret_alloc(&sign_in->secrets, sizeof(struct day_key) * CACHE_SLOTS);
    return sign_in;
}

void sign_in_destroy(struct sign_in *sign_in)
{
    if (sign_in == NULL) {
        return;
    }
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        session_release(sign_in->sessions[i]);
    }
    directory_release(sign_in->directory);
    secret_arena_finish(&sign_in->secrets);
    mem_free(sign_in);
}

void auth_caller_release(struct auth_caller *caller)
{
    if (caller->directory != NULL) {
        session_release(caller->session);
        directory_release(caller->directory);
        caller->directory = NULL;
    }
}

/* Caches ------------------------------------------------------------------------------------ */

static size_t slot_of(struct str id)
{
    return hash_64(id) % CACHE_SLOTS;
}

static bool is_entry_for(const struct day_key *slot, const struct sigv4_claim *claim,
                         struct str service, uint64_t publication)
{
    return slot->publication == publication &&
           str_eq(str_make(slot->id, slot->id_len), claim->access_key_id) &&
           str_eq(str_make(slot->day, SIGV4_DAY_LEN), claim->day) &&
           str_eq(str_make(slot->region, slot->region_len), claim->region) &&
           str_eq(str_make(slot->service, slot->service_len), service);
}

/* Returns the signing key of a request: in the cache, or in `scratch` if its names are too long for
 * a cache entry. */
static const unsigned char *day_key(struct sign_in *sign_in, const struct sigv4_claim *claim,
                                    struct str service, struct str secret, uint64_t publication,
                                    unsigned char scratch[SIGV4_HASH_LEN])
{
    struct day_key *slot = &sign_in->day_keys[slot_of(claim->access_key_id)];
    if (is_entry_for(slot, claim, service, publication)) {
        return slot->key;
    }
    if (claim->access_key_id.len > KEY_ID_MAX || claim->region.len > REGION_MAX ||
        service.len > SERVICE_MAX || claim->day.len != SIGV4_DAY_LEN) {
        sigv4_derive_key(secret, claim->day, claim->region, service, scratch);
        return scratch;
    }
    *slot = (struct day_key){
        .publication = publication,
        .id_len = claim->access_key_id.len,
        .region_len = claim->region.len,
        .service_len = service.len,
    };
    memcpy(slot->id, claim->access_key_id.data, slot->id_len);
    memcpy(slot->day, claim->day.data, SIGV4_DAY_LEN);
    memcpy(slot->region, claim->region.data, slot->region_len);
    memcpy(slot->service, service.data, slot->service_len);
    sigv4_derive_key(secret, claim->day, claim->region, service, slot->key);
    return slot->key;
}

/* Returns the session of the claim's token, or NULL if it has no valid token. The cache owns the
 * reference. */
static struct auth_session *find_session(struct sign_in *sign_in, const struct sigv4_claim *claim)
{
    struct auth_session **slot = &sign_in->sessions[slot_of(claim->access_key_id)];
    if (*slot != NULL && str_eq((*slot)->access_key_id, claim->access_key_id) &&
        str_eq((*slot)->token, claim->session_token)) {
        return *slot;
    }
    if (sign_in->options.key == NULL || str_is_null(claim->session_token)) {
        return NULL;
    }
    struct auth_session *session =
        session_open(sign_in->options.key, claim->access_key_id, claim->session_token);
    if (session != NULL) {
        session_release(*slot);
        *slot = session;
    }
    return session;
}

/* Checks ------------------------------------------------------------------------------------ */

#define INVALID_TOKEN "The security token included in the request is invalid"
#define WRONG_SIGNATURE                                                                            \
    "The request signature we calculated does not match the signature you provided. Check your "   \
    "AWS Secret Access Key and signing method. Consult the service documentation for details."

static bool read_claim(struct sign_in *sign_in, const struct sign_in_request *request,
                       struct sigv4_claim *out, struct err *err)
{
    struct sigv4_expected expected = {
        .region = sign_in->options.region,
        .service = request->service,
        .now_ms = request->now_ms,
        .skew_ms = sign_in->options.skew_ms,
    };
    return sigv4_claim_read(request->arena, request->head, &expected, out, err);
}

static bool is_temporary(const struct sigv4_claim *claim)
{
    return str_starts_with(claim->access_key_id, STR(SESSION_KEY_PREFIX));
}

/* The access key that a claim names. */
struct found_key {
    const struct directory_principal *principal;
    struct auth_session *session; /* borrowed from the cache; NULL: a long-term key */
    struct str secret;
    uint64_t publication;
};

static bool find_session_key(struct sign_in *sign_in, const struct directory *directory,
                             const struct sigv4_claim *claim, struct found_key *out,
                             struct err *err)
{
    struct auth_session *session = find_session(sign_in, claim);
    if (session == NULL) {
        return err_set(err, ERR_UNRECOGNIZED_CLIENT, INVALID_TOKEN "%s",
                       str_is_null(claim->session_token) ? "." : "");
    }
    const struct directory_principal *principal =
        session->is_role ? directory_find_role(directory, session->principal)
                         : directory_find_user(directory, session->principal);
    if (principal == NULL || principal->is_disabled ||
        session->issued < principal->sessions_since ||
        (!str_is_null(session->id) && !str_eq(session->id, principal->id))) {
        return err_set(err, ERR_UNRECOGNIZED_CLIENT, INVALID_TOKEN);
    }
    *out =
        (struct found_key){.principal = principal, .session = session, .secret = session->secret};
    return true;
}

static bool find_key(struct sign_in *sign_in, const struct sigv4_claim *claim,
                     struct found_key *out, struct err *err)
{
    const struct directory *directory = current_directory(sign_in);
    if (directory != NULL) {
        const struct directory_key *key = directory_find_key(directory, claim->access_key_id);
        if (key != NULL && !key->is_disabled && !key->user->is_disabled) {
            *out = (struct found_key){
                .principal = key->user,
                .secret = key->secret,
                .publication = sign_in->publication,
            };
            return true;
        }
        if (key == NULL && is_temporary(claim)) {
            return find_session_key(sign_in, directory, claim, out, err);
        }
    }
    return err_set(err, ERR_UNRECOGNIZED_CLIENT, INVALID_TOKEN ".");
}

bool sign_in_check_head(struct sign_in *sign_in, const struct sign_in_request *request,
                        struct err *err)
{
    struct sigv4_claim claim;
    struct found_key found;
    return read_claim(sign_in, request, &claim, err) && find_key(sign_in, &claim, &found, err);
}

static bool verify(struct sign_in *sign_in, const struct sign_in_request *request,
                   const struct sigv4_claim *claim, const struct found_key *found, struct str body,
                   struct err *err)
{
    char body_hash[SIGV4_HEX_LEN];
    unsigned char scratch[SIGV4_HASH_LEN] = {0};
    sigv4_hash(body, body_hash);
    const unsigned char *key =
        day_key(sign_in, claim, request->service, found->secret, found->publication, scratch);
    bool is_good = sigv4_claim_verify(request->arena, request->head, claim, key,
                                      str_make(body_hash, sizeof(body_hash)));
    secret_erase(scratch, sizeof(scratch));
    return is_good || err_set(err, ERR_INVALID_SIGNATURE, WRONG_SIGNATURE);
}

static bool check_token(const struct sign_in_request *request, const struct sigv4_claim *claim,
                        const struct found_key *found, struct err *err)
{
    if (found->session == NULL) {
        return str_is_null(claim->session_token) ||
               err_set(err, ERR_UNRECOGNIZED_CLIENT, INVALID_TOKEN);
    }
    return request->now_ms / 1000 < found->session->expires ||
           err_set(err, ERR_EXPIRED_TOKEN, "The security token included in the request is expired");
}

/* Sets the caller's ARNs and ids, as policies and error messages use them. */
static void set_caller_names(const struct sign_in_request *request,
                             const struct directory *directory, const struct found_key *found,
                             struct auth_caller *out)
{
    const struct directory_principal *principal = found->principal;
    struct str account = directory_account(directory);
    out->policy =
        (struct policy_caller){.kind = principal->kind, .arn = principal->arn, .account = account};
    out->user_id = principal->kind == CALLER_ROOT ? account : principal->id;
    if (principal->kind == CALLER_ROLE_SESSION) {
        struct str name = found->session->name;
        out->policy.role_arn = principal->arn;
        out->policy.arn = arena_format(request->arena, "arn:aws:sts::%.*s:assumed-role/%.*s/%.*s",
                                       STR_ARG(account), STR_ARG(principal->name), STR_ARG(name));
        out->user_id =
            arena_format(request->arena, "%.*s:%.*s", STR_ARG(principal->id), STR_ARG(name));
    }
    out->mentions = principal->mentions;
    if (found->session != NULL && found->session->policy != NULL) {
        out->mentions |= policy_mentions(found->session->policy);
    }
}

bool sign_in_check(struct sign_in *sign_in, const struct sign_in_request *request, struct str body,
                   struct auth_caller *out, struct err *err)
{
    struct sigv4_claim claim;
    struct found_key found;
    *out = (struct auth_caller){0};
    if (!read_claim(sign_in, request, &claim, err) || !find_key(sign_in, &claim, &found, err) ||
        !verify(sign_in, request, &claim, &found, body, err) ||
        !check_token(request, &claim, &found, err)) {
        return false;
    }
    out->directory = directory_hold(sign_in->directory);
    out->session = found.session == NULL ? NULL : session_hold(found.session);
    out->principal = found.principal;
    out->access_key_id = claim.access_key_id;
    set_caller_names(request, sign_in->directory, &found, out);
    return true;
}

struct str sign_in_claimed_key(struct arena *arena, const struct sigv4_head *head)
{
    struct sigv4_expected expected = {
        .service = STR("dynamodb"),
        .skew_ms = INT64_MAX / 4,
    };
    struct sigv4_claim claim;
    struct err ignored = ERR_INIT(arena);
    (void)!sigv4_claim_read(arena, head, &expected, &claim, &ignored);
    return claim.access_key_id;
}
