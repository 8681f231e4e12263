/* Tables: their descriptions, in the store and in memory.
 *
 * The store decides (an update on the table's catalog row); memory follows, in the order of commits
 * and before the client is answered. Descriptions are counted and never changed, so a call that
 * holds one can go on while the table changes; that a table is gone it learns from the store
 * (STORE_GONE).
 *
 *   catalog | "table" | name     a description (codec/table.h)
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
#include "base/random.h"
#include "codec/table.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

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

/* An entry that nobody can find yet; NULL: *err says why. */
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

/* A change of this server, made with that version: makes it known, unless all up to that version is
 * known already. Returns a reference to the description. */
static const struct table *publish(struct engine *engine, struct str row, uint64_t version,
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

/* Forgets a table; the map's reference to it goes. */
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

enum { TABLE_SPACES_MAX = 4 + CAPACITY_INDEX_MAX };

/* The spaces that go with a deleted table; if `is_kept`, without what backups need. */
static size_t table_spaces(const struct table *table, bool is_kept, uint32_t out[TABLE_SPACES_MAX])
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

/* --- loading --- */

static void read_done(struct store_range *range)
{
    CONTAINER_OF(range, struct catalog_read, range)->done = true;
}

void catalog_read(struct catalog_read *read)
{
    if (read->err->code != ERR_NONE) {
        return;
    }
    struct waiting_mailbox *mailbox = waiting_mailbox_create();
    read->done = false;
    read->range.arena = read->arena;
    read->range.home = waiting_mailbox_box(mailbox);
    read->range.done = read_done;
    read->range.before_serving = true;
    store_range(read->engine->store, &read->range);
    waiting_mailbox_run(mailbox, &read->done);
    engine_set_store_error(read->err, read->range.status);
    waiting_mailbox_destroy(mailbox);
}

void catalog_read_part(struct catalog_read *read, const char *part,
                       bool (*row)(struct store_range *, struct str, struct str))
{
    struct str prefix = catalog_key(read->arena, part, STR(""));
    read->range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(read->arena, prefix),
        .row = row,
    };
    catalog_read(read);
}

struct part_read {
    struct catalog_read read;
    struct catalog_rows *rows;
};

static bool keep_row(struct store_range *range, struct str key, struct str value)
{
    struct part_read *part = CONTAINER_OF(range, struct part_read, read.range);
    struct catalog_rows *rows = part->rows;
    struct arena *arena = part->read.rows_arena;
    if (rows->count == rows->capacity) {
        size_t capacity = MAX(rows->capacity * 2, (size_t)64);
        struct str *keys = ARENA_ARRAY(arena, struct str, capacity);
        struct str *values = ARENA_ARRAY(arena, struct str, capacity);
        if (rows->count > 0) {
            memcpy(keys, rows->keys, rows->count * sizeof(*keys));
            memcpy(values, rows->values, rows->count * sizeof(*values));
        }
        *rows = (struct catalog_rows){keys, values, rows->count, capacity};
    }
    rows->keys[rows->count] = arena_copy(arena, key);
    rows->values[rows->count++] = arena_copy(arena, value);
    return true;
}

static void read_rows(struct engine *engine, struct arena *arena, const char *part,
                      struct catalog_rows *rows, struct err *err)
{
    struct arena scratch; /* of the store */
    arena_init(&scratch);
    struct part_read read = {
        .read = {.engine = engine, .err = err, .arena = &scratch, .rows_arena = arena},
        .rows = rows,
    };
    catalog_read_part(&read.read, part, keep_row);
    arena_finish(&scratch);
}

bool catalog_read_all(struct engine *engine, struct arena *arena, struct catalog_snapshot *out,
                      struct err *err)
{
    read_rows(engine, arena, "table", &out->tables, err);
    read_rows(engine, arena, "stream", &out->streams, err);
    read_rows(engine, arena, "drop", &out->drops, err);
    read_rows(engine, arena, "kept", &out->kept, err);
    return err->code == ERR_NONE;
}

bool catalog_check_all(const struct catalog_snapshot *snapshot, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    bool ok = true;
    for (size_t i = 0; ok && i < snapshot->tables.count; i++) {
        struct table table;
        ok = table_decode(&arena, snapshot->tables.values[i], &table, err);
    }
    for (size_t i = 0; ok && i < snapshot->streams.count; i++) {
        ok = stream_check_row(snapshot->streams.values[i], err);
    }
    arena_finish(&arena);
    return ok;
}

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

/* What we know of the table may be older than what was deleted: so the store says what is kept. */
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
    size_t count = table_spaces(table, is_kept(snapshot, table), spaces);
    for (size_t i = 0; i < count; i++) {
        store_drop_space(engine->store, spaces[i]);
    }
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

/* --- changes --- */

/* Changes are published on one thread, in the order in which they were committed; then the call is
 * ended on its own thread, when all servers have seen the change. */
