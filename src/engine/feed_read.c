/* Reading feeds, erasing what was delivered, and states of destinations. Called by the delivery
 * threads of src/kinesis, which wait for the store. */
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/feed_internal.h"

/* --- the catalog --- */

struct feed_list {
    struct background_range range;
    struct arena *arena; /* of the feeds */
    struct feed *feeds;
    size_t count;
    size_t capacity;
};

static bool add_feed(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct feed_list *list = CONTAINER_OF(range, struct feed_list, range.range);
    if (list->count == list->capacity) {
        size_t capacity = MAX(2 * list->capacity, (size_t)16);
        struct feed *feeds = ARENA_ARRAY(list->arena, struct feed, capacity);
        if (list->count > 0) {
            memcpy(feeds, list->feeds, list->count * sizeof(*feeds));
        }
        list->feeds = feeds;
        list->capacity = capacity;
    }
    if (feed_decode(list->arena, value, &list->feeds[list->count])) {
        list->count++;
    }
    return true;
}

bool feed_read_all(struct background *background, struct arena *arena, struct feed **out,
                   size_t *out_count)
{
    struct arena scratch;
    arena_init(&scratch);
    struct str prefix = catalog_key(&scratch, "feed", STR(""));
    struct feed_list list = {.arena = arena};
    list.range.range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(&scratch, prefix),
        .arena = &scratch,
        .row = add_feed,
    };
    bool ok = background_range(background, &list.range) == STORE_OK;
    arena_finish(&scratch);
    *out = list.feeds;
    *out_count = list.count;
    return ok;
}

bool feed_is_settled(const struct engine *engine, const struct feed *feed)
{
    return follow_is_settled(engine, feed->version);
}

struct store_count feed_backlog(struct background *background, const struct feed *feed,
                                struct arena *arena)
{
    return background_space_size(background, feed->space, arena);
}

/* --- records --- */

struct record_read {
    struct background_range range;
    struct feed_read *read;
    struct arena *arena; /* of the records */
};

static bool add_record(struct store_range *range, struct str key, struct str value)
{
    struct record_read *reading = CONTAINER_OF(range, struct record_read, range.range);
    struct feed_read *read = reading->read;
    read->out[read->count++] = (struct feed_record){
        .slot = read->slot,
        .stamp = stream_key_stamp(key),
        .bytes = value.len,
        .change = stream_record_decode(arena_copy(reading->arena, value)),
    };
    read->bytes += value.len;
    return read->count < read->limit && read->bytes < read->bytes_max;
}

bool feed_read(struct background *background, const struct feed *feed, struct feed_read *read,
               struct arena *arena)
{
    struct arena scratch;
    arena_init(&scratch);
    struct stream_shard shard = {.slot = read->slot};
    struct record_read reading = {.read = read, .arena = arena};
    read->count = 0;
    read->bytes = 0;
    reading.range.range = (struct store_range){
        .lo = stream_record_key(&scratch, feed->space, shard, read->after + 1),
        .hi = key_after_prefix(&scratch, stream_prefix(&scratch, feed->space, shard)),
        .arena = &scratch,
        .rows_wanted = read->limit,
        .row = add_record,
    };
    bool ok = background_range(background, &reading.range) == STORE_OK;
    arena_finish(&scratch);
    return ok;
}

struct cursor_read {
    struct background_range range;
    const struct feed *feed;
    uint64_t *out;
};

static bool add_cursor(struct store_range *range, struct str key, struct str value)
{
    struct cursor_read *reading = CONTAINER_OF(range, struct cursor_read, range.range);
    uint32_t slot = stream_key_shard(key).slot;
    assert(slot < reading->feed->slot_count);
    reading->out[slot] = stream_trim_decode(value).stamp;
    return true;
}

bool feed_read_cursors(struct background *background, const struct feed *feed, uint64_t *out)
{
    struct arena scratch;
    arena_init(&scratch);
    struct str first = stream_trim_key(&scratch, feed->space, 0);
    struct cursor_read reading = {.feed = feed, .out = out};
    memset(out, 0, feed->slot_count * sizeof(*out));
    reading.range.range = (struct store_range){
        .lo = first,
        .hi = key_after_prefix(&scratch, str_make(first.data, STORE_SPACE_LEN)),
        .arena = &scratch,
        .row = add_cursor,
    };
    bool ok = background_range(background, &reading.range) == STORE_OK;
    arena_finish(&scratch);
    return ok;
}

/* --- erasing --- */

struct erasure {
    struct background_update update;
    const struct feed *feed;
    uint64_t after;
    const struct feed_record *records;
    size_t count;
    struct str cursor_key;
};

static bool erase_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    const struct erasure *erasure = CONTAINER_OF(update, struct erasure, update.update);
    const struct feed *feed = erasure->feed;
    struct arena *arena = update->arena;
    if (stream_trim_decode(rows[0]).stamp != erasure->after) {
        return false;
    }
    struct stream_trimmed last = {.stamp = erasure->records[erasure->count - 1].stamp};
    store_batch_put(batch, 0, stream_trim_row(arena, last));
    int64_t bytes = 0;
    for (size_t i = 0; i < erasure->count; i++) {
        const struct feed_record *record = &erasure->records[i];
        struct stream_shard shard = {.slot = record->slot};
        store_batch_erase_owned(batch, stream_record_key(arena, feed->space, shard, record->stamp));
        bytes += (int64_t)record->bytes;
    }
    space_count(batch, arena, feed->space, -(int64_t)erasure->count, -bytes);
    return true;
}

