/* A load that follows from a seed, and its model: see scenario.h. */
#include "scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/random.h"
#include "json/reader.h"

enum { WIDE, SLIM, WRITES_MAX = 4, BODY_MAX = 3000 };
static const char *const table_names[] = {[WIDE] = "wide", [SLIM] = "slim"};

void scenario_init(struct scenario *scenario, uint64_t seed)
{
    *scenario = (struct scenario){.seed = seed};
}

void scenario_finish(struct scenario *scenario)
{
    for (size_t table = 0; table < SCENARIO_TABLES; table++) {
        mem_free(scenario->events[table]);
    }
}

/* Steps --------------------------------------------------------------------------------------- */

enum step_kind { STEP_WRITE, STEP_TRANSACTION, STEP_CREATE_INDEX, STEP_DELETE_INDEX };

enum write_operation { OPERATION_PUT, OPERATION_UPDATE, OPERATION_DELETE };

struct step_write {
    uint32_t table;
    uint32_t key;
    enum write_operation
        operation; /* an update sets the whole item, so its result is as of a put */
};

struct step {
    enum step_kind kind;
    uint32_t version;
    struct step_write writes[WRITES_MAX];
    size_t write_count;
    bool is_refused; /* by a condition of the first write */
    bool has_token;
};

static void add_write(struct step *step, struct random *random)
{
    static const enum write_operation operations[] = {
        OPERATION_PUT, OPERATION_PUT, OPERATION_UPDATE, OPERATION_UPDATE, OPERATION_DELETE};
    struct step_write write = {.table = random_next(random) % SCENARIO_TABLES,
                               .key = random_next(random) % SCENARIO_KEYS,
                               .operation = operations[random_next(random) % COUNT_OF(operations)]};
    for (size_t i = 0; i < step->write_count; i++) {
        if (step->writes[i].table == write.table && step->writes[i].key == write.key) {
            return; /* an item can be only once in a transaction */
        }
    }
    step->writes[step->write_count++] = write;
}

/* The step that follows those that were done. */
static struct step next_step(const struct scenario *scenario)
{
    struct random random;
    struct step step = {.version = (uint32_t)scenario->step_count + 1};
    random_init_seed(&random, scenario->seed * 1000003 + step.version);
    step.kind = random_next(&random) % 3 == 0 ? STEP_TRANSACTION : STEP_WRITE;
    if (step.version % 12 == 0) {
        step.kind = step.version % 24 == 0 ? STEP_DELETE_INDEX : STEP_CREATE_INDEX;
        return step;
    }
    size_t wanted = step.kind == STEP_TRANSACTION ? WRITES_MAX : 1;
    for (size_t i = 0; i < wanted; i++) {
        add_write(&step, &random);
    }
    step.is_refused = random_next(&random) % 6 == 0;
    step.has_token = random_next(&random) % 2 == 0;
    return step;
}

static void add_event(struct scenario *scenario, uint32_t table, struct scenario_event event)
{
    size_t count = scenario->event_counts[table]++;
    scenario->events[table] =
        mem_realloc(scenario->events[table], (count + 1) * sizeof(struct scenario_event));
    scenario->events[table][count] = event;
}

void scenario_advance(struct scenario *scenario)
{
    struct step step = next_step(scenario);
    for (size_t i = 0; i < step.write_count && !step.is_refused; i++) {
        const struct step_write *write = &step.writes[i];
        uint32_t *version = &scenario->versions[write->table][write->key];
        uint32_t after = write->operation == OPERATION_DELETE ? 0 : step.version;
        if (*version != after) {
            add_event(scenario, write->table, (struct scenario_event){write->key, *version, after});
        }
        *version = after;
    }
    scenario->step_count++;
}

/* Items --------------------------------------------------------------------------------------- */

enum { ATTRIBUTES = 5 };

struct attribute {
    const char *name;
    const char *type;
    bool is_present;
    char text[BODY_MAX + 1];
};

/* What an item of a version holds beside its key: index keys or not, a time of expiry far in the
 * future or not, and sometimes many bytes. */
