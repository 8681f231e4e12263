/* engine/load.h: the rows of imports and bulk puts. src/transfer carries them out, on its own
 * threads; this folder stores their rows, for the operations and for src/transfer.
 *
 *   catalog | "import", "bulk" | ID/TABLE      a load (codec/stored_load.h)
 *   catalog | "load-token" | kind, hash        row name of the load that was started with the token
 *
 * A load is running as long as its row says so, through restarts. Only one server works on loads
 * (store_leads_transfers()); every step of one is an update of its row that fails if the row has
 * ended meanwhile. */
#ifndef GRAMME_ENGINE_LOAD_H
#define GRAMME_ENGINE_LOAD_H

#include "codec/stored_load.h"
#include "engine/background.h"
#include "engine/catalog_list.h"
#include "engine/engine.h"

/* How many may run at once, of each kind. */
enum { LOADS_MAX = 50 };

/* The ARN of a load, from the name of its row. */
struct str load_arn(const struct engine *engine, struct arena *arena, enum load_kind kind,
                    struct str row_name);
/* The name of the row, from the two parts of an ARN. */
struct str load_row_name(struct arena *arena, struct str id, struct str table_name);
/* The part of a row's name that is the id. */
struct str load_id(struct str row_name);

/* --- starting --- */

/* Starts a load, or finds the one that was started with the same token within eight hours. Fill in
 * `call` and `load`, whose start_ms is set here. */
struct load_start {
    struct engine_call call; /* ERR_LIMIT_EXCEEDED if `is_full` and the token is new */
    struct load load;
    bool is_full; /* no more may be started */

    struct str row_name; /* of the new one, or of the one with that token */
    bool is_repeated;    /* it is one with that token: nothing was started */
    struct str digest;   /* if it is repeated: of the first request */
    struct str keys[2];  /* private to the engine, like the next member */
    struct store_update update;
};
/* Starts a load. */
void engine_start_load(struct load_start *start);

/* --- looking --- */

struct load_get {
    struct engine_call call; /* ERR_RESOURCE_NOT_FOUND without a message: there is none */
    enum load_kind kind;
    struct str row_name;
    struct load load; /* in call.arena */
    struct store_get get;
    struct str key;
};
/* Reads a load. */
void engine_get_load(struct load_get *get);

struct load_entry {
    struct str row_name;
    struct load load;
};

/* Loads of a kind, the newest first. */
struct load_list {
    struct engine_call call;
    enum load_kind kind;
    struct str before;     /* a row's name, which need not exist; STR_NULL: from the newest */
    struct str table_name; /* STR_NULL: of all tables */
    bool running;          /* only those that have not ended */
    size_t limit;

    struct load_entry *entries;
    size_t count;
    bool more;
    struct catalog_list rows; /* private to the engine */
};
/* Lists loads. */
void engine_list_loads(struct load_list *list);

/* --- cancelling --- */

/* Makes a bulk put that is running CANCELLING. */
struct load_cancel {
    struct engine_call call; /* ERR_RESOURCE_NOT_FOUND without a message: there is none */
    struct str row_name;
    struct load load; /* as it is then */
    struct store_update update;
    struct str key;
};
/* Cancels a load. */
void engine_cancel_load(struct load_cancel *cancel);

/* --- working on loads: on a background thread --- */

/* Registers the function that is called, on any thread, when a load was started or cancelled on
 * this server. NULL unregisters it. */
void engine_on_load(struct engine *engine, void (*wake)(void *context), void *context);

/* The result of an update of a load's row. */
enum load_saved {
    LOAD_SAVED,
    LOAD_CANCEL_WANTED, /* saved, and the load must end: it was cancelled */
    LOAD_GONE,          /* the row says that it has ended: another server has ended it */
    LOAD_NOT_SAVED,     /* the store failed: try again */
};
/* Writes the load's progress, or its end. A state of CANCELLING in the row stays, unless the load
 * ends. */
MUST_USE enum load_saved load_save(struct background *background, struct arena *arena,
                                   struct str row_name, const struct load *load);
/* The same with the end of an import: its table becomes ACTIVE. */
MUST_USE enum load_saved load_finish_import(struct background *background, struct arena *arena,
                                            struct str row_name, const struct load *load);
/* Makes the table of an import, CREATING. ERR_RESOURCE_IN_USE: there is another one of that name.
 * ERR_TABLE_CHANGED: it is in the store, but this server does not know it yet: try again. */
MUST_USE bool load_create_table(struct background *background, struct arena *arena,
                                const struct load *load, struct err *err);
/* Deletes the table of an import that failed. It need not exist. False: try again. */
MUST_USE bool load_drop_table(struct background *background, struct arena *arena,
                              const struct load *load, struct err *err);
/* Erases the rows of a load and of its token. */
MUST_USE bool load_forget(struct background *background, struct arena *arena, struct str row_name,
                          const struct load *load);
/* Returns the time by which the rows of old loads are erased (engine/trusted_clock.h). */
int64_t load_clock_ms(struct engine *engine);
/* The bytes that an item takes in an index; 0: it is not in it. */
size_t load_index_bytes(const struct engine *engine, const struct table *table,
                        const struct index *index, const struct item_key *key, struct value item,
                        struct arena *arena);

#endif