static struct mailbox *publisher(struct engine *engine)
{
    return background_begin(&engine->follow.background);
}

/* --- CreateTable --- */

/* The name is taken. */
static bool refuse_name(struct table_create *create, struct str row, bool is_restore)
{
    struct table table;
    struct err *err = &create->call.err;
    struct str name = create->wanted->name;
    if (!table_decode(create->call.arena, row, &table, err)) {
        return false;
    }
    if (is_restore && table.restore.space != 0) {
        return err_set(err, ERR_TABLE_IN_USE, MESSAGE_TABLE_IS_RESTORED, STR_ARG(name),
                       STR_ARG(table.restore.backup_arn));
    }
    if (table.restore.space != 0) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_IS_USED, STR_ARG(name));
    }
    return err_set(err, is_restore ? ERR_TABLE_ALREADY_EXISTS : ERR_RESOURCE_IN_USE,
                   MESSAGE_TABLE_EXISTS, STR_ARG(name));
}

static bool create_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    create->call.err.code = ERR_NONE;
    bool is_restore = !str_is_null(create->backup_key);
    if (!str_is_null(rows[0])) {
        return refuse_name(create, rows[0], is_restore);
    }
    if (is_restore && !backup_begin_restore(create, rows[3], batch)) {
        return false;
    }
    struct arena *arena = create->call.arena;
    struct table table = *create->wanted;
    table.version = 1;
    uint32_t space = str_is_null(rows[1]) ? SPACE_FIRST_FREE : get_u32_be(rows[1].data);
    table.space = space++;
    if (table.local_count > 0) {
        table.collection_space = space++;
    }
    struct index *indexes = ARENA_ARRAY(arena, struct index, table.index_count + 1);
    for (size_t i = 0; i < table.index_count; i++) {
        indexes[i] = table.indexes[i];
        indexes[i].space = space++;
        indexes[i].since_version = table.version;
    }
    table.indexes = indexes;
    create->stream_row = STR_NULL;
    if (table.stream != STREAM_NONE) {
        create->stream_row = stream_start(create->call.engine, &table, space++, batch, arena);
    }
    create->row = table_encode(arena, &table);
    char *next = arena_bytes(arena, 4);
    put_u32_be(next, space);
    store_batch_put(batch, 0, create->row);
    store_batch_put(batch, 1, str_make(next, 4));
    create->version = follow_version_after(rows[2]);
    store_batch_put(batch, 2, follow_version_row(arena, create->version));
    return true;
}

static void create_done(struct store_update *update)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    engine_set_store_error(&create->call.err, update->status);
    bool ok = create->call.err.code == ERR_NONE;
    if (ok) {
        struct engine *engine = create->call.engine;
        stream_publish(engine, create->stream_row, create->version);
        create->table = publish(engine, create->row, create->version, &create->call.err);
        follow_note_change(engine, create->version);
        background_wake(&engine->recovery);
    }
    follow_finish_call(&create->call, ok ? create->version : 0);
}

void engine_create_table(struct table_create *create)
{
    struct engine_call *call = &create->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 4);
    keys[0] = catalog_key(call->arena, "table", create->wanted->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    keys[2] = follow_version_key(call->arena);
    keys[3] = create->backup_key;
    create->table = NULL;
    create->update = (struct store_update){
        .keys = keys,
        .key_count = str_is_null(create->backup_key) ? 3 : 4,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = create_eval,
        .done = create_done,
    };
    store_update(call->engine->store, &create->update);
}

/* A table that is being made can be neither changed nor deleted. */
static bool check_not_creating(const struct engine *engine, const struct table *table,
                               struct err *err)
{
    if (table_status(engine, table) == STATUS_CREATING) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_IS_CREATING, STR_ARG(table->name));
    }
    return true;
}

/* --- UpdateTable --- */

static bool change_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_change *change = CONTAINER_OF(update, struct table_change, update);
    struct err *err = &change->call.err;
    err->code = ERR_NONE;
    if (str_is_null(rows[0])) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(change->name));
    }
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    if (!table_decode(change->call.arena, rows[0], table, err) ||
        (!change->may_be_creating && !check_not_creating(change->call.engine, table, err))) {
        return false;
    }
    change->version = follow_version_after(rows[2]);
    change->extra_row = update->key_count > CHANGE_EXTRA ? rows[CHANGE_EXTRA] : STR_NULL;
    uint32_t next_space = get_u32_be(rows[1].data);
    change->next_space = next_space;
    change->dropped_count = 0;
    change->stream_row = STR_NULL;
    change->batch = batch;
    const struct table *made = change->change(change, table);
    if (made == NULL) {
        assert(err->code != ERR_NONE);
        return false;
    }
    struct table changed = *made;
    changed.version = table->version + 1;
    store_batch_put(batch, 2, follow_version_row(change->call.arena, change->version));
    change->row = table_encode(change->call.arena, &changed);
    store_batch_put(batch, 0, change->row);
    if (change->next_space != next_space) {
        char *next = arena_bytes(change->call.arena, 4);
        put_u32_be(next, change->next_space);
        store_batch_put(batch, 1, str_make(next, 4));
    }
    for (size_t i = 0; i < change->dropped_count; i++) {
        store_batch_put_owned(batch, catalog_drop_key(change->call.arena, change->dropped[i]),
                              STR(""));
    }
    return true;
}

