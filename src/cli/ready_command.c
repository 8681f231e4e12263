/* `gramme ready`: checks whether a server can serve requests (GET /_gramme/ready), for health
 * checks and scripts that start a server. Runs on the main thread. */
#include "base/base.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/insight_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "Usage: gramme ready [options]\n\n"
    "Checks whether a server can serve requests: whether it can write to its store within two\n"
    "seconds, and has disk space and memory (GET /_gramme/ready). Prints its answer.\n\n"
    "Options:\n"
    "  --endpoint URL   of the server (default " REMOTE_DEFAULT ", or GRAMME_ENDPOINT)\n"
    "  --ca-file FILE   certificates of authorities to trust for https:// (default: those of the\n"
    "                   system, or AWS_CA_BUNDLE)\n"
    "  --wait S         repeat the check until it is ready, for at most S seconds\n\n"
    "Exit status: 0 if it is ready, 1 if it is not or cannot be reached, 2 if the command line is\n"
    "wrong.\n";

enum { ANSWER_BYTES_MAX = 64 * 1024, PAUSE_MS = 20 };

struct options {
    const char *endpoint;
    const char *ca_file;
    int64_t wait_us;
};

static int read_arguments(struct options *out, int argc, char **argv)
{
    for (int i = 0; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (value != NULL && strcmp(argv[i], "--endpoint") == 0) {
            out->endpoint = value;
        } else if (value != NULL && strcmp(argv[i], "--ca-file") == 0) {
            out->ca_file = value;
        } else if (value != NULL && strcmp(argv[i], "--wait") == 0) {
            double seconds = strtod(value, &end);
            if (end == value || *end != '\0' || !(seconds >= 0 && seconds <= 86400)) {
                fprintf(stderr, "gramme ready: --wait needs a number of seconds, not '%s'\n",
                        value);
                return 2;
            }
            out->wait_us = (int64_t)(seconds * 1e6);
        } else {
            fprintf(stderr, "gramme ready: unknown option or no value: %s (gramme ready --help)\n",
                    argv[i]);
            return 2;
        }
    }
    return 0;
}

/* Adds the whole answer to `answer`. */
static bool ask(const struct address *address, struct buf *answer, struct err *err)
{
    struct connection *connection;
    if (!connection_open(address, &connection, err)) {
        return false;
    }
    struct buf request = {0};
    buf_format(&request, "GET /_gramme/ready HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
               STR_ARG(address->host_header));
    bool good = (connection_send(connection, buf_str(&request)) &&
                 connection_read_all(connection, ANSWER_BYTES_MAX, answer)) ||
                err_set(err, ERR_INTERNAL, "the connection to %.*s was lost",
                        STR_ARG(address->host_header));
    connection_close(connection);
    buf_finish(&request);
    return good;
}

/* The part of the answer after its head. */
static struct str body_of(struct str answer)
{
    const char *end = answer.len == 0 ? NULL : memmem(answer.data, answer.len, "\r\n\r\n", 4);
    return end == NULL ? STR("") : str_skip(answer, (size_t)(end - answer.data) + 4);
}

/* Asks once. Prints the outcome if the server is ready, or `is_last`. */
static bool check_ready(const struct address *address, bool is_last)
{
    struct buf answer = {0};
    struct arena arena; /* of the error; --wait may ask for a day */
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool has_answer = ask(address, &answer, &err);
    bool is_ready = has_answer && str_starts_with(buf_str(&answer), STR("HTTP/1.1 200 "));
    if (has_answer && (is_ready || is_last)) {
        struct str body = body_of(buf_str(&answer));
        printf("%.*s", STR_ARG(body));
    } else if (is_last) {
        fprintf(stderr, "gramme ready: %.*s\n", STR_ARG(err.message));
    }
    buf_finish(&answer);
    arena_finish(&arena);
    return is_ready;
}

static int wait_until_ready(const struct options *options)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct address address;
    int64_t until_us = clock_monotonic_us() + options->wait_us;
    int status = 1;
    if (!address_parse(&arena, str_from_c(options->endpoint), options->ca_file, &address, &err)) {
        fprintf(stderr, "gramme ready: %.*s\n", STR_ARG(err.message));
        status = 2;
    }
    bool is_last = false;
    while (status == 1 && !is_last) {
        is_last = clock_monotonic_us() >= until_us;
        status = check_ready(&address, is_last) ? 0 : 1;
        if (status == 1 && !is_last) {
            nanosleep(&(struct timespec){.tv_nsec = (long)PAUSE_MS * 1000 * 1000}, NULL);
        }
    }
    arena_finish(&arena);
    return status;
}

int ready_command(int argc, char **argv)
{
    const char *endpoint = getenv("GRAMME_ENDPOINT");
    struct options options = {.endpoint = endpoint != NULL ? endpoint : REMOTE_DEFAULT};
    if (argc > 0 && is_help_argument(argv[0])) {
        fputs(help, stdout);
        return 0;
    }
    int status = read_arguments(&options, argc, argv);
    return status != 0 ? status : wait_until_ready(&options);
}
