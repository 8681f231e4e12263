/* What-if of the cost view: traffic, item size, dropped indexes, other projections. Runs on a slow
 * thread of the HTTP server. */
#include "meter/what_if_internal.h"

#include <math.h>

#include "engine/range.h"
#include "model/builder.h"

struct what_if what_if_nothing(void)
{
    return (struct what_if){.traffic = 1, .item_size = 1};
}

static void note(struct insight *insight, struct what_if *what_if, const char *format, ...)
    PRINTF_LIKE(3, 4);

static void note(struct insight *insight, struct what_if *what_if, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    what_if->changes[what_if->change_count++] = arena_vformat(insight->arena, format, args);
    va_end(args);
}

/* --- sizes of index entries --- */

/* Entries of an index as they are, and as they would be. */
struct sampling {
    struct items_read read;
    bool done;
    const struct table *table;
    const struct index *index;
    double bytes;
    double key_bytes;
    size_t count;
};

/* The size of the key attributes of an entry, of table and index. */
static double key_size(const struct sampling *sampling, struct value entry, struct arena *arena)
{
    struct value keys = item_key_value(sampling->table, sampling->index, entry, arena);
    return (double)item_size(keys);
}

static void take_entry(struct items_read *read, struct value entry)
{
    struct sampling *sampling = CONTAINER_OF(read, struct sampling, read);
    struct arena_mark mark = arena_mark(read->call.arena);
    sampling->bytes += (double)item_size(entry);
    sampling->key_bytes += key_size(sampling, entry, read->call.arena);
    sampling->count++;
    arena_rewind(read->call.arena, mark);
}

static void sampling_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct sampling, read.call)->done = true;
}

static void sample(struct insight *insight, struct sampling *sampling)
{
    enum { ENTRIES_MAX = 200 };
    struct key_range range = range_of_scan(sampling->table, sampling->index, 0, 1, insight->arena);
    sampling->read = (struct items_read){
        .call = {.engine = insight->meter->engine,
                 .arena = insight->arena,
                 .home = waiting_mailbox_box(insight->mailbox),
                 .err = ERR_INIT(insight->arena),
                 .done = sampling_done},
        .table = sampling->table,
        .index = sampling->index,
        .lo = range.lo,
        .hi = range.hi,
        .limit = ENTRIES_MAX,
        .emit = take_entry,
    };
    engine_read_items(&sampling->read);
    waiting_mailbox_run(insight->mailbox, &sampling->done);
}

/* Size of an entry with the projection, by that of now. */
static double entry_ratio(struct insight *insight, const struct table *table,
                          const struct table_sizes *sizes, const struct index *index,
                          enum projection_type projection)
{
    size_t number = (size_t)(index - table->indexes);
    double entries = (double)sizes->index_item_counts[number];
    double now = entries > 0 ? (double)sizes->index_bytes[number] / entries : 0;
    double after = now;
    if (projection == PROJECTION_ALL && sizes->item_count > 0) {
        after = (double)sizes->bytes / (double)sizes->item_count;
    } else if (projection == PROJECTION_KEYS_ONLY) {
        struct sampling sampling = {.table = table, .index = index};
        sample(insight, &sampling);
        after = sampling.count > 0 ? now * sampling.key_bytes / MAX(sampling.bytes, 1) : now;
    }
    return now > 0 ? after / now : 1;
}

/* --- parameters --- */

/* "Tasks/GSI1" as table and index; the table is acquired. */
static bool find_index(struct insight *insight, struct str text, const struct table **out_table,
                       struct table_sizes *sizes, const struct index **out)
{
    const char *slash = memchr(text.data, '/', text.len);
    size_t len = slash == NULL ? text.len : (size_t)(slash - text.data);
    *out = NULL;
    if (slash != NULL && insight_table(insight, str_make(text.data, len), out_table, sizes)) {
        *out = table_index(*out_table, str_skip(text, len + 1));
        if (*out == NULL) {
            table_release(*out_table);
        }
    }
    if (*out == NULL) {
        insight_refuse(insight, "there is no index %.*s (TABLE/INDEX is expected)", STR_ARG(text));
    }
    return *out != NULL;
}

static struct index_change *add_change(struct insight *insight, struct what_if *what_if,
                                       const struct table *table, const struct index *index)
{
    if (what_if->index_count == INDEX_CHANGES_MAX) {
        insight_refuse(insight, "at most %d indexes can be changed", INDEX_CHANGES_MAX);
        return NULL;
    }
    struct index_change *change = &what_if->indexes[what_if->index_count++];
    *change = (struct index_change){
        .table = arena_copy(insight->arena, table->name),
        .index = arena_copy(insight->arena, index->name),
        .entry_ratio = 1,
    };
    return change;
}

static void read_dropped(struct insight *insight, struct what_if *what_if, struct str text)
{
    const struct table *table;
    const struct index *index;
    struct table_sizes sizes;
    if (!find_index(insight, text, &table, &sizes, &index)) {
        return;
    }
    struct index_change *change = add_change(insight, what_if, table, index);
    if (change != NULL) {
        change->is_dropped = true;
        note(insight, what_if, "index %.*s is dropped; what reads it is not done any more",
             STR_ARG(text));
    }
    table_release(table);
}

