/* engine/engine_testing.h: an engine on a store in memory, for unit tests that call it from one
 * thread. */
#ifndef GRAMME_ENGINE_ENGINE_TESTING_H
#define GRAMME_ENGINE_ENGINE_TESTING_H

#include "base/testing.h"
#include "engine/engine_internal.h"

static struct engine *engine;
static struct store *store;
static struct background background; /* of this thread */
static struct arena arena;
static bool call_is_done;

/* Opens store and engine; `wrap` makes a store for the engine from the one in memory, unless it is
 * NULL. Returns 0, or -1 as set-up functions of cmocka do. */
static inline int open_wrapped_engine(int64_t table_delay_ms,
                                      struct store *(*wrap)(struct store *inner))
{
    struct store_options store_options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct engine_options options = {
        .region = STR("r"), .account = STR("0"), .table_delay_ms = table_delay_ms};
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    background.mailbox = waiting_mailbox_create();
    if (!store_open(STR("memory:"), &store_options, &store, &err)) {
        return -1;
    }
    store = wrap != NULL ? wrap(store) : store;
    if (!engine_open(store, &options, &engine, &err)) {
        return -1;
    }
    background.engine = engine;
    return 0;
}

/* The same on the plain store. */
static inline int open_test_engine(int64_t table_delay_ms)
{
    return open_wrapped_engine(table_delay_ms, NULL);
}

/* Closes both. A tear-down function of cmocka. */
static inline int close_test_engine(void **state)
{
    (void)state;
    engine_close(engine);
    store_close(store);
    waiting_mailbox_destroy(background.mailbox);
    arena_finish(&arena);
    return 0;
}

/* The end of a call: lets finish_call() return. */
static inline void note_call_done(struct engine_call *call)
{
    (void)call;
    call_is_done = true;
}

/* The part of a call that all have in common; finish_call() waits for its end. */
static inline struct engine_call start_call(void)
{
    call_is_done = false;
    return (struct engine_call){
        .engine = engine,
        .arena = &arena,
        .home = waiting_mailbox_box(background.mailbox),
        .err = ERR_INIT(&arena),
        .done = note_call_done,
    };
}

/* Waits for the end of the call, which must have this outcome. */
static inline void finish_call_with(const struct engine_call *call, enum err_code code)
{
    waiting_mailbox_run(background.mailbox, &call_is_done);
    assert_int_equal(call->err.code, code);
}

/* Waits for the end of the call, which must succeed. */
static inline void finish_call(const struct engine_call *call)
{
    finish_call_with(call, ERR_NONE);
}

/* Tries to create a table with the key `pk`, a string. The caller releases it, unless another
 * outcome than ERR_NONE is expected. */
static inline const struct table *try_make_table(struct str name, enum err_code code)
{
    static const struct attribute_definition definition = {.name = STR("pk"), .type = VALUE_S};
    struct table wanted = {
        .name = name,
        .id = "00000000-0000-0000-0000-00000000000",
        .status = STATUS_ACTIVE, /* and made so long ago that it has no delay */
        .billing = BILLING_PAY_PER_REQUEST,
        .key = {.hash = {{.name = STR("pk"), .type = VALUE_S}}, .hash_count = 1},
        .definitions = &definition,
        .definition_count = 1,
    };
    struct table_create create = {.call = start_call(), .wanted = &wanted};
    engine_create_table(&create);
    finish_call_with(&create.call, code);
    return create.table;
}

/* The same, and it must succeed. */
static inline const struct table *make_table(struct str name)
{
    return try_make_table(name, ERR_NONE);
}

#endif
