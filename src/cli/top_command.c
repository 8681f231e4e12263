/* `gramme top`: shows the current load of a server in a terminal: patterns by load, errors,
 * latency, heat. Asks the insight API once a second. Runs on the main thread. */
#include "base/base.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/insight_client.h"

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
    "the most used partition keys. Calls, units and errors are those a second since the last\n"
    "refresh, latencies those of the last minute. Keys: q ends, u sorts by units, c by calls, e "
    "by\n"
    "errors, l by latency.\n\n"
    "Options:\n"
    "  --endpoint URL   of the server (default " REMOTE_DEFAULT ", or GRAMME_ENDPOINT)\n"
    "  --ca-file FILE   authorities that an https:// server is trusted by (default: those of the\n"
    "                   system, or AWS_CA_BUNDLE)\n"
    "  --interval S     seconds between two refreshes (default 1)\n"
    "  --once           prints the numbers of the last minute and ends\n\n"
    "Requests are signed if AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set.\n";

enum {
    PATTERNS_SHOWN = 200,
    NARROW_COLUMNS = 72, /* below: patterns and keys have lines of their own, as on a phone */
    HEAT_ROWS = 12,      /* that are left for partition keys, if the screen is high enough */
    PATTERNS_MIN = 3,
};

/* Sums or rates of a pattern. */
struct load {
    double calls;
    double errors;
    double units;
};

/* The sums of a pattern at the last refresh of the screen. */
struct before {
    struct str id;
    struct load sums;
    struct before *next;
};

