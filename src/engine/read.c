/* Reads one page of a Query or Scan. Rows are filtered and passed to emit() as they are read, in
 * the memory of the store. Only a local index that must fetch whole items from the table works in
 * two steps: first the entries of the page, then their items by key. On the thread of the call, or
 * on threads of the store. */
#include "engine/engine_internal.h"
#include "engine/past.h"

/* Number of passes over the attributes of an item that cost as much as reading and encoding it. */
enum { PASSES_PER_READ = 8 };

size_t engine_bytes_max(const struct engine_call *call, const struct condition *filter)
{
    size_t weight = 1 + (filter != NULL ? condition_weight(filter) / PASSES_PER_READ : 0);
    return call->bytes_max == 0 ? 0 : MAX(call->bytes_max / weight, (size_t)1);
}

/* A row with more bytes times weight is not filtered on a network thread: it can take more than a
 * millisecond. */
static const size_t row_work_max = (size_t)512 << 10;

static bool is_put_off(struct store_range *range, struct str row)
{
    range->put_off = !range->may_take_long && row.len * range->weight > row_work_max;
    return range->put_off;
}

/* Ends the page with this row; more rows may follow. */
static void end_page(struct items_read *read, struct value item)
{
    read->last_key = item_key_value(read->table, read->index, item, read->call.arena);
}

static void give(struct items_read *read, struct value item)
{
    if (read->filter != NULL && !condition_holds(read->filter, item)) {
        return;
    }
    read->count++;
    if (read->emit != NULL) {
        read->emit(read, item);
    }
}

/* Returns the key of the item of an index entry. */
static struct str item_row_of_entry(const struct items_read *read, struct value entry)
{
    struct value range = read->table->key.range_count == 0
                             ? VALUE_ABSENT
                             : value_map_get(entry, read->table->key.range[0].name);
    return key_of_item(read->call.arena, read->call.engine->seed, read->table->space,
                       value_map_get(entry, read->table->key.hash[0].name), range);
}

static void remember_fetch(struct items_read *read, struct value entry)
{
    size_t count = read->fetch_count;
    if ((count & (count - 1)) == 0) { /* a power of two, or 0: full */
        struct str *bigger = ARENA_ARRAY(read->call.arena, struct str, MAX(count * 2, (size_t)1));
        if (count > 0) {
            memcpy(bigger, read->fetch_keys, count * sizeof(*bigger));
        }
        read->fetch_keys = bigger;
    }
    read->fetch_keys[read->fetch_count++] = item_row_of_entry(read, entry);
}

/* Counts a row, and emits its item or notes it for fetching. False: the page ends with it. */
static bool take_row(struct items_read *read, struct str value)
{
    struct row row = row_decode(value);
    read->scanned_count++;
    read->bytes += row.size;
    if (read->fetch) {
        remember_fetch(read, row.item);
    } else {
        give(read, row.item);
    }
    if (read->bytes >= PAGE_BYTES_MAX || (read->limit > 0 && read->scanned_count >= read->limit)) {
        end_page(read, row.item);
        return false;
    }
    return true;
}

/* The next row of the past in the direction of the read, or NULL. */
static const struct past_row *next_past(const struct items_read *read)
{
    const struct past *past = read->past;
    if (past == NULL || read->past_count == past->count) {
        return NULL;
    }
    return &past->rows[read->backward ? past->count - 1 - read->past_count : read->past_count];
}

/* Takes the rows of the past that come before `key` (STR_NULL: all that are left). False: the page
 * ends with one of them. */
static bool take_past(struct items_read *read, struct str key)
{
    for (const struct past_row *row = next_past(read); row != NULL; row = next_past(read)) {
        int order = str_is_null(key) ? -1 : str_cmp(row->key, key);
        if (read->backward && !str_is_null(key) ? order <= 0 : order >= 0) {
            break;
        }
        read->past_count++;
        if (!str_is_null(row->row) && !take_row(read, row->row)) {
            return false;
        }
    }
    return true;
}

static bool read_row(struct store_range *range, struct str key, struct str value)
{
    struct items_read *read = CONTAINER_OF(range, struct items_read, range);
    if (UNLIKELY(is_put_off(range, value))) {
        return false;
    }
    if (UNLIKELY(read->past != NULL)) {
        if (!take_past(read, key)) {
            return false;
        }
        const struct past_row *row = next_past(read);
        if (row != NULL && str_eq(row->key, key)) {
            read->past_count++;
            return str_is_null(row->row) || take_row(read, row->row);
        }
    }
    return take_row(read, value);
}

