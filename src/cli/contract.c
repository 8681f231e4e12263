/* Contracts of `gramme patterns`: reading, recording, checking, and the report. Called by
 * patterns_command.c on the main thread. */
#include "cli/contract.h"

#include <errno.h>
#include <math.h>

#include "base/terminal.h"
#include "json/writer.h"

/* A pattern that declares no ratio may read so many items for each that it returns, in one call and
 * in all together, once it has read some. */
#define READ_PER_RETURNED_DEFAULT 10.0
enum { ITEMS_READ_MIN = 20 };

/* --- the file --- */

static double optional_number(const struct json_node *node, const char *name)
{
    const struct json_node *member = json_get(node, name);
    return member == NULL || member->kind == JSON_NULL ? -1 : json_get_number(node, name);
}

static bool read_pattern(const struct json_node *node, struct arena *arena, struct declared **out,
                         struct err *err)
{
    static const char *const known[] = {
        "id", "text", "scan", "unitsMax", "itemsReadMax", "readPerReturnedMax", "comment"};
    if (node->kind != JSON_OBJECT || json_get_text(node, "text").len == 0) {
        return err_set(err, ERR_VALIDATION,
                       "each of \"patterns\" must be an object with a \"text\"");
    }
    for (const struct json_node *member = node->first; member != NULL; member = member->next) {
        size_t i = 0;
        while (i < COUNT_OF(known) && !str_eq(member->name, str_from_c(known[i]))) {
            i++;
        }
        if (i == COUNT_OF(known)) {
            return err_set(err, ERR_VALIDATION, "\"%.*s\" of a pattern is not known",
                           STR_ARG(member->name));
        }
    }
    *out = ARENA_NEW(arena, struct declared);
    **out = (struct declared){
        .id = json_get_text(node, "id"),
        .text = json_get_text(node, "text"),
        .may_scan = json_get_bool(node, "scan"),
        .units_max = optional_number(node, "unitsMax"),
        .items_read_max = optional_number(node, "itemsReadMax"),
        .read_per_returned_max = optional_number(node, "readPerReturnedMax"),
    };
    return true;
}

static bool read_file(struct arena *arena, const char *path, struct str *out, struct err *err)
{
    enum { FILE_BYTES_MAX = 64 << 20 };
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot read %s: %s", path, strerror(errno));
    }
    struct buf text = {0};
    size_t count;
    while ((count = fread(buf_reserve(&text, 65536), 1, 65536, file)) > 0 &&
           text.len < FILE_BYTES_MAX) {
        buf_added(&text, count);
    }
    fclose(file);
    *out = arena_copy(arena, buf_str(&text));
    buf_finish(&text);
    return true;
}

bool contract_read(struct contract *contract, struct arena *arena, const char *path,
                   struct err *err)
{
    struct str text;
    struct declared **end = &contract->patterns;
    *contract = (struct contract){0};
    if (!read_file(arena, path, &text, err)) {
        return false;
    }
    const struct json_node *file = json_parse(arena, text);
    const struct json_node *list = json_get(file, "patterns");
    if (list == NULL || list->kind != JSON_ARRAY || json_get_number(file, "version") != 1) {
        return err_set(err, ERR_VALIDATION,
                       "%s is not a contract: {\"version\": 1, \"patterns\": [...]} is expected",
                       path);
    }
    for (const struct json_node *node = list->first; node != NULL; node = node->next) {
        if (!read_pattern(node, arena, end, err)) {
            return false;
        }
        end = &(*end)->next;
    }
    return true;
}

/* --- what counts as a pattern --- */

static bool has_succeeded(const struct json_node *pattern)
{
    return json_get_number(pattern, "calls") > json_get_number(pattern, "errors");
}

/* Operations on tables themselves, and calls that never succeeded, are not declared. */
static bool counts(const struct json_node *pattern)
{
    return json_get_text(pattern, "table").len > 0 && has_succeeded(pattern);
}

/* Items that were read, and how many of them were returned. */
struct yield {
    double read;
    double returned;
};

static double ratio_of(struct yield yield)
{
    return yield.read < ITEMS_READ_MIN ? 0 : yield.read / (yield.returned > 0 ? yield.returned : 1);
}

static struct yield yield_of_all(const struct json_node *pattern)
{
    return (struct yield){json_get_number(pattern, "itemsRead"),
                          json_get_number(pattern, "itemsReturned")};
}

/* Of the call that read most for each item that it returned; 0: the server knows none. */
static struct yield yield_of_worst(const struct json_node *pattern)
{
    return (struct yield){json_get_number(pattern, "worstItemsRead"),
                          json_get_number(pattern, "worstItemsReturned")};
}

/* Whether the server has cut the text because it is very long: two patterns may then have the same
 * one. */
static bool is_cut(struct str text)
{
    enum { TEXT_BYTES_MAX = 1024 };
    return text.len >= TEXT_BYTES_MAX && memcmp(text.data + text.len - 3, "...", 3) == 0;
}

