/* `gramme top`: shows the current load of a server in a terminal: patterns by load, errors,
 * latency, heat. Asks the insight API once a second. Runs on the main thread. */
#include "base/base.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/remote.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char help[] =
    "Usage: gramme top [options]\n\n"
    "Shows the current load of a server: access patterns with load, errors and latency, and\n"
    "the most used partition keys. Keys: q ends, u sorts by units, c by calls, e by errors, l by\n"
    "latency.\n\n"
    "Options:\n"
    "  --endpoint URL   of the server (default " REMOTE_DEFAULT ", or GRAMME_ENDPOINT)\n"
    "  --ca-file FILE   authorities that an https:// server is trusted by (default: those of the\n"
    "                   system, or AWS_CA_BUNDLE)\n"
    "  --interval S     seconds between two refreshes (default 1)\n"
    "  --once           prints the numbers of the last minute and ends\n\n"
    "Requests are signed if AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set.\n";

enum { PATTERNS_SHOWN = 200, PLACES_SHOWN = 3 };

/* The sums of a pattern at the last refresh of the screen. */
struct before {
    struct str id;
    double calls;
    double errors;
    double units;
    struct before *next;
};

/* One line of the screen. */
struct line {
    struct str text;
    double calls; /* a second */
    double errors;
    double units;
    double p99_us;
};

struct top {
    const char *endpoint;
    const char *ca_file;
    double interval;
    bool once;
    char sort; /* u, c, e or l */
    bool is_screen;
    struct arena arenas[2]; /* of this refresh and the last one */
    struct before *before;
    int64_t before_us;
    int rows;
    int columns;
};

static volatile sig_atomic_t is_stopping;

static void stop(int number)
{
    (void)number;
    is_stopping = 1;
}

/* --- the screen --- */

static void measure_screen(struct top *top)
{
    struct winsize size;
    top->rows = 40;
    top->columns = 120;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 && size.ws_col > 20) {
        top->rows = size.ws_row;
        top->columns = size.ws_col;
    }
}