static void read_projection(struct insight *insight, struct what_if *what_if, struct str text)
{
    const char *colon = memchr(text.data, ':', text.len);
    size_t len = colon == NULL ? text.len : (size_t)(colon - text.data);
    struct str type = colon == NULL ? STR("") : str_skip(text, len + 1);
    bool keys_only = str_eq(type, STR("KEYS_ONLY"));
    const struct table *table;
    const struct index *index;
    struct table_sizes sizes;
    if (!keys_only && !str_eq(type, STR("ALL"))) {
        insight_refuse(insight, "projection must be TABLE/INDEX:KEYS_ONLY or TABLE/INDEX:ALL");
        return;
    }
    if (!find_index(insight, str_make(text.data, len), &table, &sizes, &index)) {
        return;
    }
    struct index_change *change = add_change(insight, what_if, table, index);
    if (change != NULL) {
        change->entry_ratio = entry_ratio(insight, table, &sizes, index,
                                          keys_only ? PROJECTION_KEYS_ONLY : PROJECTION_ALL);
        note(insight, what_if, "index %.*s projects %.*s: entries have %.0f %% of their size",
             (int)len, text.data, STR_ARG(type), change->entry_ratio * 100);
    }
    table_release(table);
}

void what_if_read(struct insight *insight, struct what_if *out)
{
    struct str text;
    *out = what_if_nothing();
    out->traffic = insight_number(insight, "traffic", 1, 0, 1e6);
    out->item_size = insight_number(insight, "itemSize", 1, 0.001, 1000);
    for (size_t i = 0; !str_is_null(text = insight_parameter(insight, "dropIndex", i)); i++) {
        read_dropped(insight, out, text);
    }
    for (size_t i = 0; !str_is_null(text = insight_parameter(insight, "projection", i)); i++) {
        read_projection(insight, out, text);
    }
    if (out->traffic != 1) {
        note(insight, out, "traffic is %g times as much", out->traffic);
    }
    if (out->item_size != 1) {
        note(insight, out, "items have %g times the size", out->item_size);
    }
}

/* --- what comes of it --- */

static const struct index_change *change_of(const struct what_if *what_if, struct str table,
                                            struct str index)
{
    for (size_t i = 0; i < what_if->index_count; i++) {
        if (str_eq(what_if->indexes[i].table, table) && str_eq(what_if->indexes[i].index, index)) {
            return &what_if->indexes[i];
        }
    }
    return NULL;
}

/* How units of writes change if items of that size become `ratio` times as large. */
static double write_ratio(double bytes, double ratio)
{
    double before = MAX(ceil(bytes / 1024), 1);
    return MAX(ceil(bytes * ratio / 1024), 1) / before;
}

/* Reads of small items cost the same; pages grow with their bytes. */
static double read_ratio(double bytes, double ratio)
{
    double before = MAX(ceil(bytes / 4096), 1);
    return MAX(ceil(bytes * ratio / 4096), 1) / before;
}

struct what_if_part what_if_part(const struct what_if *what_if, const struct table *table,
                                 const struct index *index, struct what_if_part part)
{
    const struct index_change *change =
        index == NULL ? NULL : change_of(what_if, table->name, index->name);
    double ratio = what_if->item_size * (change == NULL ? 1 : change->entry_ratio);
    double average = part.items > 0 ? part.bytes / part.items : 0;
    if (change != NULL && change->is_dropped) {
        return (struct what_if_part){0};
    }
    part.read_units *= what_if->traffic * read_ratio(average, ratio);
    part.write_units *= what_if->traffic * write_ratio(average, ratio);
    part.bytes *= ratio;
    return part;
}

void what_if_pattern_units(const struct what_if *what_if, const struct pattern *pattern,
                           double *read_units, double *write_units)
{
    const struct pattern_sums *sums = &pattern->sums;
    bool is_write = (pattern->text.flags & METER_WRITE) != 0;
    double calls = sums->calls > 0 ? (double)sums->calls : 1;
    double bytes = (double)(is_write ? sums->bytes_written : sums->bytes_read) / calls;
    double size = what_if->item_size;
    *read_units = *write_units = 0;
    *(is_write ? write_units : read_units) =
        sums->table_units * (is_write ? write_ratio(bytes, size) : read_ratio(bytes, size));
    for (size_t i = 0; i < pattern->arms.count; i++) {
        const struct arm *arm = &pattern->arms.arms[i];
        const struct index_change *change = change_of(what_if, pattern->text.table, arm->name);
        double ratio = size * (change == NULL ? 1 : change->entry_ratio);
        if (change == NULL || !change->is_dropped) {
            *read_units += arm->read_units * read_ratio(bytes, ratio);
            *write_units += arm->write_units * write_ratio(bytes, ratio);
        }
    }
    *read_units *= what_if->traffic;
    *write_units *= what_if->traffic;
}
