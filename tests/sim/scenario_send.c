/* Sends the steps of a scenario as requests, and creates its tables: see scenario.h. Called by the
 * simulators on their main thread. */
#include "scenario_internal.h"

#include <stdio.h>

/* Items --------------------------------------------------------------------------------------- */

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
    scenario_attributes(version, attributes);
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
    scenario_attributes(version, attributes);
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
    buf_format(out, "\"TableName\":\"%s\"", scenario_table_names[write->table]);
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
    struct step step = scenario_next_step(scenario);
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

static const char wide_table[] =
    "{\"TableName\":\"wide\",\"AttributeDefinitions\":["
    "{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"sk\",\"AttributeType\":\"N\"},"
    "{\"AttributeName\":\"g\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"l\",\"AttributeType\":\"S\"}],"
    "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}],"
    "\"LocalSecondaryIndexes\":[{\"IndexName\":\"local\",\"KeySchema\":["
    "{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"l\",\"KeyType\":\"RANGE\"}],"
    "\"Projection\":{\"ProjectionType\":\"ALL\"}}]," STREAM_AND_INDEX "}";

static const char slim_table[] =
    "{\"TableName\":\"slim\",\"AttributeDefinitions\":["
    "{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"g\",\"AttributeType\":\"S\"}],"
    "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}]," STREAM_AND_INDEX "}";

bool scenario_create_tables(struct database *database)
{
    return call_to_create(database, "CreateTable", wide_table) &&
           call_to_create(database, "CreateTable", slim_table) &&
           call_to_create(database, "UpdateTimeToLive",
                          "{\"TableName\":\"wide\",\"TimeToLiveSpecification\":{\"AttributeName\":"
                          "\"due\",\"Enabled\":true}}") &&
           call_to_create(database, "UpdateContinuousBackups",
                          "{\"TableName\":\"slim\",\"PointInTimeRecoverySpecification\":{"
                          "\"PointInTimeRecoveryEnabled\":true}}");
}
