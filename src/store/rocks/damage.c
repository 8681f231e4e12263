/* Damaged tables. A read of a bad block fails (the client gets a 500), and the block is logged
 * once. If a compaction reads a bad block, RocksDB refuses all writes until it is opened again; the
 * next compaction would fail again, so the database is then opened without automatic compactions.
 * Writes and reads of other blocks continue; tables are not merged any more, so reads become slower
 * with time, until the operator repairs the store.
 *
 * Also the scrubber: a thread that reads all tables at a limited rate, so that bad blocks are found
 * while there may still be a backup without them. */
#include <errno.h>

#include "base/hash.h"
#include "base/log.h"
#include "store/rocks/rocks.h"
#include "store/rocks/rocks_internal.h"

static const int64_t first_wait_ns = (int64_t)60 * 1000000000;
static const int64_t pause_ns = (int64_t)600 * 1000000000; /* between two passes of the scrubber */
static const size_t piece_bytes = (size_t)256 << 10;
enum { ROWS_PER_LOOK = 64 };

void damage_init(struct damage *damage)
{
    *damage = (struct damage){0};
    pthread_mutex_init(&damage->mutex, NULL);
}

void damage_finish(struct damage *damage)
{
    pthread_mutex_destroy(&damage->mutex);
}

/* Whether a block of a table is bad: it does not have its checksum, or the disk cannot read it. */
static bool is_corruption(const char *message)
{
    struct str text = str_from_c(message);
    return str_starts_with(text, STR("Corruption")) ||
           (str_starts_with(text, STR("IO error: While pread")) &&
            strstr(message, strerror(EIO)) != NULL);
}

/* Returns a hash of the place in a message: "... in DIRECTORY/000012.sst offset 345 size 67". */
static uint64_t place_of(const char *message)
{
    const char *in = strstr(message, " in ");
    return hash_64(str_from_c(in != NULL ? in : message));
}

/* Whether a place is found for the first time. After DAMAGES_MAX places no more are logged. */
static bool is_new(struct damage *damage, uint64_t place)
{
    pthread_mutex_lock(&damage->mutex);
    bool is_known = damage->count == DAMAGES_MAX;
    for (size_t i = 0; i < damage->count && !is_known; i++) {
        is_known = damage->places[i] == place;
    }
    if (!is_known) {
        damage->places[damage->count++] = place;
    }
    pthread_mutex_unlock(&damage->mutex);
    return !is_known;
}

void rocks_read_failed(struct rocks *rocks, char *message)
{
    if (!is_corruption(message)) {
        rocks_failed(message, "read");
        return;
    }
    log_write(is_new(&rocks->damage, place_of(message)) ? LOG_ERROR : LOG_DEBUG, "store",
              "a table is damaged: %s; requests for the rows there fail; `gramme repair` saves the "
              "others into a new store",
              message);
    rocksdb_free(message);
}

void rocks_note_write_failure(struct rocks *rocks, const char *message)
{
    if (!is_corruption(message) || atomic_load(&rocks->damage.compactions_are_off)) {
        return;
    }
    atomic_store(&rocks->damage.compactions_are_off, true);
    rocksdb_options_set_disable_auto_compactions(rocks->options, 1);
    is_new(&rocks->damage, place_of(message));
    log_write(LOG_ERROR, "store",
              "a table is damaged: %s; tables are not merged any more, so that reads become slower "
              "with time; stop the server and run `gramme repair %s`",
              message, rocks->path);
}

/* Scrubbing ---------------------------------------------------------------------------------- */

/* A pass of the scrubber. */
struct scrub {
    struct rocks *rocks;
    struct buf key; /* where to continue */
    uint64_t bytes;
    uint64_t damage_count;
};

static void set_key_behind(struct scrub *scrub, const char *key, size_t len)
{
    scrub->key.len = 0;
    buf_add(&scrub->key, str_make(key, len));
    buf_add_char(&scrub->key, '\0');
}

/* Moves behind a bad block: to the next key at which a table begins or ends. False: there is none.
 */