/* Adds a pattern as it was seen, as a declaration. */
static void add_pattern(struct buf *out, const struct json_node *pattern)
{
    buf_add(out, STR("{\"text\": "));
    json_write_string(out, json_get_text(pattern, "text"));
    if (is_cut(json_get_text(pattern, "text"))) {
        buf_add(out, STR(", \"id\": "));
        json_write_string(out, json_get_text(pattern, "id"));
    }
    buf_format(out, ", \"unitsMax\": %.15g", json_get_number(pattern, "unitsMax"));
    if (json_get_number(pattern, "itemsReadMax") > 1) {
        buf_format(out, ", \"itemsReadMax\": %.15g", json_get_number(pattern, "itemsReadMax"));
    }
    double ratio = fmax(ratio_of(yield_of_all(pattern)), ratio_of(yield_of_worst(pattern)));
    if (ratio > READ_PER_RETURNED_DEFAULT) {
        buf_format(out, ", \"readPerReturnedMax\": %.15g", ceil(ratio * 1000) / 1000);
    }
    if (json_get_bool(pattern, "scan")) {
        buf_add(out, STR(", \"scan\": true"));
    }
    buf_add(out, STR("}"));
}

void contract_record(const struct json_node *patterns, FILE *out)
{
    struct buf text = {0};
    bool first = true;
    buf_add(&text, STR("{\n  \"version\": 1,\n  \"patterns\": ["));
    for (; patterns != NULL; patterns = patterns->next) {
        if (!counts(patterns)) {
            continue;
        }
        buf_add(&text, first ? STR("\n    ") : STR(",\n    "));
        add_pattern(&text, patterns);
        first = false;
    }
    buf_add(&text, STR("\n  ]\n}\n"));
    fwrite(text.data, 1, text.len, out);
    buf_finish(&text);
}

/* --- checking --- */

/* The declared pattern that a seen one is: by its id if that is declared, else by its text. */
static struct declared *find(const struct contract *contract, const struct json_node *pattern)
{
    struct str id = json_get_text(pattern, "id");
    struct str text = json_get_text(pattern, "text");
    struct declared *by_text = NULL;
    for (struct declared *at = contract->patterns; at != NULL; at = at->next) {
        if (at->id.len > 0 && str_eq(at->id, id)) {
            return at;
        }
        bool is_same = (at->id.len == 0 || !is_cut(text)) && str_eq(at->text, text);
        by_text = by_text == NULL && is_same ? at : by_text;
    }
    return by_text;
}

/* Whether some declared pattern reads the index. */
static bool knows_index(const struct contract *contract, struct str table, struct str index,
                        struct arena *arena)
{
    struct str place = arena_format(arena, " %.*s.%.*s", STR_ARG(table), STR_ARG(index));
    for (const struct declared *at = contract->patterns; at != NULL; at = at->next) {
        if (str_contains(at->text, place)) {
            return true;
        }
    }
    return false;
}

static struct str undeclared(const struct contract *contract, const struct json_node *pattern,
                             struct arena *arena)
{
    struct str table = json_get_text(pattern, "table");
    struct str index = json_get_text(pattern, "index");
    if (json_get_bool(pattern, "scan")) {
        return STR("is not declared, and reads the whole table or index");
    }
    if (index.len > 0 && !knows_index(contract, table, index, arena)) {
        return arena_format(arena, "is not declared, and no declared pattern uses the index %.*s",
                            STR_ARG(index));
    }
    return STR("is not declared");
}

static struct str problem_of(const struct declared *declared, const struct json_node *pattern,
                             struct arena *arena)
{
    double units = json_get_number(pattern, "unitsMax");
    double items = json_get_number(pattern, "itemsReadMax");
    double ratio_max = declared->read_per_returned_max >= 0 ? declared->read_per_returned_max
                                                            : READ_PER_RETURNED_DEFAULT;
    if (json_get_bool(pattern, "scan") && !declared->may_scan) {
        return STR("reads the whole table or index, which is not declared (\"scan\": true)");
    }
    if (declared->units_max >= 0 && units > declared->units_max) {
        return arena_format(arena, "consumed %.15g units in one call; %.15g are declared", units,
                            declared->units_max);
    }
    if (declared->items_read_max >= 0 && items > declared->items_read_max) {
        return arena_format(arena, "read %.0f items in one call; %.0f are declared", items,
                            declared->items_read_max);
    }
    struct yield all = yield_of_all(pattern);
    struct yield worst = yield_of_worst(pattern);
    if (json_get_text(pattern, "filter").len == 0) {
        return STR_NULL;
    }
    if (ratio_of(worst) > ratio_max) {
        return arena_format(
            arena,
            "read %.0f items to return %.0f in one call; at most %.15g for each are declared",
            worst.read, worst.returned, ratio_max);
    }
    if (ratio_of(all) > ratio_max) {
        return arena_format(arena,
                            "read %.0f items to return %.0f; at most %.15g for each are declared",
                            all.read, all.returned, ratio_max);
    }
    return STR_NULL;
}

static struct verdict **add(struct contract_report *report, struct verdict **end,
                            struct arena *arena, const struct verdict *verdict)
{
    *end = ARENA_NEW(arena, struct verdict);
    **end = *verdict;
    report->count++;
    report->failed_count += !str_is_null(verdict->problem);
    report->missing_count += verdict->is_missing;
    return &(*end)->next;
}

