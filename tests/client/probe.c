/* Makes one call as the arguments say and prints what came of it as JSON, for tests that play the
 * server: probe URL OPERATION JSON [option=value...]. `repeat=N` makes it N times on one handle,
 * and prints the last; `batch=N` writes a batch of N items instead, and
 * `transact=N` a transaction of N; `insight=1` reads a page of that name with JSON as parameters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gramme/gramme.h>

struct settings {
    struct gramme_options options;
    int repeat;
    int batch;
    int transact;
    int insight;
};

static void read_setting(struct settings *settings, char *argument)
{
    char *value = strchr(argument, '=');
    if (value == NULL) {
        fprintf(stderr, "probe: not an option: %s\n", argument);
        exit(2);
    }
    *value++ = '\0';
    const struct {
        const char *name;
        const char **text;
        int *number;
    } known[] = {
        {"region", &settings->options.region, NULL},
        {"access_key_id", &settings->options.access_key_id, NULL},
        {"secret_access_key", &settings->options.secret_access_key, NULL},
        {"session_token", &settings->options.session_token, NULL},
        {"profile", &settings->options.profile, NULL},
        {"ca_file", &settings->options.ca_file, NULL},
        {"connect_timeout_ms", NULL, &settings->options.connect_timeout_ms},
        {"timeout_ms", NULL, &settings->options.timeout_ms},
        {"attempts_max", NULL, &settings->options.attempts_max},
        {"repeat", NULL, &settings->repeat},
        {"batch", NULL, &settings->batch},
        {"transact", NULL, &settings->transact},
        {"insight", NULL, &settings->insight},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(argument, known[i].name) == 0) {
            if (known[i].text != NULL) {
                *known[i].text = value;
            } else {
                *known[i].number = (int)strtol(value, NULL, 10);
            }
            return;
        }
    }
    fprintf(stderr, "probe: unknown option: %s\n", argument);
    exit(2);
}

static struct gramme_answer *write_batch(struct gramme_db *db, int count,
                                         struct gramme_error **error)
{
    struct gramme_request *batch = gramme_request_create("BatchWriteItem", NULL);
    for (int i = 0; i < count; i++) {
        gramme_set_int(gramme_batch_put(batch, "T"), "pk", i);
    }
    gramme_batch_write(db, batch, error);
    gramme_request_destroy(batch);
    return NULL;
}

static struct gramme_answer *transact(struct gramme_db *db, int count, struct gramme_error **error)
{
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    for (int i = 0; i < count; i++) {
        gramme_set_int(gramme_request_item(gramme_transact_put(all, "T")), "pk", i);
    }
    struct gramme_answer *answer = gramme_send(db, all, error);
    gramme_request_destroy(all);
    return answer;
}

static struct gramme_answer *read_page(struct gramme_db *db, char **argv,
                                       struct gramme_error **error)
{
    struct gramme_value *parameters =
        gramme_value_from_json(argv[3], strlen(argv[3]), GRAMME_PLAIN, NULL);
    struct gramme_answer *answer = gramme_insight(db, argv[2], parameters, error);
    gramme_value_destroy(parameters);
    return answer;
}

static struct gramme_answer *call(struct gramme_db *db, const struct settings *settings,
                                  char **argv, struct gramme_error **error)
{
    if (settings->batch > 0) {
        return write_batch(db, settings->batch, error);
    }
    if (settings->transact > 0) {
        return transact(db, settings->transact, error);
    }
    if (settings->insight > 0) {
        return read_page(db, argv, error);
    }
    return gramme_call(db, argv[2], argv[3], strlen(argv[3]), error);
}

static void print_result(const struct gramme_answer *answer, const struct gramme_error *error)
{
    struct gramme_value *result = gramme_map_create();
    gramme_set_string(result, "code", gramme_error_code(error));
    gramme_set_string(result, "message", gramme_error_message(error));
    gramme_set_int(result, "status", gramme_error_status(error));
    gramme_set_int(result, "attempts", gramme_error_attempts(error));
    gramme_set_bool(result, "retryable", gramme_error_retryable(error));
    gramme_set_string(result, "request_id", gramme_error_request_id(error));
    gramme_set_value(result, "answer", gramme_answer_root(answer));
    char *json = gramme_value_to_json(result, GRAMME_PLAIN, NULL);
    printf("%s\n", json);
    gramme_free(json);
    gramme_value_destroy(result);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: probe URL OPERATION JSON [option=value...]\n");
        return 2;
    }
    struct settings settings = {.repeat = 1};
    for (int i = 4; i < argc; i++) {
        read_setting(&settings, argv[i]);
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = NULL;
    struct gramme_db *db = gramme_open(argv[1], &settings.options, &error);
    for (int i = 0; db != NULL && i < settings.repeat; i++) {
        gramme_answer_destroy(answer);
        answer = call(db, &settings, argv, &error);
    }
    print_result(answer, error);
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
    gramme_close(db);
    return 0;
}
