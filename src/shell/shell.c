/* `gramme shell`: options, the handle, and which loop runs. Main thread. */
#include "shell/shell.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shell/call_thread_internal.h"
#include "shell/commands_internal.h"
#include "shell/input_internal.h"
#include "shell/run_internal.h"
#include "shell/schema_internal.h"

#define URL_DEFAULT "http://127.0.0.1:8000"

struct arguments {
    const char *url;
    const char *command; /* -c */
    const char *file;    /* -f */
    const char *format;
    bool timing;
};

static const char help[] =
    "Usage: gramme shell [options] [URL]\n\n"
    "A shell for any DynamoDB: PartiQL statements and short commands. URL is http://HOST:PORT,\n"
    "https://HOST, aws: for the service, or a store in this process, rocksdb:DIRECTORY or memory:\n"
    "(default GRAMME_ENDPOINT, or " URL_DEFAULT ").\n\n"
    "Options:\n"
    "  -c, --command TEXT   run statements and commands, then end\n"
    "  -f, --file FILE      run those of a file, then end; - is standard input\n"
    "  -o, --format FORMAT  table, list, json, typed or csv (default table)\n"
    "  -y, --yes            do not ask before something is deleted or replaced\n"
    "  -k, --keep-going     continue a script after a failure\n"
    "  -t, --timing         print capacity units and time in scripts, too (to standard error)\n"
    "  --region NAME        of the service\n"
    "  --profile NAME       of the AWS configuration files\n"
    "  --ca-file FILE       certificates to trust instead of the system's, for https://\n\n"
    "Credentials and region come from where the AWS SDKs take them. \\help in the shell lists its\n"
    "commands.\n\n"
    "Exit status: 0 success, 1 a statement or command failed, 2 wrong options or no such "
    "address.\n\n"
    "Examples:\n"
    "  gramme shell\n"
    "  gramme shell -c 'SELECT * FROM \"Music\"' -o json\n"
    "  gramme shell aws: < statements.sql\n";

static int complain(const char *text, const char *about)
{
    fprintf(stderr, "gramme shell: %s%s (gramme shell --help)\n", text, about);
    return 2;
}

/* Reads one option with a value. False: it is none of these. */
static bool read_valued(const char *name, const char *value, struct arguments *out,
                        struct session *session)
{
    const struct {
        const char *name;
        const char *letter;
        const char **value;
    } options[] = {
        {"--command", "-c", &out->command},
        {"--file", "-f", &out->file},
        {"--format", "-o", &out->format},
        {"--region", "", &session->options.region},
        {"--profile", "", &session->options.profile},
        {"--ca-file", "", &session->options.ca_file},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (strcmp(name, options[i].name) == 0 || strcmp(name, options[i].letter) == 0) {
            *options[i].value = value;
            return true;
        }
    }
    return false;
}

static bool read_flag(const char *name, struct arguments *out, struct session *session)
{
    const struct {
        const char *name;
        const char *letter;
        bool *flag;
    } flags[] = {
        {"--yes", "-y", &session->assume_yes},
        {"--keep-going", "-k", &session->keep_going},
        {"--timing", "-t", &out->timing},
    };
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        if (strcmp(name, flags[i].name) == 0 || strcmp(name, flags[i].letter) == 0) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

/* 0: understood. */
static int read_arguments(int argc, char **argv, struct arguments *out, struct session *session)
{
    for (int i = 0; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-') {
            if (out->url != NULL) {
                return complain("too many arguments: ", argv[i]);
            }
            out->url = argv[i];
        } else if (!read_flag(argv[i], out, session)) {
            if (!read_valued(argv[i], next, out, session)) {
                return complain("unknown option ", argv[i]);
            }
            if (next == NULL) {
                return complain("a value is missing behind ", argv[i]);
            }
            i++;
        }
    }
    return out->command != NULL && out->file != NULL ? complain("-c and -f exclude each other", "")
                                                     : 0;
}

/* Widths of characters and UTF-8 need a locale that knows them. */
static void set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

static void greet(struct session *session)
{
    printf("gramme shell %s, %s. \\help lists commands, \\quit ends.\n", gramme_version(),
           session->url);
    fflush(stdout);
}

static bool run(struct session *session, const struct arguments *arguments)
{
    if (arguments->command != NULL) {
        return run_script(session, str_from_c(arguments->command));
    }
    if (arguments->file != NULL && strcmp(arguments->file, "-") != 0) {
        struct buf text = {0};
        bool good = read_whole_file(session, arguments->file, &text);
        if (!good) {
            fprintf(stderr, "gramme shell: %s\n", session->message.data);
        }
        good = good && run_script(session, buf_str(&text));
        buf_finish(&text);
        return good;
    }
    if (!session->is_interactive) {
        return run_stream(session, stdin);
    }
    session->input = input_open(session);
    greet(session);
    run_typed(session);
    input_close(session->input);
    session->input = NULL;
    return true;
}

static void finish(struct session *session)
{
    bool is_local = strncmp(session->url, "http", 4) != 0 && strcmp(session->url, "aws:") != 0;
    if (!calls_are_pending(is_local)) { /* an abandoned call still uses the handle */
        gramme_close(session->db);
        gramme_close(session->streams);
    }
    schema_finish(session);
    gramme_error_destroy(session->error);
    buf_finish(&session->out);
    buf_finish(&session->message);
}

/* Sets what follows from the environment and the terminal. */
static void set_surroundings(struct session *session, const struct arguments *arguments)
{
    const char *endpoint = getenv("GRAMME_ENDPOINT");
    session->url = arguments->url != NULL ? arguments->url
                   : endpoint != NULL     ? endpoint
                                          : URL_DEFAULT;
    session->is_terminal = isatty(STDOUT_FILENO) != 0;
    session->is_interactive = session->is_terminal && isatty(STDIN_FILENO) != 0 &&
                              arguments->command == NULL && arguments->file == NULL;
    session->timing = session->is_interactive || arguments->timing;
}

/* Opens the database. False: the failure was printed. */
static bool open_database(struct session *session)
{
    struct gramme_error *error = NULL;
    session->db = gramme_open(session->url, &session->options, &error);
    if (session->db == NULL) {
        fprintf(stderr, "gramme shell: %s\n", gramme_error_message(error));
        gramme_error_destroy(error);
    }
    return session->db != NULL;
}

int shell_main(int argc, char **argv)
{
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
                     strcmp(argv[0], "help") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    struct arguments arguments = {0};
    struct session session = {.rows = 100, .pager = true};
    int status = read_arguments(argc, argv, &arguments, &session);
    if (status != 0) {
        return status;
    }
    set_surroundings(&session, &arguments);
    if (arguments.format != NULL &&
        !settings_set(&session, STR("format"), str_from_c(arguments.format))) {
        status = complain(session.message.data, "");
        buf_finish(&session.message);
        return status;
    }
    set_locale();
    if (session.is_interactive) {
        interrupts_init();
    }
    if (!open_database(&session)) {
        buf_finish(&session.message);
        return 2;
    }
    bool good = run(&session, &arguments);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        good = false;
    }
    finish(&session);
    return good ? 0 : 1;
}
