/* Notes: see notes.h. All are in one part of one space. Any thread; done() on the thread of `home`.
 */
#include "engine/notes.h"

#include "base/bytes.h"
#include "base/hash.h"
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

uint64_t note_hash(struct str value)
{
    return str_is_null(value) ? 0 : hash_64(value) | 1;
}

/* Whether the note is as expected; if not, keeps what it is. */
static bool check_note(struct store_update *update, struct note *note, struct str row)
{
    note->is_changed = note_hash(row) != note->expected;
    note->found = STR_NULL;
    if (note->is_changed && !str_is_null(row)) {
        note->found = arena_copy(update->arena, row);
    }
    return !note->is_changed;
}

static bool write_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct notes_write *write = CONTAINER_OF(update, struct notes_write, update);
    bool good = true;
    for (size_t i = 0; i < write->count; i++) {
        good = check_note(update, &write->notes[i], rows[i]) && good;
    }
    for (size_t i = 0; good && i < write->count; i++) {
        const struct note *note = &write->notes[i];
        if (str_is_null(note->value)) {
            store_batch_erase(batch, i);
        } else if (note_hash(note->value) != note->expected) {
            store_batch_put(batch, i, note->value);
        }
    }
    return good;
}

static void write_done(struct store_update *update)
{
    struct notes_write *write = CONTAINER_OF(update, struct notes_write, update);
    write->is_refused = update->status == STORE_NO_WRITE;
    if (!write->is_refused) {
        engine_set_store_error(&write->call.err, update->status);
    }
    write->call.done(&write->call);
}

void engine_write_notes(struct notes_write *write)
{
    struct str *keys = ARENA_ARRAY(write->call.arena, struct str, write->count);
    for (size_t i = 0; i < write->count; i++) {
        keys[i] = note_key(write->call.arena, write->notes[i].name);
    }
    write->update = (struct store_update){
        .keys = keys,
        .key_count = write->count,
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
