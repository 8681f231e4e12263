/* Finds completions: commands, tables, indexes, attributes, keywords, settings, files. Main thread.
 */
#include "shell/complete_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#include "shell/commands_internal.h"
#include "shell/schema_internal.h"

static const char *const keywords[] = {
#define KEYWORD(text) text,
#include "shell/keywords.def"
#undef KEYWORD
};

static bool starts_with_nocase(struct str text, struct str prefix)
{
    return text.len >= prefix.len && str_eq_nocase(str_make(text.data, prefix.len), prefix);
}

static void offer(struct candidates *out, struct str text)
{
    if (out->count < CANDIDATES_MAX && starts_with_nocase(text, out->word)) {
        out->list[out->count++] = arena_copy_c(out->arena, text);
    }
}

static void offer_name(void *context, const char *name)
{
    offer(context, str_from_c(name));
}

static void offer_value(void *context, struct str value)
{
    offer(context, value);
}

/* Whether a name can stand in a statement without quotes. */
static bool is_plain_name(const char *name)
{
    bool good = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (size_t i = 0; name[i] != '\0'; i++) {
        good = good && (isalnum((unsigned char)name[i]) || name[i] == '_');
    }
    return good;
}

/* Tables in a statement, in quotes where these are needed or were typed. */
static void offer_table(void *context, const char *name)
{
    struct candidates *out = context;
    bool is_quoted = out->word.len > 0 && out->word.data[0] == '"';
    if (is_quoted || !is_plain_name(name)) {
        struct str quoted = arena_format(out->arena, "\"%s\"", name);
        if (is_quoted || out->word.len == 0) {
            offer(out, quoted);
        } else if (starts_with_nocase(str_from_c(name), out->word) && out->count < CANDIDATES_MAX) {
            out->list[out->count++] = quoted; /* replaces what was typed */
        }
    } else {
        offer(out, str_from_c(name));
    }
}

/* Indexes behind a table and a dot, in the same style of quotes. */
struct index_offer {
    struct candidates *out;
    struct str before; /* the table with the dot */
    bool is_quoted;
};

static void offer_index(void *context, const char *name)
{
    struct index_offer *offered = context;
    const char *quote = offered->is_quoted ? "\"" : "";
    offer(offered->out, arena_format(offered->out->arena, "%.*s%s%s%s", STR_ARG(offered->before),
                                     quote, name, quote));
}

static bool offer_indexes(struct session *session, struct candidates *out)
{
    const char *dot = out->word.len == 0 ? NULL : memrchr(out->word.data, '.', out->word.len);
    if (dot == NULL) {
        return false;
    }
    struct str table = str_make(out->word.data, (size_t)(dot - out->word.data));
    struct index_offer context = {out, str_make(table.data, table.len + 1), false};
    if (table.len > 1 && table.data[0] == '"') {
        context.is_quoted = true;
        table = str_make(table.data + 1, table.len - 2);
    }
    schema_each_index(session, arena_copy_c(out->arena, table).data, offer_index, &context);
    return true;
}

static void offer_files(struct candidates *out)
{
    const char *slash = out->word.len == 0 ? NULL : memrchr(out->word.data, '/', out->word.len);
    struct str folder =
        slash == NULL ? STR("") : str_make(out->word.data, (size_t)(slash - out->word.data) + 1);
    DIR *directory = opendir(folder.len == 0 ? "." : arena_copy_c(out->arena, folder).data);
    if (directory == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            offer(out, arena_format(out->arena, "%.*s%s%s", STR_ARG(folder), entry->d_name,
                                    entry->d_type == DT_DIR ? "/" : ""));
        }
    }
    closedir(directory);
}

/* --- places --- */

/* Returns the last word before the one that is completed, in a statement. */
static struct str word_before(struct str text)
{
    while (text.len > 0 && isspace((unsigned char)text.data[text.len - 1])) {
        text.len--;
    }
    size_t start = text.len;
    while (start > 0 && !isspace((unsigned char)text.data[start - 1])) {
        start--;
    }
    return str_skip(text, start);
}

static void complete_statement(struct session *session, struct str before, struct candidates *out)
{
    static const char *const before_tables[] = {"FROM", "INTO", "UPDATE"};
    struct str word = word_before(before);
    for (size_t i = 0; i < COUNT_OF(before_tables); i++) {
        if (str_eq_nocase(word, str_from_c(before_tables[i]))) {
            if (!offer_indexes(session, out)) {
                schema_each_table(session, offer_table, out);
            }
            return;
        }
    }
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        offer(out, str_from_c(keywords[i]));
    }
    if (word.len > 0) {
        schema_each_attribute(session, offer_name, out);
    }
}

static size_t count_words(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_start = i == 0 || isspace((unsigned char)text.data[i - 1]);
        count += is_start && !isspace((unsigned char)text.data[i]);
    }
    return count;
}

static void offer_commands(struct candidates *out, const char *before_name)
{
    for (size_t i = 0; i < commands_count(); i++) {
        offer(out, arena_format(out->arena, "%s%s", before_name, commands_at(i)->name));
    }
}

/* Offers what can stand behind `before` in a place of a command. The name of the command has
 * `name_len` bytes. */
static void complete_place(struct session *session, enum place place, struct str before,
                           size_t name_len, struct candidates *out)
{
    switch (place) {
    case PLACE_TABLE:
        if (!offer_indexes(session, out)) {
            schema_each_table(session, offer_name, out);
        }
        break;
    case PLACE_FILE:
        offer_files(out);
        break;
    case PLACE_SETTING:
        commands_each_setting(offer_name, out);
        break;
    case PLACE_VALUE:
        commands_each_value(word_before(before), offer_value, out);
        break;
    case PLACE_COMMAND:
        offer_commands(out, "");
        break;
    case PLACE_STATEMENT:
        complete_statement(session, str_skip(before, name_len), out);
        break;
    default:
        schema_each_attribute(session, offer_name, out);
    }
}

static void complete_command(struct session *session, struct str before, struct candidates *out)
{
    size_t word = count_words(before); /* the number of words before this one */
    if (word == 0) {
        offer_commands(out, "\\");
        return;
    }
    size_t len = 0;
    while (len < before.len && !isspace((unsigned char)before.data[len])) {
        len++;
    }
    const struct command *command = commands_find(str_make(before.data, len));
    enum place place = command == NULL ? PLACE_NONE : commands_place(command, word);
    complete_place(session, place, before, len, out);
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void sort_without_repeats(struct candidates *out)
{
    if (out->count > 0) {
        qsort(out->list, out->count, sizeof(out->list[0]), compare);
    }
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (kept == 0 || !str_eq(out->list[kept - 1], out->list[i])) {
            out->list[kept++] = out->list[i];
        }
    }
    out->count = kept;
}

void complete_find(struct session *session, struct arena *arena, struct str text,
                   struct candidates *out)
{
    size_t start = text.len;
    while (start > 0 && strchr(" \t\n,()=<>;'", text.data[start - 1]) == NULL) {
        start--;
    }
    *out = (struct candidates){.arena = arena, .word = str_skip(text, start)};
    struct str before = str_make(text.data, start);
    size_t blank = 0;
    while (blank < text.len && isspace((unsigned char)text.data[blank])) {
        blank++;
    }
    if (blank < text.len && text.data[blank] == '\\') {
        complete_command(session, blank <= start ? str_skip(before, blank) : STR(""), out);
    } else {
        complete_statement(session, before, out);
    }
    sort_without_repeats(out);
}
