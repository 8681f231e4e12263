/* Gathers the settings of `gramme serve` from command line, environment and configuration file,
 * checks each by the table settings.def, and stores it in struct config. Called by config.c, when
 * the server starts and when it rereads its configuration. */
#include "server/settings_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the table --- */

#define LOWER   "abcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"
#define YEAR_MS ((int64_t)365 * 24 * 60 * 60 * 1000)

#define NUMBER(min_, max_)                                                                         \
    {                                                                                              \
        .kind = CHECK_NUMBER, .min = (min_), .max = (max_)                                         \
    }
#define NUMBER_OR(word_, min_, max_)                                                               \
    {                                                                                              \
        .kind = CHECK_NUMBER, .min = (min_), .max = (max_), .words = { word_ }                     \
    }
#define ONE_OF(...)                                                                                \
    {                                                                                              \
        .kind = CHECK_WORD, .words = { __VA_ARGS__ }                                               \
    }
#define TEXT(min_, max_, letters_)                                                                 \
    {                                                                                              \
        .kind = CHECK_TEXT, .min = (min_), .max = (max_), .letters = (letters_)                    \
    }
#define TEXT_LIST(min_, max_, letters_)                                                            \
    {                                                                                              \
        .kind = CHECK_TEXT, .min = (min_), .max = (max_), .letters = (letters_), .is_list = true   \
    }
#define ADDRESSES                                                                                  \
    {                                                                                              \
        .kind = CHECK_ADDRESSES, .is_list = true                                                   \
    }

#define FLAG                                                                                       \
    {                                                                                              \
        .kind = CHECK_FLAG, .words = { "on", "off" }                                               \
    }

#define TARGET(kind_, member_)                                                                     \
    {                                                                                              \
        .kind = (kind_), .offset = offsetof(struct config, member_)                                \
    }
#define TO_TEXT(member_)       TARGET(TARGET_TEXT, member_)
#define TO_INT(member_)        TARGET(TARGET_INT, member_)
#define TO_INT64(member_)      TARGET(TARGET_INT64, member_)
#define ON_TO_BOOL(member_)    TARGET(TARGET_BOOL, member_)
#define MIB_TO_BYTES(member_)  TARGET(TARGET_BYTES, member_)
#define SECONDS_TO_MS(member_) TARGET(TARGET_MS, member_)
#define IN_CODE                                                                                    \
    {                                                                                              \
        .kind = TARGET_NONE                                                                        \
    }

#define SETTING(member_, name_, value_, default_, check_, target_, help_)                          \
    {.name = (name_),                                                                              \
     .value_name = (value_),                                                                       \
     .default_text = (default_),                                                                   \
     .check = check_,                                                                              \
     .target = target_,                                                                            \
     .help = (help_)},
static const struct setting settings_template[] = {
#include "server/settings.def"
};
#undef SETTING

/* --- sources --- */

/* Returns the setting with this name, or NULL. */
static struct setting *find(struct setting *settings, struct str name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (str_eq(name, str_from_c(settings[i].name))) {
            return &settings[i];
        }
    }
    return NULL;
}

/* Sets a setting unless an earlier source has set it. */
static void offer(struct setting *setting, struct str text, const char *source)
{
    if (str_is_null(setting->text)) {
        setting->text = text;
        setting->source = source;
    }
}

/* Sets a setting from the command line. Values of a list that is given several times are joined. */
static void take_argument(struct arena *arena, struct setting *setting, struct str value)
{
    if (setting->check.is_list && !str_is_null(setting->text)) {
        setting->text = arena_format(arena, "%.*s,%.*s", STR_ARG(setting->text), STR_ARG(value));
    }
    offer(setting, value, "command line");
}

/* Cuts NAME=VALUE; STR_NULL: there is no value. */
static struct str cut_value(struct str *name)
{
    const char *equals = memchr(name->data, '=', name->len);
    if (equals == NULL) {
        return STR_NULL;
    }
    struct str value = str_skip(*name, (size_t)(equals - name->data) + 1);
    name->len = (size_t)(equals - name->data);
    return value;
}

/* Reads --name VALUE, --name=VALUE and, for flags, --name. Sets *out_file to the value of --config.
 */
