/* `gramme repair`: copies the readable rows of a damaged store to a new one and reports what is
 * lost. The old store is not changed. Runs on the main thread. */
#include <string.h>

#include "cli/commands.h"
#include "cli/store_report.h"
#include "engine/rebuild.h"
#include "json/writer.h"
#include "store/disk/files.h"
#include "store/image/image.h"
#include "store/rocks/open/fill_store.h"

enum { EXIT_COMPLETE = 0, EXIT_LOSSES = 1, EXIT_CANNOT_REPAIR = 2 };
enum { ROWS_PER_LOOK = 4096 };

struct repair {
    struct store_report report;
    struct image *image;
    struct rocks_fill *fill;
};

static int print_help(int status)
{
    fputs(
        "Usage: gramme repair [--json] DIR NEWDIR\n\n"
        "Reads all readable rows of a store that no server has open, and creates a new store from\n"
        "them in NEWDIR, which must be empty or not exist. Index entries, sizes and times of "
        "expiry\n"
        "are computed again from the items. DIR is not changed.\n\n"
        "  --json    print each finding as one line with a JSON object\n\n"
        "Kinds of lines:\n"
        "  damage     a file is damaged\n"
        "  corrected  a flipped bit was corrected: nothing is lost\n"
        "  lost       was in the old store and is not in the new one\n"
        "  uncertain  is in the new store; a newer version of it, or its deletion, may be lost\n"
        "  restored   was lost, and is taken from an index that holds whole items\n\n"
        "Exit status: 0 all rows were saved, 1 rows are lost or uncertain, 2 no new store was\n"
        "created.\n",
        status == 0 ? stdout : stderr);
    return status;
}

/* Callbacks of the rebuilder ------------------------------------------------------------------- */

static bool is_lost(void *context, struct str key)
{
    const struct repair *repair = context;
    return image_is_lost(repair->image, key);
}

static void put(void *context, struct str key, struct str value)
{
    struct repair *repair = context;
    rocks_fill_put(repair->fill, key, value);
}

static struct str describe_space(void *context, uint32_t space, struct arena *arena)
{
    return rebuilder_describe_space(context, space, arena);
}

static void print_finding(void *context, const struct rebuild_finding *finding)
{
    static const char *const names[] = {[REBUILD_LOST] = "lost",
                                        [REBUILD_UNCERTAIN] = "uncertain",
                                        [REBUILD_RESTORED] = "restored"};
    struct repair *repair = context;
    store_report_change(&repair->report, names[finding->loss], finding->table, finding->text);
}

/* Both passes ---------------------------------------------------------------------------------- */

static void pass(struct repair *repair, struct rebuilder *rebuilder, const char *verb)
{
    struct image_row row;
    size_t count = 0;
    while (image_next(repair->image, &row)) {
        rebuilder_add(rebuilder, row.key, row.value, row.is_stale);
        if (++count % ROWS_PER_LOOK == 0) {
            store_report_progress(&repair->report, verb, image_bytes_read(repair->image),
                                  image_summary(repair->image)->sst_bytes);
        }
    }
    rebuilder_end_pass(rebuilder);
    store_report_end_progress(&repair->report);
}

static void print_totals(struct repair *repair, const struct rebuild_totals *totals,
                         const char *directory)
{
    if (repair->report.is_json) {
        printf("{\"tables\":%llu,\"items\":%llu,\"indexEntries\":%llu,\"streamRecords\":%llu,"
               "\"lost\":%llu,\"uncertain\":%llu,\"restored\":%llu,\"damage\":%llu}\n",
               (unsigned long long)totals->tables, (unsigned long long)totals->items,
               (unsigned long long)totals->index_entries,
               (unsigned long long)totals->stream_records, (unsigned long long)totals->lost,
               (unsigned long long)totals->uncertain, (unsigned long long)totals->restored,
               (unsigned long long)repair->report.damage_count);
        return;
    }
    printf("saved %llu tables: %llu items, %llu stream records; %llu index entries made anew\n",
           (unsigned long long)totals->tables, (unsigned long long)totals->items,
           (unsigned long long)totals->stream_records, (unsigned long long)totals->index_entries);
    printf("%s: %llu losses, %llu uncertain, %llu restored\n", directory,
           (unsigned long long)totals->lost, (unsigned long long)totals->uncertain,
           (unsigned long long)totals->restored);
}

static int rebuild(struct repair *repair, const char *directory, struct err *err)
{
    struct rebuild_options options = {.seed = image_summary(repair->image)->seed,
                                      .is_lost = is_lost,
                                      .put = put,
                                      .report = print_finding,
                                      .context = repair};
    struct rebuilder *rebuilder = rebuilder_create(&options);
    repair->report.describe_space = describe_space;
    repair->report.context = rebuilder;
    pass(repair, rebuilder, "read");
    image_rewind(repair->image);
    pass(repair, rebuilder, "saved");
    struct rebuild_totals totals;
    rebuilder_totals(rebuilder, &totals);
    uint64_t last_stamp = rebuilder_last_stamp(rebuilder);
    rebuilder_destroy(rebuilder);
    if (!rocks_fill_finish(repair->fill, last_stamp, err)) {
        return EXIT_CANNOT_REPAIR;
    }
    print_totals(repair, &totals, directory);
    /* A lost block may have contained rows that nothing else refers to. */
    bool is_complete =
        totals.lost == 0 && totals.uncertain == 0 && repair->report.lost_range_count == 0;
    return is_complete ? EXIT_COMPLETE : EXIT_LOSSES;
}

static int repair_store(struct repair *repair, const char *from, const char *to, struct err *err)
{
    struct image_options options = {.directory = from,
                                    .is_for_repair = true,
                                    .report = store_report_file,
                                    .context = &repair->report};
    if (!store_report_is_directory(from, err) || !store_report_is_directory(to, err) ||
        !files_check_outside(to, from, err) || !image_open(&options, &repair->image, err)) {
        return EXIT_CANNOT_REPAIR;
    }
    int status = EXIT_CANNOT_REPAIR;
    const struct image_summary *summary = image_summary(repair->image);
    if (!summary->has_identity && summary->seed == 0) {
        err_set(
            err, ERR_INTERNAL,
            "the seed of hashes is lost: it was in STORE, in STORE.copy and in the SST files, and "
            "none can be read");
    } else if (rocks_fill_begin(to, summary->seed, &repair->fill, err)) {
        status = rebuild(repair, to, err);
    }
    image_close(repair->image);
    return status;
}

int repair_command(int argc, char **argv)
{
    struct repair repair = {0};
    const char *directories[2] = {NULL, NULL};
    size_t count = 0;
    for (int i = 0; i < argc; i++) {
        if (is_help_argument(argv[i])) {
            return print_help(0);
        }
        if (strcmp(argv[i], "--json") == 0) {
            repair.report.is_json = true;
        } else if (argv[i][0] == '-' || count == 2) {
            return print_help(EXIT_CANNOT_REPAIR);
        } else {
            directories[count++] = argv[i];
        }
    }
    if (count < 2) {
        return print_help(EXIT_CANNOT_REPAIR);
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    int status = repair_store(&repair, directories[0], directories[1], &err);
    if (status == EXIT_CANNOT_REPAIR) {
        fprintf(stderr, "gramme repair: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return status;
}
