/* Runs administration operations for the commands, over HTTP with a signed request, or in this
 * process on a store that no server has open. Runs on the main thread. */
#include "cli/admin_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/sigv4.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "cli/insight_client.h"
#include "json/writer.h"
#include "server/admin.h"

/* JSON -------------------------------------------------------------------------------------- */

void admin_add(struct buf *body, const char *name, struct str text)
{
    if (!str_is_null(text)) {
        buf_format(body, "%s\"%s\":", body->len > 1 ? "," : "", name);
        json_write_string(body, text);
    }
}

/* Moves the reader to the value of the member; false: there is none. */
static bool find_member(struct json_reader *reader, const char *name)
{
    struct json_string member;
    if (json_peek(reader) != JSON_OBJECT || !json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &member)) {
        if (str_eq(member.text, str_from_c(name))) {
            return true;
        }
        json_skip(reader);
    }
    return false;
}

struct str admin_member(struct arena *arena, struct str object, const char *name)
{
    struct json_reader reader;
    struct json_string text;
    struct str raw;
    json_reader_init(&reader, arena, object);
    if (!find_member(&reader, name)) {
        return STR_NULL;
    }
    if (json_peek(&reader) == JSON_STRING) {
        return json_read_string(&reader, &text) ? text.text : STR_NULL;
    }
    return json_read_raw(&reader, &raw) ? raw : STR_NULL;
}

void admin_each(struct arena *arena, struct str answer, const char *member,
                void (*visit)(struct arena *arena, struct str object))
{
    struct json_reader reader;
    struct str object;
    json_reader_init(&reader, arena, answer);
    if (!find_member(&reader, member) || !json_enter_array(&reader)) {
        return;
    }
    while (json_next_element(&reader) && json_read_raw(&reader, &object)) {
        visit(arena, object);
    }
}

bool admin_read_file(struct arena *arena, struct str path, struct str *out, struct err *err)
{
    bool is_input = str_eq(path, STR("-"));
    FILE *file = is_input ? stdin : fopen(arena_copy_c(arena, path).data, "rb");
    if (file == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot read %.*s: %s", STR_ARG(path), strerror(errno));
    }
    struct buf text = {0};
    size_t count;
    do {
        char *room = buf_reserve(&text, 4096);
        count = fread(room, 1, 4096, file);
        buf_added(&text, count);
    } while (count > 0);
    if (!is_input) {
        fclose(file);
    }
    *out = arena_copy(arena, buf_str(&text));
    buf_finish(&text);
    return true;
}

/* A store that no server has open ----------------------------------------------------------- */

/* The open store and engine; zeros: not opened yet. */
struct admin_store {
    struct users users;
    struct store *store;
    struct engine *engine;
};

static bool open_store(const struct admin_arguments *arguments, struct err *err)
{
    struct admin_store *opened = arguments->opened;
    struct arena arena;
    arena_init(&arena);
    struct store_options store_options = {
        .worker_count = 1,
        .cache_bytes = 8 << 20,
        .owner = arena_format(&arena, "%.*s/%.*s", STR_ARG(arguments->account),
                              STR_ARG(arguments->region)),
    };
    struct engine_options engine_options = {.region = arguments->region,
                                            .account = arguments->account};
    struct users_options users_options = {.file = STR(""),
                                          .master_key_file = arguments->master_key_file,
                                          .account = arguments->account};
    bool ok = users_open(&opened->users, &users_options, err) &&
              store_open(arguments->store, &store_options, &opened->store, err) &&
              engine_open(opened->store, &engine_options, &opened->engine, err) &&
              users_load(&opened->users, opened->engine, err);
    arena_finish(&arena);
    return ok;
}

static void close_store(struct admin_store *opened)
{
    engine_close(opened->engine);
    store_close(opened->store);
    users_close(&opened->users);
}

static bool run_on_store(const struct admin_arguments *arguments, const char *operation,
                         struct str body, struct buf *out, struct err *err)
{
    if (arguments->opened->engine == NULL && !open_store(arguments, err)) {
        return false;
    }
    struct admin_call call = {
        .users = &arguments->opened->users,
        .operation = str_from_c(operation),
        .body = body,
        .arena = arguments->arena,
        .out = out,
    };
    return admin_run(&call, err);
}

/* A running server -------------------------------------------------------------------------- */

static struct str environment(const char *name, const char *default_text)
{
    const char *value = getenv(name);
    return str_from_c(value != NULL && value[0] != '\0' ? value : default_text);
}