static bool skip_damage(struct scrub *scrub, rocksdb_t *db)
{
    const rocksdb_livefiles_t *tables = rocksdb_livefiles(db);
    struct buf next = {0};
    bool found = false;
    for (int i = 0; i < rocksdb_livefiles_count(tables); i++) {
        struct buf ends[2] = {{0}, {0}};
        size_t len;
        const char *key = rocksdb_livefiles_smallestkey(tables, i, &len);
        buf_add(&ends[0], str_make(key, len));
        key = rocksdb_livefiles_largestkey(tables, i, &len);
        buf_add(&ends[1], str_make(key, len));
        buf_add_char(&ends[1], '\0');
        for (int end = 0; end < 2; end++) {
            struct str at = buf_str(&ends[end]);
            if (str_cmp(at, buf_str(&scrub->key)) > 0 &&
                (!found || str_cmp(at, buf_str(&next)) < 0)) {
                next.len = 0;
                buf_add(&next, at);
                found = true;
            }
            buf_finish(&ends[end]);
        }
    }
    rocksdb_livefiles_destroy(tables);
    buf_finish(&scrub->key);
    scrub->key = next;
    return found;
}

/* Reads about `piece_bytes` from scrub->key on; fewer if the gate is shut. */
static void read_rows(struct scrub *scrub, rocksdb_iterator_t *iter)
{
    uint64_t until = scrub->bytes + piece_bytes;
    int rows = 0;
    while (rocksdb_iter_valid(iter) && scrub->bytes < until) {
        size_t key_len;
        size_t value_len;
        const char *key = rocksdb_iter_key(iter, &key_len);
        rocksdb_iter_value(iter, &value_len);
        scrub->bytes += key_len + value_len;
        bool leaves = ++rows % ROWS_PER_LOOK == 0 && gate_is_shut(&scrub->rocks->gate);
        if (scrub->bytes >= until || leaves) {
            set_key_behind(scrub, key, key_len);
            return;
        }
        set_key_behind(scrub, key, key_len);
        rocksdb_iter_next(iter);
    }
}

static bool read_piece(struct scrub *scrub, rocksdb_t *db)
{
    rocksdb_readoptions_t *options = rocks_read_options_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_readoptions_set_verify_checksums(options, 1);
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *iter = rocksdb_create_iterator(db, options);
    rocksdb_iter_seek(iter, scrub->key.data != NULL ? scrub->key.data : "", scrub->key.len);
    read_rows(scrub, iter);
    bool goes_on = rocksdb_iter_valid(iter);
    char *message = NULL;
    rocksdb_iter_get_error(iter, &message);
    rocksdb_iter_destroy(iter);
    rocksdb_readoptions_destroy(options);
    if (message != NULL) {
        rocks_read_failed(scrub->rocks, message);
        scrub->damage_count++;
        goes_on = skip_damage(scrub, db);
    }
    return goes_on;
}

/* Reads a piece inside the gate. False: the pass is over. */
static bool scrub_piece(struct scrub *scrub)
{
    rocksdb_t *db = gate_enter(&scrub->rocks->gate);
    if (db == NULL) {
        return false;
    }
    bool goes_on = read_piece(scrub, db);
    gate_leave(&scrub->rocks->gate);
    return goes_on;
}

uint64_t rocks_scrub(struct store *store)
{
    struct scrub scrub = {.rocks = rocks_of(store)};
    while (scrub_piece(&scrub)) {
        ;
    }
    buf_finish(&scrub.key);
    return scrub.damage_count;
}

/* Waits. False: the store is being closed. */
static bool wait_for(struct rocks *rocks, int64_t wait_ns)
{
    struct task *task;
    return work_queue_pop_within(&rocks->scrubs, wait_ns, &task);
}

/* One pass over all tables. False: the store is being closed. */
static bool scrub_all(struct rocks *rocks)
{
    struct scrub scrub = {.rocks = rocks};
    int64_t wait_ns =
        (int64_t)(piece_bytes * 1000000000 / MAX(rocks->scrub_bytes_per_second, (uint64_t)1));
    bool is_open = true;
    while (is_open && scrub_piece(&scrub)) {
        is_open = wait_for(rocks, wait_ns);
    }
    if (is_open) {
        log_write(scrub.damage_count > 0 ? LOG_ERROR : LOG_DEBUG, "store",
                  "all tables were read, %llu MiB of rows: %llu damaged places",
                  (unsigned long long)(scrub.bytes >> 20), (unsigned long long)scrub.damage_count);
    }
    buf_finish(&scrub.key);
    return is_open;
}

void *rocks_scrubber_main(void *arg)
{
    struct rocks *rocks = arg;
    bool is_open = wait_for(rocks, first_wait_ns);
    while (is_open) {
        is_open = scrub_all(rocks) && wait_for(rocks, pause_ns);
    }
    return NULL;
}