static bool read_arguments(struct arena *arena, struct setting *settings, int argc, char **argv,
                           struct str *out_file, struct err *err)
{
    for (int i = 0; i < argc; i++) {
        struct str argument = arena_copy(arena, str_from_c(argv[i]));
        if (!str_starts_with(argument, STR("--"))) {
            return err_set(err, ERR_VALIDATION, "unexpected argument '%s'; see gramme serve --help",
                           argv[i]);
        }
        struct str name = str_skip(argument, 2);
        struct str value = cut_value(&name);
        struct setting *setting = find(settings, name);
        bool is_flag = setting != NULL && setting->check.kind == CHECK_FLAG;
        if (str_is_null(value) && is_flag) {
            value = STR("on");
        } else if (str_is_null(value) && i + 1 < argc) {
            value = arena_copy(arena, str_from_c(argv[++i]));
        } else if (str_is_null(value)) {
            return err_set(err, ERR_VALIDATION, "%s needs a value; see gramme serve --help",
                           argv[i]);
        }
        if (str_eq(name, STR("config"))) {
            *out_file = value;
        } else if (setting == NULL) {
            return err_set(err, ERR_VALIDATION, "unknown option --%.*s; see gramme serve --help",
                           STR_ARG(name));
        } else {
            take_argument(arena, setting, value);
        }
    }
    return true;
}

/* Reads environment variables: GRAMME_LOG_LEVEL for log-level. */
static void read_environment(struct arena *arena, struct setting *settings)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char name[64] = "GRAMME_";
        size_t len = strlen(name);
        for (const char *at = settings[i].name; *at != '\0'; at++) {
            bool is_letter = *at >= 'a' && *at <= 'z';
            name[len++] = *at == '-' ? '_' : is_letter ? (char)(*at - 'a' + 'A') : *at;
        }
        name[len] = '\0';
        const char *value = getenv(name);
        if (value != NULL) {
            offer(&settings[i], arena_copy(arena, str_from_c(value)), "environment");
        }
    }
}

/* Reads a line of the file. `place` is "FILE:LINE", for complaints. */
static bool read_line(struct setting *settings, struct str line, const char *place, struct err *err)
{
    line = str_trim(line, SETTING_SPACES);
    if (line.len == 0 || line.data[0] == '#') {
        return true;
    }
    const char *equals = memchr(line.data, '=', line.len);
    struct str name = equals == NULL ? line
                                     : str_trim(str_make(line.data, (size_t)(equals - line.data)),
                                                SETTING_SPACES);
    struct setting *setting = find(settings, name);
    if (equals == NULL || setting == NULL) {
        return err_set(err, ERR_VALIDATION, "%s: %s '%.*s'", place,
                       equals == NULL ? "expected `name = value`, not" : "unknown setting",
                       STR_ARG(name));
    }
    offer(setting, str_trim(str_skip(line, (size_t)(equals - line.data) + 1), SETTING_SPACES),
          place);
    return true;
}

static bool read_file(struct arena *arena, struct setting *settings, struct str file,
                      struct err *err)
{
    struct str path = arena_format(arena, "%.*s", STR_ARG(file));
    FILE *stream = fopen(path.data, "r");
    if (stream == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot read the configuration file %.*s: %s",
                       STR_ARG(file), strerror(errno));
    }
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    for (int number = 1; good && getline(&line, &capacity, stream) >= 0; number++) {
        struct str place = arena_format(arena, "%.*s:%d", STR_ARG(file), number);
        good = read_line(settings, arena_copy(arena, str_from_c(line)), place.data, err);
    }
    free(line);
    fclose(stream);
    return good;
}

bool settings_gather(struct arena *arena, int argc, char **argv, struct setting *out,
                     struct err *err)
{
    memcpy(out, settings_template, sizeof(settings_template));
    struct str file = STR_NULL;
    if (!read_arguments(arena, out, argc, argv, &file, err)) {
        return false;
    }
    read_environment(arena, out);
    if (str_is_null(file) && getenv("GRAMME_CONFIG") != NULL) {
        file = str_from_c(getenv("GRAMME_CONFIG"));
    }
    if (!str_is_null(file) && !read_file(arena, out, file, err)) {
        return false;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        offer(&out[i], str_from_c(out[i].default_text), "default");
    }
    return true;
}

/* --- checks --- */

bool setting_complain(struct err *err, const struct setting *setting, const char *expected)
{
    return err_set(err, ERR_VALIDATION, "%s: '%.*s' is not a valid value for %s: expected %s",
                   setting->source, STR_ARG(setting->text), setting->name, expected);
}