static void make_attributes(uint32_t version, struct attribute out[ATTRIBUTES])
{
    out[0] = (struct attribute){.name = "v", .type = "N", .is_present = true};
    out[1] = (struct attribute){.name = "body", .type = "S", .is_present = true};
    out[2] = (struct attribute){.name = "g", .type = "S", .is_present = version % 4 != 0};
    out[3] = (struct attribute){.name = "l", .type = "S", .is_present = version % 3 != 0};
    out[4] = (struct attribute){.name = "due", .type = "N", .is_present = version % 5 < 2};
    snprintf(out[0].text, BODY_MAX, "%u", version);
    memset(out[1].text, 'a' + (int)(version % 26),
           version % 11 == 0 ? BODY_MAX : version * 37 % 200);
    snprintf(out[2].text, BODY_MAX, "g%u", version % 7);
    snprintf(out[3].text, BODY_MAX, "l%u", version % 5);
    snprintf(out[4].text, BODY_MAX, "%" PRIu64, UINT64_C(4000000000) + version);
}

static void add_key(struct buf *out, uint32_t table, uint32_t key)
{
    if (table == WIDE) {
        buf_format(out, "\"pk\":{\"S\":\"p%u\"},\"sk\":{\"N\":\"%u\"}", key % 4, key);
    } else {
        buf_format(out, "\"pk\":{\"S\":\"k%u\"}", key);
    }
}

static void add_put(struct buf *out, const struct step_write *write, uint32_t version)
{
    struct attribute attributes[ATTRIBUTES];
    make_attributes(version, attributes);
    buf_format(out, ",\"Item\":{");
    add_key(out, write->table, write->key);
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (attributes[i].is_present) {
            buf_format(out, ",\"%s\":{\"%s\":\"%s\"}", attributes[i].name, attributes[i].type,
                       attributes[i].text);
        }
    }
    buf_format(out, "}");
}

static void add_update(struct buf *out, const struct step_write *write, uint32_t version)
{
    struct attribute attributes[ATTRIBUTES];
    make_attributes(version, attributes);
    buf_format(out, ",\"Key\":{");
    add_key(out, write->table, write->key);
    buf_format(out, "},\"UpdateExpression\":\"REMOVE nothing");
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (!attributes[i].is_present) {
            buf_format(out, ",%s", attributes[i].name);
        }
    }
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (attributes[i].is_present) {
            buf_format(out, "%s%s=:%s", i == 0 ? " SET " : ",", attributes[i].name,
                       attributes[i].name);
        }
    }
    buf_format(out, "\",\"ExpressionAttributeValues\":{");
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (attributes[i].is_present) {
            buf_format(out, "%s\":%s\":{\"%s\":\"%s\"}", i == 0 ? "" : ",", attributes[i].name,
                       attributes[i].type, attributes[i].text);
        }
    }
    buf_format(out, "}");
}

/* Requests ------------------------------------------------------------------------------------ */

/* The members of a request with one write, without braces. */
static void add_write_request(struct buf *out, const struct scenario *scenario,
                              const struct step *step, size_t number)
{
    const struct step_write *write = &step->writes[number];
    buf_format(out, "\"TableName\":\"%s\"", table_names[write->table]);
    if (write->operation == OPERATION_PUT) {
        add_put(out, write, step->version);
    } else if (write->operation == OPERATION_UPDATE) {
        add_update(out, write, step->version);
    } else {
        buf_format(out, ",\"Key\":{");
        add_key(out, write->table, write->key);
        buf_format(out, "}");
    }
    if (step->is_refused && number == 0) {
        bool is_there = scenario->versions[write->table][write->key] > 0;
        buf_format(out, ",\"ConditionExpression\":\"attribute_%sexists(pk)\"",
                   is_there ? "not_" : "");
    }
}

static const char *const transaction_names[] = {
    [OPERATION_PUT] = "Put", [OPERATION_UPDATE] = "Update", [OPERATION_DELETE] = "Delete"};
static const char *const operation_names[] = {[OPERATION_PUT] = "PutItem",
                                              [OPERATION_UPDATE] = "UpdateItem",
                                              [OPERATION_DELETE] = "DeleteItem"};

static void add_transaction(struct buf *out, const struct scenario *scenario,
                            const struct step *step)
{
    buf_format(out, "{\"TransactItems\":[");
    for (size_t i = 0; i < step->write_count; i++) {
        buf_format(out, "%s{\"%s\":{", i == 0 ? "" : ",",
                   transaction_names[step->writes[i].operation]);
        add_write_request(out, scenario, step, i);
        buf_format(out, "}}");
    }
    buf_format(out, "]");
    if (step->has_token) {
        buf_format(out, ",\"ClientRequestToken\":\"step-%u\"", step->version);
    }
    buf_format(out, "}");
}

