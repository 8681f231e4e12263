/* The catalog: descriptions of tables, in the store and in memory.
 *
 * The row in the store is authoritative. catalog_change.c changes it in an update; the publisher
 * thread then puts the new description into memory, in the order of commits and before the client
 * gets its answer. Descriptions have a reference count and never change, so a call can use one
 * while the table changes; if the table was deleted meanwhile, the store answers STORE_GONE.
 * catalog_read.c reads the rows.
 *
 * Called by all threads that serve; `tables_lock` protects the map and the list of replaced
 * descriptions.
 *
 *   catalog | "table" | name     a description (codec/stored_table.h)
 *   catalog | "next"  |          the next free space, u32
 *   catalog | "version" |        see follow.h
 *   catalog | "drop"  | space    a space whose table is gone; erased when its rows are
 *   catalog | "kept"  | space    the description of a deleted table whose items in `space` backups
 *                                still need (engine/backup.h)
 *
 * Streams have rows of their own: see stream_catalog.c. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"

struct table_entry {
    atomic_int references;
    struct engine *engine;
    bool is_replaced; /* and in engine->replaced */
    struct table_entry *next_replaced;
    uint64_t known_since; /* the catalog's version with which it became known */
    uint64_t replaced_by; /* and the one with which it was replaced, or the first that can have */
    struct arena arena;
    struct table table;
};

struct str catalog_key(struct arena *arena, const char *part, struct str sort)
{
    struct key_writer writer;
    key_start(&writer, arena, SPACE_CATALOG);
    char padded[KEY_HASH_LEN] = {0};
    memcpy(padded, part, strlen(part));
    key_add_bytes(&writer, str_make(padded, sizeof(padded)));
    if (sort.len > 0) {
        key_add_bytes(&writer, sort);
    }
    return key_finish(&writer);
}

/* --- in memory --- */

static struct table_entry *entry_of(const struct table *table)
{
    return CONTAINER_OF(table, struct table_entry, table);
}

