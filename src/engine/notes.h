/* engine/notes.h: small named rows that layers above the engine keep in the store, such as access
 * patterns. They are not data of clients, and may be lost without harm. */
#ifndef GRAMME_ENGINE_NOTES_H
#define GRAMME_ENGINE_NOTES_H

#include "engine/engine.h"

/* Returns a number that identifies the value of a note; 0 for STR_NULL: there is none. */
uint64_t note_hash(struct str value);

struct note {
    struct str name;  /* up to 64 bytes; no two in one write are the same */
    struct str value; /* STR_NULL: erases it */
    /* note_hash() of the value that the note must still have: servers that share a store write the
     * same notes. If it is that of `value`, the note is only checked. */
    uint64_t expected;
    bool is_changed;  /* set by a write that was refused: it has another value, */
    struct str found; /* this one, in call.arena; STR_NULL: none */
};

/* Writes or erases notes, all or none. Refused, without an error, if a note is not as expected.
 * `notes` must live until done(). */
struct notes_write {
    struct engine_call call; /* call.err: the store accepts no writes */
    struct note *notes;
    size_t count;
    bool is_refused;
    struct store_update update; /* private to the engine */
};
/* Starts a write. */
void engine_write_notes(struct notes_write *write);

/* Calls `emit` for each note whose name starts with `prefix`, in the order of names, on any thread.
 */
struct notes_read {
    struct engine_call call;
    struct str prefix;
    void (*emit)(struct notes_read *read, struct str name, struct str value);
    struct store_range range; /* private to the engine */
};
/* Starts a read. */
void engine_read_notes(struct notes_read *read);

#endif