/* Makes the body of the request and returns the name of its operation. */
static const char *make_request(struct buf *out, const struct scenario *scenario,
                                const struct step *step)
{
    switch (step->kind) {
    case STEP_WRITE:
        buf_format(out, "{");
        add_write_request(out, scenario, step, 0);
        buf_format(out, "}");
        return operation_names[step->writes[0].operation];
    case STEP_TRANSACTION:
        add_transaction(out, scenario, step);
        return "TransactWriteItems";
    case STEP_CREATE_INDEX:
        buf_format(out,
                   "{\"TableName\":\"wide\",\"AttributeDefinitions\":[{\"AttributeName\":\"v\","
                   "\"AttributeType\":\"N\"}],\"GlobalSecondaryIndexUpdates\":[{\"Create\":{"
                   "\"IndexName\":\"late\",\"KeySchema\":[{\"AttributeName\":\"v\",\"KeyType\":"
                   "\"HASH\"}],\"Projection\":{\"ProjectionType\":\"ALL\"}}}]}");
        return "UpdateTable";
    case STEP_DELETE_INDEX:
        buf_format(out, "{\"TableName\":\"wide\",\"GlobalSecondaryIndexUpdates\":[{\"Delete\":{"
                        "\"IndexName\":\"late\"}}]}");
        return "UpdateTable";
    }
    return NULL;
}

/* Changes of indexes may be refused: an earlier one may be under way, or not have happened. */
static bool is_expected(const struct step *step, int status)
{
    if (step->kind == STEP_CREATE_INDEX || step->kind == STEP_DELETE_INDEX) {
        return status == 200 || status == 400;
    }
    return status == (step->is_refused ? 400 : 200);
}

enum scenario_answer scenario_send(const struct scenario *scenario, struct database *database)
{
    struct step step = next_step(scenario);
    struct buf body = {0};
    const char *operation = make_request(&body, scenario, &step);
    int status = database_call(database, operation, buf_str(&body));
    enum scenario_answer answer = is_expected(&step, status) ? SCENARIO_DONE
                                  : status >= 500            ? SCENARIO_IN_DOUBT
                                                             : SCENARIO_WRONG;
    if (answer == SCENARIO_WRONG) {
        printf("step %u, %s: %d %.*s\n", step.version, operation, status,
               STR_ARG(buf_str(&database->answer)));
    }
    buf_finish(&body);
    return answer;
}

static bool call_to_create(struct database *database, const char *operation, const char *body)
{
    bool good = database_call(database, operation, str_from_c(body)) == 200;
    if (!good) {
        printf("%s: %.*s\n", operation, STR_ARG(buf_str(&database->answer)));
    }
    return good;
}

#define STREAM_AND_INDEX                                                                           \
    "\"BillingMode\":\"PAY_PER_REQUEST\",\"StreamSpecification\":{\"StreamEnabled\":true,"         \
    "\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"},\"GlobalSecondaryIndexes\":[{\"IndexName\":"       \
    "\"groups\",\"KeySchema\":[{\"AttributeName\":\"g\",\"KeyType\":\"HASH\"}],\"Projection\":{"   \
    "\"ProjectionType\":\"KEYS_ONLY\"}}]"
#define ATTRIBUTE(name_, type_) "{\"AttributeName\":\"" name_ "\",\"AttributeType\":\"" type_ "\"}"