static bool is_word(const struct setting *setting)
{
    for (size_t i = 0; i < SETTING_WORDS_MAX && setting->check.words[i] != NULL; i++) {
        if (str_eq(setting->text, str_from_c(setting->check.words[i]))) {
            return true;
        }
    }
    return false;
}

static bool check_number(const struct setting *setting, struct err *err)
{
    const struct setting_check *check = &setting->check;
    int64_t number;
    if (is_word(setting) ||
        (str_to_int64(setting->text, &number) && number >= check->min && number <= check->max)) {
        return true;
    }
    char expected[120];
    const char *word = check->words[0];
    snprintf(expected, sizeof(expected), "%s%sa number from %lld to %lld", word == NULL ? "" : word,
             word == NULL ? "" : " or ", (long long)check->min, (long long)check->max);
    return setting_complain(err, setting, expected);
}

static bool check_word(const struct setting *setting, struct err *err)
{
    if (is_word(setting)) {
        return true;
    }
    char expected[120] = "";
    for (size_t i = 0; i < SETTING_WORDS_MAX && setting->check.words[i] != NULL; i++) {
        size_t len = strlen(expected);
        snprintf(expected + len, sizeof(expected) - len, "%s%s", i > 0 ? " or " : "",
                 setting->check.words[i]);
    }
    return setting_complain(err, setting, expected);
}

static bool is_good_letter(const struct setting_check *check, char c)
{
    return check->letters == NULL ? (unsigned char)c >= 0x20 && c != 0x7F
                                  : c != '\0' && strchr(check->letters, c) != NULL;
}

static bool check_text(const struct setting *setting, struct err *err)
{
    const struct setting_check *check = &setting->check;
    bool fits =
        (int64_t)setting->text.len >= check->min && (int64_t)setting->text.len <= check->max;
    for (size_t i = 0; i < setting->text.len; i++) {
        fits = fits && is_good_letter(check, setting->text.data[i]);
    }
    if (fits) {
        return true;
    }
    char expected[120];
    snprintf(expected, sizeof(expected), "%lld to %lld of: %s", (long long)check->min,
             (long long)check->max,
             check->letters == NULL ? "any characters but control characters" : check->letters);
    return setting_complain(err, setting, expected);
}

bool setting_check(const struct setting *setting, struct err *err)
{
    switch (setting->check.kind) {
    case CHECK_NUMBER:
        return check_number(setting, err);
    case CHECK_WORD:
    case CHECK_FLAG:
        return check_word(setting, err);
    case CHECK_TEXT:
        return check_text(setting, err);
    case CHECK_ADDRESSES:
        return true; /* config.c checks it when it parses it */
    }
    return false;
}

/* --- values --- */

bool setting_is_on(const struct setting *setting)
{
    return str_eq(setting->text, STR("on"));
}

/* Returns the number; 0 if the value is the word that is allowed beside numbers. */
static int64_t number_of(const struct setting *setting)
{
    int64_t number = 0;
    return str_to_int64(setting->text, &number) ? number : 0;
}

void setting_store(const struct setting *setting, struct config *config)
{
    void *member = (char *)config + setting->target.offset;
    switch (setting->target.kind) {
    case TARGET_NONE:
        break;
    case TARGET_TEXT:
        *(struct str *)member = setting->text;
        break;
    case TARGET_INT:
        *(int *)member = (int)number_of(setting);
        break;
    case TARGET_INT64:
        *(int64_t *)member = number_of(setting);
        break;
    case TARGET_BOOL:
        *(bool *)member = setting_is_on(setting);
        break;
    case TARGET_BYTES:
        *(size_t *)member = (size_t)number_of(setting) << 20;
        break;
    case TARGET_MS:
        *(int64_t *)member = number_of(setting) * 1000;
        break;
    }
}

void config_print_help(void)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_template[i];
        char option[64];
        snprintf(option, sizeof(option), "--%s%s%s", setting->name,
                 setting->value_name[0] != '\0' ? " " : "", setting->value_name);
        printf("  %-24s %s\n  %-24s (default %s)\n", option, setting->help, "",
               setting->default_text[0] != '\0' ? setting->default_text : "none");
    }
    printf("  %-24s read settings from FILE, one `name = value` per line, # for comments\n",
           "--config FILE");
}
