/* Entries in memory that follow a table. Changes during a load of the table, and in the seconds
 * before it (an index may lag behind its table), are kept in a journal and applied to the loaded
 * entries. So loading also succeeds while the table changes all the time. */
#include "apps/common/replica.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"

enum { JOURNAL_MAX = 8192, SETTLE_MS = 10000 };

struct change {
    char *key;
    void *entry; /* NULL: there is none any more */
    int64_t at_ms;
};

struct replica {
    struct replica_options options;
    pthread_mutex_t loading; /* held during a load, whose entries serve all waiting threads */

    pthread_mutex_t mutex; /* guards what follows; taken after `loading` */
    struct map entries;
    bool is_known;          /* `entries` is complete; changes go there, else into the journal */
    uint64_t epoch;         /* counts replica_forget() */
    struct change *journal; /* change number n is at n % JOURNAL_MAX */
    uint64_t change_count;
};

struct replica_load {
    const struct replica_options *options;
    pthread_mutex_t mutex;
    struct map entries;
};

/* --- entries --- */

static void put_entry(const struct replica_options *options, struct map *entries, struct str key,
                      void *entry)
{
    void *old = entry != NULL ? map_put(entries, key, entry) : map_remove(entries, key);
    if (old != NULL) {
        options->destroy(old);
    }
}

static void clear_entries(const struct replica_options *options, struct map *entries)
{
    size_t at = 0;
    struct str key;
    void *entry;
    while (map_next(entries, &at, &key, &entry)) {
        options->destroy(entry);
    }
    map_finish(entries);
    map_init(entries);
}

static void clear_change(struct replica *replica, struct change *change)
{
    if (change->entry != NULL) {
        replica->options.destroy(change->entry);
    }
    mem_free(change->key);
    *change = (struct change){0};
}

static void clear_journal(struct replica *replica)
{
    for (size_t i = 0; i < JOURNAL_MAX; i++) {
        clear_change(replica, &replica->journal[i]);
    }
}

struct replica *replica_create(const struct replica_options *options)
{
    struct replica *replica = mem_zalloc(sizeof(*replica));
    replica->options = *options;
    replica->journal = mem_zalloc(JOURNAL_MAX * sizeof(*replica->journal));
    map_init(&replica->entries);
    pthread_mutex_init(&replica->loading, NULL);
    pthread_mutex_init(&replica->mutex, NULL);
    return replica;
}

void replica_destroy(struct replica *replica)
{
    if (replica == NULL) {
        return;
    }
    clear_entries(&replica->options, &replica->entries);
    clear_journal(replica);
    map_finish(&replica->entries);
    pthread_mutex_destroy(&replica->loading);
    pthread_mutex_destroy(&replica->mutex);
    mem_free(replica->journal);
    mem_free(replica);
}

/* --- changes --- */

static void append_change(struct replica *replica, struct str key, void *entry)
{
    struct change *change = &replica->journal[replica->change_count++ % JOURNAL_MAX];
    clear_change(replica, change);
    change->key = mem_strdup(key.data);
    change->entry = entry;
    change->at_ms = clock_monotonic_us() / 1000;
}

void replica_apply(struct replica *replica, const struct gramme_value *old_item,
                   const struct gramme_value *new_item)
{
    const struct replica_options *options = &replica->options;
    struct arena arena;
    arena_init(&arena);
    struct str key = options->key(&arena, new_item != NULL ? new_item : old_item);
    if (!str_is_null(key)) {
        void *entry = new_item != NULL ? options->make(new_item) : NULL;
        pthread_mutex_lock(&replica->mutex);
        if (replica->is_known) {
            put_entry(options, &replica->entries, key, entry);
        } else {
            append_change(replica, key, entry);
        }
        if (replica->entries.count > options->entries_max) {
            clear_entries(options, &replica->entries);
            replica->is_known = false;
        }
        pthread_mutex_unlock(&replica->mutex);
    }
    arena_finish(&arena);
}