bool scenario_create_tables(struct database *database)
{
    return call_to_create(
               database, "CreateTable",
               "{\"TableName\":\"wide\",\"AttributeDefinitions\":[" ATTRIBUTE(
                   "pk",
                   "S") "," ATTRIBUTE("sk",
                                      "N") "," ATTRIBUTE("g",
                                                         "S") "," ATTRIBUTE("l",
                                                                            "S") "],\"KeySchema\":["
                                                                                 "{"
                                                                                 "\"AttributeName\""
                                                                                 ":\"pk\","
                                                                                 "\"KeyType\":"
                                                                                 "\"HASH\"},{"
                                                                                 "\"AttributeName\""
                                                                                 ":\"sk\","
                                                                                 "\"KeyType\":"
                                                                                 "\"RANGE\"}],"
                                                                                 "\"LocalSecondaryI"
                                                                                 "ndexes\":[{"
                                                                                 "\"IndexName\":"
                                                                                 "\"local\","
                                                                                 "\"KeySchema\":[{"
                                                                                 "\"AttributeName\""
                                                                                 ":\"pk\","
                                                                                 "\"KeyType\":"
                                                                                 "\"HASH\"},{"
                                                                                 "\"AttributeName\""
                                                                                 ":\"l\","
                                                                                 "\"KeyType\":"
                                                                                 "\"RANGE\"}],"
                                                                                 "\"Projection\":{"
                                                                                 "\"ProjectionType"
                                                                                 "\":\"ALL\"}}]"
                                                                                 "," STREAM_AND_INDEX
                                                                                 "}") &&
           call_to_create(
               database, "CreateTable",
               "{\"TableName\":\"slim\",\"AttributeDefinitions\":[" ATTRIBUTE(
                   "pk", "S") "," ATTRIBUTE("g", "S") "],\"KeySchema\":[{"
                                                      "\"AttributeName\":\"pk\",\"KeyType\":"
                                                      "\"HASH\"}]," STREAM_AND_INDEX "}") &&
           call_to_create(database, "UpdateTimeToLive",
                          "{\"TableName\":\"wide\",\"TimeToLiveSpecification\":{\"AttributeName\":"
                          "\"due\",\"Enabled\":true}}") &&
           call_to_create(database, "UpdateContinuousBackups",
                          "{\"TableName\":\"slim\",\"PointInTimeRecoverySpecification\":{"
                          "\"PointInTimeRecoveryEnabled\":true}}");
}

/* Checks -------------------------------------------------------------------------------------- */

/* An item of an answer: its key, and its version if all else in it is as that version has it. */
struct found_item {
    uint32_t key;
    uint32_t version;
    struct str texts[ATTRIBUTES];
};

static uint32_t number_of_text(struct str text)
{
    uint32_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] >= '0' && text.data[i] <= '9') {
            number = number * 10 + (uint32_t)(text.data[i] - '0');
        }
    }
    return number;
}

/* Reads {"TYPE": "text"}. */
static bool read_value(struct json_reader *reader, struct str *out)
{
    struct json_string type;
    struct json_string text;
    if (!json_enter_object(reader) || !json_next_member(reader, &type) ||
        !json_read_string(reader, &text)) {
        return false;
    }
    *out = text.text;
    return !json_next_member(reader, &type) && reader->mistake == NULL;
}

static size_t attribute_number(struct str name)
{
    static const char *const names[ATTRIBUTES] = {"v", "body", "g", "l", "due"};
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (str_eq(name, str_from_c(names[i]))) {
            return i;
        }
    }
    return ATTRIBUTES;
}

/* Reads an item, or the key of one. */
static bool read_item(struct json_reader *reader, uint32_t table, struct found_item *out)
{
    *out = (struct found_item){0};
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        struct str text;
        if (!read_value(reader, &text)) {
            return false;
        }
        size_t number = attribute_number(name.text);
        if (number < ATTRIBUTES) {
            out->texts[number] = text;
        } else if (str_eq(name.text, str_from_c(table == WIDE ? "sk" : "pk"))) {
            out->key = number_of_text(text);
        }
    }
    out->version = number_of_text(out->texts[0]);
    return reader->mistake == NULL && out->key < SCENARIO_KEYS;
}

static bool is_whole(const struct found_item *item)
{
    struct attribute expected[ATTRIBUTES];
    make_attributes(item->version, expected);
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        struct str text = item->texts[i];
        if (expected[i].is_present ? !str_eq(text, str_from_c(expected[i].text))
                                   : !str_is_null(text)) {
            return false;
        }
    }
    return true;
}

/* Enters the array that is member `name` of the object. */
static bool enter_member(struct json_reader *reader, const char *wanted)
{
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        if (str_eq(name.text, str_from_c(wanted))) {
            return json_enter_array(reader);
        }
        if (!json_skip(reader)) {
            return false;
        }
    }
    return false;
}

/* A check under way. */
struct check {
    const struct scenario *scenario;
    struct database *database;
    struct arena arena;
    uint32_t table;
    enum scenario_state state;
    char *why; /* 200 bytes */
};

