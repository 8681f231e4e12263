/* Creates and deletes global indexes of a table in use. UpdateTable begins with a change of the
 * description; a background thread continues with further changes:
 *
 *   CREATING               new calls know the index and write to it; the background thread
 *                          waits until no call is under way that does not know it
 *   CREATING, backfilling  the background thread scans the items that were there before
 *                          (engine/backfill_scan.h)
 *   ACTIVE                 it can be read
 *   deleting               new calls do not know it; the background thread waits until no call
 *                          is under way that does, then removes it and drops its space
 *
 * The state is in the table's description and in the cursor, so a restart continues there. */
#include "base/clock.h"
#include "base/log.h"
#include "engine/backfill_scan.h"
#include "engine/engine_internal.h"

/* Intervals of polling: calls that end and delays that pass are not notified. */
enum { POLL_MS = 2, IDLE_MS = 60 * 1000 };
/* How often a server that is not the leader checks whether it has become the leader. */
enum { FOLLOWER_MS = 500 };
enum { PROGRESS_US = 5 * 1000 * 1000 };

/* --- what UpdateTable begins --- */

static size_t global_count(const struct table *table)
{
    return table->index_count - table->local_count;
}

void table_add_index(struct table_change *change, struct table *table, const struct index *index)
{
    struct arena *arena = change->call.arena;
    size_t globals = global_count(table);
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count + 1);
    memcpy(indexes, table->indexes, globals * sizeof(*indexes));
    memcpy(indexes + globals + 1, table->indexes + globals, table->local_count * sizeof(*indexes));
    indexes[globals] = *index;
    indexes[globals].space = change->next_space++;
    indexes[globals].since_version = table->version + 1;
    indexes[globals].status = STATUS_CREATING;
    indexes[globals].backfilling = false;
    indexes[globals].changed_ms = clock_wall_ms();
    backfill_scan_start(change->batch, indexes[globals].space, arena);
    table->indexes = indexes;
    table->index_count++;
}

void table_remove_index(struct table_change *change, struct table *table, size_t number)
{
    struct arena *arena = change->call.arena;
    assert(table->deleting_index == NULL);
    struct index *deleting = ARENA_NEW(arena, struct index);
    *deleting = table->indexes[number];
    deleting->status = STATUS_DELETING;
    deleting->changed_ms = clock_wall_ms();
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count);
    size_t behind = table->index_count - number - 1;
    memcpy(indexes, table->indexes, number * sizeof(*indexes));
    memcpy(indexes + number, table->indexes + number + 1, behind * sizeof(*indexes));
    table->indexes = indexes;
    table->index_count--;
    table->deleting_index = deleting;
    change->update.frees = STORE_FREES_SPACES; /* which a later change drops */
}

bool index_is_changing(const struct table *table)
{
    return table->deleting_index != NULL || table_creating_index(table) != NULL;
}

/* --- the background thread --- */

/* A change to the next state. */
struct advance {
    struct background_change change;
    uint32_t space; /* of the index */
};

static const struct table *gone(struct table_change *change)
{
    err_set(&change->call.err, ERR_RESOURCE_NOT_FOUND, "the index is gone");
    return NULL;
}

static const struct table *remove_deleted_index(struct table_change *change,
                                                const struct table *before)
{
    struct advance *advance = CONTAINER_OF(change, struct advance, change.change);
    if (before->deleting_index == NULL || before->deleting_index->space != advance->space) {
        return gone(change);
    }
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    table->deleting_index = NULL;
    table_prune_definitions(change->call.arena, table);
    change->dropped[change->dropped_count++] = advance->space;
    return table;
}

/* A copy of the table, and in it the index that is being created. NULL: it is not created any more.
 */
static struct table *copy_to_advance(struct table_change *change, const struct table *before,
                                     struct index **out_index)
{
    struct advance *advance = CONTAINER_OF(change, struct advance, change.change);
    const struct index *creating = table_creating_index(before);
    if (creating == NULL || creating->space != advance->space) {
        return NULL;
    }
    struct arena *arena = change->call.arena;
    struct table *table = ARENA_NEW(arena, struct table);
    struct index *indexes = ARENA_ARRAY(arena, struct index, before->index_count);
    memcpy(indexes, before->indexes, before->index_count * sizeof(*indexes));
    *table = *before;
    table->indexes = indexes;
    *out_index = &indexes[creating - before->indexes];
    (*out_index)->changed_ms = clock_wall_ms();
    return table;
}

/* From CREATING to backfilling. It may be backfilling already, if the answer to an earlier attempt
 * was lost: the scan must not be left out then. */
static const struct table *begin_filling(struct table_change *change, const struct table *before)
{
    struct index *index;
    struct table *table = copy_to_advance(change, before, &index);
    if (table == NULL) {
        return gone(change);
    }
    index->backfilling = true;
    return table;
}

