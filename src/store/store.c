/* Finds the kind of a store by its URL (stores.def), and forwards calls to its functions. Fills in
 * what a store need not implement: a store of one process is always the leader, and what it has
 * announced is what all have. Called by the engine, on any thread. */
#include "store/store.h"

#include "base/bytes.h"

/* The functions that open stores; each is defined in the folder of its kind. */
#define STORE_KIND(prefix_, rest_, is_persistent_, is_shared_, open_)                              \
    bool open_(struct str rest, const struct store_options *options, struct store **out,           \
               struct err *err);
#include "store/stores.def"
#undef STORE_KIND

struct kind {
    struct str prefix;
    bool (*open)(struct str rest, const struct store_options *options, struct store **out,
                 struct err *err);
    bool takes_rest;
    bool is_persistent;
    bool is_shared;
};

#define STORE_KIND(prefix_, rest_, is_persistent_, is_shared_, open_)                              \
    {.prefix = {(prefix_), sizeof(prefix_) - 1},                                                   \
     .open = (open_),                                                                              \
     .takes_rest = sizeof(rest_) > 1,                                                              \
     .is_persistent = (is_persistent_),                                                            \
     .is_shared = (is_shared_)},
static const struct kind kinds[] = {
#include "store/stores.def"
};
#undef STORE_KIND

static const struct kind *kind_of(struct str url)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bool has_rest = url.len > kinds[i].prefix.len;
        if (str_starts_with(url, kinds[i].prefix) && has_rest == kinds[i].takes_rest) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool store_knows_url(struct str url)
{
    return kind_of(url) != NULL;
}

bool store_url_is_persistent(struct str url)
{
    const struct kind *kind = kind_of(url);
    return kind != NULL && kind->is_persistent;
}

bool store_url_is_shared(struct str url)
{
    const struct kind *kind = kind_of(url);
    return kind != NULL && kind->is_shared;
}

const char *store_url_kinds(void)
{
#define STORE_KIND(prefix_, rest_, is_persistent_, is_shared_, open_) ", " prefix_ rest_
    static const char list[] =
#include "store/stores.def"
        ;
#undef STORE_KIND
    return list + strlen(", ");
}

bool store_open(struct str url, const struct store_options *options, struct store **out,
                struct err *err)
{
    const struct kind *kind = kind_of(url);
    if (kind == NULL) {
        struct str shown = store_url_to_show(err->arena, url);
        return err_set(err, ERR_INTERNAL, "unknown store '%.*s': use one of %s", STR_ARG(shown),
                       store_url_kinds());
    }
    return kind->open(str_skip(url, kind->prefix.len), options, out, err);
}

/* Cuts off the parameters of a URL if there is a password among them. They follow the host, before
 * which there may be a user and a password that contain any character but '/' and '@'. */
static struct str without_secret_parameters(struct str url, const char *authority)
{
    const char *end = url.data + url.len;
    const char *at = memchr(authority, '@', (size_t)(end - authority));
    const char *slash = memchr(authority, '/', (size_t)(end - authority));
    const char *host = at != NULL && (slash == NULL || at < slash) ? at : authority;
    const char *mark = memchr(host, '?', (size_t)(end - host));
    bool is_secret = mark != NULL && memmem(mark, (size_t)(end - mark), "password", 8) != NULL;
    return is_secret ? str_make(url.data, (size_t)(mark - url.data)) : url;
}

/* Cuts off what may hold a password in a text that has no known form, such as
 * "host=db password=secret". */
static struct str without_unknown_parts(struct arena *arena, struct str text)
{
    size_t len = 0;
    while (len < text.len && memchr(" :=@?;,", text.data[len], 7) == NULL) {
        len++;
    }
    return len == text.len ? text : arena_format(arena, "%.*s...", (int)len, text.data);
}

