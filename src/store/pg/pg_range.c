/* Ranges: a statement reads some rows; row() gets them on the thread of the request, or on the slow
 * thread if it takes long; then the next statement continues behind the last row. The primary key
 * of the table begins with column b, so a range in one space is read bucket by bucket, and a range
 * over several spaces is read space by space. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/pg/pg_internal.h"

enum { FIRST_ROWS = 32, ROWS_MAX = 512, ROWS_PER_CLOCK = 16, BUCKETS = 256 };
static const size_t result_bytes = (size_t)1 << 20;     /* wanted size of a result */
static const size_t result_bytes_max = (size_t)4 << 20; /* of a result with more than one row */
static const int64_t slice_ns = 2000000;

static void send_range(struct task *task);
static void give_rows(struct task *task);

static struct str lo_of(const struct range_job *job)
{
    return buf_str(&job->lo);
}

static struct str hi_of(const struct range_job *job)
{
    return buf_str(&job->hi);
}

/* Returns the space of a bound, which may be shorter than a key. */
static uint32_t space_of(struct str bound)
{
    uint8_t bytes[STORE_SPACE_LEN] = {0};
    memcpy(bytes, bound.data, MIN(bound.len, sizeof(bytes)));
    return get_u32_be(bytes);
}

static void set(struct buf *buf, struct str bytes)
{
    buf->len = 0;
    buf_add(buf, bytes);
}

static void set_space(struct buf *buf, uint64_t space)
{
    uint8_t bytes[STORE_SPACE_LEN + 1];
    if (space > UINT32_MAX) { /* there is no larger space */
        memset(bytes, 0xFF, sizeof(bytes));
        set(buf, str_make(bytes, sizeof(bytes)));
        return;
    }
    put_u32_be(bytes, (uint32_t)space);
    set(buf, str_make(bytes, STORE_SPACE_LEN));
}

/* Ending ----------------------------------------------------------------------------------- */

static void end_job(struct range_job *job)
{
    struct store_range *range = job->range;
    struct pg *pg = job->pg;
    bool ok = !job->has_failed && (range->before_serving || members_may_serve(pg));
    range->status = ok ? STORE_OK : STORE_FAILED;
    range->is_unreadable = job->has_failed && job->is_unreadable;
    PQclear(job->result);
    buf_finish(&job->lo);
    buf_finish(&job->hi);
    buf_finish(&job->best);
    mem_free(job);
    pg_request_ended(pg);
}

static void finish_here(struct range_job *job)
{
    struct store_range *range = job->range;
    end_job(job);
    range->done(range);
}

static void finish_on_owner_thread(struct task *task)
{
    struct store_range *range = CONTAINER_OF(task, struct store_range, task);
    range->done(range);
}

static void finish(struct range_job *job)
{
    struct store_range *range = job->range;
    range->task.run = finish_on_owner_thread;
    struct mailbox *home = range->home;
    end_job(job);
    mailbox_post(home, &range->task);
}

static void go_on(struct range_job *job)
{
    job->task.run = send_range;
    pg_post(job->pg, &job->task);
}

static void give_rows_elsewhere(struct range_job *job)
{
    job->task.run = give_rows;
    job->until_ns = 0;
    mailbox_post(job->is_slow ? waiting_mailbox_box(job->pg->slow_box) : job->range->home,
                 &job->task);
}

/* Giving rows ------------------------------------------------------------------------------ */

/* Whether the time slice is over. All ranges that a network thread starts in one round of events
 * share a slice. */
static bool slice_is_over(struct range_job *job)
{
    struct mailbox *home = job->range->home;
    int64_t now_ns = clock_monotonic_ns();
    if (job->until_ns == 0) {
        job->until_ns = now_ns + slice_ns;
        if (home->has_slices && !job->is_slow) {
            home->slice_until_ns = home->slice_until_ns == 0 ? job->until_ns : home->slice_until_ns;
            job->until_ns = home->slice_until_ns;
        }
    }
    return now_ns >= job->until_ns;
}

/* Continues after a result: with the rest of the space, the next space, or the end. */
static void end_result(struct range_job *job)
{
    bool is_over =
        job->is_space_done && (job->range->backward ? job->hi.len == 0 : job->lo.len == 0);
    if (is_over || str_cmp(lo_of(job), hi_of(job)) >= 0) {
        if (job->is_slow) {
            finish(job);
        } else {
            finish_here(job);
        }
        return;
    }
    go_on(job);
}

