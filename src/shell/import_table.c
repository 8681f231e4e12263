/* `gramme import --bucket`: has a server import a table from objects in a bucket, and waits with a
 * progress bar. Main thread of gramme-client. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/terminal.h"
#include "json/writer.h"
#include "shell/import_internal.h"

/* "pk" or "pk:N": the name and the type. */
static bool take_attribute(struct str *rest, struct str *out_name, struct str *out_type)
{
    const char *comma = rest->len == 0 ? NULL : memchr(rest->data, ',', rest->len);
    struct str one = str_make(rest->data, comma == NULL ? rest->len : (size_t)(comma - rest->data));
    *rest = comma == NULL ? STR("") : str_skip(*rest, one.len + 1);
    bool has_type = one.len > 2 && one.data[one.len - 2] == ':';
    *out_name = has_type ? str_make(one.data, one.len - 2) : one;
    *out_type = has_type ? str_make(one.data + one.len - 1, 1) : STR("S");
    return out_name->len > 0;
}

/* Adds a key attribute to AttributeDefinitions and KeySchema. `part`: 0 for the partition key. */
static void put_attribute(struct buf *definitions, struct buf *schema, size_t part, struct str name,
                          struct str type)
{
    buf_add(definitions, part > 0 ? STR(",") : STR(""));
    JSON_PUT(definitions, "{\"AttributeName\":");
    json_write_string(definitions, name);
    JSON_PUT(definitions, ",\"AttributeType\":");
    json_write_string(definitions, type);
    JSON_PUT(definitions, "}");
    buf_add(schema, part > 0 ? STR(",{\"AttributeName\":") : STR("{\"AttributeName\":"));
    json_write_string(schema, name);
    buf_add(schema, part > 0 ? STR(",\"KeyType\":\"RANGE\"}") : STR(",\"KeyType\":\"HASH\"}"));
}

/* AttributeDefinitions and KeySchema, from --key. */
static bool put_key(struct buf *out, const char *key)
{
    struct str rest = str_from_c(key);
    struct buf schema = {0};
    size_t count = 0;
    bool good = true;
    JSON_PUT(out, "\"AttributeDefinitions\":[");
    for (; good && rest.len > 0; count++) {
        struct str name;
        struct str type;
        good = count < 2 && take_attribute(&rest, &name, &type);
        if (good) {
            put_attribute(out, &schema, count, name, type);
        }
    }
    JSON_PUT(out, "],\"KeySchema\":[");
    buf_add(out, buf_str(&schema));
    JSON_PUT(out, "]");
    buf_finish(&schema);
    return good && count > 0;
}

static bool put_request(struct buf *out, const struct import_arguments *arguments)
{
    static const char *const formats[] = {"DYNAMODB_JSON", "ION", "CSV"};
    static const char *const compressions[] = {"NONE", "GZIP", "ZSTD"};
    JSON_PUT(out, "{\"S3BucketSource\":{\"S3Bucket\":");
    json_write_string(out, str_from_c(arguments->bucket));
    if (arguments->prefix != NULL) {
        JSON_PUT(out, ",\"S3KeyPrefix\":");
        json_write_string(out, str_from_c(arguments->prefix));
    }
    buf_format(out, "},\"InputFormat\":\"%s\",\"InputCompressionType\":\"%s\",",
               formats[arguments->format], compressions[arguments->compression]);
    if (arguments->delimiter != 0) {
        JSON_PUT(out, "\"InputFormatOptions\":{\"Csv\":{\"Delimiter\":");
        json_write_string(out, str_make(&arguments->delimiter, 1));
        JSON_PUT(out, "}},");
    }
    JSON_PUT(out, "\"TableCreationParameters\":{\"TableName\":");
    json_write_string(out, str_from_c(arguments->table));
    JSON_PUT(out, ",\"BillingMode\":\"PAY_PER_REQUEST\",");
    bool good = put_key(out, arguments->key);
    JSON_PUT(out, "}}");
    return good;
}

/* The service does not say how many bytes there are. */
static void show(struct import_arguments *arguments, const struct gramme_value *import)
{
    progress_show(&arguments->command.progress, PROGRESS_UNKNOWN,
                  "%lld items, %.1f MiB, %lld errors",
                  (long long)gramme_get_int(import, "ProcessedItemCount", 0),
                  (double)gramme_get_int(import, "ProcessedSizeBytes", 0) / (1 << 20),
                  (long long)gramme_get_int(import, "ErrorCount", 0));
}

/* Prints how it ended. Returns the exit status. */
static int tell_end(const struct gramme_value *import)
{
    const char *status = gramme_get_string(import, "ImportStatus");
    const char *why = gramme_get_string(import, "FailureMessage");
    long long errors = (long long)gramme_get_int(import, "ErrorCount", 0);
    struct buf line = {0};
    buf_format(&line, "%s: %lld items written, %lld errors%s%s",
               status == NULL ? "no status" : status,
               (long long)gramme_get_int(import, "ImportedItemCount", 0), errors,
               why == NULL ? "" : ": ", why == NULL ? "" : why);
    struct buf safe = {0};
    terminal_add_text(&safe, buf_str(&line));
    printf("%.*s\n", STR_ARG(buf_str(&safe)));
    buf_finish(&safe);
    buf_finish(&line);
    /* An import with records that it could not write is COMPLETED, too. */
    return status != NULL && strcmp(status, "COMPLETED") == 0 && errors == 0 ? 0 : 1;
}

static int wait_for(struct import_arguments *arguments, const char *arn)
{
    struct subcommand *command = &arguments->command;
    int status = -1;
    while (status < 0) {
        struct gramme_answer *answer =
            subcommand_ask_about(command, "DescribeImport", "ImportArn", arn);
        if (answer == NULL) {
            return EXIT_FAILED;
        }
        const struct gramme_value *import =
            gramme_get(gramme_answer_root(answer), "ImportTableDescription");
        const char *state = gramme_get_string(import, "ImportStatus");
        bool is_over = state == NULL || strcmp(state, "IN_PROGRESS") != 0;
        if (is_over) {
            progress_end(&command->progress);
            status = tell_end(import);
        } else {
            show(arguments, import);
        }
        gramme_answer_destroy(answer);
        if (!is_over) {
            usleep(SUBCOMMAND_POLL_US);
        }
    }
    return status;
}

int import_table(struct import_arguments *arguments)
{
    struct subcommand *command = &arguments->command;
    struct buf body = {0};
    struct gramme_error *error = NULL;
    if (!put_request(&body, arguments)) {
        buf_finish(&body);
        return subcommand_complain(command,
                                   "--key is pk or pk,sk, each with an optional type: pk:N", "");
    }
    struct gramme_answer *answer =
        gramme_call(command->db, "ImportTable", body.data, body.len, &error);
    buf_finish(&body);
    if (answer == NULL) {
        subcommand_fail_with(command, error);
        return EXIT_FAILED;
    }
    const char *arn = gramme_get_string(
        gramme_get(gramme_answer_root(answer), "ImportTableDescription"), "ImportArn");
    int status = wait_for(arguments, text_or(arn, ""));
    gramme_answer_destroy(answer);
    return status;
}
