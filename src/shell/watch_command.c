/* \watch: follows the stream of a table, shard after shard, and prints each change. Main thread. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/results_internal.h"

enum {
    SHARDS_MAX = 1000, /* followed at a time */
    POLL_MS = 500,     /* between rounds that found nothing */
    DISCOVER_ROUNDS = 10,
};

/* A shard that is being read. */
struct shard {
    struct str id;  /* in the watch's arena */
    char *iterator; /* NULL: read to its end */
};

struct watch {
    struct session *session;
    struct gramme_db *db;
    const char *arn;
    struct arena arena;
    struct shard shards[SHARDS_MAX];
    size_t shard_count;
    size_t shown;
    size_t shown_max; /* 0: no end */
    bool is_first;    /* the first look at the shards */
    bool from_start;
};

/* --- the address of streams --- */

/* The service has another host for streams; other servers have one for all. */
static bool find_streams_url(struct session *session, struct buf *out)
{
    struct str url = str_from_c(session->url);
    struct str host = STR("https://dynamodb.");
    bool is_service = str_starts_with(url, host) && str_contains(url, STR(".amazonaws.com"));
    if (str_eq(url, STR("aws:")) && getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL &&
        getenv("AWS_ENDPOINT_URL") == NULL) {
        const char *region = session->options.region;
        region = region != NULL ? region : getenv("AWS_REGION");
        region = region != NULL ? region : getenv("AWS_DEFAULT_REGION");
        if (region == NULL) {
            return fail(session, "the service's streams have an address of their own: give the "
                                 "region with --region or AWS_REGION");
        }
        buf_format(out, "https://streams.dynamodb.%s.amazonaws.com", region);
    } else if (is_service) {
        buf_format(out, "https://streams.dynamodb.%.*s", STR_ARG(str_skip(url, host.len)));
    }
    if (out->len > 0) {
        buf_add_char(out, '\0');
    }
    return true;
}

static bool open_streams(struct session *session, struct gramme_db **out)
{
    struct buf url = {0};
    bool good = true;
    if (session->streams == NULL) {
        good = find_streams_url(session, &url);
        if (good && url.len > 0) {
            struct gramme_error *error = NULL;
            session->streams = gramme_open(url.data, &session->options, &error);
            good = session->streams != NULL || fail_with(session, error);
        }
    }
    buf_finish(&url);
    *out = session->streams != NULL ? session->streams : session->db;
    return good;
}

/* --- shards --- */

static struct shard *find_shard(struct watch *watch, struct str id)
{
    for (size_t i = 0; i < watch->shard_count; i++) {
        if (str_eq(watch->shards[i].id, id)) {
            return &watch->shards[i];
        }
    }
    return NULL;
}

/* Starts reading a shard: those that are there at first at their end, later ones at their start.
 */
static bool start_shard(struct watch *watch, const char *id)
{
    if (watch->shard_count == SHARDS_MAX) {
        return fail(watch->session, "the stream has more than %d shards", SHARDS_MAX);
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer;
    bool is_latest = watch->is_first && !watch->from_start;
    gramme_set_string(parameters, "StreamArn", watch->arn);
    gramme_set_string(parameters, "ShardId", id);
    gramme_set_string(parameters, "ShardIteratorType", is_latest ? "LATEST" : "TRIM_HORIZON");
    bool good = call(watch->session, watch->db, "GetShardIterator", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    if (good) {
        const char *iterator = gramme_get_string(gramme_answer_root(answer), "ShardIterator");
        watch->shards[watch->shard_count++] = (struct shard){
            .id = arena_copy(&watch->arena, str_from_c(id)),
            .iterator = iterator == NULL ? NULL : mem_strdup(iterator),
        };
        gramme_answer_destroy(answer);
    }
    return good;
}

/* Starts those shards of a list that are not known yet. */
static bool start_new(struct watch *watch, const struct gramme_value *shards)
{
    bool good = true;
    for (size_t i = 0; good && i < gramme_value_count(shards); i++) {
        const char *id = gramme_get_string(gramme_value_at(shards, i), "ShardId");
        if (id != NULL && find_shard(watch, str_from_c(id)) == NULL) {
            good = start_shard(watch, id);
        }
    }
    return good;
}

/* Starts all shards that are not known yet. */
static bool discover(struct watch *watch)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "StreamArn", watch->arn);
    bool good = true;
    const char *last = "";
    while (good && last != NULL) {
        struct gramme_answer *answer;
        good = call(watch->session, watch->db, "DescribeStream", parameters, &answer, NULL);
        if (!good) {
            break;
        }
        const struct gramme_value *stream =
            gramme_get(gramme_answer_root(answer), "StreamDescription");
        good = start_new(watch, gramme_get(stream, "Shards"));
        last = gramme_get_string(stream, "LastEvaluatedShardId");
        if (last != NULL) {
            gramme_set_string(parameters, "ExclusiveStartShardId", last);
        }
        gramme_answer_destroy(answer);
    }
    gramme_value_destroy(parameters);
    watch->is_first = false;
    return good;
}

/* --- records --- */

static void print_part(struct buf *out, const char *name, const struct gramme_value *value)
{
    size_t len;
    char *json = value == NULL ? NULL : gramme_value_to_json(value, GRAMME_PLAIN, &len);
    if (json != NULL) {
        buf_format(out, "%s", name);
        terminal_add_json(out, str_make(json, len));
    }
    gramme_free(json);
}

static void print_json(struct session *session, const char *event,
                       const struct gramme_value *change)
{
    struct gramme_value *row = gramme_map_create();
    gramme_set_string(row, "event", event);
    gramme_set_value(row, "keys", gramme_get(change, "Keys"));
    gramme_set_value(row, "old", gramme_get(change, "OldImage"));
    gramme_set_value(row, "new", gramme_get(change, "NewImage"));
    results_add_json(&session->out, row, GRAMME_PLAIN);
    gramme_value_destroy(row);
}