/* Sets *err to the error in the body of a response. */
static bool set_refusal(struct arena *arena, struct str body, struct err *err)
{
    struct str message = admin_member(arena, body, "message");
    if (str_is_null(message)) {
        message = admin_member(arena, body, "Message");
    }
    message = terminal_text(arena, message);
    struct str type = terminal_text(arena, admin_member(arena, body, "__type"));
    return err_set(err, ERR_VALIDATION, "%.*s (%.*s)", STR_ARG(message), STR_ARG(type));
}

static bool run_on_server(const struct admin_arguments *arguments, const char *operation,
                          struct str body, struct buf *out, struct err *err)
{
    struct address address;
    if (!address_parse(arguments->arena, arguments->endpoint, arguments->ca_file.data, &address,
                       err)) {
        return false;
    }
    char time[SIGV4_TIME_SIZE];
    sigv4_format_time(clock_wall_ms(), time);
    struct sigv4_scope scope = {
        .access_key_id = environment("AWS_ACCESS_KEY_ID", NULL),
        .secret_access_key = environment("AWS_SECRET_ACCESS_KEY", NULL),
        .region = arguments->region,
        .service = STR("dynamodb"),
        .time = str_from_c(time),
    };
    struct str token = environment("AWS_SESSION_TOKEN", NULL);
    if (str_is_null(scope.access_key_id) || str_is_null(scope.secret_access_key)) {
        return err_set(err, ERR_VALIDATION,
                       "requests to a server are signed: set AWS_ACCESS_KEY_ID and "
                       "AWS_SECRET_ACCESS_KEY (or name a store that no server has open, with "
                       "--store)");
    }
    struct str target = arena_format(arguments->arena, ADMIN_TARGET "%s", operation);
    struct sigv4_header headers[] = {
        {STR("host"), address.host_header},
        {STR("x-amz-date"), scope.time},
        {STR("x-amz-target"), target},
        {STR("x-amz-security-token"), token},
    };
    struct sigv4_request request = {
        .method = STR("POST"),
        .path = STR("/"),
        .query = STR(""),
        .headers = headers,
        .header_count = str_is_null(token) ? 3 : 4,
        .body = body,
    };
    struct buf authorization = {0};
    sigv4_sign(&request, &scope, &authorization);
    int status = 0;
    bool good = http_post(&address, &request, buf_str(&authorization), &status, out, err);
    buf_finish(&authorization);
    return good && (status == 200 || set_refusal(arguments->arena, buf_str(out), err));
}

bool admin_request(const struct admin_arguments *arguments, const char *operation, struct str body,
                   struct str *out_answer, struct err *err)
{
    struct buf out = {0};
    bool good = str_is_null(arguments->store) ? run_on_server(arguments, operation, body, &out, err)
                                              : run_on_store(arguments, operation, body, &out, err);
    *out_answer = arena_copy(arguments->arena, buf_str(&out));
    buf_finish(&out);
    return good;
}

/* The command line -------------------------------------------------------------------------- */

static void print_help(const char *command, const struct admin_verb *verbs)
{
    printf("Usage:\n");
    for (const struct admin_verb *verb = verbs; verb->name != NULL; verb++) {
        enum { SUMMARY_COLUMN = 46 };
        int width = printf("  gramme %s %s %s", command, verb->name, verb->arguments);
        if (width > SUMMARY_COLUMN - 2) {
            width = 0; /* too long: the summary gets a line of its own */
            printf("\n");
        }
        printf("%*s%s\n", SUMMARY_COLUMN - width, "", verb->summary);
    }
    printf("\nOn a running server (signed with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY):\n"
           "  --endpoint URL           default http://127.0.0.1:8000, or GRAMME_ENDPOINT\n"
           "  --ca-file FILE           certificates of authorities to trust for https://, PEM; "
           "default\n"
           "                           those of the system, or AWS_CA_BUNDLE\n"
           "  --region NAME            default us-east-1, or AWS_REGION\n"
           "On a store that no server has open:\n"
           "  --store URL              rocksdb:DIRECTORY\n"
           "  --master-key-file FILE   or GRAMME_MASTER_KEY\n"
           "  --account NUMBER         default 000000000000\n");
}

static struct str *option_value(struct admin_arguments *arguments, const char *name)
{
    const struct {
        const char *name;
        struct str *value;
    } options[] = {
        {"--account", &arguments->account}, {"--action", &arguments->action},
        {"--ca-file", &arguments->ca_file}, {"--endpoint", &arguments->endpoint},
        {"--id", &arguments->id},           {"--master-key-file", &arguments->master_key_file},
        {"--region", &arguments->region},   {"--resource", &arguments->resource},
        {"--role", &arguments->role},       {"--seconds", &arguments->seconds},
        {"--store", &arguments->store},     {"--user", &arguments->user},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (strcmp(name, options[i].name) == 0) {
            return options[i].value;
        }
    }
    return NULL;
}

