/* Reads the stream of a table, shard by shard. feed.c (live updates, from now on) and follower.c
 * (actions, from a stored position on) each use a reader on a thread of their own. */
#include "apps/common/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum { DESCRIBE_MS = 30000, PAGE_RECORDS = 1000 };

/* Stored in place of a sequence number: the shard has been read to its end. */
static const char POSITION_END[] = "END";

struct shard {
    char *id;
    char *parent;   /* NULL: none, or not listed any more */
    char *iterator; /* NULL: read to its end */
    char *last;     /* sequence number of the newest change that was taken; NULL: none */
    size_t taken;   /* changes of the iterator's page that were taken before one failed */
};

struct stream_reader {
    struct stream_options options;
    char *arn;
    struct shard *shards;
    size_t shard_count;
    size_t shard_room;
    int64_t described_at_ms;
};

/* The position at which reading a new shard begins. */
struct start {
    bool is_latest;
    const struct gramme_value *positions; /* by shard id; NULL: none */
};

static int64_t now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

struct stream_reader *stream_reader_create(const struct stream_options *options)
{
    struct stream_reader *reader = mem_zalloc(sizeof(*reader));
    reader->options = *options;
    return reader;
}

static void free_shard(struct shard *shard)
{
    mem_free(shard->id);
    mem_free(shard->parent);
    mem_free(shard->iterator);
    mem_free(shard->last);
}

static void forget(struct stream_reader *reader)
{
    for (size_t i = 0; i < reader->shard_count; i++) {
        free_shard(&reader->shards[i]);
    }
    reader->shard_count = 0;
    mem_free(reader->arn);
    reader->arn = NULL;
}

void stream_reader_destroy(struct stream_reader *reader)
{
    if (reader != NULL) {
        forget(reader);
        mem_free(reader->shards);
        mem_free(reader);
    }
}

static void replace(char **text, const char *by)
{
    char *copy = by == NULL ? NULL : mem_strdup(by);
    mem_free(*text);
    *text = copy;
}

/* --- errors --- */

bool stream_error_may_pass(const struct gramme_error *error)
{
    return gramme_error_status(error) == 0 || gramme_error_retryable(error) ||
           gramme_error_is(error, GRAMME_NOT_FOUND) || gramme_error_is(error, GRAMME_IN_USE);
}

bool stream_error_is_throttled(const struct gramme_error *error)
{
    return gramme_error_is(error, "LimitExceededException") ||
           gramme_error_is(error, GRAMME_THROUGHPUT_EXCEEDED) ||
           gramme_error_is(error, "ThrottlingException");
}

/* --- requests --- */

/* Sends a request and destroys it. */
static struct gramme_answer *send(struct gramme_db *db, struct gramme_request *request,
                                  struct gramme_error **error)
{
    struct gramme_answer *answer = gramme_send(db, request, error);
    gramme_request_destroy(request);
    return answer;
}

/* Finds the ARN of the table's stream with old and new images. True with *arn NULL: the table has
 * no such stream. */
static bool find_arn(struct gramme_db *db, const char *name, char **arn,
                     struct gramme_error **error)
{
    struct gramme_answer *answer = send(db, gramme_request_create("DescribeTable", name), error);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *table = gramme_get(gramme_answer_root(answer), "Table");
    const struct gramme_value *stream = gramme_get(table, "StreamSpecification");
    const char *view = gramme_get_string(stream, "StreamViewType");
    bool is_on = view != NULL && strcmp(view, "NEW_AND_OLD_IMAGES") == 0 &&
                 gramme_get_bool(stream, "StreamEnabled", false);
    replace(arn, is_on ? gramme_get_string(table, "LatestStreamArn") : NULL);
    gramme_answer_destroy(answer);
    return true;
}

static bool update_stream(struct gramme_db *db, const char *table, struct gramme_error **error)
{
    struct gramme_request *update = gramme_request_create("UpdateTable", table);
    struct gramme_value *stream =
        gramme_set_map(gramme_request_root(update), "StreamSpecification");
    gramme_set_bool(stream, "StreamEnabled", true);
    gramme_set_string(stream, "StreamViewType", "NEW_AND_OLD_IMAGES");
    struct gramme_answer *answer = send(db, update, error);
    gramme_answer_destroy(answer);
    return answer != NULL;
}

