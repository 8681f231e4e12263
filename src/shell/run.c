/* Runs statements and commands, from a script or typed, and reports failures. Main thread. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/terminal.h"
#include "shell/call_thread_internal.h"
#include "shell/commands_internal.h"
#include "shell/input_internal.h"
#include "shell/results_internal.h"
#include "shell/run_internal.h"
#include "shell/schema_internal.h"

/* --- failures --- */

/* Finds a position LINE:COLUMN:LENGTH in a message of PartiQL. */
static bool find_position(const char *message, size_t *line, size_t *column)
{
    for (const char *at = message; *at != '\0'; at++) {
        bool is_start = isdigit((unsigned char)*at) &&
                        (at == message || (!isdigit((unsigned char)at[-1]) && at[-1] != ':'));
        unsigned l;
        unsigned c;
        unsigned len;
        if (is_start && sscanf(at, "%6u:%6u:%6u", &l, &c, &len) == 3 && l > 0 && c > 0) {
            *line = l;
            *column = c;
            return true;
        }
    }
    return false;
}

/* Shows the line of the statement with a caret below the position. */
/* Returns how many bytes the first `count` characters of a line have. */
static size_t bytes_of_chars(struct str line, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count && at < line.len; i++) {
        at++;
        while (at < line.len && ((unsigned char)line.data[at] & 0xc0) == 0x80) {
            at++;
        }
    }
    return at;
}

static void show_position(FILE *out, struct str statement, size_t line, size_t column)
{
    while (line > 1) {
        const char *newline = memchr(statement.data, '\n', statement.len);
        if (newline == NULL) {
            return;
        }
        statement = str_skip(statement, (size_t)(newline - statement.data) + 1);
        line--;
    }
    const char *newline = memchr(statement.data, '\n', statement.len);
    size_t len = newline == NULL ? statement.len : (size_t)(newline - statement.data);
    struct buf safe = {0};
    struct buf before = {0};
    terminal_add_text(&safe, str_make(statement.data, len));
    size_t at = column == 0 ? 0 : bytes_of_chars(str_make(statement.data, len), column - 1);
    terminal_add_text(&before, str_make(statement.data, at));
    fprintf(out, "  %.*s\n  %*s^\n", STR_ARG(buf_str(&safe)), (int)terminal_width(buf_str(&before)),
            "");
    buf_finish(&safe);
    buf_finish(&before);
}

static void report(struct session *session, struct str text)
{
    struct buf safe = {0};
    size_t line;
    size_t column;
    terminal_add_text(&safe, str_from_c(session->message.data));
    fflush(stdout);
    fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&safe)));
    bool is_statement = text.len > 0 && text.data[0] != '\\';
    if (is_statement && session->error != NULL &&
        find_position(gramme_error_message(session->error), &line, &column)) {
        show_position(stderr, text, line, column);
    }
    fflush(stderr);
    buf_finish(&safe);
}

bool run_one(struct session *session, struct str text)
{
    session->was_interrupted = false;
    session->usage = (struct usage){0};
    session->is_usage_printed = false;
    gramme_error_destroy(session->error);
    session->error = NULL;
    fail(session, "%s", "");
    bool good = text.data[0] == '\\' ? commands_run(session, text) : statement_run(session, text);
    if (good && session->usage.calls > 0 && !session->is_usage_printed) {
        results_print_usage(session, NULL, 0, &session->usage);
    }
    output_flush(session);
    if (!good) {
        report(session, text);
    }
    return good;
}

/* --- scripts --- */

bool run_script(struct session *session, struct str text)
{
    struct str one;
    bool good = true;
    for (;;) {
        enum split_result result = split_next(&text, &one);
        if (result == SPLIT_NOTHING || session->is_quitting) {
            return good;
        }
        if (result == SPLIT_MORE) { /* the last one may do without its semicolon */
            one = text;
            text = str_skip(text, text.len);
        }
        good = run_one(session, one) && good;
        if (!good && !session->keep_going) {
            return false;
        }
    }
}

/* Reads a script from standard input as it arrives, so that a pipe can be answered at once. */
bool run_stream(struct session *session, FILE *file)
{
    struct buf pending = {0};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    bool good = true;
    while (!session->is_quitting && (good || session->keep_going) &&
           (len = getline(&line, &capacity, file)) >= 0) {
        buf_add(&pending, str_make(line, (size_t)len));
        struct str rest = buf_str(&pending);
        struct str one;
        while (!session->is_quitting && (good || session->keep_going) &&
               split_next(&rest, &one) == SPLIT_ONE) {
            good = run_one(session, one) && good;
        }
        size_t used = pending.len - rest.len;
        memmove(pending.data, pending.data + used, rest.len);
        pending.len = rest.len;
    }
    if (!session->is_quitting && (good || session->keep_going) && pending.len > 0) {
        good = run_script(session, buf_str(&pending)) && good;
    }
    free(line); /* getline()'s */
    buf_finish(&pending);
    return good;
}

/* --- typed --- */

/* Runs everything complete in `pending` and keeps the rest. */
static void run_pending(struct session *session, struct buf *pending)
{
    struct str rest = buf_str(pending);
    struct str one;
    enum split_result result = SPLIT_ONE;
    while (!session->is_quitting && (result = split_next(&rest, &one)) == SPLIT_ONE) {
        input_remember(session->input, one);
        if (!run_one(session, one)) {
            rest = STR(""); /* what follows in the same line probably depends on it */
        }
    }
    size_t used = rest.len == 0 ? pending->len : pending->len - rest.len;
    memmove(pending->data, pending->data + used, pending->len - used);
    pending->len -= used;
}

void run_typed(struct session *session)
{
    struct buf pending = {0};
    struct str line;
    while (!session->is_quitting) {
        const char *prompt = pending.len == 0 ? "gramme> " : "      > ";
        switch (input_read(session->input, prompt, buf_str(&pending), &line)) {
        case INPUT_LINE:
            buf_add(&pending, line);
            run_pending(session, &pending);
            break;
        case INPUT_INTERRUPTED:
            pending.len = 0;
            break;
        case INPUT_END:
            printf("\n");
            session->is_quitting = true;
            break;
        }
    }
    buf_finish(&pending);
}