static void change_done(struct store_update *update)
{
    struct table_change *change = CONTAINER_OF(update, struct table_change, update);
    engine_set_store_error(&change->call.err, update->status);
    bool ok = change->call.err.code == ERR_NONE;
    if (ok) {
        stream_publish(change->call.engine, change->stream_row, change->version);
        change->table =
            publish(change->call.engine, change->row, change->version, &change->call.err);
        follow_note_change(change->call.engine, change->version);
        if (change->dropped_count > 0) {
            catalog_drop_spaces(change->call.engine, change->dropped, change->dropped_count);
        }
        background_wake(&change->call.engine->backfill);
        background_wake(&change->call.engine->recovery);
    }
    follow_finish_call(&change->call, ok ? change->version : 0);
}

void engine_change_table(struct table_change *change)
{
    struct engine_call *call = &change->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, CHANGE_EXTRA + 1);
    keys[0] = catalog_key(call->arena, "table", change->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    keys[2] = follow_version_key(call->arena);
    keys[CHANGE_EXTRA] = change->extra_key;
    change->table = NULL;
    change->update = (struct store_update){
        .keys = keys,
        .key_count = str_is_null(change->extra_key) ? CHANGE_EXTRA : CHANGE_EXTRA + 1,
        .wants_time = true,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = change_eval,
        .done = change_done,
    };
    store_update(call->engine->store, &change->update);
}

/* --- DeleteTable --- */

static bool delete_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_delete *remove = CONTAINER_OF(update, struct table_delete, update);
    struct err *err = &remove->call.err;
    err->code = ERR_NONE;
    if (str_is_null(rows[0])) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(remove->name));
    }
    struct table table;
    if (!table_decode(remove->call.arena, rows[0], &table, err) ||
        !check_not_creating(remove->call.engine, &table, err)) {
        return false;
    }
    if (table.deletion_protection) {
        return err_set(err, ERR_VALIDATION, MESSAGE_DELETION_PROTECTED);
    }
    if (index_is_changing(&table)) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_INDEXES_ARE_CHANGING);
    }
    store_batch_erase(batch, 0);
    remove->row = arena_copy(remove->call.arena, rows[0]);
    remove->version = follow_version_after(rows[1]);
    store_batch_put(batch, 1, follow_version_row(remove->call.arena, remove->version));
    remove->stream_row = STR_NULL;
    if (table.stream != STREAM_NONE) {
        remove->stream_row = stream_stop(remove->call.engine, &table, batch, remove->call.arena);
    }
    remove->is_kept = table.history_space != 0;
    if (remove->is_kept) {
        backup_keep_deleted(remove, &table, batch);
    }
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = table_spaces(&table, remove->is_kept, spaces);
    for (size_t i = 0; i < count; i++) {
        store_batch_put_owned(batch, catalog_drop_key(remove->call.arena, spaces[i]), STR(""));
    }
    return true;
}

static void delete_done(struct store_update *update)
{
    struct table_delete *remove = CONTAINER_OF(update, struct table_delete, update);
    engine_set_store_error(&remove->call.err, update->status);
    bool ok = remove->call.err.code == ERR_NONE;
    if (ok) {
        struct engine *engine = remove->call.engine;
        stream_publish(engine, remove->stream_row, remove->version);
        struct table_entry *entry =
            make_entry(engine, remove->row, remove->version, &remove->call.err);
        assert(entry != NULL); /* eval has read it */
        remove->table = &entry->table;
        withdraw(engine, remove->table, remove->version);
        follow_note_change(engine, remove->version);
        uint32_t spaces[TABLE_SPACES_MAX];
        size_t count = table_spaces(remove->table, remove->is_kept, spaces);
        if (count > 0) {
            catalog_drop_spaces(engine, spaces, count);
        }
        background_wake(&engine->recovery);
    }
    follow_finish_call(&remove->call, ok ? remove->version : 0);
}

void engine_delete_table(struct table_delete *remove)
{
    struct engine_call *call = &remove->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 2);
    keys[0] = catalog_key(call->arena, "table", remove->name);
    keys[1] = follow_version_key(call->arena);
    remove->table = NULL;
    remove->update = (struct store_update){
        .keys = keys,
        .key_count = 2,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = delete_eval,
        .done = delete_done,
    };
    store_update(call->engine->store, &remove->update);
}
