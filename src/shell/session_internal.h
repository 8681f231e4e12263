/* shell/session_internal.h: the state of a shell: the handle, settings, what failed last, and the
 * text that waits to be printed. All of it belongs to the main thread. */
#ifndef GRAMME_SHELL_SESSION_INTERNAL_H
#define GRAMME_SHELL_SESSION_INTERNAL_H

#include "base/buf.h"
#include "base/map.h"
#include "gramme/gramme.h"

enum format { FORMAT_TABLE, FORMAT_LIST, FORMAT_JSON, FORMAT_TYPED, FORMAT_CSV };

/* Whether the server is Gramme; requested from it once, when it is needed. */
enum server_kind { SERVER_UNKNOWN, SERVER_GRAMME, SERVER_OTHER };

/* Time and capacity of calls. */
struct usage {
    int64_t us;
    double units;
    size_t calls;
};

struct input;

struct session {
    struct gramme_db *db;
    struct gramme_db *streams; /* for the operations of streams; NULL: not opened yet */
    const char *url;           /* as the user gave it */
    struct gramme_options options;
    bool is_interactive; /* a person types, and reads the answers */
    bool is_terminal;    /* standard output is a terminal */
    bool assume_yes;     /* destructive commands do not ask */
    bool keep_going;     /* a script continues after a failure */
    bool is_quitting;
    struct input *input; /* the line editor; NULL: not interactive */
    int script_depth;    /* of \i */

    enum format format;
    int rows;  /* items shown before the shell asks for more */
    int width; /* of tables; 0: the terminal's */
    bool pager;
    bool timing;

    struct buf out;             /* what the current command has printed so far */
    struct buf message;         /* why the last command failed; ends with NUL */
    struct gramme_error *error; /* the error of the service or library; NULL: another failure */
    bool was_interrupted;
    struct usage usage;    /* of all calls of the current command */
    bool is_usage_printed; /* by the command itself */

    struct map tables;                /* name -> struct known_table (shell/schema_internal.h) */
    struct map attributes;            /* names of attributes that were seen, for completion */
    struct gramme_value *table_names; /* for completion; NULL: not asked yet */
    int64_t table_names_us;           /* when they were asked for */
    enum server_kind server;
};

/* Records why the current command failed. Returns false. */
bool fail(struct session *session, const char *format, ...) PRINTF_LIKE(2, 3);
/* Records an error of the library, which the session now owns. Returns false. */
bool fail_with(struct session *session, struct gramme_error *error);

/* Prints what session->out holds, through a pager if it is longer than the screen, and empties it.
 */
void output_flush(struct session *session);
/* The same without a pager. */
void output_flush_now(struct session *session);
/* Returns the number of lines and columns of the terminal; 24 and 80 if they are not known. */
void terminal_size(int *rows, int *columns);

/* Asks the person to confirm; true if -y was given. In a script without -y it fails. */
MUST_USE bool confirm(struct session *session, const char *format, ...) PRINTF_LIKE(2, 3);
/* Returns whether the server is Gramme. The first call sends a request to find out. */
MUST_USE bool server_is_gramme(struct session *session);
/* Fails, naming `what`, unless the server is Gramme. */
MUST_USE bool need_gramme(struct session *session, const char *what);

/* Runs all statements and commands of a script. Returns whether all succeeded. */
MUST_USE bool run_script(struct session *session, struct str text);
/* Runs one statement, without its semicolon, or one command that starts with a backslash; prints
 * the outcome. */
MUST_USE bool run_one(struct session *session, struct str text);
/* Reads a whole file, of at most 64 MiB; "-" is standard input. */
MUST_USE bool read_whole_file(struct session *session, const char *path, struct buf *out);

#endif
