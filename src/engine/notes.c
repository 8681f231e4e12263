/* Notes: see notes.h. All are in one part of one space, and are owned by the row with the empty
 * name, which is never written. Any thread; done() on the thread of `home`. */
#include "engine/notes.h"

#include "base/bytes.h"
#include "engine/engine_internal.h"

static struct str note_key(struct arena *arena, struct str name)
{
    static const uint8_t part[STORE_PART_LEN] = {0};
    char *key = arena_bytes(arena, STORE_PREFIX_LEN + name.len);
    put_u32_be(key, SPACE_NOTES);
    memcpy(key + STORE_SPACE_LEN, part, STORE_PART_LEN);
    if (name.len > 0) {
        memcpy(key + STORE_PREFIX_LEN, name.data, name.len);
    }
    return str_make(key, STORE_PREFIX_LEN + name.len);
}

static bool write_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct notes_write *write = CONTAINER_OF(update, struct notes_write, update);
    for (size_t i = 0; i < write->count; i++) {
        const struct note *note = &write->notes[i];
        struct str key = note_key(update->arena, note->name);
        if (str_is_null(note->value)) {
            store_batch_erase_owned(batch, key);
        } else {
            store_batch_put_owned(batch, key, note->value);
        }
    }
    return true;
}

static void write_done(struct store_update *update)
{
    struct notes_write *write = CONTAINER_OF(update, struct notes_write, update);
    engine_set_store_error(&write->call.err, update->status);
    write->call.done(&write->call);
}

void engine_write_notes(struct notes_write *write)
{
    write->key = note_key(write->call.arena, STR(""));
    write->update = (struct store_update){
        .keys = &write->key,
        .key_count = 1,
        .arena = write->call.arena,
        .home = write->call.home,
        .eval = write_eval,
        .done = write_done,
    };
    store_update(write->call.engine->store, &write->update);
}

static bool read_row(struct store_range *range, struct str key, struct str value)
{
    struct notes_read *read = CONTAINER_OF(range, struct notes_read, range);
    struct str name = str_skip(key, STORE_PREFIX_LEN);
    read->emit(read, name, value);
    return true;
}

static void read_done(struct store_range *range)
{
    struct notes_read *read = CONTAINER_OF(range, struct notes_read, range);
    engine_set_store_error(&read->call.err, range->status);
    read->call.done(&read->call);
}

void engine_read_notes(struct notes_read *read)
{
    struct arena *arena = read->call.arena;
    struct str lo = note_key(arena, read->prefix);
    read->range = (struct store_range){
        .lo = lo,
        .hi = key_after_prefix(arena, lo),
        .arena = arena,
        .home = read->call.home,
        .row = read_row,
        .done = read_done,
    };
    store_range(read->call.engine->store, &read->range);
}
