/* The line editor: libedit with our own reading of characters, so that Ctrl-C ends the line and not
 * the program; history in the XDG state directory; Tab. Main thread. */
#include "shell/input_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "shell/call_thread_internal.h"
#include "shell/complete_internal.h"

enum { HISTORY_MAX = 5000 };

struct input {
    struct session *session;
    EditLine *editor;
    History *history;
    struct buf history_path; /* ends with NUL; empty: not kept */
    const char *prompt;
    struct str pending;
    struct buf line;
    bool was_interrupted;
};

/* --- history --- */

/* Makes the directories of a path. */
static void make_parents(const char *path)
{
    char *copy = mem_strdup(path);
    for (char *at = copy + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            mkdir(copy, 0700);
            *at = '/';
        }
    }
    mem_free(copy);
}

/* $XDG_STATE_HOME/gramme/shell_history; GRAMME_HISTORY names another file, empty: none. */
static void find_history_path(struct buf *out)
{
    const char *chosen = getenv("GRAMME_HISTORY");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (chosen != NULL) {
        buf_add(out, str_from_c(chosen));
    } else if (state != NULL && state[0] == '/') {
        buf_format(out, "%s/gramme/shell_history", state);
    } else if (home != NULL && home[0] == '/') {
        buf_format(out, "%s/.local/state/gramme/shell_history", home);
    }
    if (out->len > 0) {
        buf_add_char(out, '\0');
    }
}

/* Creates the file, or corrects its mode: statements can hold data. */
static bool prepare_history_file(const char *path)
{
    make_parents(path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status;
    bool good =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fchmod(fd, 0600) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

/* Adds the newest entry to the file. Other shells may do the same at once. */
static void append_to_file(struct input *input)
{
    if (input->history_path.len == 0 || !prepare_history_file(input->history_path.data)) {
        return;
    }
    FILE *file = fopen(input->history_path.data, "ae");
    if (file != NULL) {
        HistEvent event;
        fseek(file, 0, SEEK_END); /* the first entry is preceded by a line that names the format */
        history(input->history, &event, H_NSAVE_FP, (size_t)0, file); /* 0 older ones */
        fclose(file);
    }
}

/* Loads the history; rewrites the file if it holds more entries than are kept. */
static void load_history(struct input *input)
{
    enum { FILE_BYTES_MAX = 4 << 20 };
    HistEvent event;
    struct stat status;
    const char *path = input->history_path.data;
    if (!prepare_history_file(path)) {
        fprintf(stderr, "history is not kept: %s cannot be used\n", path);
        input->history_path.len = 0;
        return;
    }
    history(input->history, &event, H_LOAD, path);
    if (stat(path, &status) == 0 && status.st_size > FILE_BYTES_MAX) {
        history(input->history, &event, H_SAVE, path);
    }
}

void input_remember(struct input *input, struct str text)
{
    struct buf line = {0};
    bool has_comment = str_contains(text, STR("--"));
    for (size_t i = 0; i < text.len; i++) {
        buf_add_char(&line, text.data[i] == '\n' && !has_comment ? ' ' : text.data[i]);
    }
    buf_add(&line, text.len > 0 && text.data[0] == '\\' ? STR("") : STR(";"));
    buf_add_char(&line, '\0');
    HistEvent event;
    bool is_repeated = history(input->history, &event, H_FIRST) == 0 && event.str != NULL &&
                       strcmp(event.str, line.data) == 0;
    if (!is_repeated) {
        history(input->history, &event, H_ENTER, line.data);
        append_to_file(input);
    }
    buf_finish(&line);
}

/* --- characters --- */

static struct input *input_of(EditLine *editor)
{
    void *input = NULL;
    el_get(editor, EL_CLIENTDATA, &input);
    return input;
}

/* Reads one character of the terminal; -1 ends the line. */
static int read_char(EditLine *editor, wchar_t *out)
{
    struct input *input = input_of(editor);
    mbstate_t state = {0};
    for (;;) {
        if (wait_readable(STDIN_FILENO, -1) < 0) {
            input->was_interrupted = true;
            return -1;
        }
        char byte;
        ssize_t count = read(STDIN_FILENO, &byte, 1);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return (int)count;
        }
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-1) {
            state = (mbstate_t){0}; /* not UTF-8: dropped */
        } else if (used != (size_t)-2) {
            return 1;
        }
    }
}

static char *show_prompt(EditLine *editor)
{
    return (char *)input_of(editor)->prompt;
}

/* --- completion --- */

static size_t shared_prefix(const struct candidates *found)
{
    size_t len = found->list[0].len;
    for (size_t i = 1; i < found->count; i++) {
        size_t same = 0;
        while (same < MIN(len, found->list[i].len) &&
               found->list[i].data[same] == found->list[0].data[same]) {
            same++;
        }
        len = same;
    }
    return len;
}

/* The columns that each candidate takes: the width of the widest, and a gap. */
static size_t width_of_candidates(const struct candidates *found)
{
    size_t width = 0;
    for (size_t i = 0; i < found->count; i++) {
        width = MAX(width, terminal_width(found->list[i]) + 2);
    }
    return width;
}

static void list_candidates(const struct candidates *found)
{
    int rows;
    int columns;
    terminal_size(&rows, &columns);
    size_t width = width_of_candidates(found);
    size_t per_line = MAX((size_t)columns / width, (size_t)1);
    size_t shown = MIN(found->count, per_line * (size_t)MAX(rows - 3, 1));
    struct buf out = {0};
    struct buf safe = {0};
    for (size_t i = 0; i < shown; i++) {
        safe.len = 0;
        terminal_add_text(&safe, found->list[i]);
        buf_add(&out, i % per_line == 0 ? STR("\n") : STR(""));
        terminal_add_cell(&out, buf_str(&safe), width, false);
    }
    if (shown < found->count) {
        buf_format(&out, "\n... and %zu more", found->count - shown);
    }
    printf("%.*s\n", STR_ARG(buf_str(&out)));
    fflush(stdout);
    buf_finish(&out);
    buf_finish(&safe);
}

