/* What-if of the cost view: traffic, item size, dropped indexes, other projections. Runs on a slow
 * thread of the HTTP server. */
#include "meter/what_if_internal.h"

#include <math.h>

#include "engine/range.h"

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

/* What an index would hold. */
struct projected {
    enum projection_type type;
    const struct str *names; /* of PROJECTION_INCLUDE */
    size_t name_count;
};

/* Items that have an entry in an index: its size as it is, and as it would be. */
struct sampling {
    struct items_read read;
    bool done;
    const struct table *table;
    const struct index *index;
    struct projected before;
    struct projected after;
    double bytes_before;
    double bytes_after;
};

static double entry_size(const struct sampling *sampling, const struct projected *projected,
                         struct value item)
{
    const struct index *index = sampling->index;
    if (projected->type == PROJECTION_ALL) {
        return (double)item_size(item);
    }
    struct arena *arena = sampling->read.call.arena;
    struct arena_mark mark = arena_mark(arena);
    double size = (double)item_size(item_key_value(sampling->table, index, item, arena));
    for (size_t i = 0; projected->type == PROJECTION_INCLUDE && i < projected->name_count; i++) {
        struct str name = projected->names[i];
        struct value value = value_map_get(item, name);
        if (!value_is_absent(value) && !key_schema_has(&sampling->table->key, name) &&
            !key_schema_has(&index->key, name)) {
            size += (double)(name.len + value_size(value));
        }
    }
    arena_rewind(arena, mark);
    return size;
}

static void take_item(struct items_read *read, struct value item)
{
    struct sampling *sampling = CONTAINER_OF(read, struct sampling, read);
    if (key_schema_is_in(&sampling->index->key, item)) {
        sampling->bytes_before += entry_size(sampling, &sampling->before, item);
        sampling->bytes_after += entry_size(sampling, &sampling->after, item);
    }
}

static void sampling_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct sampling, read.call)->done = true;
}

/* Size of an entry with the projection, relative to that of now; from items of the table, because
 * entries may lack the attributes. */
static double entry_ratio(struct insight *insight, const struct table *table,
                          const struct index *index, struct projected after)
{
    enum { ITEMS_MAX = 1000 };
    struct key_range range = range_of_scan(table, NULL, 0, 1, insight->arena);
    struct sampling sampling = {
        .table = table,
        .index = index,
        .before = {index->projection, index->non_key_names, index->non_key_count},
        .after = after,
    };
    sampling.read = (struct items_read){
        .call = {.engine = insight->meter->engine,
                 .arena = insight->arena,
                 .home = waiting_mailbox_box(insight->mailbox),
                 .err = ERR_INIT(insight->arena),
                 .done = sampling_done},
        .table = table,
        .lo = range.lo,
        .hi = range.hi,
        .limit = ITEMS_MAX,
        .emit = take_item,
    };
    engine_read_items(&sampling.read);
    waiting_mailbox_run(insight->mailbox, &sampling.done);
    return sampling.bytes_before > 0 ? sampling.bytes_after / sampling.bytes_before : 1;
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

/* "KEYS_ONLY", "ALL" or "INCLUDE(a,b)". */
static bool read_type(struct insight *insight, struct str text, struct projected *out)
{
    enum { NAMES_MAX = 100 };
    struct str before = STR("INCLUDE(");
    *out = (struct projected){.type = PROJECTION_KEYS_ONLY};
    if (str_eq(text, STR("KEYS_ONLY"))) {
        return true;
    }
    out->type = PROJECTION_ALL;
    if (str_eq(text, STR("ALL"))) {
        return true;
    }
    if (!str_starts_with(text, before) || text.data[text.len - 1] != ')') {
        return false;
    }
    struct str *names = ARENA_ARRAY(insight->arena, struct str, NAMES_MAX);
    struct str rest = str_make(text.data + before.len, text.len - before.len - 1);
    *out = (struct projected){.type = PROJECTION_INCLUDE, .names = names};
    while (rest.len > 0 && out->name_count < NAMES_MAX) {
        const char *comma = memchr(rest.data, ',', rest.len);
        size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.data);
        names[out->name_count++] = str_make(rest.data, len);
        rest = str_skip(rest, MIN(len + 1, rest.len));
    }
    return out->name_count > 0 && rest.len == 0;
}

static void read_projection(struct insight *insight, struct what_if *what_if, struct str text)
{
    const char *colon = memchr(text.data, ':', text.len);
    size_t len = colon == NULL ? text.len : (size_t)(colon - text.data);
    struct str type = colon == NULL ? STR("") : str_skip(text, len + 1);
    struct projected projected;
    const struct table *table;
    const struct index *index;
    struct table_sizes sizes;
    if (!read_type(insight, type, &projected)) {
        insight_refuse(insight, "projection must be TABLE/INDEX:KEYS_ONLY, TABLE/INDEX:ALL or "
                                "TABLE/INDEX:INCLUDE(NAME,NAME)");
        return;
    }
    if (!find_index(insight, str_make(text.data, len), &table, &sizes, &index)) {
        return;
    }
    struct index_change *change = add_change(insight, what_if, table, index);
    if (change != NULL) {
        change->entry_ratio = entry_ratio(insight, table, index, projected);
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
        note(insight, out, "traffic is %g times as much; provisioned tables keep their utilization",
             out->traffic);
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

/* Relative change of the units of a call if what it reads or writes becomes `ratio` times as
 * large. `unit` is the size that one unit covers: parts of it count as a whole one. */
static double units_ratio(double bytes, double ratio, double unit)
{
    double before = MAX(ceil(bytes / unit), 1);
    return MAX(ceil(bytes * ratio / unit), 1) / before;
}

/* The size of what a call of the pattern reads, or writes to a table or index. */
static double bytes_of(const struct pattern *pattern, bool is_index, double entry_bytes)
{
    const struct pattern_sums *sums = &pattern->sums;
    double calls = MAX((double)sums->calls - (double)sums->errors, 1);
    if (!(pattern->text.flags & METER_WRITE)) {
        return (double)sums->bytes_read / calls; /* of a page */
    }
    if (is_index || sums->bytes_written == 0) { /* also deletes */
        return entry_bytes;
    }
    return (double)sums->bytes_written / calls;
}

struct what_if_units what_if_units(const struct what_if *what_if, const struct pattern *pattern,
                                   const struct arm *arm, double entry_bytes)
{
    enum { READ_BYTES = 4096, WRITE_BYTES = 1024 };
    bool is_write = (pattern->text.flags & METER_WRITE) != 0;
    const struct index_change *change =
        arm == NULL ? NULL : change_of(what_if, pattern->text.table, arm->name);
    double ratio = what_if->item_size * (change == NULL ? 1 : change->entry_ratio);
    double bytes = bytes_of(pattern, arm != NULL, entry_bytes);
    double table_units = pattern->sums.table_units;
    struct what_if_units units = {is_write ? 0 : table_units, is_write ? table_units : 0};
    if (arm != NULL) {
        units = (struct what_if_units){arm->read_units, arm->write_units};
    }
    if (change != NULL && change->is_dropped) {
        return (struct what_if_units){0};
    }
    units.read *= what_if->traffic * units_ratio(bytes, ratio, READ_BYTES);
    units.write *= what_if->traffic * units_ratio(bytes, ratio, WRITE_BYTES);
    return units;
}

double what_if_stored(const struct what_if *what_if, struct str table, struct str index)
{
    const struct index_change *change = change_of(what_if, table, index);
    if (change == NULL) {
        return what_if->item_size;
    }
    return change->is_dropped ? 0 : what_if->item_size * change->entry_ratio;
}