/* Calls an operation that must succeed. */
static bool check_call(struct check *check, bool is_of_streams, const char *operation,
                       struct str body)
{
    struct database *database = check->database;
    int status = is_of_streams ? database_call_streams(database, operation, body)
                               : database_call(database, operation, body);
    if (status != 200) {
        snprintf(check->why, 200, "%s: %d %.*s", operation, status,
                 (int)MIN(database->answer.len, (size_t)150), database->answer.data);
        check->state = status >= 500 ? SCENARIO_UNREADABLE : SCENARIO_DIFFERENT;
    }
    return status == 200;
}

static bool differ(struct check *check, const char *format, ...) PRINTF_LIKE(2, 3);

static bool differ(struct check *check, const char *format, ...)
{
    int len =
        snprintf(check->why, 200, "after %" PRIu64 " steps, %s: ", check->scenario->step_count,
                 table_names[check->table]);
    va_list args;
    va_start(args, format);
    vsnprintf(check->why + len, 200 - (size_t)len, format, args);
    va_end(args);
    check->state = SCENARIO_DIFFERENT;
    return false;
}

static bool read_versions(struct check *check, uint32_t versions[SCENARIO_KEYS])
{
    struct json_reader reader;
    json_reader_init(&reader, &check->arena, buf_str(&check->database->answer));
    bool good = enter_member(&reader, "Items");
    while (good && json_next_element(&reader)) {
        struct found_item item;
        good = read_item(&reader, check->table, &item) && is_whole(&item);
        if (good) {
            versions[item.key] = item.version;
        }
    }
    return good && reader.mistake == NULL;
}

static bool check_items(struct check *check)
{
    uint32_t versions[SCENARIO_KEYS] = {0};
    struct str body = arena_format(&check->arena, "{\"TableName\":\"%s\",\"ConsistentRead\":true}",
                                   table_names[check->table]);
    if (!check_call(check, false, "Scan", body)) {
        return false;
    }
    if (!read_versions(check, versions)) {
        return differ(check, "an item that was never written");
    }
    for (uint32_t key = 0; key < SCENARIO_KEYS; key++) {
        uint32_t expected = check->scenario->versions[check->table][key];
        if (versions[key] != expected) {
            return differ(check, "item %u has version %u instead of %u", key, versions[key],
                          expected);
        }
    }
    return true;
}

/* The text of the first member of this name in the answer, at any depth. */
static struct str find_text(struct check *check, const char *name)
{
    struct str answer = buf_str(&check->database->answer);
    struct str start = arena_format(&check->arena, "\"%s\":\"", name);
    const char *at = memmem(answer.data, answer.len, start.data, start.len);
    if (at == NULL) {
        return STR_NULL;
    }
    at += start.len;
    const char *end = memchr(at, '"', (size_t)(answer.data + answer.len - at));
    return end == NULL ? STR_NULL : arena_copy(&check->arena, str_make(at, (size_t)(end - at)));
}

/* The iterator before the first record of the table's stream. */
static bool find_iterator(struct check *check, struct str *out)
{
    struct arena *arena = &check->arena;
    if (!check_call(check, false, "DescribeTable",
                    arena_format(arena, "{\"TableName\":\"%s\"}", table_names[check->table]))) {
        return false;
    }
    struct str stream = find_text(check, "LatestStreamArn");
    if (!check_call(check, true, "DescribeStream",
                    arena_format(arena, "{\"StreamArn\":\"%.*s\"}", STR_ARG(stream)))) {
        return false;
    }
    struct str shard = find_text(check, "ShardId");
    bool good = check_call(check, true, "GetShardIterator",
                           arena_format(arena,
                                        "{\"StreamArn\":\"%.*s\",\"ShardId\":\"%.*s\","
                                        "\"ShardIteratorType\":\"TRIM_HORIZON\"}",
                                        STR_ARG(stream), STR_ARG(shard)));
    *out = good ? find_text(check, "ShardIterator") : STR_NULL;
    return good;
}

