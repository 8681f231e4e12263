/* Damaged SST files. A read of a bad block fails (the client gets a 500), and the block is logged
 * once. If a compaction reads a bad block, RocksDB refuses all writes until it is opened again, and
 * the next compaction would fail again. So the bad blocks of the SST file are put into quarantine
 * (database/quarantine_sst.c). Where that is not possible the database is opened without automatic
 * compactions: writes and reads of other blocks continue, but reads become slower with time, until
 * the operator repairs the store. */
#include <errno.h>
#include <stdlib.h>

#include "store/rocks/faults/damage.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks/rocks.h"

void damage_init(struct damage *damage)
{
    *damage = (struct damage){0};
    pthread_mutex_init(&damage->mutex, NULL);
}

void damage_finish(struct damage *damage)
{
    mem_free(damage->failure);
    pthread_mutex_destroy(&damage->mutex);
}

/* Whether a block of an SST file is bad: it does not have its checksum, or the disk cannot read it.
 */
static bool is_corruption(const char *message)
{
    struct str text = str_from_c(message);
    return str_starts_with(text, STR("Corruption")) ||
           (str_starts_with(text, STR("IO error: While pread")) &&
            strstr(message, strerror(EIO)) != NULL);
}

static uint64_t hash_place(uint64_t sst, int64_t offset)
{
    uint64_t place[2] = {sst, (uint64_t)offset};
    return hash_64(str_make((const char *)place, sizeof(place)));
}

/* Returns the number that ends at `end`. */
static uint64_t number_before(const char *message, const char *end)
{
    const char *number = end;
    while (number > message && number[-1] >= '0' && number[-1] <= '9') {
        number--;
    }
    return strtoull(number, NULL, 10);
}

/* Returns a hash of the place in a message: "... in DIRECTORY/000012.sst offset 345 size 67". */
static uint64_t place_of(const char *message)
{
    static const char mark[] = ".sst offset ";
    const char *found = strstr(message, mark);
    if (found == NULL) {
        return hash_64(str_from_c(message));
    }
    return hash_place(number_before(message, found), strtoll(found + sizeof(mark) - 1, NULL, 10));
}

/* Returns the number of the SST file that a message names; 0: none. */
static uint64_t sst_of(const char *message)
{
    const char *found = strstr(message, ".sst");
    return found != NULL ? number_before(message, found) : 0;
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

/* Logs a bad place of an SST file, once. */
static void log_damage(struct rocks *rocks, uint64_t place, const char *text)
{
    log_write(is_new(&rocks->damage, place) ? LOG_ERROR : LOG_DEBUG, "store",
              "an SST file is damaged: %s; requests for the rows there fail; stop the server, then "
              "`gramme repair %s %s-repaired` saves the others into a new store",
              text, rocks->path, rocks->path);
}

bool rocks_read_failed(struct rocks *rocks, char *message)
{
    if (!is_corruption(message)) {
        rocks_failed(message, "read");
        return false;
    }
    log_damage(rocks, place_of(message), message);
    rocksdb_free(message);
    return true;
}

void rocks_note_damage(struct rocks *rocks, uint64_t sst, int64_t offset, const char *text)
{
    struct buf message = {0};
    buf_format(&message, "%s in %s/%06llu.sst offset %lld", text, rocks->path,
               (unsigned long long)sst, (long long)offset);
    log_damage(rocks, hash_place(sst, offset), message.data);
    buf_finish(&message);
}

void rocks_note_write_failure(struct rocks *rocks, const char *message)
{
    struct damage *damage = &rocks->damage;
    if (!is_corruption(message) || atomic_load(&damage->compactions_are_off)) {
        return;
    }
    mem_free(damage->failure);
    damage->failure = mem_strdup(message);
    damage->failed_sst = sst_of(message);
}

bool rocks_note_unconfirmed(struct rocks *rocks)
{
    enum { SAME_MAX = 3 };
    struct damage *damage = &rocks->damage;
    assert(damage->failure != NULL);
    assert(damage->unconfirmed_count < UNCONFIRMED_MAX);
    damage->unconfirmed[damage->unconfirmed_count++] = damage->failed_sst;
    int same_count = 0;
    for (size_t i = 0; i < damage->unconfirmed_count; i++) {
        same_count += damage->unconfirmed[i] == damage->failed_sst;
    }
    if (same_count >= SAME_MAX || damage->unconfirmed_count == UNCONFIRMED_MAX) {
        return false;
    }
    log_write(
        LOG_WARN, "store",
        "a compaction could not read an SST file: %s; no bad block was found when it was read "
        "again, so compactions go on",
        damage->failure);
    return true;
}

void rocks_stop_compactions(struct rocks *rocks, const char *why)
{
    const char *message = rocks->damage.failure;
    assert(message != NULL);
    atomic_store(&rocks->damage.compactions_are_off, true);
    rocksdb_options_set_disable_auto_compactions(rocks->options, 1);
    is_new(&rocks->damage, place_of(message));
    log_write(LOG_ERROR, "store",
              "an SST file is damaged: %s; compactions are stopped, so that reads become slower "
              "with time, because it cannot be put into quarantine (%s); stop the server and run "
              "`gramme repair %s %s-repaired`",
              message, why, rocks->path, rocks->path);
}

size_t rocks_damage_count(struct store *store)
{
    struct damage *damage = &rocks_of(store)->damage;
    pthread_mutex_lock(&damage->mutex);
    size_t count = damage->count;
    pthread_mutex_unlock(&damage->mutex);
    return count;
}