/* Prints a line, cut at the edge of the screen. */
static void put_line(const struct top *top, const char *text)
{
    size_t len = strlen(text);
    if (top->is_screen && len > (size_t)top->columns) {
        len = (size_t)top->columns;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    printf("%.*s%s\n", (int)len, text, top->is_screen ? "\x1b[K" : "");
}

#define PUT_LINE(top, ...)                                                                         \
    do {                                                                                           \
        char line_[2048];                                                                          \
        snprintf(line_, sizeof(line_), __VA_ARGS__);                                               \
        put_line((top), line_);                                                                    \
    } while (0)

static double per_second(const struct json_node *pattern, const struct before *before,
                         const char *name, double was, double seconds)
{
    double now = json_get_number(pattern, name);
    return before == NULL || seconds <= 0 ? 0 : (now - was) / seconds;
}

static const struct before *find_before(const struct top *top, struct str id)
{
    const struct before *at = top->before;
    while (at != NULL && !str_eq(at->id, id)) {
        at = at->next;
    }
    return at;
}

static double key_of(const struct line *line, char sort)
{
    switch (sort) {
    case 'c':
        return line->calls;
    case 'e':
        return line->errors;
    case 'l':
        return line->p99_us;
    default:
        return line->units;
    }
}

/* Puts a line where it belongs among the `count` that are there. */
static void insert(struct line *lines, size_t count, const struct line *line, char sort)
{
    size_t at = count;
    while (at > 0 && key_of(&lines[at - 1], sort) < key_of(line, sort)) {
        lines[at] = lines[at - 1];
        at--;
    }
    lines[at] = *line;
}

/* Makes lines of patterns, and stores their sums for the next refresh. */
static size_t make_lines(struct top *top, struct arena *arena, const struct json_node *patterns,
                         struct line lines[PATTERNS_SHOWN])
{
    int64_t now_us = clock_monotonic_us();
    double seconds = (double)(now_us - top->before_us) / 1e6;
    struct before *remembered = NULL;
    size_t count = 0;
    for (; patterns != NULL && count < PATTERNS_SHOWN; patterns = patterns->next) {
        struct before *now = ARENA_NEW(arena, struct before);
        double units =
            json_get_number(patterns, "readUnits") + json_get_number(patterns, "writeUnits");
        *now = (struct before){
            .id = json_get_text(patterns, "id"),
            .calls = json_get_number(patterns, "calls"),
            .errors = json_get_number(patterns, "errors"),
            .units = units,
            .next = remembered,
        };
        remembered = now;
        const struct before *was = find_before(top, now->id);
        static const struct before none = {0};
        if (was == NULL && top->before != NULL) {
            was = &none; /* new since the last refresh */
        }
        struct line line = {
            .text = remote_safe_text(arena, json_get_text(patterns, "text")),
            .calls = per_second(patterns, was, "calls", was == NULL ? 0 : was->calls, seconds),
            .errors = per_second(patterns, was, "errors", was == NULL ? 0 : was->errors, seconds),
            .units = was == NULL || seconds <= 0 ? 0 : (units - was->units) / seconds,
            .p99_us = json_get_number(json_get(patterns, "latency"), "p99Us"),
        };
        if (top->once) { /* there is no earlier refresh: shows sums */
            line.calls = now->calls;
            line.errors = now->errors;
            line.units = units;
        }
        insert(lines, count++, &line, top->sort);
    }
    top->before = remembered;
    top->before_us = now_us;
    return count;
}

static void print_header(const struct top *top, struct arena *arena,
                         const struct json_node *overview, const struct json_node *findings)
{
    const struct json_node *minute = json_get(overview, "lastMinute");
    const struct json_node *latency = json_get(minute, "latency");
    const struct json_node *insight = json_get(overview, "insight");
    PUT_LINE(top, "gramme top  %s  tables %.0f  patterns %.0f%s", top->endpoint,
             json_get_number(overview, "tableCount"), json_get_number(insight, "patterns"),
             top->is_screen ? "  (q u c e l)" : "");
    PUT_LINE(top,
             "last minute: %.1f calls/s  %.1f errors/s  %.1f read units/s  %.1f write units/s  "
             "p50 %.0f us  p99 %.0f us",
             json_get_number(minute, "calls") / 60, json_get_number(minute, "errors") / 60,
             json_get_number(minute, "readUnits") / 60, json_get_number(minute, "writeUnits") / 60,
             json_get_number(latency, "p50Us"), json_get_number(latency, "p99Us"));
    const struct json_node *list = json_get(findings, "findings");
    const struct json_node *first = list == NULL ? NULL : list->first;
    struct str title = remote_safe_text(arena, json_get_text(first, "title"));
    struct str table = remote_safe_text(arena, json_get_text(first, "table"));
    PUT_LINE(top, "findings: %.0f%s%.*s%s%.*s", json_get_number(findings, "total"),
             first != NULL ? "  first: " : "", STR_ARG(title), first != NULL ? " in " : "",
             STR_ARG(table));
}

static void print_key(const struct top *top, struct arena *arena, const struct json_node *place)
{
    const struct json_node *keys = json_get(place, "keys");
    struct str table = remote_safe_text(arena, json_get_text(place, "table"));
    struct str index = remote_safe_text(arena, json_get_text(place, "index"));
    for (const struct json_node *key = keys == NULL ? NULL : keys->first; key != NULL;
         key = key->next) {
        const struct json_node *value = json_get(key, "key");
        struct str text = value == NULL || value->first == NULL ? STR("") : value->first->text;
        text = remote_safe_text(arena, text);
        bool is_over = json_get_bool(key, "overReadLimit") || json_get_bool(key, "overWriteLimit");
        PUT_LINE(top, "%6.1f %% %10.0f  %.*s%s%.*s  %.*s%s", json_get_number(key, "share") * 100,
                 json_get_number(key, "accesses"), STR_ARG(table), index.len > 0 ? "." : "",
                 STR_ARG(index), STR_ARG(text), is_over ? "  OVER THE LIMIT OF A PARTITION" : "");
    }
}

/* Prints the most used keys of the tables and indexes with the most load. */
static bool print_heat(const struct top *top, struct remote *remote, struct err *err)
{
    struct json_node *places;
    if (!remote_call(remote, "GET", "heat?limit=3", &places, err)) {
        return false;
    }
    PUT_LINE(top, "%s", "");
    PUT_LINE(top, "%8s %10s  %s", "share", "accesses", "most used partition keys");
    const struct json_node *list = json_get(places, "places");
    for (const struct json_node *at = list == NULL ? NULL : list->first; at != NULL;
         at = at->next) {
        struct str table = json_get_text(at, "table");
        struct str index = json_get_text(at, "index");
        struct str path = arena_format(remote->arena, "heat?%s%.*s%slimit=3&table=%.*s",
                                       index.len > 0 ? "index=" : "", STR_ARG(index),
                                       index.len > 0 ? "&" : "", STR_ARG(table));
        struct json_node *place;
        if (!remote_call(remote, "GET", path.data, &place, err)) {
            return false;
        }
        print_key(top, remote->arena, place);
    }
    return true;
}

static bool print_picture(struct top *top, struct arena *arena, struct err *err)
{
    struct remote remote;
    struct json_node *overview;
    struct json_node *findings;
    struct json_node *patterns;
    struct line lines[PATTERNS_SHOWN];
    if (!remote_init(&remote, arena, top->endpoint, top->ca_file, err) ||
        !remote_call(&remote, "GET", "findings?limit=1", &findings, err) ||
        !remote_call(&remote, "GET", "overview", &overview, err) ||
        !remote_call(&remote, "GET", "patterns?limit=200&sort=last", &patterns, err)) {
        return false;
    }
    measure_screen(top);
    const struct json_node *list = json_get(patterns, "patterns");
    size_t count = make_lines(top, arena, list == NULL ? NULL : list->first, lines);
    if (top->is_screen) {
        printf("\x1b[H");
    }
    print_header(top, arena, overview, findings);
    PUT_LINE(top, "%s", "");
    PUT_LINE(top, "%10s %10s %10s %10s  %s", top->once ? "calls" : "calls/s",
             top->once ? "units" : "units/s", top->once ? "errors" : "errors/s", "p99 us",
             "pattern");
    size_t room = top->once ? count : (size_t)MAX(top->rows - 18, 3);
    for (size_t i = 0; i < MIN(count, room); i++) {
        PUT_LINE(top, "%10.1f %10.1f %10.1f %10.0f  %.*s", lines[i].calls, lines[i].units,
                 lines[i].errors, lines[i].p99_us, STR_ARG(lines[i].text));
    }
    bool good = print_heat(top, &remote, err);
    if (top->is_screen) {
        printf("\x1b[J");
    }
    fflush(stdout);
    return good;
}

/* --- the terminal --- */

/* Waits for the next refresh, or for a key. */
static void wait_for_key(struct top *top)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    if (poll(&input, 1, (int)(top->interval * 1000)) > 0) {
        if (read(STDIN_FILENO, &key, 1) != 1) {
            poll(NULL, 0, (int)(top->interval * 1000)); /* the input has ended: no key will come */
        } else if (key == 'q' || key == 3) {
            is_stopping = 1;
        } else if (key == 'u' || key == 'c' || key == 'e' || key == 'l') {
            top->sort = key;
        }
    }
}