/* Reads the member `dynamodb` of a record: the key, and the versions before and after. */
static bool read_images(struct json_reader *reader, uint32_t table, struct scenario_event *out)
{
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        struct found_item item;
        bool is_keys = str_eq(name.text, STR("Keys"));
        bool is_old = str_eq(name.text, STR("OldImage"));
        if (!is_keys && !is_old && !str_eq(name.text, STR("NewImage"))) {
            json_skip(reader);
            continue;
        }
        if (!read_item(reader, table, &item) || (!is_keys && !is_whole(&item))) {
            return false;
        }
        *(is_keys  ? &out->key
          : is_old ? &out->before
                   : &out->after) = is_keys ? item.key : item.version;
    }
    return reader->mistake == NULL;
}

static bool read_record(struct json_reader *reader, uint32_t table, struct scenario_event *out)
{
    bool has_images = false;
    if (!json_enter_object(reader)) {
        return false;
    }
    for (struct json_string name; json_next_member(reader, &name);) {
        if (!str_eq(name.text, STR("dynamodb"))) {
            json_skip(reader);
        } else if (read_images(reader, table, out)) {
            has_images = true;
        } else {
            return false;
        }
    }
    return has_images && reader->mistake == NULL;
}

static bool events_equal(const struct scenario_event *a, const struct scenario_event *b)
{
    return a->key == b->key && a->before == b->before && a->after == b->after;
}

/* Compares the records of an answer with the events from number *count on, and counts them. */
static bool check_records(struct check *check, size_t *count)
{
    const struct scenario *scenario = check->scenario;
    struct json_reader reader;
    json_reader_init(&reader, &check->arena, buf_str(&check->database->answer));
    bool good = enter_member(&reader, "Records");
    while (good && json_next_element(&reader)) {
        struct scenario_event event = {0};
        good = read_record(&reader, check->table, &event);
        if (!good || *count == scenario->event_counts[check->table] ||
            !events_equal(&event, &scenario->events[check->table][*count])) {
            return differ(check,
                          "record %zu of the stream (item %u from version %u to %u) is wrong",
                          *count, event.key, event.before, event.after);
        }
        ++*count;
    }
    return good && reader.mistake == NULL ? true : differ(check, "records that cannot be read");
}

/* Each change must be recorded once, and in order. */
static bool check_stream(struct check *check)
{
    struct str iterator;
    size_t count = 0;
    if (!find_iterator(check, &iterator)) {
        return false;
    }
    for (size_t before = SIZE_MAX; before != count;) {
        before = count;
        struct str body =
            arena_format(&check->arena, "{\"ShardIterator\":\"%.*s\"}", STR_ARG(iterator));
        if (!check_call(check, true, "GetRecords", body)) {
            return false;
        }
        iterator = find_text(check, "NextShardIterator");
        if (!check_records(check, &count)) {
            return false;
        }
    }
    size_t expected = check->scenario->event_counts[check->table];
    return count == expected ||
           differ(check, "the stream has %zu records instead of %zu", count, expected);
}

enum scenario_state scenario_check(const struct scenario *scenario, struct database *database,
                                   char out_why[200])
{
    struct check check = {.scenario = scenario, .database = database, .why = out_why};
    arena_init(&check.arena);
    while (check.table < SCENARIO_TABLES && check_items(&check) && check_stream(&check)) {
        check.table++;
    }
    arena_finish(&check.arena);
    return check.state;
}

/* A copy that has done the next step, too. scenario_finish() frees it. */
static struct scenario copy_advanced(const struct scenario *from)
{
    struct scenario copy = *from;
    for (size_t table = 0; table < SCENARIO_TABLES; table++) {
        size_t bytes = from->event_counts[table] * sizeof(struct scenario_event);
        copy.events[table] = mem_alloc(bytes + 1);
        if (bytes > 0) {
            memcpy(copy.events[table], from->events[table], bytes);
        }
    }
    scenario_advance(&copy);
    return copy;
}

enum scenario_state scenario_settle(struct scenario *scenario, struct database *database,
                                    char out_why[200])
{
    enum scenario_state state = scenario_check(scenario, database, out_why);
    if (state != SCENARIO_DIFFERENT) {
        return state;
    }
    char ignored[200];
    struct scenario advanced = copy_advanced(scenario);
    state = scenario_check(&advanced, database, ignored);
    scenario_finish(state == SCENARIO_SAME ? scenario : &advanced);
    if (state == SCENARIO_SAME) {
        *scenario = advanced;
    }
    return state;
}