void replica_forget(struct replica *replica)
{
    pthread_mutex_lock(&replica->mutex);
    replica->epoch++;
    replica->is_known = false;
    clear_entries(&replica->options, &replica->entries);
    clear_journal(replica);
    pthread_mutex_unlock(&replica->mutex);
}

/* --- reading --- */

void replica_take(struct replica_load *load, const struct gramme_value *item)
{
    struct arena arena;
    arena_init(&arena);
    struct str key = load->options->key(&arena, item);
    if (!str_is_null(key)) {
        void *entry = load->options->make(item);
        pthread_mutex_lock(&load->mutex);
        put_entry(load->options, &load->entries, key, entry);
        pthread_mutex_unlock(&load->mutex);
    }
    arena_finish(&arena);
}

/* The state when a load began. */
struct beginning {
    uint64_t epoch;
    uint64_t change_count;
    int64_t at_ms;
};

/* Applies the changes since shortly before the load began to `entries`, and empties the journal.
 * False: the journal does not have all of them. */
static bool catch_up(struct replica *replica, const struct beginning *beginning,
                     struct map *entries)
{
    if (replica->epoch != beginning->epoch ||
        replica->change_count - beginning->change_count > JOURNAL_MAX) {
        return false;
    }
    uint64_t first = replica->change_count > JOURNAL_MAX ? replica->change_count - JOURNAL_MAX : 0;
    for (uint64_t i = first; i < replica->change_count; i++) {
        struct change *change = &replica->journal[i % JOURNAL_MAX];
        if (change->key != NULL && change->at_ms >= beginning->at_ms - SETTLE_MS) {
            put_entry(&replica->options, entries, str_from_c(change->key), change->entry);
            change->entry = NULL;
        }
    }
    clear_journal(replica);
    return true;
}

/* Loads the table, calls look(), and keeps the entries if the journal has every change since the
 * start of the load. */
static bool load_and_look(struct replica *replica, struct gramme_db *db, bool is_fresh,
                          void (*look)(const struct map *entries, void *context), void *context,
                          struct gramme_error **error)
{
    struct replica_load load = {.options = &replica->options};
    map_init(&load.entries);
    pthread_mutex_init(&load.mutex, NULL);
    pthread_mutex_lock(&replica->mutex);
    struct beginning beginning = {.epoch = replica->epoch,
                                  .change_count = replica->change_count,
                                  .at_ms = clock_monotonic_us() / 1000};
    pthread_mutex_unlock(&replica->mutex);
    bool ok = replica->options.read(db, &load, error);
    if (ok) {
        pthread_mutex_lock(&replica->mutex);
        bool is_complete = is_fresh && !replica->is_known &&
                           load.entries.count <= replica->options.entries_max &&
                           catch_up(replica, &beginning, &load.entries);
        look(&load.entries, context);
        if (is_complete) {
            struct map old = replica->entries;
            replica->entries = load.entries;
            load.entries = old;
            replica->is_known = true;
        }
        pthread_mutex_unlock(&replica->mutex);
    }
    clear_entries(&replica->options, &load.entries);
    map_finish(&load.entries);
    pthread_mutex_destroy(&load.mutex);
    return ok;
}

/* Calls look() with the entries in memory. False: they are not complete. */
static bool look_at_known(struct replica *replica,
                          void (*look)(const struct map *entries, void *context), void *context)
{
    pthread_mutex_lock(&replica->mutex);
    bool is_known = replica->is_known;
    if (is_known) {
        look(&replica->entries, context);
    }
    pthread_mutex_unlock(&replica->mutex);
    return is_known;
}

bool replica_look(struct replica *replica, struct gramme_db *db, bool is_fresh,
                  void (*look)(const struct map *entries, void *context), void *context,
                  struct gramme_error **error)
{
    if (!is_fresh) {
        return load_and_look(replica, db, false, look, context, error);
    }
    if (look_at_known(replica, look, context)) {
        return true;
    }
    pthread_mutex_lock(&replica->loading);
    bool ok = look_at_known(replica, look, context) || /* another thread may have loaded them */
              load_and_look(replica, db, true, look, context, error);
    pthread_mutex_unlock(&replica->loading);
    return ok;
}