const struct table *table_acquire(struct engine *engine, struct str name)
{
    pthread_rwlock_rdlock(&engine->tables_lock);
    struct table_entry *entry = map_get(&engine->tables, name);
    atomic_fetch_add_explicit(&engine->call_count, 1, memory_order_relaxed);
    if (entry != NULL) {
        atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return entry == NULL ? NULL : &entry->table;
}

void table_release(const struct table *table)
{
    if (table == NULL) {
        return;
    }
    struct table_entry *entry = entry_of(table);
    if (atomic_fetch_sub_explicit(&entry->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    struct engine *engine = entry->engine;
    pthread_rwlock_wrlock(&engine->tables_lock);
    struct table_entry **at = &engine->replaced;
    while (entry->is_replaced && *at != entry) {
        at = &(*at)->next_replaced;
    }
    if (entry->is_replaced) {
        *at = entry->next_replaced;
    }
    bool may_be_settled = entry->is_replaced;
    pthread_rwlock_unlock(&engine->tables_lock);
    arena_finish(&entry->arena);
    mem_free(entry);
    if (may_be_settled && atomic_load(&engine->follow.is_started)) {
        follow_wake(engine);
    }
}

uint64_t catalog_settled_version(struct engine *engine, uint64_t seen)
{
    uint64_t settled = seen;
    pthread_rwlock_rdlock(&engine->tables_lock);
    for (struct table_entry *old = engine->replaced; old != NULL; old = old->next_replaced) {
        settled = MIN(settled, old->replaced_by - 1);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return settled;
}

bool catalog_is_settled(struct engine *engine, const struct table *table)
{
    bool settled = follow_is_settled(engine, entry_of(table)->known_since);
    pthread_rwlock_rdlock(&engine->tables_lock);
    for (struct table_entry *old = engine->replaced; old != NULL; old = old->next_replaced) {
        bool same = memcmp(old->table.id, table->id, sizeof(table->id)) == 0;
        settled = settled && !(same && old->table.version < table->version);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return settled;
}

bool catalog_knows_stream(struct engine *engine, const struct stream *stream)
{
    pthread_rwlock_rdlock(&engine->tables_lock);
    struct table_entry *newest = map_get(&engine->tables, stream->table_name);
    bool knows = !follow_is_settled(engine, stream_entry_of(stream)->known_since) ||
                 (newest != NULL && newest->table.stream_space == stream->space);
    for (struct table_entry *old = engine->replaced; old != NULL; old = old->next_replaced) {
        knows = knows || old->table.stream_space == stream->space;
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return knows;
}

bool catalog_ignores_stream(struct engine *engine, const struct stream *stream)
{
    bool ignores = !follow_is_settled(engine, stream_entry_of(stream)->known_since);
    pthread_rwlock_rdlock(&engine->tables_lock);
    struct table_entry *newest = map_get(&engine->tables, stream->table_name);
    for (struct table_entry *old = engine->replaced; newest != NULL && old != NULL;
         old = old->next_replaced) {
        bool same = memcmp(old->table.id, newest->table.id, sizeof(newest->table.id)) == 0;
        ignores = ignores || (same && old->table.stream_space != stream->space);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return ignores;
}

/* Notes a description that is not the newest any more; the caller holds the lock. */
static void note_replaced(struct engine *engine, struct table_entry *entry, uint64_t version)
{
    entry->is_replaced = true;
    entry->replaced_by = version;
    entry->next_replaced = engine->replaced;
    engine->replaced = entry;
}

/* Creates an entry that is not in the map yet; NULL: *err says why. */
static struct table_entry *make_entry(struct engine *engine, struct str row, uint64_t version,
                                      struct err *err)
{
    struct table_entry *entry = mem_zalloc(sizeof(*entry));
    arena_init(&entry->arena);
    entry->engine = engine;
    entry->known_since = version;
    atomic_init(&entry->references, 1);
    if (!table_decode(&entry->arena, row, &entry->table, err)) {
        arena_finish(&entry->arena);
        mem_free(entry);
        return NULL;
    }
    return entry;
}

/* Makes a description known; the map takes the caller's reference. */
static void publish_entry(struct engine *engine, struct table_entry *entry, uint64_t first_version)
{
    pthread_rwlock_wrlock(&engine->tables_lock);
    struct table_entry *before = map_put(&engine->tables, entry->table.name, entry);
    if (before != NULL) {
        note_replaced(engine, before, first_version);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    if (before != NULL) {
        table_release(&before->table);
    }
}

static bool is_same_table(const struct table *a, const struct table *b)
{
    return memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

const struct table *catalog_publish(struct engine *engine, struct str row, uint64_t version,
                                    struct err *err)
{
    struct table_entry *entry = make_entry(engine, row, version, err);
    if (entry == NULL) {
        return NULL;
    }
    if (version > atomic_load(&engine->follow.seen)) {
        atomic_fetch_add(&entry->references, 1);
        publish_entry(engine, entry, version);
    }
    return &entry->table;
}

/* Removes a table from the map, with the map's reference to it. */
static void withdraw(struct engine *engine, const struct table *table, uint64_t version)
{
    pthread_rwlock_wrlock(&engine->tables_lock);
    struct table_entry *entry = map_get(&engine->tables, table->name);
    bool is_known = entry != NULL && is_same_table(&entry->table, table);
    if (is_known) {
        map_remove(&engine->tables, table->name);
        note_replaced(engine, entry, version);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    if (is_known) {
        table_release(&entry->table);
    }
}

const struct table *catalog_withdraw(struct engine *engine, struct str row, uint64_t version)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct table_entry *entry = make_entry(engine, row, version, &err);
    assert(entry != NULL); /* the update has decoded it */
    arena_finish(&arena);
    withdraw(engine, &entry->table, version);
    return &entry->table;
}

bool catalog_delay_is_over(const struct engine *engine, int64_t since_ms)
{
    return engine->table_delay_ms == 0 || clock_wall_ms() >= since_ms + engine->table_delay_ms;
}

enum resource_status table_status(const struct engine *engine, const struct table *table)
{
    if (!catalog_delay_is_over(engine, table->created_ms)) {
        return STATUS_CREATING;
    }
    const struct index *creating = table_creating_index(table);
    bool updating = table->deleting_index != NULL || (creating != NULL && !creating->backfilling);
    return updating ? STATUS_UPDATING : table->status;
}

size_t catalog_collect(struct engine *engine, bool (*wanted)(const struct table *table),
                       struct arena *arena, const struct table ***out)
{
    size_t count = 0;
    size_t at = 0;
    struct str name;
    void *value;
    pthread_rwlock_rdlock(&engine->tables_lock);
    const struct table **tables =
        ARENA_ARRAY(arena, const struct table *, engine->tables.count + 1);
    while (map_next(&engine->tables, &at, &name, &value)) {
        struct table_entry *entry = value;
        if (wanted(&entry->table)) {
            atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
            tables[count++] = &entry->table;
        }
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    *out = tables;
    return count;
}

static int name_cmp(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void engine_list_tables(struct engine *engine, struct arena *arena, struct str after, size_t limit,
                        struct table_names *out)
{
    *out = (struct table_names){0};
    pthread_rwlock_rdlock(&engine->tables_lock);
    out->names = ARENA_ARRAY(arena, struct str, engine->tables.count + 1);
    size_t at = 0;
    struct str name;
    void *entry;
    while (map_next(&engine->tables, &at, &name, &entry)) {
        if (str_is_null(after) || str_cmp(name, after) > 0) {
            out->names[out->count++] = arena_copy(arena, name);
        }
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    qsort(out->names, out->count, sizeof(*out->names), name_cmp);
    out->more = out->count > limit;
    out->count = MIN(out->count, limit);
}

size_t catalog_table_spaces(const struct table *table, bool is_kept, uint32_t out[TABLE_SPACES_MAX])
{
    size_t count = 0;
    if (!is_kept) {
        out[count++] = table->space;
    }
    if (!is_kept && table->history_space != 0) {
        out[count++] = table->history_space;
    }
    if (table->collection_space != 0) {
        out[count++] = table->collection_space;
    }
    if (table->ttl_space != 0) {
        out[count++] = table->ttl_space;
    }
    for (size_t i = 0; i < table->index_count; i++) {
        out[count++] = table->indexes[i].space;
    }
    return count;
}

/* --- what the store has, after a start or a change by another server --- */

/* Whether the description is known as it is. */
static bool is_known(struct engine *engine, const struct table *table)
{
    pthread_rwlock_rdlock(&engine->tables_lock);
    const struct table_entry *entry = map_get(&engine->tables, table->name);
    bool known = entry != NULL && is_same_table(&entry->table, table) &&
                 entry->table.version == table->version;
    pthread_rwlock_unlock(&engine->tables_lock);
    return known;
}

/* The description in memory may be older than the deleted one, so the rows "kept" of the store
 * decide. */
static bool is_kept(const struct catalog_snapshot *snapshot, const struct table *table)
{
    for (size_t i = 0; i < snapshot->kept.count; i++) {
        struct str sort = str_skip(snapshot->kept.keys[i], STORE_PREFIX_LEN);
        if (sort.len == 4 && get_u32_be(sort.data) == table->space) {
            return true;
        }
    }
    return false;
}

static void drop_spaces_here(struct engine *engine, const struct catalog_snapshot *snapshot,
                             const struct table *table)
{
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = catalog_table_spaces(table, is_kept(snapshot, table), spaces);
    for (size_t i = 0; i < count; i++) {
        store_drop_space(engine->store, spaces[i]);
    }
}

/* Another server has dropped spaces of the table at once, while calls here may still write to them:
 * drops them here, too. The space of an index is dropped when no call knows it any more. */
static void drop_left_spaces(struct engine *engine, const struct table *after)
{
    const struct table *before = table_acquire(engine, after->name);
    if (before != NULL && is_same_table(before, after)) {
        if (before->ttl_space != 0 && before->ttl_space != after->ttl_space) {
            store_drop_space(engine->store, before->ttl_space);
        }
        if (before->history_space != 0 && before->history_space != after->history_space) {
            store_drop_space(engine->store, before->history_space);
        }
    }
    table_release(before);
}

static bool is_any(const struct table *table)
{
    (void)table;
    return true;
}

/* Forgets tables that are not in the snapshot. */
static void withdraw_others(struct engine *engine, const struct catalog_snapshot *snapshot,
                            const struct map *names, uint64_t version, struct arena *arena)
{
    const struct table **known;
    size_t count = catalog_collect(engine, is_any, arena, &known);
    for (size_t i = 0; i < count; i++) {
        const struct table *stored = map_get(names, known[i]->name);
        if (stored == NULL || !is_same_table(stored, known[i])) {
            withdraw(engine, known[i], version);
            drop_spaces_here(engine, snapshot, known[i]);
        }
        table_release(known[i]);
    }
}

void catalog_replace_all(struct engine *engine, const struct catalog_snapshot *snapshot,
                         uint64_t version)
{
    uint64_t first = atomic_load(&engine->follow.seen) + 1; /* that we do not know */
    struct arena arena;
    struct map names;
    arena_init(&arena);
    map_init(&names);
    struct err err = ERR_INIT(&arena);
    for (size_t i = 0; i < snapshot->tables.count; i++) {
        struct table *table = ARENA_NEW(&arena, struct table);
        bool ok = table_decode(&arena, snapshot->tables.values[i], table, &err);
        assert(ok); /* it was checked */
        map_put(&names, table->name, table);
        if (!is_known(engine, table)) {
            drop_left_spaces(engine, table);
            publish_entry(engine, make_entry(engine, snapshot->tables.values[i], version, &err),
                          first);
        }
    }
    withdraw_others(engine, snapshot, &names, first, &arena);
    streams_replace_all(engine, &snapshot->streams, version);
    map_finish(&names);
    arena_finish(&arena);
}

void catalog_drop_left(struct engine *engine, const struct catalog_snapshot *snapshot)
{
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < snapshot->drops.count; i++) {
        spaces[count++] = get_u32_be(str_skip(snapshot->drops.keys[i], STORE_PREFIX_LEN).data);
        if (count == TABLE_SPACES_MAX || i + 1 == snapshot->drops.count) {
            catalog_drop_spaces(engine, spaces, count);
            count = 0;
        }
    }
}

void catalog_unload(struct engine *engine)
{
    size_t at = 0;
    struct str name;
    void *entry;
    while (map_next(&engine->tables, &at, &name, &entry)) {
        table_release(&((struct table_entry *)entry)->table);
    }
    map_finish(&engine->tables);
}