enum store_status feed_erase(struct background *background, const struct feed *feed, uint64_t after,
                             const struct feed_record *records, size_t count)
{
    assert(count > 0);
    struct arena arena;
    arena_init(&arena);
    struct erasure erasure = {
        .feed = feed,
        .after = after,
        .records = records,
        .count = count,
        .cursor_key = stream_trim_key(&arena, feed->space, records[0].slot),
    };
    erasure.update.update = (struct store_update){
        .keys = &erasure.cursor_key,
        .key_count = 1,
        .arena = &arena,
        .eval = erase_eval,
        .frees = STORE_FREES_ROWS,
    };
    enum store_status status = background_update(background, &erasure.update);
    arena_finish(&arena);
    return status;
}

/* --- the end of a feed --- */

struct removal {
    struct background_update update;
    struct str keys[2];
};

static bool remove_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    (void)update;
    if (str_is_null(rows[0])) {
        return false; /* another server has removed it */
    }
    store_batch_erase(batch, 0);
    store_batch_put(batch, 1, STR(""));
    return true;
}

bool feed_remove(struct background *background, const struct feed *feed)
{
    struct arena arena;
    arena_init(&arena);
    struct removal removal = {
        .keys = {feed_key(&arena, feed->space), catalog_drop_key(&arena, feed->space)},
    };
    removal.update.update = (struct store_update){
        .keys = removal.keys,
        .key_count = COUNT_OF(removal.keys),
        .arena = &arena,
        .eval = remove_eval,
        .frees = STORE_FREES_SPACES,
    };
    enum store_status status = background_update(background, &removal.update);
    if (status == STORE_OK) {
        catalog_drop_spaces(background->engine, &feed->space, 1);
    }
    arena_finish(&arena);
    return status == STORE_OK || status == STORE_NO_WRITE;
}

/* --- states --- */

struct state_change {
    struct background_change change;
    const struct feed_transition *transition;
};

/* The number of the destination that is to change; SIZE_MAX: there is none. */
static size_t find_destination(const struct feed_transition *transition, const struct table *table)
{
    if (memcmp(table->id, transition->table_id, sizeof(table->id)) != 0) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < table->destination_count; i++) {
        if (table->destinations[i].state == transition->from &&
            str_eq(table->destinations[i].stream_arn, transition->stream_arn)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static const struct table *change_state(struct table_change *change, const struct table *table)
{
    const struct feed_transition *transition =
        CONTAINER_OF(change, struct state_change, change.change)->transition;
    size_t number = find_destination(transition, table);
    if (number == SIZE_MAX) {
        err_set(&change->call.err, ERR_RESOURCE_NOT_FOUND, "the destination has changed");
        return NULL;
    }
    struct arena *arena = change->call.arena;
    struct table *made = ARENA_NEW(arena, struct table);
    struct kinesis_destination *destinations =
        ARENA_ARRAY(arena, struct kinesis_destination, table->destination_count);
    memcpy(destinations, table->destinations, table->destination_count * sizeof(*destinations));
    struct kinesis_destination *destination = &destinations[number];
    *made = *table;
    made->destinations = destinations;
    destination->state = transition->to;
    destination->changed_ms = change->update.time_ns / 1000000;
    destination->problem = transition->problem;
    if (transition->to == DESTINATION_ACTIVE) {
        feed_update(change, made, number);
    } else {
        destination->precision = PRECISION_NOT_SET;
        destination->updated_ms = 0;
    }
    if (transition->to == DESTINATION_ENABLE_FAILED) {
        feed_end(change, made, number);
    }
    return made;
}

bool feed_change_state(struct background *background, const struct feed_transition *transition)
{
    struct arena arena;
    arena_init(&arena);
    struct state_change change = {.transition = transition};
    change.change.change = (struct table_change){
        .call = {.arena = &arena},
        .name = transition->table_name,
        .change = change_state,
    };
    background_change(background, &change.change);
    enum err_code code = change.change.change.call.err.code;
    arena_finish(&arena);
    return code == ERR_NONE || code == ERR_RESOURCE_NOT_FOUND;
}

static bool is_disabling(const struct table *table)
{
    size_t number = table_live_destination(table);
    return number != SIZE_MAX && table->destinations[number].state == DESTINATION_DISABLING;
}

void feed_each_disabling(struct engine *engine,
                         void (*visit)(void *context, const struct table *table,
                                       const struct kinesis_destination *destination),
                         void *context)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count = catalog_collect(engine, is_disabling, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        visit(context, tables[i], &tables[i]->destinations[table_live_destination(tables[i])]);
        table_release(tables[i]);
    }
    arena_finish(&arena);
}