static void move_to_slow(struct range_job *job)
{
    job->is_slow = true;
    if (job->range->before_thread_change != NULL) {
        job->range->before_thread_change(job->range);
    }
    give_rows_elsewhere(job);
}

/* Passes the next row to row(). False: the range ends here. On the thread of the request, or the
 * slow thread. */
static bool give_row(struct range_job *job)
{
    PGresult *result = job->result;
    struct str key =
        str_make(PQgetvalue(result, job->row, 0), (size_t)PQgetlength(result, job->row, 0));
    struct str value =
        str_make(PQgetvalue(result, job->row, 1), (size_t)PQgetlength(result, job->row, 1));
    return job->range->row(job->range, key, value);
}

static void give_rows(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    job->range->may_take_long = job->is_slow;
    for (int given = 1; job->row < job->row_count; job->row++, given++) {
        job->range->put_off = false;
        if (!give_row(job)) {
            if (job->range->put_off && !job->is_slow) {
                move_to_slow(job);
                return;
            }
            set(&job->lo, STR(""));
            set(&job->hi, STR(""));
            job->is_space_done = true;
            end_result(job);
            return;
        }
        if (given % ROWS_PER_CLOCK == 0 && job->row + 1 < job->row_count && slice_is_over(job)) {
            job->row++;
            if (job->is_slow) {
                give_rows_elsewhere(job); /* queued again after the time slice */
            } else {
                move_to_slow(job);
            }
            return;
        }
    }
    end_result(job);
}

/* Reading ---------------------------------------------------------------------------------- */

static void retry_or_fail(struct range_job *job)
{
    if (pg_retry_allows(job->pg, &job->retry)) {
        send_range(&job->task);
        return;
    }
    job->has_failed = true;
    finish(job);
}

/* The bucket that was read is done: moves the bounds to the next one, if there is one. */
static void leave_bucket(struct range_job *job, uint32_t space)
{
    uint8_t bound[STORE_SPACE_LEN + 1];
    bool backward = job->range->backward;
    int next = backward ? job->bucket : job->bucket + 1; /* first or end of those that are left */
    put_u32_be(bound, space);
    bound[STORE_SPACE_LEN] = (uint8_t)next;
    struct str at = str_make(bound, sizeof(bound));
    bool has_more = backward ? next > 0 && str_cmp(lo_of(job), at) < 0
                             : next < BUCKETS && str_cmp(at, hi_of(job)) < 0;
    if (has_more) {
        set(backward ? &job->hi : &job->lo, at);
        job->is_space_done = false;
    }
}

/* The longest value that the next statement returns: so the memory of a result is bounded, however
 * much the sizes of rows differ. A statement for one row returns it whatever its size. */
static int32_t value_max(const struct range_job *job)
{
    return job->limit == 1 ? INT32_MAX : (int32_t)(result_bytes_max / job->limit);
}

/* Returns the number of rows before the first one whose value was too long, and sums up their
 * bytes. */
static int count_rows(const PGresult *result, size_t *out_bytes)
{
    int i = 0;
    for (; i < PQntuples(result) && !PQgetisnull(result, i, 1); i++) {
        *out_bytes += (size_t)PQgetlength(result, i, 1) + (size_t)PQgetlength(result, i, 0);
    }
    return i;
}

static void move_behind_row(struct range_job *job, int row)
{
    struct str key =
        str_make(PQgetvalue(job->result, row, 0), (size_t)PQgetlength(job->result, row, 0));
    if (job->range->backward) {
        set(&job->hi, key);
    } else {
        set(&job->lo, key);
        buf_add_char(&job->lo, '\0');
    }
}

/* Moves the bounds behind the rows of the result, and chooses the limit of the next statement by
 * their sizes. */
static void narrow(struct range_job *job)
{
    enum { LIMIT_DIVISOR = 8, LIMIT_FACTOR = 4 };
    size_t bytes = 1;
    size_t count = (size_t)count_rows(job->result, &bytes);
    bool has_long = count < (size_t)PQntuples(job->result);
    job->row_count = (int)count;
    job->is_space_done = !has_long && count < job->limit;
    if (!job->is_space_done && count > 0) {
        move_behind_row(job, (int)count - 1);
    }
    size_t fitting = MAX(count, (size_t)1) * result_bytes / bytes;
    size_t next = MIN(fitting, has_long ? job->limit / LIMIT_DIVISOR : job->limit * LIMIT_FACTOR);
    job->limit = MIN(MAX(next, (size_t)1), (size_t)ROWS_MAX);
}