static void read_before_thread_change(struct store_range *range)
{
    struct items_read *read = CONTAINER_OF(range, struct items_read, range);
    if (read->call.before_thread_change != NULL) {
        read->call.before_thread_change(read->call.owner);
    }
}

/* Items are fetched in parts, so that only one part is in memory besides the answer: the items of
 * one page of entries may have gigabytes. */
enum { FETCH_KEYS_MAX = 32 };

static void fetch_all(struct items_read *read);

static void give_fetched(struct items_read *read, const struct store_get *get)
{
    for (size_t i = 0; i < get->key_count && !read->stop; i++) {
        struct row row = row_decode(get->rows[i]);
        read->fetched_bytes += get->rows[i].len;
        read->fetch_units += capacity_read_units(row.size, read->consistent);
        if (!value_is_absent(row.item)) { /* deleted since the index was read */
            give(read, row.item);
        }
    }
}

static void fetch_done(struct store_get *get)
{
    struct items_read *read = CONTAINER_OF(get, struct items_read, get);
    engine_set_get_error(&read->call.err, get);
    if (read->call.err.code == ERR_NONE) {
        give_fetched(read, get);
        read->fetched_count += get->key_count;
    }
    read->fetch_is_back = true;
    if (read->fetch_is_away) {
        read->fetch_is_away = false;
        fetch_all(read);
    }
}

/* Asks the store for the next part. */
static void fetch_part(struct items_read *read)
{
    size_t bytes_max = engine_bytes_max(&read->call, read->filter);
    size_t bytes_left = bytes_max - MIN(bytes_max, read->fetched_bytes);
    arena_rewind(read->call.arena, read->fetch_mark);
    read->fetch_is_back = false;
    read->get = (struct store_get){
        .keys = read->fetch_keys + read->fetched_count,
        .key_count = MIN(read->fetch_count - read->fetched_count, (size_t)FETCH_KEYS_MAX),
        .bytes_max = bytes_max == 0 ? 0 : MAX(bytes_left, (size_t)1),
        .arena = read->call.arena,
        .home = read->call.home,
        .done = fetch_done,
    };
    store_get(read->call.engine->store, &read->get);
}

/* A loop, because the store may call fetch_done() before store_get() returns. */
static void fetch_all(struct items_read *read)
{
    while (read->call.err.code == ERR_NONE && !read->stop &&
           read->fetched_count < read->fetch_count) {
        fetch_part(read);
        if (!read->fetch_is_back) {
            read->fetch_is_away = true;
            return;
        }
    }
    read->call.done(&read->call);
}

static void read_done(struct store_range *range)
{
    struct items_read *read = CONTAINER_OF(range, struct items_read, range);
    engine_set_store_error(&read->call.err, range->status);
    if (UNLIKELY(read->past != NULL) && read->call.err.code == ERR_NONE &&
        value_is_absent(read->last_key)) {
        (void)take_past(read, STR_NULL); /* what comes behind the last row of the store */
    }
    read->fetch_mark = arena_mark(read->call.arena);
    fetch_all(read);
}

void engine_read_items(struct items_read *read)
{
    read->count = 0;
    read->scanned_count = 0;
    read->bytes = 0;
    read->fetch_units = 0;
    read->fetch_count = 0;
    read->fetched_count = 0;
    read->fetched_bytes = 0;
    read->fetch_is_away = false;
    read->past_count = 0;
    read->stop = false;
    read->last_key = VALUE_ABSENT;
    read->range = (struct store_range){
        .lo = read->lo,
        .hi = read->hi,
        .backward = read->backward,
        .arena = read->call.arena,
        .home = read->call.home,
        .row = read_row,
        .done = read_done,
        .before_thread_change = read_before_thread_change,
        .rows_wanted = read->past == NULL ? read->limit : 0,
        .weight = 1,
    };
    if (read->filter != NULL && !read->fetch) {
        read->range.weight += condition_weight(read->filter) / PASSES_PER_READ;
    }
    if (str_cmp(read->lo, read->hi) >= 0) { /* an impossible condition */
        read->range.status = STORE_OK;
        read_done(&read->range);
        return;
    }
    store_range(read->call.engine->store, &read->range);
}
