/* The workloads: which requests each sends, and for which items. The requests themselves are in
 * ops.c. Called by worker.c for each request, on its thread. */
#include "bench/workloads_internal.h"

#include <stdio.h>

#include "base/hash.h"
#include "bench/ops_internal.h"

#define MIX(...)                                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define WORK(name_, pick_, mix_, summary_)                                                         \
    {.name = (name_), .summary = (summary_), .pick = (pick_), .mix = mix_},
static const struct workload works[] = {
#include "bench/workloads.def"
};
#undef WORK
#undef MIX

/* New items: random numbers above those of all loaded items. */
static const uint64_t new_item_base = 1000000000000000;
static const uint64_t new_item_count = 8000000000000000;

const struct workload *workload_find(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        if (str_eq(name, str_from_c(works[i].name))) {
            return &works[i];
        }
    }
    return NULL;
}

void workloads_print_help(void)
{
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        printf("  %-20s %s\n", works[i].name, works[i].summary);
    }
}

/* The source -------------------------------------------------------------------------------- */

static bool uses(const struct workload *workload, enum op op)
{
    return workload->mix[1] == (int)op || (workload->mix[2] > 0 && workload->mix[3] == (int)op);
}

bool source_init(struct source *source, const struct workload *workload,
                 const struct test_table *table, const struct target *target, struct err *err)
{
    *source =
        (struct source){.workload = workload, .table = table, .target = target, .segment_count = 1};
    if (uses(workload, OP_GSI_10) && table->gsi_count == 0) {
        return err_set(err, ERR_VALIDATION, "%s needs an index: --gsi 1", workload->name);
    }
    source->text = field_text_create();
    if (workload->pick != PICK_UNIFORM) {
        zipf_init(&source->zipf, table->item_count);
    }
    return true;
}

void source_finish(struct source *source)
{
    field_text_destroy(source->text);
}

/* Numbers of the items of one load request; the last request overlaps the one before. */
static uint64_t load_batch(const struct source *source)
{
    return (uint64_t)op_item_count(OP_LOAD, source->table);
}

uint64_t source_request_count(const struct source *source)
{
    uint64_t batch = load_batch(source);
    return uses(source->workload, OP_LOAD) ? (source->table->item_count - 1 + batch - 1) / batch
                                           : 0;
}

double source_items_per_request(const struct source *source)
{
    const int *mix = source->workload->mix;
    double items = mix[0] * (double)op_item_count((enum op)mix[1], source->table);
    if (mix[2] > 0) {
        items += mix[2] * (double)op_item_count((enum op)mix[3], source->table);
    }
    return items / 100;
}

/* Drawing ----------------------------------------------------------------------------------- */

static enum op draw_op(struct generator *generator)
{
    const int *mix = generator->source->workload->mix;
    int number = mix[2] > 0 ? (int)(random_next(&generator->random) % 100) : 0;
    return (enum op)(number < mix[0] ? mix[1] : mix[3]);
}

static uint64_t draw_existing(struct generator *generator)
{
    struct source *source = generator->source;
    uint64_t count = source->table->item_count;
    switch (source->workload->pick) {
    case PICK_UNIFORM:
        break;
    case PICK_ZIPFIAN: { /* spreads popular items over the table */
        uint64_t rank = zipf_next(&source->zipf, &generator->random);
        return hash_64(str_make(&rank, sizeof(rank))) % count;
    }
    case PICK_LATEST: {
        /* Items whose write is still in progress cannot be read yet. */
        uint64_t inserted = atomic_load_explicit(&source->inserted, memory_order_relaxed);
        uint64_t there = inserted - MIN(inserted, 4 * source->in_flight_max);
        return count + there - 1 - zipf_next(&source->zipf, &generator->random);
    }
    }
    return random_next(&generator->random) % count;
}

/* Draws an item that has `count` successors in its partition, if the table is large enough. */
static uint64_t draw_start(struct generator *generator, uint64_t count)
{
    const struct test_table *table = generator->source->table;
    uint64_t item = draw_existing(generator);
    uint64_t first = item / table->per_partition * table->per_partition;
    uint64_t last = MIN(first + table->per_partition, table->item_count);
    return last - first <= count ? first : MIN(item, last - count);
}

/* Draws the first item of a full partition, if there is one. */
static uint64_t draw_partition(struct generator *generator)
{
    const struct test_table *table = generator->source->table;
    uint64_t full = MAX(table->item_count / table->per_partition, (uint64_t)1);
    return random_next(&generator->random) % full * table->per_partition;
}

static uint64_t draw_load(struct source *source)
{
    uint64_t batch = load_batch(source);
    uint64_t first = 1 + atomic_fetch_add_explicit(&source->loaded, batch, memory_order_relaxed);
    uint64_t last_start = source->table->item_count - batch;
    return MIN(first, last_start);
}