/* Replaces the word before the cursor. */
static void insert(EditLine *editor, struct arena *arena, const struct candidates *found,
                   struct str text)
{
    if (str_starts_with(text, found->word)) {
        text = str_skip(text, found->word.len); /* keeps what was typed */
    } else {
        size_t chars = mbstowcs(NULL, arena_copy_c(arena, found->word).data, 0);
        el_deletestr(editor, (int)(chars == (size_t)-1 ? found->word.len : chars));
    }
    el_insertstr(editor, arena_copy_c(arena, text).data);
}

/* Inserts the only candidate, and a blank if the word is complete. */
static void insert_word(EditLine *editor, struct arena *arena, const struct candidates *found)
{
    struct str word = found->list[0];
    char last = word.len > 0 ? word.data[word.len - 1] : ' ';
    insert(editor, arena, found, word);
    if (last != '(' && last != '/' && last != '*') {
        el_insertstr(editor, " ");
    }
}

/* Inserts what all candidates have in common; if that was typed already, lists them. Returns what
 * the editor shall do. */
static unsigned char insert_shared(EditLine *editor, struct arena *arena,
                                   const struct candidates *found)
{
    size_t len = shared_prefix(found);
    if (len <= found->word.len) {
        list_candidates(found);
        return CC_REDISPLAY;
    }
    insert(editor, arena, found, str_make(found->list[0].data, len));
    return CC_REFRESH;
}

static unsigned char complete(EditLine *editor, int key)
{
    (void)key;
    struct input *input = input_of(editor);
    struct arena arena;
    arena_init(&arena);
    const LineInfo *info = el_line(editor);
    struct str line = str_make(info->buffer, (size_t)(info->cursor - info->buffer));
    struct str text = arena_format(&arena, "%.*s%.*s", STR_ARG(input->pending), STR_ARG(line));
    struct candidates *found = ARENA_NEW(&arena, struct candidates);
    complete_find(input->session, &arena, text, found);
    unsigned char result = CC_REFRESH_BEEP;
    if (found->count == 1) {
        insert_word(editor, &arena, found);
        result = CC_REFRESH;
    } else if (found->count > 1) {
        result = insert_shared(editor, &arena, found);
    }
    arena_finish(&arena);
    return result;
}

/* --- lines --- */

struct input *input_open(struct session *session)
{
    struct input *input = mem_zalloc(sizeof(*input));
    HistEvent event;
    input->session = session;
    input->prompt = "";
    input->history = history_init();
    history(input->history, &event, H_SETSIZE, HISTORY_MAX);
    history(input->history, &event, H_SETUNIQUE, 1);
    find_history_path(&input->history_path);
    if (input->history_path.len > 0) {
        load_history(input);
    }
    input->editor = el_init("gramme", stdin, stdout, stderr);
    el_set(input->editor, EL_CLIENTDATA, input);
    el_set(input->editor, EL_PROMPT, show_prompt);
    el_set(input->editor, EL_EDITOR, "emacs");
    el_set(input->editor, EL_HIST, history, input->history);
    el_set(input->editor, EL_GETCFN, read_char);
    el_set(input->editor, EL_ADDFN, "gramme-complete", "Completes the word", complete);
    el_set(input->editor, EL_BIND, "^I", "gramme-complete", NULL);
    el_set(input->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(input->editor, EL_BIND, "^W", "ed-delete-prev-word", NULL);
    el_source(input->editor, NULL); /* ~/.editrc */
    return input;
}

void input_close(struct input *input)
{
    if (input != NULL) {
        el_end(input->editor);
        history_end(input->history);
        buf_finish(&input->history_path);
        buf_finish(&input->line);
        mem_free(input);
    }
}

enum input_result input_read(struct input *input, const char *prompt, struct str pending,
                             struct str *out)
{
    int count = 0;
    input->prompt = prompt;
    input->pending = pending;
    input->was_interrupted = false;
    el_resize(input->editor);
    const char *line = el_gets(input->editor, &count);
    if (input->was_interrupted) {
        el_reset(input->editor);
        printf("^C\n");
        fflush(stdout);
        return INPUT_INTERRUPTED;
    }
    if (line == NULL || count <= 0) {
        return INPUT_END;
    }
    input->line.len = 0;
    buf_add(&input->line, str_make(line, (size_t)count));
    *out = buf_str(&input->line);
    return INPUT_LINE;
}

/* --- questions --- */

/* Reads the answer's first letter; the rest of the line is dropped. '\0': none, or Ctrl-C. */
static char ask(struct input *input, const char *question)
{
    struct str line;
    struct buf safe = {0};
    terminal_add_text(&safe, str_from_c(question));
    buf_add_char(&safe, '\0');
    enum input_result result = input_read(input, safe.data, STR(""), &line);
    buf_finish(&safe);
    input->prompt = "";
    if (result == INPUT_END) {
        printf("\n");
    }
    return result == INPUT_LINE ? line.data[0] : '\0';
}

bool input_ask_yes(struct input *input, const char *question)
{
    char answer = ask(input, question);
    return answer == 'y' || answer == 'Y';
}

bool input_ask_more(struct input *input)
{
    char answer = ask(input, "-- more: Enter, or q to stop -- ");
    return answer == '\n' || answer == 'y' || answer == 'm';
}