/* Whether the declared pattern is of the table, that is, names it in a word: "TABLE" or
 * "TABLE.INDEX". */
static bool names_table(struct str text, const char *table, struct arena *arena)
{
    text = arena_format(arena, " %.*s ", STR_ARG(text));
    return str_contains(text, arena_format(arena, " %s ", table)) ||
           str_contains(text, arena_format(arena, " %s.", table));
}

/* Adds verdicts for the declared patterns of which no call succeeded. */
static void add_unseen(const struct contract *contract, const char *table, bool requires_all,
                       struct verdict **end, struct arena *arena, struct contract_report *report)
{
    for (struct declared *at = contract->patterns; at != NULL; at = at->next) {
        if (at->is_seen || (table != NULL && !names_table(at->text, table, arena))) {
            continue;
        }
        struct verdict verdict = {.text = at->text, .is_missing = !requires_all};
        if (requires_all) {
            verdict.problem = at->has_failed ? STR("is declared, but each of its calls failed")
                                             : STR("is declared, but was not seen");
        }
        end = add(report, end, arena, &verdict);
    }
}

void contract_check(struct contract *contract, const struct json_node *patterns, const char *table,
                    bool requires_all, struct arena *arena, struct contract_report *out)
{
    struct verdict **end = &out->verdicts;
    *out = (struct contract_report){0};
    for (; patterns != NULL; patterns = patterns->next) {
        struct verdict verdict = {.table = json_get_text(patterns, "table"),
                                  .text = json_get_text(patterns, "text")};
        struct declared *declared = find(contract, patterns);
        if (declared != NULL && has_succeeded(patterns)) {
            declared->is_seen = true;
        } else if (declared != NULL) {
            declared->has_failed = true;
        }
        if (!counts(patterns)) {
            continue;
        }
        verdict.problem = declared == NULL ? undeclared(contract, patterns, arena)
                                           : problem_of(declared, patterns, arena);
        end = add(out, end, arena, &verdict);
    }
    add_unseen(contract, table, requires_all, end, arena, out);
}

/* --- the report --- */

void contract_print(const struct contract_report *report, struct arena *arena, FILE *out)
{
    for (const struct verdict *at = report->verdicts; at != NULL; at = at->next) {
        if (!str_is_null(at->problem)) {
            struct str text = terminal_text(arena, at->text);
            struct str problem = terminal_text(arena, at->problem);
            fprintf(out, "FAILED  %.*s\n        %.*s\n", STR_ARG(text), STR_ARG(problem));
        }
    }
    for (const struct verdict *at = report->verdicts; at != NULL; at = at->next) {
        if (at->is_missing) {
            struct str text = terminal_text(arena, at->text);
            fprintf(out, "unseen  %.*s\n", STR_ARG(text));
        }
    }
    fprintf(out, "%zu patterns as declared, %zu not, %zu declared but not seen\n",
            report->count - report->failed_count - report->missing_count, report->failed_count,
            report->missing_count);
}

/* The length of a character that XML does not allow, even written as a reference: control
 * characters, surrogates, U+FFFE, U+FFFF. 0: it is allowed. */
static size_t unwritable_len(struct str text)
{
    const unsigned char *c = (const unsigned char *)text.data;
    bool is_surrogate = text.len >= 3 && c[0] == 0xed && c[1] >= 0xa0;
    bool is_beyond = text.len >= 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe;
    return c[0] < 0x20 ? 1 : is_surrogate || is_beyond ? 3 : 0;
}

static void write_xml(FILE *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        size_t skipped = unwritable_len(str_skip(text, i));
        if (skipped > 0) {
            fputc('?', out);
            i += skipped - 1;
            continue;
        }
        switch (text.data[i]) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(text.data[i], out);
        }
    }
}

static void write_verdict(FILE *out, const struct verdict *verdict)
{
    fputs("<testcase classname=\"", out);
    write_xml(out, verdict->table.len > 0 ? verdict->table : STR("declared"));
    fputs("\" name=\"", out);
    write_xml(out, verdict->text);
    if (!str_is_null(verdict->problem)) {
        fputs("\"><failure message=\"", out);
        write_xml(out, verdict->problem);
        fputs("\"/></testcase>\n", out);
    } else {
        fputs(verdict->is_missing ? "\"><skipped/></testcase>\n" : "\"/>\n", out);
    }
}

bool contract_write_junit(const struct contract_report *report, const char *path, struct err *err)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot write %s: %s", path, strerror(errno));
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites><testsuite name=\"access patterns\" tests=\"%zu\" failures=\"%zu\" "
            "skipped=\"%zu\">\n",
            report->count, report->failed_count, report->missing_count);
    for (const struct verdict *at = report->verdicts; at != NULL; at = at->next) {
        write_verdict(out, at);
    }
    fputs("</testsuite></testsuites>\n", out);
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    return good || err_set(err, ERR_INTERNAL, "cannot write %s: %s", path, strerror(errno));
}
