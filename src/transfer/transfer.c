/* Opens the place for objects, and starts and stops the threads that use it. Called at the start
 * and end of a server, on its main thread. */
#include "transfer/transfer.h"

#include "base/mem.h"
#include "transfer/exporter_internal.h"
#include "transfer/loader.h"

struct transfer {
    struct engine *engine;
    struct objects *objects; /* NULL: there is no place for them */
    struct loader *loader;   /* imports and bulk puts */
    struct exporter exporter;
};

/* The folder beside the data: DIRECTORY.s3. */
static struct str default_directory(struct arena *arena, const struct store *store)
{
    struct str directory = str_from_c(store_directory(store));
    while (directory.len > 1 && directory.data[directory.len - 1] == '/') {
        directory.len--;
    }
    return str_is_null(directory) ? STR_NULL : arena_format(arena, "%.*s.s3", STR_ARG(directory));
}

static bool open_objects(struct transfer *transfer, const struct store *store,
                         const struct objects_options *options, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct objects_options complete = *options;
    if (complete.endpoint.len == 0 && complete.directory.len == 0) {
        complete.directory = default_directory(&arena, store);
    }
    bool has_place = complete.endpoint.len > 0 || complete.directory.len > 0;
    bool good = !has_place || objects_open(&complete, &transfer->objects, err);
    arena_finish(&arena);
    return good;
}

bool transfer_open(struct engine *engine, struct store *store,
                   const struct objects_options *options, struct transfer **out, struct err *err)
{
    struct transfer *transfer = mem_zalloc(sizeof(*transfer));
    transfer->engine = engine;
    if (!open_objects(transfer, store, options, err) ||
        !loader_start(engine, transfer->objects, &transfer->loader, err) ||
        (transfer->objects != NULL &&
         !exporter_start(&transfer->exporter, engine, transfer->objects, err))) {
        transfer_close(transfer);
        return false;
    }
    *out = transfer;
    return true;
}

void transfer_close(struct transfer *transfer)
{
    if (transfer == NULL) {
        return;
    }
    if (transfer->objects != NULL) {
        objects_stop(transfer->objects);
    }
    loader_stop(transfer->loader);
    exporter_stop(&transfer->exporter);
    objects_close(transfer->objects);
    mem_free(transfer);
}

struct objects *transfer_objects(const struct transfer *transfer)
{
    return transfer->objects;
}
