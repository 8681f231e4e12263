/* Records of the server: see records.h. Called when the server starts, by administration
 * operations, and every second to detect changes by another server.
 *
 *   records | kind       | name     the record's text
 *   records | "revision" |          how often records were changed, i64 big-endian */
#include "engine/records.h"

#include "base/bytes.h"
#include "engine/engine_internal.h"

#define REVISION_PART "revision"

enum { READS_MAX = 100 };

static struct str record_key(struct arena *arena, const char *kind, struct str name)
{
    struct key_writer writer;
    char padded[KEY_HASH_LEN] = {0};
    assert(strlen(kind) <= RECORD_KIND_MAX);
    memcpy(padded, kind, strlen(kind));
    key_start(&writer, arena, SPACE_RECORDS);
    key_add_bytes(&writer, str_make(padded, sizeof(padded)));
    if (name.len > 0) {
        key_add_bytes(&writer, name);
    }
    return key_finish(&writer);
}

static int64_t revision_of(struct str row)
{
    return row.len == sizeof(uint64_t) ? (int64_t)get_u64_be((const uint8_t *)row.data) : 0;
}

/* Changes ----------------------------------------------------------------------------------- */

struct change {
    struct store_update update;
    int64_t revision;
    const struct record_change *changes;
    size_t count;
    bool is_stale;
    bool is_done;
};

/* The first key is that of the revision. */
static bool change_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct change *change = CONTAINER_OF(update, struct change, update);
    change->is_stale = revision_of(rows[0]) != change->revision;
    if (change->is_stale) {
        return false;
    }
    uint8_t *row = arena_alloc(update->arena, sizeof(uint64_t));
    put_u64_be(row, (uint64_t)change->revision + 1);
    store_batch_put(batch, 0, str_make(row, sizeof(uint64_t)));
    for (size_t i = 0; i < change->count; i++) {
        if (str_is_null(change->changes[i].value)) {
            store_batch_erase(batch, i + 1);
        } else {
            store_batch_put(batch, i + 1, arena_copy(update->arena, change->changes[i].value));
        }
    }
    return true;
}

static void change_done(struct store_update *update)
{
    CONTAINER_OF(update, struct change, update)->is_done = true;
}

static bool only_erases(const struct record_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_is_null(changes[i].value)) {
            return false;
        }
    }
    return true;
}

static enum records_status status_of(const struct change *change, struct err *err)
{
    enum store_status status = change->update.status;
    if (status == STORE_NO_WRITE && change->is_stale) {
        return RECORDS_STALE;
    }
    engine_set_store_error(err, status);
    return err->code == ERR_NONE ? RECORDS_CHANGED : RECORDS_FAILED;
}

enum records_status engine_change_records(struct engine *engine, int64_t revision,
                                          const struct record_change *changes, size_t change_count,
                                          struct err *err)
{
    assert(change_count <= RECORD_CHANGES_MAX);
    struct arena arena;
    arena_init(&arena);
    struct str keys[RECORD_CHANGES_MAX + 1];
    keys[0] = record_key(&arena, REVISION_PART, STR(""));
    for (size_t i = 0; i < change_count; i++) {
        keys[i + 1] = record_key(&arena, changes[i].kind, changes[i].name);
    }
    struct waiting_mailbox *mailbox = waiting_mailbox_create();
    struct change change = {.revision = revision, .changes = changes, .count = change_count};
    change.update = (struct store_update){
        .keys = keys,
        .key_count = change_count + 1,
        .arena = &arena,
        .home = waiting_mailbox_box(mailbox),
        .eval = change_eval,
        .frees = only_erases(changes, change_count) ? STORE_FREES_ROWS : STORE_FREES_NOTHING,
        .done = change_done,
    };
    store_update(engine->store, &change.update);
    waiting_mailbox_run(mailbox, &change.is_done);
    waiting_mailbox_destroy(mailbox);
    arena_finish(&arena);
    return status_of(&change, err);
}

/* Reading ----------------------------------------------------------------------------------- */

struct reading {
    struct catalog_read read;
    const char *kind;
    record_visitor *visit;
    void *context;
};

static bool read_record(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct reading *reading = CONTAINER_OF(range, struct reading, read.range);
    return reading->visit(reading->context, reading->kind, value, reading->read.err);
}

static void read_kind(struct reading *reading, const char *kind)
{
    struct str prefix = record_key(reading->read.arena, kind, STR(""));
    reading->kind = kind;
    reading->read.range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(reading->read.arena, prefix),
        .row = read_record,
    };
    catalog_read(&reading->read);
}

static bool keep_revision(void *context, const char *kind, struct str value, struct err *err)
{
    (void)kind;
    (void)err;
    *(int64_t *)context = revision_of(value);
    return true;
}

bool engine_records_revision(struct engine *engine, int64_t *out, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    *out = 0;
    struct reading reading = {
        .read = {.engine = engine, .err = err, .arena = &arena},
        .visit = keep_revision,
        .context = out,
    };
    read_kind(&reading, REVISION_PART);
    arena_finish(&arena);
    return err->code == ERR_NONE;
}

/* Several ranges are not a snapshot; they are one if the revision is the same before and after. */
bool engine_read_records(struct engine *engine, const char *const *kinds, record_visitor *visit,
                         void (*restart)(void *context), void *context, int64_t *out_revision,
                         struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct reading reading = {
        .read = {.engine = engine, .err = err, .arena = &arena},
        .visit = visit,
        .context = context,
    };
    bool is_whole = false;
    for (int i = 0; i < READS_MAX && !is_whole && err->code == ERR_NONE; i++) {
        int64_t after = 0;
        if (i > 0) {
            restart(context);
        }
        if (!engine_records_revision(engine, out_revision, err)) {
            break;
        }
        for (size_t k = 0; kinds[k] != NULL; k++) {
            read_kind(&reading, kinds[k]);
        }
        is_whole = engine_records_revision(engine, &after, err) && after == *out_revision;
    }
    arena_finish(&arena);
    return is_whole ||
           err_set(err, ERR_SERVICE_UNAVAILABLE, "records change faster than they can be read");
}