/* One line of the screen. */
struct line {
    struct str text;
    struct load load; /* a second */
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
    int64_t before_us; /* when that was, by this clock */
    double before_ms;  /* and by the server's; 0: there was none */
    int rows;
    int columns;
    int printed; /* lines of this refresh */
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

static bool is_narrow(const struct top *top)
{
    return top->is_screen && top->columns < NARROW_COLUMNS;
}

/* Prints a line, cut at the edge of the screen; lines below the screen are left out. */
static void put_line(struct top *top, const char *text)
{
    size_t len = strlen(text);
    if (top->is_screen && top->printed >= top->rows - 1) {
        return;
    }
    top->printed++;
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
        return line->load.calls;
    case 'e':
        return line->load.errors;
    case 'l':
        return line->p99_us;
    default:
        return line->load.units;
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

static struct load load_of(const struct json_node *node)
{
    return (struct load){json_get_number(node, "calls"), json_get_number(node, "errors"),
                         json_get_number(node, "units") + json_get_number(node, "readUnits") +
                             json_get_number(node, "writeUnits")};
}

static struct load rate(struct load now, struct load was, double seconds)
{
    return (struct load){(now.calls - was.calls) / seconds, (now.errors - was.errors) / seconds,
                         (now.units - was.units) / seconds};
}

/* How many seconds the numbers of the last minute cover: fewer after a start or reset. */
static double seconds_of_minute(const struct json_node *overview)
{
    const struct json_node *server = json_get(overview, "server");
    double start_ms = MAX(json_get_number(server, "startedAt"),
                          json_get_number(json_get(overview, "insight"), "since"));
    double seconds = (json_get_number(server, "now") - start_ms) / 1000;
    return MAX(MIN(seconds, 60), 1);
}

/* The load of a pattern a second: since the last refresh if its sums of then are known, or if it is
 * new or was reset since; else in the last minute. */
static struct load load_a_second(const struct top *top, const struct json_node *pattern,
                                 double seconds_of_minute)
{
    static const struct load none;
    const struct before *before = find_before(top, json_get_text(pattern, "id"));
    struct load now = load_of(pattern);
    double seconds = (double)(clock_monotonic_us() - top->before_us) / 1e6;
    bool is_new = json_get_number(pattern, "firstSeenAt") > top->before_ms;
    if (top->once || top->before_ms == 0 || (before == NULL && !is_new)) {
        return rate(load_of(json_get(pattern, "lastMinute")), none, seconds_of_minute);
    }
    bool is_reset = before == NULL || now.calls < before->sums.calls;
    return rate(now, is_reset ? none : before->sums, MAX(seconds, 0.001));
}

/* Makes lines of patterns, and stores their sums for the next refresh. */
static size_t make_lines(struct top *top, struct arena *arena, const struct json_node *overview,
                         const struct json_node *patterns, struct line lines[PATTERNS_SHOWN])
{
    double minute = seconds_of_minute(overview);
    struct before *remembered = NULL;
    size_t count = 0;
    for (; patterns != NULL && count < PATTERNS_SHOWN; patterns = patterns->next) {
        struct before *now = ARENA_NEW(arena, struct before);
        *now = (struct before){
            .id = json_get_text(patterns, "id"), .sums = load_of(patterns), .next = remembered};
        remembered = now;
        struct line line = {
            .text = terminal_text(arena, json_get_text(patterns, "text")),
            .load = load_a_second(top, patterns, minute),
            .p99_us = json_get_number(json_get(patterns, "lastMinute"), "p99Us"),
        };
        insert(lines, count++, &line, top->sort);
    }
    top->before = remembered;
    top->before_us = clock_monotonic_us();
    top->before_ms = json_get_number(json_get(overview, "server"), "now");
    return count;
}

static void print_totals(struct top *top, const struct json_node *overview)
{
    const struct json_node *minute = json_get(overview, "lastMinute");
    const struct json_node *latency = json_get(minute, "latency");
    double seconds = seconds_of_minute(overview);
    double calls = json_get_number(minute, "calls") / seconds;
    double errors = json_get_number(minute, "errors") / seconds;
    double reads = json_get_number(minute, "readUnits") / seconds;
    double writes = json_get_number(minute, "writeUnits") / seconds;
    double p50 = json_get_number(latency, "p50Us");
    double p99 = json_get_number(latency, "p99Us");
    if (is_narrow(top)) {
        PUT_LINE(top, "last minute: p50 %.0f us  p99 %.0f us", p50, p99);
        PUT_LINE(top, "%.1f calls/s  %.1f errors/s", calls, errors);
        PUT_LINE(top, "%.1f read units/s  %.1f write", reads, writes);
        return;
    }
    PUT_LINE(top,
             "last minute: %.1f calls/s  %.1f errors/s  %.1f read units/s  %.1f write units/s  "
             "p50 %.0f us  p99 %.0f us",
             calls, errors, reads, writes, p50, p99);
}

static void print_header(struct top *top, struct arena *arena, const struct json_node *overview,
                         const struct json_node *findings)
{
    const struct json_node *insight = json_get(overview, "insight");
    double tables = json_get_number(overview, "tableCount");
    double patterns = json_get_number(insight, "patterns");
    if (is_narrow(top)) {
        PUT_LINE(top, "gramme top  (q u c e l)  patterns %.0f", patterns);
    } else {
        PUT_LINE(top, "gramme top  %s  tables %.0f  patterns %.0f%s", top->endpoint, tables,
                 patterns, top->is_screen ? "  (q u c e l)" : "");
    }
    print_totals(top, overview);
    const struct json_node *list = json_get(findings, "findings");
    const struct json_node *first = list == NULL ? NULL : list->first;
    struct str title = terminal_text(arena, json_get_text(first, "title"));
    struct str table = terminal_text(arena, json_get_text(first, "table"));
    PUT_LINE(top, "findings: %.0f%s%.*s%s%.*s", json_get_number(findings, "total"),
             first != NULL ? "  first: " : "", STR_ARG(title), first != NULL ? " in " : "",
             STR_ARG(table));
}

static void print_key(struct top *top, struct str place, const struct json_node *key,
                      struct str text)
{
    bool is_over = json_get_bool(key, "overReadLimit") || json_get_bool(key, "overWriteLimit");
    const char *warning = is_over ? "  OVER THE LIMIT OF A PARTITION" : "";
    double percent = json_get_number(key, "share") * 100;
    if (is_narrow(top)) {
        PUT_LINE(top, "%5.1f %% %.*s%s", percent, STR_ARG(place),
                 is_over ? "  OVER THE LIMIT" : "");
        PUT_LINE(top, "        %.*s", STR_ARG(text));
        return;
    }
    PUT_LINE(top, "%6.1f %% %10.0f  %.*s  %.*s%s", percent, json_get_number(key, "accesses"),
             STR_ARG(place), STR_ARG(text), warning);
}

static void print_keys(struct top *top, struct arena *arena, const struct json_node *place)
{
    const struct json_node *keys = json_get(place, "keys");
    struct str table = terminal_text(arena, json_get_text(place, "table"));
    struct str index = terminal_text(arena, json_get_text(place, "index"));
    struct str name =
        arena_format(arena, "%.*s%s%.*s", STR_ARG(table), index.len > 0 ? "." : "", STR_ARG(index));
    for (const struct json_node *key = keys == NULL ? NULL : keys->first; key != NULL;
         key = key->next) {
        const struct json_node *value = json_get(key, "key");
        struct str text = value == NULL || value->first == NULL ? STR("") : value->first->text;
        print_key(top, name, key, terminal_text(arena, text));
    }
}

/* Prints the most used keys of the tables and indexes with the most load. */
static bool print_heat(struct top *top, struct insight_client *client, struct err *err)
{
    struct json_node *places;
    if (!insight_client_call(client, "GET", "heat?limit=3", &places, err)) {
        return false;
    }
    PUT_LINE(top, "%s", "");
    PUT_LINE(top, is_narrow(top) ? "%7s %.0s%s" : "%8s %10s  %s", "share", "accesses",
             "most used partition keys");
    const struct json_node *list = json_get(places, "places");
    for (const struct json_node *at = list == NULL ? NULL : list->first; at != NULL;
         at = at->next) {
        struct str table = json_get_text(at, "table");
        struct str index = json_get_text(at, "index");
        struct str path = arena_format(client->arena, "heat?%s%.*s%slimit=3&table=%.*s",
                                       index.len > 0 ? "index=" : "", STR_ARG(index),
                                       index.len > 0 ? "&" : "", STR_ARG(table));
        struct json_node *place;
        if (!insight_client_call(client, "GET", path.data, &place, err)) {
            return false;
        }
        print_keys(top, client->arena, place);
    }
    return true;
}

static void print_line(struct top *top, const struct line *line)
{
    const struct load *load = &line->load;
    if (is_narrow(top)) {
        PUT_LINE(top, "%.*s", STR_ARG(line->text));
        PUT_LINE(top, "%9.1f%9.1f%9.1f%9.0f", load->calls, load->units, load->errors, line->p99_us);
        return;
    }
    PUT_LINE(top, "%10.2f %10.2f %10.2f %10.0f  %.*s", load->calls, load->units, load->errors,
             line->p99_us, STR_ARG(line->text));
}

/* Prints as many patterns as leave room for partition keys. */
static void print_lines(struct top *top, const struct line *lines, size_t count)
{
    PUT_LINE(top, "%s", "");
    PUT_LINE(top, is_narrow(top) ? "%9s%9s%9s%9s" : "%10s %10s %10s %10s  pattern", "calls/s",
             "units/s", "errors/s", "p99 us");
    int rows = (top->rows - top->printed - HEAT_ROWS) / (is_narrow(top) ? 2 : 1);
    size_t room = top->once ? count : (size_t)MAX(rows, PATTERNS_MIN);
    for (size_t i = 0; i < MIN(count, room); i++) {
        print_line(top, &lines[i]);
    }
}

static bool print_picture(struct top *top, struct arena *arena, struct err *err)
{
    struct insight_client client;
    struct json_node *overview;
    struct json_node *findings;
    struct json_node *patterns;
    struct line lines[PATTERNS_SHOWN];
    const char *sort = top->sort == 'c'   ? "calls"
                       : top->sort == 'e' ? "errors"
                       : top->sort == 'l' ? "p99"
                                          : "units";
    struct str path =
        arena_format(arena, "patterns?limit=%d&sort=%s&window=minute", PATTERNS_SHOWN, sort);
    if (!insight_client_init(&client, arena, top->endpoint, top->ca_file, err) ||
        !insight_client_call(&client, "GET", "findings?limit=1", &findings, err) ||
        !insight_client_call(&client, "GET", "overview", &overview, err) ||
        !insight_client_call(&client, "GET", path.data, &patterns, err)) {
        return false;
    }
    measure_screen(top);
    const struct json_node *list = json_get(patterns, "patterns");
    size_t count = make_lines(top, arena, overview, list == NULL ? NULL : list->first, lines);
    top->printed = 0;
    if (top->is_screen) {
        printf("\x1b[H");
    }
    print_header(top, arena, overview, findings);
    print_lines(top, lines, count);
    bool good = print_heat(top, &client, err);
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
