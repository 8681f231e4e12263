/* A user's file, in what C99, C17 and C++17 share: compiled with every warning an error. Touches
 * each kind of function, and prints what it read. */
#include <gramme/gramme.h>

#include <stdio.h>
#include <string.h>

static struct gramme_db *open_memory(struct gramme_error **error)
{
    struct gramme_options options;
    memset(&options, 0, sizeof(options));
    options.region = "eu-west-1";
    return gramme_open("memory:", &options, error);
}

static bool make_table(struct gramme_db *db, struct gramme_error **error)
{
    static const char schema[] =
        "{\"TableName\":\"Users\",\"BillingMode\":\"PAY_PER_REQUEST\","
        "\"AttributeDefinitions\":[{\"AttributeName\":\"id\",\"AttributeType\":\"S\"}],"
        "\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}]}";
    return gramme_create_table(db, schema, sizeof(schema) - 1, 5000, error);
}

static bool put_user(struct gramme_db *db, const char *id, int64_t age, struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", "Users");
    struct gramme_value *item = gramme_request_item(put);
    gramme_set_string(item, "id", id);
    gramme_set_int(item, "age", age);
    gramme_set_format(item, "label", "%s (%d)", id, (int)age);
    gramme_add_string(gramme_set_string_set(item, "tags"), "new");
    bool done = gramme_run(db, put, error);
    gramme_request_destroy(put);
    return done;
}

static void print_users(struct gramme_db *db, struct gramme_error **error)
{
    struct gramme_request *scan = gramme_request_create("Scan", "Users");
    struct gramme_items *items = gramme_items_open(db, scan);
    const struct gramme_value *item;
    while ((item = gramme_items_next(items, error)) != NULL) {
        printf("%s %d\n", gramme_get_string(item, "label"), (int)gramme_get_int(item, "age", -1));
    }
    gramme_items_close(items);
    gramme_request_destroy(scan);
}

int main(void)
{
    struct gramme_error *error = NULL;
    struct gramme_db *db = open_memory(&error);
    if (db != NULL && make_table(db, &error) && put_user(db, "ann", 41, &error)) {
        print_users(db, &error);
    }
    if (error != NULL) {
        printf("%s: %s\n", gramme_error_code(error), gramme_error_message(error));
    }
    int status = error == NULL ? 0 : 1;
    gramme_error_destroy(error);
    gramme_close(db);
    return status;
}
