/* engine/notes.h: small named rows that parts above the engine keep in the store, such as access
 * patterns. They are no data of clients: losing them is a nuisance, no more. */
#ifndef GRAMME_ENGINE_NOTES_H
#define GRAMME_ENGINE_NOTES_H

#include "engine/engine.h"

struct note {
    struct str name;  /* up to 64 bytes */
    struct str value; /* STR_NULL: erases it */
};

/* Writes or erases notes, all or none. They live until done(). */
struct notes_write {
    struct engine_call call; /* call.err: the store takes no writes */
    const struct note *notes;
    size_t count;
    struct store_update update; /* the engine's own, like the next */
    struct str key;
};
void engine_write_notes(struct notes_write *write);

/* Gives each note whose name starts with `prefix` to `emit`, in order of names, on any thread. */
struct notes_read {
    struct engine_call call;
    struct str prefix;
    void (*emit)(struct notes_read *read, struct str name, struct str value);
    struct store_range range; /* the engine's own */
};
void engine_read_notes(struct notes_read *read);

#endif