/* Tries once to enable the stream. *out_is_busy: another program is changing the table, perhaps its
 * stream. */
static bool try_enable(struct gramme_db *db, const char *table, bool *out_is_busy,
                       struct gramme_error **error)
{
    char *arn = NULL;
    struct gramme_error *refusal = NULL;
    *out_is_busy = false;
    if (!find_arn(db, table, &arn, error)) {
        return false;
    }
    bool is_on = arn != NULL;
    mem_free(arn);
    if (is_on || update_stream(db, table, &refusal)) {
        return true;
    }
    *out_is_busy = gramme_error_is(refusal, GRAMME_IN_USE);
    if (!*out_is_busy && stream_error_may_pass(refusal)) {
        *error = refusal;
        return false;
    }
    gramme_error_destroy(refusal);
    return true;
}

bool stream_enable(struct gramme_db *db, const char *table, int timeout_ms,
                   struct gramme_error **error)
{
    enum { TRIES_MAX = 5 };
    bool is_busy = true;
    bool ok = true;
    for (int tries = 0; ok && is_busy && tries < TRIES_MAX; tries++) {
        ok = try_enable(db, table, &is_busy, error) &&
             gramme_wait_table(db, table, timeout_ms, error);
    }
    return ok;
}

/* `after`: a sequence number for the type AFTER_SEQUENCE_NUMBER, else NULL. */
static char *get_iterator(struct stream_reader *reader, const char *shard, const char *type,
                          const char *after, struct gramme_error **error)
{
    struct gramme_request *request = gramme_request_create("GetShardIterator", NULL);
    struct gramme_value *root = gramme_request_root(request);
    gramme_set_string(root, "StreamArn", reader->arn);
    gramme_set_string(root, "ShardId", shard);
    gramme_set_string(root, "ShardIteratorType", type);
    if (after != NULL) {
        gramme_set_string(root, "SequenceNumber", after);
    }
    struct gramme_answer *answer = send(reader->options.streams, request, error);
    const char *iterator = gramme_get_string(gramme_answer_root(answer), "ShardIterator");
    char *copy = iterator == NULL ? NULL : mem_strdup(iterator);
    gramme_answer_destroy(answer);
    return copy;
}

/* --- shards --- */

static struct shard *find_shard(struct stream_reader *reader, const char *id)
{
    for (size_t i = 0; id != NULL && i < reader->shard_count; i++) {
        if (strcmp(reader->shards[i].id, id) == 0) {
            return &reader->shards[i];
        }
    }
    return NULL;
}

/* Gets an iterator after the position, or at the oldest change if the stream does not have the
 * position any more. */
static char *iterator_at(struct stream_reader *reader, const char *shard, const char *position,
                         struct gramme_error **error)
{
    char *iterator = NULL;
    if (position != NULL) {
        iterator = get_iterator(reader, shard, "AFTER_SEQUENCE_NUMBER", position, error);
        if (iterator != NULL || !gramme_error_is(*error, "TrimmedDataAccessException")) {
            return iterator;
        }
    }
    return get_iterator(reader, shard, "TRIM_HORIZON", NULL, error);
}

static void append_shard(struct stream_reader *reader, const struct shard *shard)
{
    if (reader->shard_count == reader->shard_room) {
        reader->shard_room = reader->shard_room * 2 + 8;
        reader->shards = mem_realloc(reader->shards, reader->shard_room * sizeof(*shard));
    }
    reader->shards[reader->shard_count++] = *shard;
}

/* Returns whether a shard has ended and has a child. Dynoxide gives its only shard an end although
 * it continues. */
