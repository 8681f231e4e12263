/* Creates and deletes the table that is measured, and computes the sizes of its items. Called by
 * bench.c on the main thread, before and after a run. */
#include "bench/test_table_internal.h"

#include <time.h>

#include "base/clock.h"

/* A page of Query ends at 1 MB; a partition has somewhat more. */
static const uint64_t partition_bytes = 1200 << 10;
static const int64_t active_timeout_us = (int64_t)120 * 1000000;

/* The size by DynamoDB's rules: names and values, two digits of a number per byte. */
static size_t overhead(const struct test_table *table)
{
    size_t keys = (sizeof("pk") - 1 + KEY_WIDTH) * 2;
    size_t numbers = sizeof("made") - 1 + KEY_WIDTH / 2 + 2 + sizeof("count") - 1 + 4;
    size_t owners = (size_t)table->gsi_count * (sizeof("o0") - 1 + OWNER_WIDTH);
    return keys + numbers + owners + (size_t)table->field_count * (sizeof("field0") - 1);
}

void test_table_init(struct test_table *table, const struct bench_options *options,
                     struct arena *arena)
{
    *table = (struct test_table){
        .name = options->table,
        .item_count = (uint64_t)options->items,
        .item_bytes = (size_t)options->size,
        .gsi_count = (int)options->gsi,
        .per_partition = MAX((uint64_t)100, partition_bytes / (uint64_t)options->size),
        .owner_count = MAX((uint64_t)1, (uint64_t)options->items / 100),
        .field_count = options->size >= 1000 ? 10 : 1,
    };
    if (str_is_null(table->name)) {
        table->name = arena_format(arena, "bench-%zub-%dgsi-%llu", table->item_bytes,
                                   table->gsi_count, (unsigned long long)table->item_count);
    }
    size_t used = overhead(table);
    size_t left = table->item_bytes > used ? table->item_bytes - used : 0;
    table->field_bytes = MAX(left / (size_t)table->field_count, (size_t)1);
}

static bool call(const struct target *target, const char *operation, const struct buf *body,
                 int *out_status, struct str *out_answer, struct err *err)
{
    return target_call(target, str_from_c(operation), buf_str(body), err->arena, out_status,
                       out_answer, err);
}

/* Returns the last line of a response, its body, for messages. */
static bool refuse(const char *operation, int status, struct str answer, struct err *err)
{
    const char *body = memmem(answer.data, answer.len, "\r\n\r\n", 4);
    struct str text = body == NULL ? STR("") : str_skip(answer, (size_t)(body - answer.data) + 4);
    return err_set(err, ERR_INTERNAL, "%s was refused (%d): %.*s", operation, status,
                   STR_ARG(text));
}

static void add_index(int number, struct buf *body)
{
    buf_format(body,
               "%s{\"IndexName\":\"gsi%d\",\"KeySchema\":["
               "{\"AttributeName\":\"o%d\",\"KeyType\":\"HASH\"},"
               "{\"AttributeName\":\"made\",\"KeyType\":\"RANGE\"}],"
               "\"Projection\":{\"ProjectionType\":\"ALL\"}}",
               number == 0 ? ",\"GlobalSecondaryIndexes\":[" : ",", number, number);
}

static void add_description(const struct test_table *table, struct buf *body)
{
    buf_format(body,
               "{\"TableName\":\"%.*s\",\"BillingMode\":\"PAY_PER_REQUEST\","
               "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
               "{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}],"
               "\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},"
               "{\"AttributeName\":\"sk\",\"AttributeType\":\"S\"}",
               STR_ARG(table->name));
    for (int i = 0; i < table->gsi_count; i++) {
        buf_format(body, ",{\"AttributeName\":\"o%d\",\"AttributeType\":\"S\"}", i);
    }
    if (table->gsi_count > 0) {
        buf_format(body, ",{\"AttributeName\":\"made\",\"AttributeType\":\"N\"}");
    }
    buf_format(body, "]");
    for (int i = 0; i < table->gsi_count; i++) {
        add_index(i, body);
    }
    buf_format(body, "%s}", table->gsi_count > 0 ? "]" : "");
}