struct str store_url_to_show(struct arena *arena, struct str url)
{
    const struct kind *kind = kind_of(url);
    if (kind != NULL && !kind->is_shared) {
        return url;
    }
    const char *slashes = memchr(url.data, ':', url.len);
    slashes = slashes != NULL ? slashes + 1 : url.data;
    if (!str_starts_with(str_skip(url, (size_t)(slashes - url.data)), STR("//"))) {
        return without_unknown_parts(arena, url);
    }
    const char *user = slashes + 2;
    url = without_secret_parameters(url, user);
    const char *at = memrchr(url.data, '@', url.len);
    if (at == NULL || at < slashes) {
        return url;
    }
    const char *colon = memchr(user, ':', (size_t)(at - user));
    if (colon == NULL) {
        return url;
    }
    struct str rest = str_make(at, url.len - (size_t)(at - url.data));
    return arena_format(arena, "%.*s%.*s", (int)(colon - url.data), url.data, STR_ARG(rest));
}

const char *store_directory(const struct store *store)
{
    return store->directory;
}

void store_close(struct store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}

void store_get(struct store *store, struct store_get *get)
{
    store->ops->get(store, get);
}

void store_range(struct store *store, struct store_range *range)
{
    range->is_unreadable = false;
    store->ops->range(store, range);
}

void store_update(struct store *store, struct store_update *update)
{
    store->ops->update(store, update, true);
}

void store_update_all(struct store *store, struct store_update *const *updates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store->ops->update(store, updates[i], count == 1);
    }
}

void store_drop_space(struct store *store, uint32_t space)
{
    store->ops->drop_space(store, space);
}

static bool write_nothing(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    (void)update;
    (void)rows;
    (void)batch;
    return false;
}

static void finish_settle(struct store_update *update)
{
    struct store_settle *settle = CONTAINER_OF(update, struct store_settle, update);
    settle->status = update->status == STORE_NO_WRITE ? STORE_OK : update->status;
    settle->time_ns = update->time_ns;
    settle->done(settle);
}

/* Without a function of the store: an update that writes nothing. When it is done, all updates that
 * were evaluated before it are decided. */
void store_settle(struct store *store, struct store_settle *settle)
{
    if (store->ops->settle != NULL) {
        store->ops->settle(store, settle);
        return;
    }
    settle->update = (struct store_update){
        .arena = settle->arena,
        .home = settle->home,
        .eval = write_nothing,
        .done = finish_settle,
        .wants_time = true,
    };
    store_update(store, &settle->update);
}

void store_set_clock(struct store *store, struct store_clock clock)
{
    if (store->ops->set_clock != NULL) {
        store->ops->set_clock(store, clock);
    }
}

void store_watch(struct store *store, void (*changed)(void *context), void *context)
{
    if (store->ops->watch != NULL) {
        store->ops->watch(store, changed, context);
    }
}

void store_announce(struct store *store, struct store_progress progress)
{
    if (store->ops->announce != NULL) {
        store->ops->announce(store, progress);
        return;
    }
    atomic_store(&store->seen, progress.seen);
    atomic_store(&store->settled, progress.settled);
}

struct store_progress store_slowest(const struct store *store)
{
    if (store->ops->slowest != NULL) {
        return store->ops->slowest(store);
    }
    return (struct store_progress){.seen = atomic_load(&store->seen),
                                   .settled = atomic_load(&store->settled)};
}

bool store_is_leader(const struct store *store)
{
    return store->ops->is_leader == NULL || store->ops->is_leader(store);
}

bool store_leads_transfers(const struct store *store)
{
    return store->ops->leads_transfers == NULL || store->ops->leads_transfers(store);
}

bool store_may_serve(const struct store *store)
{
    return store->ops->may_serve == NULL || store->ops->may_serve(store);
}

uint64_t store_seed(const struct store *store)
{
    return store->seed;
}

struct str store_owner(const struct store *store)
{
    return store->owner;
}

size_t store_key_len_max(const struct store *store)
{
    return store != NULL && store->key_len_max != 0 ? store->key_len_max : STORE_KEY_LEN_MAX;
}

struct store_count store_count_value(struct str row)
{
    struct store_count value = {0};
    if (!str_is_null(row)) {
        assert(row.len == STORE_COUNT_LEN);
        value.count = (int64_t)get_u64_le(row.data);
        value.bytes = (int64_t)get_u64_le(row.data + 8);
    }
    return value;
}

void store_count_encode(struct store_count value, char out[STORE_COUNT_LEN])
{
    put_u64_le(out, (uint64_t)value.count);
    put_u64_le(out + 8, (uint64_t)value.bytes);
}
