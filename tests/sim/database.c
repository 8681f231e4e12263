/* An engine that is called in this process, and the check of its files: see database.h. A call runs
 * on the calling thread, which waits at a mailbox while the store works. */
#include "database.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/api.h"
#include "engine/verify.h"
#include "store/image/image.h"

struct waiting_call {
    struct api_call call;
    bool done;
};

static void call_done(struct api_call *call)
{
    CONTAINER_OF(call, struct waiting_call, call)->done = true;
}

bool database_open(struct database *database, struct store *store, struct err *err)
{
    static const int64_t month_ms = INT64_C(30) * 24 * 3600 * 1000; /* longer than any run */
    struct engine_options options = {.region = STR("r"),
                                     .account = STR("000000000000"),
                                     .stream_shards = 1,
                                     .stream_shard_ms = month_ms,
                                     .stream_retention_ms = month_ms};
    *database = (struct database){.store = store};
    arena_init(&database->arena);
    if (!engine_open(store, &options, &database->engine, err)) {
        database_close(database);
        return false;
    }
    database->api = api_thread_create(database->engine);
    database->mailbox = waiting_mailbox_create();
    waiting_mailbox_box(database->mailbox)->may_block = true;
    return true;
}

bool database_open_directory(struct database *database, const char *directory, struct err *err)
{
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    return store_open(arena_format(err->arena, "rocksdb:%s", directory), &options, &store, err) &&
           database_open(database, store, err);
}

void database_close(struct database *database)
{
    engine_close(database->engine);
    store_close(database->store); /* before the mailbox, to which it may still post */
    api_thread_destroy(database->api);
    if (database->mailbox != NULL) {
        waiting_mailbox_destroy(database->mailbox);
    }
    arena_finish(&database->arena);
    buf_finish(&database->answer);
}

static int run_call(struct database *database, enum api_family family, const char *operation,
                    struct str body)
{
    database->answer.len = 0;
    struct waiting_call waiting = {.call = {.thread = database->api,
                                            .family = family,
                                            .operation = str_from_c(operation),
                                            .body = body,
                                            .arena = &database->arena,
                                            .home = waiting_mailbox_box(database->mailbox),
                                            .out = &database->answer,
                                            .out_is_exclusive = true,
                                            .done = call_done}};
    api_run(&waiting.call);
    waiting_mailbox_run(database->mailbox, &waiting.done);
    arena_reset(&database->arena);
    return waiting.call.status;
}

int database_call(struct database *database, const char *operation, struct str body)
{
    return run_call(database, API_DYNAMODB, operation, body);
}

int database_call_streams(struct database *database, const char *operation, struct str body)
{
    return run_call(database, API_STREAMS, operation, body);
}

/* Files --------------------------------------------------------------------------------------- */

static void count_file_damage(void *context, const struct finding *finding)
{
    if (finding->severity == FINDING_DAMAGE) {
        printf("%s: %s\n", finding->file, finding->text);
        ++*(uint64_t *)context;
    }
}

static void count_row_damage(void *context, const struct verify_finding *finding)
{
    if (!finding->is_harmless) {
        printf("table \"%.*s\": %s\n", STR_ARG(finding->table), finding->text);
        ++*(uint64_t *)context;
    }
}

static void verify_rows(struct image *image, uint64_t *damage)
{
    struct verifier *verifier =
        verifier_create(image_summary(image)->seed, count_row_damage, damage);
    bool again = true;
    while (again) {
        for (struct image_row row; image_next(image, &row);) {
            verifier_add(verifier, row.key, row.value);
        }
        again = verifier_end_pass(verifier);
        image_rewind(image);
    }
    verifier_destroy(verifier);
}

uint64_t database_check_files(const char *directory)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    uint64_t damage = 0;
    struct image_options options = {
        .directory = directory, .report = count_file_damage, .context = &damage};
    struct image *image;
    if (image_open(&options, &image, &err)) {
        verify_rows(image, &damage);
        image_close(image);
    } else {
        printf("cannot be checked: %.*s\n", STR_ARG(err.message));
        damage = UINT64_MAX;
    }
    arena_finish(&arena);
    return damage;
}