static bool read_option(struct admin_arguments *arguments, int *at, int argc, char **argv,
                        struct err *err)
{
    const char *name = argv[*at];
    if (strcmp(name, "--boundary") == 0) {
        arguments->as_boundary = true;
        return true;
    }
    bool is_context = strcmp(name, "--context") == 0;
    struct str *value = option_value(arguments, name);
    if (value == NULL && !is_context) {
        return err_set(err, ERR_VALIDATION, "unknown option %s", name);
    }
    if (*at + 1 >= argc) {
        return err_set(err, ERR_VALIDATION, "%s needs a value", name);
    }
    struct str text = str_from_c(argv[++*at]);
    if (is_context && arguments->context_count == ADMIN_CONTEXT_MAX) {
        return err_set(err, ERR_VALIDATION, "too many --context");
    }
    if (is_context) {
        arguments->context[arguments->context_count++] = text;
    } else {
        *value = text;
    }
    return true;
}

static bool read_arguments(struct admin_arguments *arguments, int argc, char **argv,
                           struct err *err)
{
    for (int i = 0; i < argc; i++) {
        bool is_option = strncmp(argv[i], "--", 2) == 0;
        if (is_option && !read_option(arguments, &i, argc, argv, err)) {
            return false;
        }
        if (!is_option && arguments->word_count == ADMIN_WORDS_MAX) {
            return err_set(err, ERR_VALIDATION, "unexpected argument '%s'", argv[i]);
        }
        if (!is_option) {
            arguments->words[arguments->word_count++] = str_from_c(argv[i]);
        }
    }
    return true;
}

static const struct admin_verb *find_verb(const struct admin_verb *verbs, const char *name)
{
    while (verbs->name != NULL && strcmp(verbs->name, name) != 0) {
        verbs++;
    }
    return verbs->name == NULL ? NULL : verbs;
}

static bool run_verb(const struct admin_verb *verb, struct admin_arguments *arguments, int argc,
                     char **argv, struct err *err)
{
    if (!read_arguments(arguments, argc, argv, err)) {
        return false;
    }
    if (arguments->word_count != verb->word_count) {
        return err_set(err, ERR_VALIDATION, "expected: %s %s", verb->name, verb->arguments);
    }
    return verb->run(arguments, err);
}

int admin_main(const char *command, const struct admin_verb *verbs, int argc, char **argv)
{
    if (argc == 0 || is_help_argument(argv[0])) {
        print_help(command, verbs);
        return argc == 0 ? 2 : 0;
    }
    const struct admin_verb *verb = find_verb(verbs, argv[0]);
    if (verb == NULL) {
        fprintf(stderr, "gramme %s: unknown verb '%s'; see gramme %s --help\n", command, argv[0],
                command);
        return 2;
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct admin_store opened = {0};
    struct admin_arguments arguments = {
        .arena = &arena,
        .opened = &opened,
        .endpoint = environment("GRAMME_ENDPOINT", "http://127.0.0.1:8000"),
        .region = environment("AWS_REGION", "us-east-1"),
        .account = STR("000000000000"),
        .master_key_file = STR(""),
    };
    bool good = run_verb(verb, &arguments, argc - 1, argv + 1, &err);
    if (!good) {
        fprintf(stderr, "gramme %s: %.*s\n", command, STR_ARG(err.message));
    }
    close_store(&opened);
    arena_finish(&arena);
    return good ? 0 : 1;
}

bool admin_put_document(const struct admin_arguments *arguments, const char *operation,
                        const char *name_member, struct err *err)
{
    struct str document;
    struct str answer;
    if (!admin_read_file(arguments->arena, arguments->words[1], &document, err)) {
        return false;
    }
    struct buf body = {0};
    buf_add_char(&body, '{');
    admin_add(&body, name_member, arguments->words[0]);
    admin_add(&body, "Document", document);
    if (!str_is_null(arguments->seconds)) {
        buf_format(&body, ",\"SessionSeconds\":%.*s", STR_ARG(arguments->seconds));
    }
    buf_add_char(&body, '}');
    bool good = admin_request(arguments, operation, buf_str(&body), &answer, err);
    buf_finish(&body);
    return good;
}