static bool is_over(const struct gramme_value *shard, const struct gramme_value *listed)
{
    if (gramme_get_string(gramme_get(shard, "SequenceNumberRange"), "EndingSequenceNumber") ==
        NULL) {
        return false;
    }
    for (size_t i = 0; i < gramme_value_count(listed); i++) {
        const char *parent = gramme_get_string(gramme_value_at(listed, i), "ParentShardId");
        if (parent != NULL && strcmp(parent, gramme_get_string(shard, "ShardId")) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a shard that was listed, if it is not known. `start` NULL: the reader is open, so the shard
 * is the child of one that was read, and is read from its start. */
static bool add_shard(struct stream_reader *reader, const struct gramme_value *listed, size_t index,
                      const struct start *start, struct gramme_error **error)
{
    const struct gramme_value *added = gramme_value_at(listed, index);
    const char *id = gramme_get_string(added, "ShardId");
    if (id == NULL || find_shard(reader, id) != NULL) {
        return true;
    }
    bool is_latest = start != NULL && start->is_latest;
    const char *position = start == NULL ? NULL : gramme_get_string(start->positions, id);
    bool is_done = is_latest ? is_over(added, listed)
                             : position != NULL && strcmp(position, POSITION_END) == 0;
    struct shard shard = {0};
    if (!is_done) {
        shard.iterator = is_latest ? get_iterator(reader, id, "LATEST", NULL, error)
                                   : iterator_at(reader, id, position, error);
        if (shard.iterator == NULL) {
            return false;
        }
    }
    replace(&shard.id, id);
    replace(&shard.parent, gramme_get_string(added, "ParentShardId"));
    replace(&shard.last, is_done ? NULL : position);
    append_shard(reader, &shard);
    return true;
}

/* Forgets shards that have been read to their end and are not listed any more. */
static void drop_ended(struct stream_reader *reader, const struct gramme_value *listed)
{
    size_t kept = 0;
    for (size_t i = 0; i < reader->shard_count; i++) {
        struct shard *shard = &reader->shards[i];
        bool is_kept = shard->iterator != NULL;
        for (size_t k = 0; !is_kept && k < gramme_value_count(listed); k++) {
            const char *id = gramme_get_string(gramme_value_at(listed, k), "ShardId");
            is_kept = id != NULL && strcmp(id, shard->id) == 0;
        }
        if (is_kept) {
            reader->shards[kept++] = *shard;
        } else {
            free_shard(shard);
        }
    }
    reader->shard_count = kept;
}

/* Lists the shards and adds new ones. */
static bool describe(struct stream_reader *reader, const struct start *start,
                     struct gramme_error **error)
{
    char *from = NULL;
    bool ok = true;
    do {
        struct gramme_request *request = gramme_request_create("DescribeStream", NULL);
        gramme_set_string(gramme_request_root(request), "StreamArn", reader->arn);
        if (from != NULL) {
            gramme_set_string(gramme_request_root(request), "ExclusiveStartShardId", from);
        }
        struct gramme_answer *answer = send(reader->options.streams, request, error);
        const struct gramme_value *description =
            gramme_get(gramme_answer_root(answer), "StreamDescription");
        const struct gramme_value *shards = gramme_get(description, "Shards");
        const char *last = gramme_get_string(description, "LastEvaluatedShardId");
        ok = answer != NULL;
        if (ok && from == NULL && last == NULL) { /* the list is complete */
            drop_ended(reader, shards);
        }
        replace(&from, last);
        for (size_t i = 0; ok && i < gramme_value_count(shards); i++) {
            ok = add_shard(reader, shards, i, start, error);
        }
        gramme_answer_destroy(answer);
    } while (ok && from != NULL);
    mem_free(from);
    reader->described_at_ms = now_ms();
    return ok;
}

/* --- opening --- */

static bool open_at(struct stream_reader *reader, const struct gramme_value *positions,
                    bool is_latest, bool *out_found, struct gramme_error **error)
{
    forget(reader);
    bool ok = find_arn(reader->options.db, reader->options.table, &reader->arn, error);
    *out_found = ok && reader->arn != NULL;
    if (*out_found) {
        const char *arn = gramme_get_string(positions, "StreamArn");
        bool is_same = arn != NULL && strcmp(arn, reader->arn) == 0;
        struct start start = {.is_latest = is_latest,
                              .positions = is_same ? gramme_get(positions, "Shards") : NULL};
        ok = describe(reader, &start, error);
    }
    if (!ok && !stream_error_may_pass(*error)) { /* a database without streams */
        *out_found = false;
        return true;
    }
    return ok;
}

bool stream_reader_open_latest(struct stream_reader *reader, bool *out_found,
                               struct gramme_error **error)
{
    return open_at(reader, NULL, true, out_found, error);
}

bool stream_reader_open_at(struct stream_reader *reader, const struct gramme_value *positions,
                           bool *out_found, struct gramme_error **error)
{
    return open_at(reader, positions, false, out_found, error);
}

/* --- reading --- */

/* Calls `take` with the changes of a page, without those that it has taken before. */
static bool take_page(struct shard *shard, const struct gramme_value *records, stream_take *take,
                      void *context, struct gramme_error **error)
{
    for (size_t i = shard->taken; i < gramme_value_count(records); i++) {
        const struct gramme_value *record = gramme_get(gramme_value_at(records, i), "dynamodb");
        struct stream_change change = {
            .old_item = gramme_get(record, "OldImage"),
            .new_item = gramme_get(record, "NewImage"),
            .when_s = gramme_get_int(record, "ApproximateCreationDateTime", 0),
        };
        if (!take(context, &change, error)) {
            return false;
        }
        shard->taken = i + 1;
        replace(&shard->last, gramme_get_string(record, "SequenceNumber"));
    }
    return true;
}

/* Reads a shard up to its newest change. */
static bool read_shard(struct stream_reader *reader, struct shard *shard, stream_take *take,
                       void *context, struct gramme_error **error)
{
    size_t count = 1;
    while (shard->iterator != NULL && count > 0) {
        struct gramme_request *request = gramme_request_create("GetRecords", NULL);
        gramme_set_string(gramme_request_root(request), "ShardIterator", shard->iterator);
        gramme_set_int(gramme_request_root(request), "Limit", PAGE_RECORDS);
        struct gramme_answer *answer = send(reader->options.streams, request, error);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *records = gramme_get(gramme_answer_root(answer), "Records");
        count = gramme_value_count(records);
        bool ok = take_page(shard, records, take, context, error);
        if (ok) {
            replace(&shard->iterator,
                    gramme_get_string(gramme_answer_root(answer), "NextShardIterator"));
            shard->taken = 0;
        }
        gramme_answer_destroy(answer);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* Returns whether the parent of a shard must be read first. */
static bool must_wait(struct stream_reader *reader, const struct shard *shard)
{
    const struct shard *parent = find_shard(reader, shard->parent);
    return parent != NULL && parent->iterator != NULL;
}

bool stream_reader_read(struct stream_reader *reader, stream_take *take, void *context,
                        struct gramme_error **error)
{
    bool has_ended = false;
    for (size_t i = 0; i < reader->shard_count; i++) {
        struct shard *shard = &reader->shards[i];
        if (shard->iterator == NULL || must_wait(reader, shard)) {
            continue;
        }
        if (!read_shard(reader, shard, take, context, error)) {
            return false;
        }
        has_ended |= shard->iterator == NULL;
    }
    if (has_ended || now_ms() - reader->described_at_ms > DESCRIBE_MS) {
        return describe(reader, NULL, error);
    }
    return true;
}

void stream_reader_save(const struct stream_reader *reader, struct gramme_value *out)
{
    gramme_set_string(out, "StreamArn", reader->arn);
    struct gramme_value *shards = gramme_set_map(out, "Shards");
    for (size_t i = 0; i < reader->shard_count; i++) {
        const struct shard *shard = &reader->shards[i];
        if (shard->iterator == NULL) {
            gramme_set_string(shards, shard->id, POSITION_END);
        } else if (shard->last != NULL) {
            gramme_set_string(shards, shard->id, shard->last);
        }
    }
}
