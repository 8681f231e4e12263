/* Tables: their descriptions, in the store and in memory.
 *
 * The store decides (an update on the table's catalog row); memory follows, in the order of commits
 * and before the client is answered. Descriptions are counted and never changed, so a call that
 * holds one can go on while the table changes; that a table is gone it learns from the store
 * (STORE_GONE).
 *
 *   catalog | "table" | name     a description (codec/table.h)
 *   catalog | "next"  |          the next free space, u32
 *   catalog | "drop"  | space    a space whose table is gone; erased when its rows are
 *
 * Streams have rows of their own: see stream_catalog.c. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/table.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

struct table_entry {
    atomic_int references;
    struct engine *engine;
    bool is_replaced; /* and in engine->replaced */
    struct table_entry *next_replaced;
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
    pthread_rwlock_unlock(&engine->tables_lock);
    arena_finish(&entry->arena);
    mem_free(entry);
}

bool catalog_is_settled(struct engine *engine, const struct table *table)
{
    bool settled = true;
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
    bool knows = newest != NULL && newest->table.stream_space == stream->space;
    for (struct table_entry *old = engine->replaced; old != NULL; old = old->next_replaced) {
        knows = knows || old->table.stream_space == stream->space;
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return knows;
}

bool catalog_ignores_stream(struct engine *engine, const struct stream *stream)
{
    bool ignores = false;
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
static void note_replaced(struct engine *engine, struct table_entry *entry)
{
    entry->is_replaced = true;
    entry->next_replaced = engine->replaced;
    engine->replaced = entry;
}

/* Makes the row of a table known; the map holds one reference. Returns one more. */
static const struct table *publish(struct engine *engine, struct str row, struct err *err)
{
    struct table_entry *entry = mem_zalloc(sizeof(*entry));
    arena_init(&entry->arena);
    entry->engine = engine;
    atomic_init(&entry->references, 2);
    if (!table_decode(&entry->arena, row, &entry->table, err)) {
        arena_finish(&entry->arena);
        mem_free(entry);
        return NULL;
    }
    pthread_rwlock_wrlock(&engine->tables_lock);
    struct table_entry *before = map_put(&engine->tables, entry->table.name, entry);
    if (before != NULL) {
        note_replaced(engine, before);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    if (before != NULL) {
        table_release(&before->table);
    }
    return &entry->table;
}

/* Forgets a table and returns the map's reference to it. */
static const struct table *withdraw(struct engine *engine, struct str name)
{
    pthread_rwlock_wrlock(&engine->tables_lock);
    struct table_entry *entry = map_remove(&engine->tables, name);
    if (entry != NULL) {
        note_replaced(engine, entry);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
    return entry == NULL ? NULL : &entry->table;
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

enum { TABLE_SPACES_MAX = 3 + CAPACITY_INDEX_MAX };

static size_t table_spaces(const struct table *table, uint32_t out[TABLE_SPACES_MAX])
{
    size_t count = 0;
    out[count++] = table->space;
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

struct load {
    struct catalog_read read;
    uint32_t *dropped; /* spaces whose tables were gone when we stopped */
    size_t dropped_count;
};

static bool load_table(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct load *load = CONTAINER_OF(range, struct load, read.range);
    const struct table *table = publish(load->read.engine, value, load->read.err);
    table_release(table);
    return table != NULL;
}

static bool load_drop(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct load *load = CONTAINER_OF(range, struct load, read.range);
    load->dropped = mem_realloc(load->dropped, (load->dropped_count + 1) * sizeof(uint32_t));
    load->dropped[load->dropped_count++] = get_u32_be(key.data + STORE_PREFIX_LEN);
    return true;
}

bool catalog_load(struct engine *engine, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct load load = {.read = {.engine = engine, .err = err, .arena = &arena}};
    catalog_read_part(&load.read, "table", load_table);
    catalog_read_part(&load.read, "drop", load_drop);
    for (size_t i = 0; i < load.dropped_count && err->code == ERR_NONE; i += TABLE_SPACES_MAX) {
        catalog_drop_spaces(engine, load.dropped + i,
                            MIN(load.dropped_count - i, (size_t)TABLE_SPACES_MAX));
    }
    mem_free(load.dropped);
    arena_finish(&arena);
    return err->code == ERR_NONE;
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

/* Changes are made known on one thread, the housekeeper's, and so in the order in which they were
 * committed; then the call goes home. */
static struct mailbox *publisher(struct engine *engine)
{
    return service_begin(&engine->housekeeper);
}

static void end_call(struct task *task)
{
    struct engine_call *call = CONTAINER_OF(task, struct engine_call, task);
    call->done(call);
}

static void go_home(struct engine_call *call)
{
    struct engine *engine = call->engine;
    call->task.run = end_call;
    mailbox_post(call->home, &call->task);
    service_end(&engine->housekeeper);
}

/* --- CreateTable --- */

static bool create_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    create->call.err.code = ERR_NONE;
    if (!str_is_null(rows[0])) {
        return err_set(&create->call.err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_EXISTS,
                       STR_ARG(create->wanted->name));
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
    return true;
}

static void create_done(struct store_update *update)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    engine_set_store_error(&create->call.err, update->status);
    if (create->call.err.code == ERR_NONE) {
        stream_publish(create->call.engine, create->stream_row);
        create->table = publish(create->call.engine, create->row, &create->call.err);
    }
    go_home(&create->call);
}

void engine_create_table(struct table_create *create)
{
    struct engine_call *call = &create->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 2);
    keys[0] = catalog_key(call->arena, "table", create->wanted->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    create->table = NULL;
    create->update = (struct store_update){
        .keys = keys,
        .key_count = 2,
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
        !check_not_creating(change->call.engine, table, err)) {
        return false;
    }
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
    if (change->call.err.code == ERR_NONE) {
        stream_publish(change->call.engine, change->stream_row);
        change->table = publish(change->call.engine, change->row, &change->call.err);
        if (change->dropped_count > 0) {
            catalog_drop_spaces(change->call.engine, change->dropped, change->dropped_count);
        }
        service_wake(&change->call.engine->backfill);
    }
    go_home(&change->call);
}

void engine_change_table(struct table_change *change)
{
    struct engine_call *call = &change->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 2);
    keys[0] = catalog_key(call->arena, "table", change->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    change->table = NULL;
    change->update = (struct store_update){
        .keys = keys,
        .key_count = 2,
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
    remove->stream_row = STR_NULL;
    if (table.stream != STREAM_NONE) {
        remove->stream_row = stream_stop(remove->call.engine, &table, batch, remove->call.arena);
    }
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = table_spaces(&table, spaces);
    for (size_t i = 0; i < count; i++) {
        store_batch_put_owned(batch, catalog_drop_key(remove->call.arena, spaces[i]), STR(""));
    }
    return true;
}

static void delete_done(struct store_update *update)
{
    struct table_delete *remove = CONTAINER_OF(update, struct table_delete, update);
    engine_set_store_error(&remove->call.err, update->status);
    if (remove->call.err.code == ERR_NONE) {
        stream_publish(remove->call.engine, remove->stream_row);
        remove->table = withdraw(remove->call.engine, remove->name);
        uint32_t spaces[TABLE_SPACES_MAX];
        size_t count = table_spaces(remove->table, spaces);
        catalog_drop_spaces(remove->call.engine, spaces, count);
    }
    go_home(&remove->call);
}

void engine_delete_table(struct table_delete *remove)
{
    struct engine_call *call = &remove->call;
    struct str *key = ARENA_NEW(call->arena, struct str);
    *key = catalog_key(call->arena, "table", remove->name);
    remove->table = NULL;
    remove->update = (struct store_update){
        .keys = key,
        .key_count = 1,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = delete_eval,
        .done = delete_done,
    };
    store_update(call->engine->store, &remove->update);
}
