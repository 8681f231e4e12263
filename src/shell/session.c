/* Failures, output with a pager, confirmation, and whether the server is Gramme. Main thread. */
#include "shell/session_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/format.h"
#include "shell/call_thread_internal.h"
#include "shell/input_internal.h"

bool fail(struct session *session, const char *format, ...)
{
    session->message.len = 0;
    va_list args;
    va_start(args, format);
    format_add(&session->message, format, args);
    va_end(args);
    buf_add_char(&session->message, '\0');
    return false;
}

bool fail_with(struct session *session, struct gramme_error *error)
{
    gramme_error_destroy(session->error);
    session->error = error;
    return fail(session, "%s: %s", gramme_error_code(error), gramme_error_message(error));
}

/* --- output --- */

void terminal_size(int *rows, int *columns)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *rows = known ? size.ws_row : 24;
    *columns = known ? size.ws_col : 80;
}

static size_t count_lines(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text.data[i] == '\n';
    }
    return count;
}

/* Writes the text to the pager. False: there is none. */
static bool page(struct str text)
{
    const char *pager = getenv("PAGER");
    pager = pager != NULL && pager[0] != '\0' ? pager : "less -S";
    FILE *out = popen(pager, "we");
    if (out == NULL) {
        return false;
    }
    fwrite(text.data, 1, text.len, out);
    int status = pclose(out);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127); /* the shell found no such program */
}

void output_flush_now(struct session *session)
{
    if (session->out.len > 0) {
        fwrite(session->out.data, 1, session->out.len, stdout);
    }
    fflush(stdout);
    session->out.len = 0;
}

void output_flush(struct session *session)
{
    int rows;
    int columns;
    terminal_size(&rows, &columns);
    if (session->is_interactive && session->pager &&
        count_lines(buf_str(&session->out)) >= (size_t)rows && page(buf_str(&session->out))) {
        session->out.len = 0;
    }
    output_flush_now(session);
}

/* --- questions --- */

bool confirm(struct session *session, const char *format, ...)
{
    if (session->assume_yes) {
        return true;
    }
    struct buf question = {0};
    va_list args;
    va_start(args, format);
    format_add(&question, format, args);
    va_end(args);
    bool good = false;
    if (!session->is_interactive) {
        fail(session, "%.*s? Scripts must be started with -y to do this",
             STR_ARG(buf_str(&question)));
    } else {
        buf_add(&question, STR("? [y/N] "));
        buf_add_char(&question, '\0');
        good = input_ask_yes(session->input, question.data) || fail(session, "not done");
    }
    buf_finish(&question);
    return good;
}

bool server_is_gramme(struct session *session)
{
    if (session->server == SERVER_UNKNOWN) {
        struct gramme_answer *answer = NULL;
        bool is_gramme =
            call_json(session, session->db, "ListOperations", STR("{}"), &answer, NULL);
        gramme_answer_destroy(answer);
        bool is_answered = is_gramme || gramme_error_status(session->error) >= 400;
        if (!is_answered || session->was_interrupted) {
            return false; /* not reachable: ask again the next time */
        }
        bool is_denied = !is_gramme && gramme_error_is(session->error, GRAMME_ACCESS_DENIED);
        session->server = is_gramme || is_denied ? SERVER_GRAMME : SERVER_OTHER;
    }
    return session->server == SERVER_GRAMME;
}

bool need_gramme(struct session *session, const char *what)
{
    if (server_is_gramme(session)) {
        return true;
    }
    return session->server == SERVER_UNKNOWN
               ? false
               : fail(session, "%s needs a Gramme server, and this is another DynamoDB", what);
}

bool read_whole_file(struct session *session, const char *path, struct buf *out)
{
    enum { FILE_BYTES_MAX = 64 << 20, READ_BYTES = 64 << 10 };
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (file == NULL) {
        return fail(session, "%s: %s", path, strerror(errno));
    }
    size_t count;
    do {
        count = fread(buf_reserve(out, READ_BYTES), 1, READ_BYTES, file);
        buf_added(out, count);
    } while (count > 0 && out->len <= FILE_BYTES_MAX);
    bool good = ferror(file) == 0 || fail(session, "%s: %s", path, strerror(errno));
    if (good && out->len > FILE_BYTES_MAX) {
        good = fail(session, "%s is larger than %d MiB", path, FILE_BYTES_MAX >> 20);
    }
    if (file != stdin) {
        fclose(file);
    }
    return good;
}