static void set_terminal(struct termios *was, bool raw)
{
    if (tcgetattr(STDIN_FILENO, was) == 0 && raw) {
        struct termios changed = *was;
        changed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &changed);
    }
}

static int show(struct top *top)
{
    struct termios was;
    struct err err;
    int status = 0;
    bool is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    top->is_screen = is_terminal && !top->once;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    if (top->is_screen) {
        set_terminal(&was, true);
        printf("\x1b[?1049h\x1b[?25l\x1b[2J"); /* another screen, without a cursor */
    }
    for (int picture = 0; !is_stopping; picture++) {
        struct arena *arena = &top->arenas[picture % 2];
        arena_reset(arena);
        err = ERR_INIT(arena);
        if (!print_picture(top, arena, &err)) {
            status = 3;
            break;
        }
        if (top->once) {
            break;
        }
        wait_for_key(top);
    }
    if (top->is_screen) {
        printf("\x1b[?25h\x1b[?1049l");
        fflush(stdout);
        tcsetattr(STDIN_FILENO, TCSANOW, &was);
    }
    if (status != 0) {
        fprintf(stderr, "gramme top: %.*s\n", STR_ARG(err.message));
    }
    return status;
}

static int complain(const char *text, const char *about)
{
    fprintf(stderr, "gramme top: %s%s (gramme top --help)\n", text, about);
    return 2;
}

static int read_arguments(struct top *top, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--once") == 0) {
            top->once = true;
        } else if (strcmp(argv[i], "--endpoint") == 0 && has_value) {
            top->endpoint = argv[++i];
        } else if (strcmp(argv[i], "--ca-file") == 0 && has_value) {
            top->ca_file = argv[++i];
        } else if (strcmp(argv[i], "--interval") == 0 && has_value) {
            char *end;
            top->interval = strtod(argv[++i], &end);
            if (*end != 0 || !(top->interval >= 0.1 && top->interval <= 3600)) {
                return complain("--interval must be from 0.1 to 3600, not ", argv[i]);
            }
        } else {
            return complain("unknown option, or a value is missing: ", argv[i]);
        }
    }
    return 0;
}

int top_command(int argc, char **argv)
{
    const char *endpoint = getenv("GRAMME_ENDPOINT");
    struct top top = {
        .endpoint = endpoint != NULL ? endpoint : REMOTE_DEFAULT, .interval = 1, .sort = 'u'};
    if (argc > 0 && is_help_argument(argv[0])) {
        fputs(help, stdout);
        return 0;
    }
    int status = read_arguments(&top, argc, argv);
    if (status == 0) {
        arena_init(&top.arenas[0]);
        arena_init(&top.arenas[1]);
        status = show(&top);
        arena_finish(&top.arenas[0]);
        arena_finish(&top.arenas[1]);
    }
    return status;
}
