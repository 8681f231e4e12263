/* Evaluates an update: reads its declared rows, those that the group has written before those of
 * the database, and calls eval(), which fills the batch of the group. Does not wait for the disk
 * unless the caller says so (TIER_BLOCKING). With the turn to commit. */
#include "base/clock.h"
#include "base/mem.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/reads/reads.h"

enum read_result rocks_group_read(struct rocks_group *group, struct str key, enum tier tier,
                                  struct str *out, rocksdb_pinnableslice_t **out_pin)
{
    struct rocks *rocks = group->rocks;
    *out_pin = NULL;
    if (overlay_get(group->newest, key, out)) {
        return READ_OK;
    }
    if (UNLIKELY(rocks->db == NULL)) {
        *out = STR_NULL;
        return READ_FAILED;
    }
    return rocks_read(rocks, rocks->db,
                      tier == TIER_CACHED ? rocks->read_cached : rocks->read_blocking, key, out,
                      out_pin);
}

static void need_rows(struct rocks_group *group, size_t count)
{
    if (count > group->row_capacity) {
        group->row_capacity = MAX(count, (size_t)128);
        mem_free(group->rows);
        mem_free(group->pins);
        group->rows = mem_alloc(group->row_capacity * sizeof(*group->rows));
        group->pins = mem_alloc(group->row_capacity * sizeof(*group->pins));
    }
}

/* Whether the update is to be prepared by a slow thread, given the rows that were read so far. */
static bool is_expensive(const struct rocks_group *group, const struct store_update *update,
                         size_t row_bytes)
{
    return update->prepare != NULL && preparations_wants(update, row_bytes) &&
           !group->must_evaluate && !group->rocks->health.broken;
}

/* Reads the declared rows. Stops when one cannot be read, or when they show that the update is
 * expensive: then the result is READ_OK with fewer rows than keys. */
static enum read_result read_declared(struct rocks_group *group, const struct store_update *update,
                                      enum tier tier, size_t *out_count, bool *out_expensive)
{
    need_rows(group, update->key_count);
    enum read_result result = READ_OK;
    size_t bytes = 0;
    size_t i = 0;
    *out_expensive = false;
    for (; i < update->key_count && result == READ_OK && !*out_expensive; i++) {
        result = rocks_group_read(group, update->keys[i], tier, &group->rows[i], &group->pins[i]);
        bytes += group->rows[i].len;
        *out_expensive = is_expensive(group, update, bytes);
    }
    *out_count = i;
    return result;
}

static bool is_gone(const struct rocks *rocks, const struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        if (UNLIKELY(space_set_has(&rocks->gone, store_key_space(update->keys[i])))) {
            return true;
        }
    }
    return false;
}

/* Evals run one after the other, so times that grow with each of them satisfy rule 8. */
static void set_time(struct rocks_group *group, struct store_update *update)
{
    struct rocks *rocks = group->rocks;
    int64_t now_us =
        rocks->clock.now_us != NULL ? rocks->clock.now_us(rocks->clock.context) : clock_wall_us();
    rocks->last_time_ns = MAX(rocks->last_time_ns + 1, now_us * 1000);
    assert(rocks->last_time_ns > 0);
    update->time_ns = rocks->last_time_ns;
    group->timed = true;
}

static void run_eval(struct rocks_group *group, struct store_update *update, const struct str *rows)
{
    if (update->wants_time) {
        set_time(group, update);
    }
    store_batch_start(&group->batch, update);
    bool writes = update->eval(update, rows, &group->batch);
    update->status = writes ? STORE_OK : STORE_NO_WRITE;
}

static enum evaluation evaluate_rows(struct rocks_group *group, struct store_update *update,
                                     enum tier tier)
{
    size_t read_count;
    bool expensive;
    enum read_result result = read_declared(group, update, tier, &read_count, &expensive);
    if (UNLIKELY(result != READ_OK)) {
        update->status = STORE_FAILED;
    } else if (LIKELY(!expensive)) {
        run_eval(group, update, group->rows);
    }
    for (size_t i = 0; i < read_count; i++) {
        if (group->pins[i] != NULL) {
            rocksdb_pinnableslice_destroy(group->pins[i]);
        }
    }
    return result == READ_INCOMPLETE ? NEEDS_DISK : expensive ? NEEDS_PREPARING : EVALUATED;
}

enum evaluation rocks_group_evaluate(struct rocks_group *group, struct store_update *update,
                                     enum tier tier)
{
    if (is_gone(group->rocks, update)) {
        update->status = STORE_GONE;
        return EVALUATED;
    }
    if (UNLIKELY(update->is_prepared)) {
        run_eval(group, update, NULL);
        return EVALUATED;
    }
    return evaluate_rows(group, update, tier);
}
