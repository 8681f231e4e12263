/* engine/notes.h: small named rows that layers above the engine keep in the store, such as access
 * patterns. They are not data of clients, and may be lost without harm. */
#ifndef GRAMME_ENGINE_NOTES_H
#define GRAMME_ENGINE_NOTES_H

#include "engine/engine.h"

struct note {
    struct str name;  /* up to 64 bytes */
    struct str value; /* STR_NULL: erases it */
};

/* Writes or erases notes, all or none. `notes` must live until done(). */
struct notes_write {
    struct engine_call call; /* call.err: the store accepts no writes */
    const struct note *notes;
    size_t count;
    struct store_update update; /* private to the engine, as the next */
    struct str key;
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