static uint64_t draw_insert(struct source *source)
{
    return source->table->item_count +
           atomic_fetch_add_explicit(&source->inserted, 1, memory_order_relaxed);
}

static uint64_t draw_item(struct generator *generator, const struct draw *draw)
{
    switch (draw->op) {
    case OP_LOAD:
        return draw_load(generator->source);
    case OP_INSERT:
        return draw_insert(generator->source);
    case OP_QUERY_10:
    case OP_QUERY_SOME:
        return draw_start(generator, draw->limit);
    case OP_QUERY_1MB:
        return draw_partition(generator);
    default:
        return draw_existing(generator);
    }
}

void generator_draw(struct generator *generator, const struct scan_place *place, bool first,
                    struct draw *draw)
{
    draw->seed = random_next(&generator->random);
    if (!first && draw->op == OP_READ_MODIFY) {
        draw->op = OP_SET_FIELD;
        return;
    }
    draw->op = draw_op(generator);
    if (draw->op == OP_SCAN && place->started) {
        draw->op = OP_SCAN_ON;
    }
    draw->limit = draw->op == OP_QUERY_SOME ? 1 + random_next(&generator->random) % 100 : 10;
    draw->item = draw_item(generator, draw);
}

/* Filling ----------------------------------------------------------------------------------- */

/* Sets the numbers of the items after the first. */
static void choose_items(const struct generator *generator, const struct draw *draw,
                         struct random *random, int count, struct request_values *out)
{
    const struct test_table *table = generator->source->table;
    uint64_t step = MAX(table->item_count / (uint64_t)count, (uint64_t)1);
    for (int i = 0; i < count; i++) {
        switch (op_items(draw->op, i == count - 1)) {
        case ITEMS_NEW:
            out->items[i] = new_item_base + random_next(random) % new_item_count;
            break;
        case ITEMS_CONSECUTIVE:
            out->items[i] = draw->item + (uint64_t)i;
            break;
        case ITEMS_SPREAD:
            out->items[i] =
                count == 1 ? draw->item : (draw->item + (uint64_t)i * step) % table->item_count;
            break;
        }
    }
}

const struct request *generator_fill(struct generator *generator, const struct draw *draw,
                                     const struct scan_place *place)
{
    struct request *request = &generator->requests[draw->op];
    struct request_values values;
    struct random random;
    random_init_seed(&random, draw->seed);
    choose_items(generator, draw, &random, MAX(request->item_count, 1), &values);
    values.limit = draw->limit;
    values.segment = place->segment;
    values.start_partition = place->partition;
    values.start_sort = place->sort;
    request_fill(request, generator->source->table, &values, generator->source->text, &random);
    target_sign(generator->source->target, &request->bytes);
    return request;
}

void generator_init(struct generator *generator, struct source *source)
{
    *generator = (struct generator){.source = source};
    random_init(&generator->random);
    const int *mix = source->workload->mix;
    for (int i = 0; i < 2 * MIX_MAX && mix[i] > 0; i += 2) {
        enum op op = (enum op)mix[i + 1];
        op_build(&generator->requests[op], op, source);
        if (op == OP_SCAN) {
            op_build(&generator->requests[OP_SCAN_ON], OP_SCAN_ON, source);
        } else if (op == OP_READ_MODIFY) {
            op_build(&generator->requests[OP_SET_FIELD], OP_SET_FIELD, source);
        }
    }
}

void generator_finish(struct generator *generator)
{
    for (int i = 0; i < OP_COUNT; i++) {
        request_destroy(&generator->requests[i]);
    }
}

/* Scanning ---------------------------------------------------------------------------------- */

static struct str find_start_key(struct str text)
{
    static const char name[] = "\"LastEvaluatedKey\"";
    const char *found = memmem(text.data, text.len, name, sizeof(name) - 1);
    return found == NULL ? STR_NULL : str_skip(text, (size_t)(found - text.data));
}

/* "pk":{"S":"..."} */
static bool copy_key(struct str text, struct str name, char out[KEY_WIDTH])
{
    const char *found = memmem(text.data, text.len, name.data, name.len);
    if (found == NULL) {
        return false;
    }
    struct str value = str_skip(text, (size_t)(found - text.data) + name.len);
    if (value.len <= KEY_WIDTH || value.data[KEY_WIDTH] != '"') {
        return false;
    }
    memcpy(out, value.data, KEY_WIDTH);
    return true;
}

bool scan_place_move(struct scan_place *place, struct str front, struct str back)
{
    struct str key = find_start_key(back);
    if (str_is_null(key)) {
        key = find_start_key(front);
    }
    place->started = !str_is_null(key);
    return !place->started || (copy_key(key, STR("\"pk\":{\"S\":\""), place->partition) &&
                               copy_key(key, STR("\"sk\":{\"S\":\""), place->sort));
}