/* Returns the space that is read now. */
static uint32_t current_space(const struct range_job *job)
{
    if (!job->range->backward) {
        return space_of(lo_of(job));
    }
    struct str hi = hi_of(job);
    uint32_t space = space_of(hi);
    bool at_start = hi.len <= STORE_SPACE_LEN;
    return at_start && space > 0 ? space - 1 : space;
}

/* Removes a space that is done from the bounds, which are empty if no space is left. */
static void leave_space(struct range_job *job, uint32_t space)
{
    struct buf *bound = job->range->backward ? &job->hi : &job->lo;
    set_space(bound, job->range->backward ? space : (uint64_t)space + 1);
    if (str_cmp(lo_of(job), hi_of(job)) >= 0) {
        set(bound, STR(""));
    }
}

/* Whether PostgreSQL cannot read a page: data_corrupted, index_corrupted. */
static bool is_corruption(const PGresult *result)
{
    const char *state = pg_state(result);
    return strcmp(state, "XX001") == 0 || strcmp(state, "XX002") == 0;
}

static void take_rows(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    struct range_job *job = owner;
    PQclear(job->result);
    job->result = result;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
    job->is_unreadable =
        (!ok && is_corruption(result)) || pg_fault_is_due(job->pg, PG_FAULT_BAD_PAGE);
    if (!ok || job->is_unreadable) {
        retry_or_fail(job);
        return;
    }
    job->row = 0;
    pg_retry_init(&job->retry);
    narrow(job);
    if (job->is_space_done && job->bucket >= 0) {
        leave_bucket(job, (uint32_t)tag);
    }
    if (job->is_space_done) {
        leave_space(job, (uint32_t)tag);
    } else if (job->row_count == 0) {
        send_range(&job->task); /* the next bucket, or a row that is long */
        return;
    }
    give_rows_elsewhere(job);
}

static void begin_space(struct range_job *job)
{
    struct str key = buf_str(&job->best);
    if (key.len == 0) {
        finish(job);
        return;
    }
    if (job->range->backward) {
        set(&job->hi, key);
        buf_add_char(&job->hi, '\0');
    } else {
        set(&job->lo, key);
    }
    job->is_space_done = false;
    send_range(&job->task);
}

/* Gets the first key of the spaces that are left, which shows the next space, or one of the first
 * keys of each bucket. */