static void sleep_ms(int64_t duration_ms)
{
    struct timespec duration = {.tv_sec = duration_ms / 1000,
                                .tv_nsec = duration_ms % 1000 * 1000000};
    nanosleep(&duration, NULL);
}

enum table_state { TABLE_ABSENT, TABLE_CHANGING, TABLE_ACTIVE };

static bool describe(const struct test_table *table, const struct target *target,
                     enum table_state *out, struct err *err)
{
    struct buf body = {0};
    buf_format(&body, "{\"TableName\":\"%.*s\"}", STR_ARG(table->name));
    int status;
    struct str answer;
    bool good = call(target, "DescribeTable", &body, &status, &answer, err);
    buf_finish(&body);
    if (!good) {
        return false;
    }
    if (status == 400 && str_contains(answer, STR("ResourceNotFoundException"))) {
        *out = TABLE_ABSENT;
        return true;
    }
    if (status != 200) {
        return refuse("DescribeTable", status, answer, err);
    }
    bool changing = str_contains(answer, STR("CREATING")) ||
                    str_contains(answer, STR("DELETING")) || str_contains(answer, STR("UPDATING"));
    *out = changing ? TABLE_CHANGING : TABLE_ACTIVE;
    return true;
}

static bool wait_for(const struct test_table *table, const struct target *target,
                     enum table_state wanted, struct err *err)
{
    int64_t until_us = clock_monotonic_us() + active_timeout_us;
    do {
        enum table_state state = TABLE_CHANGING;
        if (!describe(table, target, &state, err)) {
            return false;
        }
        if (state == wanted) {
            return true;
        }
        sleep_ms(20);
    } while (clock_monotonic_us() < until_us);
    return err_set(err, ERR_INTERNAL, "table %.*s does not become %s", STR_ARG(table->name),
                   wanted == TABLE_ACTIVE ? "active" : "deleted");
}

bool test_table_create(const struct test_table *table, const struct target *target, struct err *err)
{
    struct buf body = {0};
    add_description(table, &body);
    int status = 0;
    struct str answer;
    bool good = call(target, "CreateTable", &body, &status, &answer, err);
    buf_finish(&body);
    if (!good) {
        return false;
    }
    if (status != 200 && !str_contains(answer, STR("ResourceInUseException"))) {
        return refuse("CreateTable", status, answer, err);
    }
    return wait_for(table, target, TABLE_ACTIVE, err);
}

bool test_table_delete(const struct test_table *table, const struct target *target, struct err *err)
{
    struct buf body = {0};
    buf_format(&body, "{\"TableName\":\"%.*s\"}", STR_ARG(table->name));
    int status = 0;
    struct str answer;
    bool good = call(target, "DeleteTable", &body, &status, &answer, err);
    buf_finish(&body);
    if (!good) {
        return false;
    }
    if (status != 200 && !str_contains(answer, STR("ResourceNotFoundException"))) {
        return refuse("DeleteTable", status, answer, err);
    }
    return wait_for(table, target, TABLE_ABSENT, err);
}

bool test_table_is_loaded(const struct test_table *table, const struct target *target, bool *out,
                          struct err *err)
{
    struct buf body = {0};
    static const char zeroes[] = "0000000000000000";
    static_assert(sizeof(zeroes) - 1 == KEY_WIDTH, "item 0's keys");
    buf_format(&body,
               "{\"TableName\":\"%.*s\",\"Key\":{\"pk\":{\"S\":\"%s\"},\"sk\":{\"S\":\"%s\"}}}",
               STR_ARG(table->name), zeroes, zeroes);
    int status = 0;
    struct str answer;
    bool good = call(target, "GetItem", &body, &status, &answer, err);
    buf_finish(&body);
    *out = good && status == 200 && str_contains(answer, STR("field0"));
    return good;
}