/* From backfilling to ACTIVE, after the scan. */
static const struct table *finish_filling(struct table_change *change, const struct table *before)
{
    struct index *index;
    struct table *table = copy_to_advance(change, before, &index);
    if (table == NULL || !index->backfilling) {
        return gone(change);
    }
    index->status = STATUS_ACTIVE;
    index->backfilling = false;
    backfill_scan_finish(change->batch, index->space, change->call.arena);
    return table;
}

/* False: it failed, or the description has changed meanwhile; the next round tries again. */
static bool advance(struct background *background, const struct table *table, uint32_t space,
                    const struct table *(*hook)(struct table_change *, const struct table *))
{
    struct arena arena;
    arena_init(&arena);
    struct advance advance = {
        .change.change = {.call.arena = &arena, .name = table->name, .change = hook},
        .space = space,
    };
    background_change(background, &advance.change);
    bool ok = advance.change.change.call.err.code == ERR_NONE;
    arena_finish(&arena);
    return ok;
}

/* An index that is being filled in this round. */
struct filling {
    struct filling *next;
    struct backfill_scan scan;
    int64_t start_us;
    int64_t reported_us;
};

struct round {
    struct background *background;
    struct arena arena;
    struct filling *fillings;
};

/* --- filling --- */

static void visit(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena)
{
    const struct index *index = table_creating_index(scan->table);
    struct index_entry entry = index_entry_of(scan->background->engine, scan->table, index,
                                              &item->key, item->row.item, item->row_bytes, arena);
    if (!str_is_null(entry.key)) {
        store_batch_put_owned(batch, entry.key, entry.row);
        scan->added_rows++;
        scan->added_bytes += (int64_t)entry.size;
    }
}

static struct filling *filling_of(struct round *round, const struct index *index)
{
    struct filling *filling = round->fillings;
    while (filling != NULL && filling->scan.space != index->space) {
        filling = filling->next;
    }
    if (filling == NULL) {
        filling = ARENA_NEW(&round->arena, struct filling);
        filling->scan = (struct backfill_scan){
            .background = round->background,
            .space = index->space,
            .since_version = index->since_version,
            .visit = visit,
        };
        filling->start_us = filling->reported_us = clock_monotonic_us();
        filling->next = round->fillings;
        round->fillings = filling;
    }
    return filling;
}

static void tell_progress(const struct table *table, const struct index *index,
                          struct filling *filling, bool is_done)
{
    int64_t now_us = clock_monotonic_us();
    if (!is_done && now_us < filling->reported_us + PROGRESS_US) {
        return;
    }
    filling->reported_us = now_us;
    log_write(LOG_INFO, "backfill", "index %.*s of table %.*s: %.0f %%, %zu items in %.1f s",
              STR_ARG(index->name), STR_ARG(table->name), 100 * filling->scan.progress,
              filling->scan.visited_count, (double)(now_us - filling->start_us) / 1e6);
}

/* True: there is more to do at once. */
static bool fill(struct round *round, const struct table *table, const struct index *index)
{
    struct filling *filling = filling_of(round, index);
    filling->scan.table = table;
    enum backfill_scan_result result = backfill_scan_chunk(&filling->scan);
    if (result == BACKFILL_SCAN_END &&
        catalog_delay_is_over(round->background->engine, index->changed_ms) &&
        advance(round->background, table, index->space, finish_filling)) {
        tell_progress(table, index, filling, true);
        return false;
    }
    tell_progress(table, index, filling, false);
    return result == BACKFILL_SCAN_MORE;
}

/* --- rounds --- */

/* The next step for an index of the table. True: there is more to do at once. */
static bool step(struct round *round, const struct table *table)
{
    struct engine *engine = round->background->engine;
    const struct index *creating = table_creating_index(table);
    if (creating != NULL && creating->backfilling) {
        return fill(round, table, creating);
    }
    const struct index *index = creating != NULL ? creating : table->deleting_index;
    if (!catalog_delay_is_over(engine, index->changed_ms) || !catalog_is_settled(engine, table)) {
        return false;
    }
    return advance(round->background, table, index->space,
                   creating != NULL ? begin_filling : remove_deleted_index) &&
           creating != NULL;
}

int64_t backfill_round(struct background *background)
{
    if (!store_is_leader(background->engine->store)) {
        return FOLLOWER_MS;
    }
    struct round round = {.background = background};
    arena_init(&round.arena);
    size_t count;
    bool more;
    do { /* one step for each table, so that none waits for another */
        struct arena arena;
        arena_init(&arena);
        const struct table **tables;
        count = catalog_collect(background->engine, index_is_changing, &arena, &tables);
        more = false;
        for (size_t i = 0; i < count; i++) {
            more = (!background_is_stopping(background) && step(&round, tables[i])) || more;
            table_release(tables[i]);
        }
        arena_finish(&arena);
    } while (more && !background_is_stopping(background));
    arena_finish(&round.arena);
    return count > 0 ? POLL_MS : IDLE_MS;
}