static void take_next_space(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    (void)tag;
    struct range_job *job = owner;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
    if (ok && PQntuples(result) > 0) {
        struct str key = str_make(PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
        int order = str_cmp(key, buf_str(&job->best));
        if (job->best.len == 0 || (job->range->backward ? order > 0 : order < 0)) {
            set(&job->best, key);
        }
    }
    job->is_unreadable = job->is_unreadable || (!ok && is_corruption(result));
    PQclear(result);
    job->has_lost = job->has_lost || !ok;
    if (--job->asked > 0) {
        return;
    }
    if (job->has_lost) {
        retry_or_fail(job);
    } else {
        begin_space(job);
    }
}

/* Asks each bucket for its first or last key. */
static void ask_buckets(struct conn *conn, struct range_job *job)
{
    struct param_int numbers[3];
    struct param limit = param_int64(&numbers[1], 1);
    struct param no_value = param_int32(&numbers[2], -1);
    job->asked = BUCKETS;
    for (int i = 0; i < BUCKETS; i++) {
        struct param params[] = {param_int16(&numbers[0], i), param_bytes(lo_of(job)),
                                 param_bytes(hi_of(job)), limit, no_value};
        conn_send(conn, job->range->backward ? STATEMENT_RANGE_BACK : STATEMENT_RANGE, params, 5,
                  take_next_space, job, 0);
    }
}

static void send_next_space(struct conn *conn, struct range_job *job)
{
    job->best.len = 0;
    job->has_lost = false;
    job->is_unreadable = false;
    if (job->pg->is_distributed) {
        ask_buckets(conn, job);
        return;
    }
    job->asked = 1;
    struct param params[] = {param_bytes(lo_of(job)), param_bytes(hi_of(job))};
    conn_send(conn, job->range->backward ? STATEMENT_LAST_KEY : STATEMENT_FIRST_KEY, params, 2,
              take_next_space, job, 0);
}

/* Reads the next rows of one space. */
static void send_rows(struct conn *conn, struct range_job *job, uint32_t space)
{
    bool backward = job->range->backward;
    struct str lo = lo_of(job);
    struct str hi = hi_of(job);
    uint8_t start[STORE_SPACE_LEN];
    uint8_t end[STORE_SPACE_LEN];
    put_u32_be(start, space);
    put_u32_be(end, space + 1);
    if (space_of(lo) < space) {
        lo = str_make(start, sizeof(start));
    }
    bool whole_end = space < UINT32_MAX && space_of(hi) > space;
    if (whole_end) {
        hi = str_make(end, sizeof(end));
    }
    int first = pg_bucket(lo);
    int last = whole_end || hi.len <= STORE_SPACE_LEN ? BUCKETS - 1 : pg_bucket(hi);
    job->bucket = -1;
    if (job->pg->is_distributed && !whole_end && hi.len == STORE_SPACE_LEN + 1 && last > first) {
        last--; /* the bound has no more than its bucket, so that has no rows of the range */
    }
    if (job->pg->is_distributed && first != last) {
        job->bucket = backward ? last : first; /* one after the other */
        first = job->bucket;
        last = job->bucket;
    }
    struct param_int numbers[4];
    struct param limit = param_int64(&numbers[2], (int64_t)job->limit);
    struct param longest = param_int32(&numbers[3], value_max(job));
    if (first == last) {
        struct param params[] = {param_int16(&numbers[0], first), param_bytes(lo), param_bytes(hi),
                                 limit, longest};
        conn_send(conn, backward ? STATEMENT_RANGE_BACK : STATEMENT_RANGE, params, 5, take_rows,
                  job, space);
        return;
    }
    struct param params[] = {param_int32(&numbers[0], first),
                             param_int32(&numbers[1], last),
                             param_bytes(lo),
                             param_bytes(hi),
                             limit,
                             longest};
    conn_send(conn, backward ? STATEMENT_SCAN_BACK : STATEMENT_SCAN, params, 6, take_rows, job,
              space);
}

static void send_range(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    struct pg *pg = job->pg;
    struct conn *conn = pg_retry_waits(&job->retry) ? NULL : pg_pick_reader(pg);
    if (conn == NULL) {
        job->next = pg->waiting_ranges;
        pg->waiting_ranges = job;
        return;
    }
    uint32_t space = current_space(job);
    bool is_gone = space_set_has(&pg->gone, space);
    if (is_gone) {
        leave_space(job, space);
        job->is_space_done = true;
    }
    if (job->lo.len == 0 || job->hi.len == 0 || str_cmp(lo_of(job), hi_of(job)) >= 0) {
        finish(job);
    } else if (job->is_space_done) {
        send_next_space(conn, job);
    } else {
        send_rows(conn, job, space);
    }
    if (pg_fault_is_due(pg, PG_FAULT_CUT_READ)) {
        conn_lose(conn);
    }
}

void pg_start_waiting_ranges(struct pg *pg)
{
    struct range_job *job = pg->waiting_ranges;
    pg->waiting_ranges = NULL;
    int64_t now_ns = clock_monotonic_ns();
    while (job != NULL) {
        struct range_job *next = job->next;
        if (pg_pick_reader(pg) == NULL && now_ns >= job->retry.deadline_ns) {
            job->is_unreadable = false;
            job->has_failed = true;
            finish(job);
        } else {
            send_range(&job->task);
        }
        job = next;
    }
}

void pg_range(struct store *store, struct store_range *range)
{
    struct pg *pg = pg_of(store);
    struct range_job *job = mem_zalloc(sizeof(*job));
    job->pg = pg;
    job->range = range;
    job->limit = range->rows_wanted > 0 ? MIN(range->rows_wanted, (size_t)ROWS_MAX) : FIRST_ROWS;
    pg_retry_init(&job->retry);
    job->task.run = send_range;
    set(&job->lo, range->lo);
    set(&job->hi, range->hi);
    range->may_take_long = false;
    range->put_off = false;
    atomic_fetch_add_explicit(&pg->under_way, 1, memory_order_relaxed);
    if (str_cmp(range->lo, range->hi) >= 0) {
        finish_here(job);
        return;
    }
    pg_post(pg, &job->task);
}