static void print_line(struct session *session, const char *event,
                       const struct gramme_value *change)
{
    time_t seconds = (time_t)gramme_get_double(change, "ApproximateCreationDateTime", 0);
    struct tm local = {0};
    localtime_r(&seconds, &local);
    struct buf name = {0};
    terminal_add_text(&name, str_from_c(event));
    buf_add_char(&name, '\0');
    buf_format(&session->out, "%02d:%02d:%02d %-6s ", local.tm_hour, local.tm_min, local.tm_sec,
               name.data);
    buf_finish(&name);
    const struct gramme_value *new_image = gramme_get(change, "NewImage");
    const struct gramme_value *old_image = gramme_get(change, "OldImage");
    if (new_image == NULL && old_image == NULL) {
        print_part(&session->out, "", gramme_get(change, "Keys"));
    }
    print_part(&session->out, "", old_image);
    print_part(&session->out, old_image != NULL ? " -> " : "", new_image);
    buf_add_char(&session->out, '\n');
}

static void print_record(struct watch *watch, const struct gramme_value *record)
{
    struct session *session = watch->session;
    const struct gramme_value *change = gramme_get(record, "dynamodb");
    const char *event = gramme_get_string(record, "eventName");
    event = event != NULL ? event : "?";
    if (session->format == FORMAT_JSON || session->format == FORMAT_TYPED) {
        print_json(session, event, change);
    } else {
        print_line(session, event, change);
    }
}

/* Reads what is new in a shard. *found: there was something. */
static bool read_shard(struct watch *watch, struct shard *shard, bool *found)
{
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer;
    gramme_set_string(parameters, "ShardIterator", shard->iterator);
    bool good = call(watch->session, watch->db, "GetRecords", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    if (!good) {
        return false;
    }
    const struct gramme_value *records = gramme_get(gramme_answer_root(answer), "Records");
    for (size_t i = 0; i < gramme_value_count(records); i++) {
        if (watch->shown_max == 0 || watch->shown < watch->shown_max) {
            print_record(watch, gramme_value_at(records, i));
            watch->shown++;
            *found = true;
        }
    }
    const char *next = gramme_get_string(gramme_answer_root(answer), "NextShardIterator");
    mem_free(shard->iterator);
    shard->iterator = next == NULL ? NULL : mem_strdup(next);
    gramme_answer_destroy(answer);
    output_flush_now(watch->session);
    return true;
}

/* Follows the stream until Ctrl-C, a failure, or as many changes as were asked for. */
static bool follow(struct watch *watch)
{
    bool good = discover(watch);
    if (good && watch->session->is_interactive) {
        printf("watching; Ctrl-C ends\n");
        fflush(stdout);
    }
    for (size_t round = 1; good; round++) {
        bool found = false;
        bool has_ended = false;
        for (size_t i = 0; good && i < watch->shard_count; i++) {
            if (watch->shards[i].iterator != NULL) {
                good = read_shard(watch, &watch->shards[i], &found);
                has_ended = has_ended || watch->shards[i].iterator == NULL;
            }
        }
        if (watch->shown_max > 0 && watch->shown >= watch->shown_max) {
            return good;
        }
        if (good && !found && wait_readable(-1, POLL_MS) < 0) {
            return true;
        }
        if (good && (has_ended || round % DISCOVER_ROUNDS == 0)) {
            good = discover(watch);
        }
    }
    return good || watch->session->was_interrupted; /* Ctrl-C is how it ends */
}

static bool read_modifiers(struct session *session, const struct invocation *invocation,
                           struct watch *watch)
{
    for (size_t i = 2; i < invocation->words.count; i += 2) {
        int64_t number;
        struct str value = word_at(invocation, i + 1);
        if (str_eq(invocation->words.text[i], STR("limit")) && str_to_int64(value, &number) &&
            number > 0) {
            watch->shown_max = (size_t)number;
        } else if (str_eq(invocation->words.text[i], STR("from")) && str_eq(value, STR("start"))) {
            watch->from_start = true;
        } else {
            return fail_usage(session, invocation);
        }
    }
    return invocation->words.count >= 2 || fail_usage(session, invocation);
}

static void destroy_watch(struct watch *watch)
{
    for (size_t i = 0; i < watch->shard_count; i++) {
        mem_free(watch->shards[i].iterator);
    }
    arena_finish(&watch->arena);
    mem_free(watch);
}

bool run_watch(struct session *session, const struct invocation *invocation)
{
    struct target target;
    struct watch *watch = mem_zalloc(sizeof(*watch));
    *watch = (struct watch){.session = session, .is_first = true};
    arena_init(&watch->arena);
    bool good = read_modifiers(session, invocation, watch);
    if (good) {
        schema_forget(session, invocation->words.text[1].data); /* the stream may be new */
        good = schema_find(session, invocation->arena, &invocation->words, 1, &target) &&
               open_streams(session, &watch->db);
    }
    if (good) {
        watch->arn = gramme_get_string(target.description, "LatestStreamArn");
        good = watch->arn != NULL ? follow(watch)
                                  : fail(session,
                                         "table %s has no stream: enable it with "
                                         "\\call UpdateTable {\"TableName\": \"%s\", "
                                         "\"StreamSpecification\": {\"StreamEnabled\": "
                                         "true, \"StreamViewType\": "
                                         "\"NEW_AND_OLD_IMAGES\"}}",
                                         target.table, target.table);
    }
    destroy_watch(watch);
    return good;
}
