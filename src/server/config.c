#include "server/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

/* One setting while values are gathered; the first source that names it wins. */
struct setting {
    const char *name;
    const char *value_name;
    const char *default_text;
    const char *help;
    struct str text; /* STR_NULL: not yet given */
    const char *source;
};

enum {
#define SETTING(member_, name_, value_, default_, help_) SETTING_##member_,
#include "server/settings.def"
#undef SETTING
    SETTING_COUNT
};

#define SETTING(member_, name_, value_, default_, help_)                                           \
    {.name = (name_), .value_name = (value_), .default_text = (default_), .help = (help_)},
static const struct setting settings_template[] = {
#include "server/settings.def"
};
#undef SETTING

static bool complain(struct err *err, const struct setting *setting, const char *expected)
{
    return err_set(err, ERR_VALIDATION, "%s: '%.*s' is no value for %s: expected %s",
                   setting->source, STR_ARG(setting->text), setting->name, expected);
}

static struct setting *find(struct setting *settings, struct str name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (str_eq(name, str_from_c(settings[i].name))) {
            return &settings[i];
        }
    }
    return NULL;
}

static void offer(struct setting *setting, struct str text, const char *source)
{
    if (str_is_null(setting->text)) {
        setting->text = text;
        setting->source = source;
    }
}

/* --name VALUE or --name=VALUE. *out_file gets the value of --config. */
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
        const char *equals = memchr(name.data, '=', name.len);
        struct str value;
        if (equals != NULL) {
            value = str_skip(name, (size_t)(equals - name.data) + 1);
            name.len = (size_t)(equals - name.data);
        } else if (i + 1 < argc) {
            value = arena_copy(arena, str_from_c(argv[++i]));
        } else {
            return err_set(err, ERR_VALIDATION, "%s needs a value; see gramme serve --help",
                           argv[i]);
        }
        struct setting *setting = find(settings, name);
        if (str_eq(name, STR("config"))) {
            *out_file = value;
        } else if (setting == NULL) {
            return err_set(err, ERR_VALIDATION, "unknown option --%.*s; see gramme serve --help",
                           STR_ARG(name));
        } else {
            offer(setting, value, "command line");
        }
    }
    return true;
}

/* GRAMME_LOG_LEVEL for log-level. */
static void read_environment(struct arena *arena, struct setting *settings)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char name[64] = "GRAMME_";
        size_t len = strlen(name);
        for (const char *at = settings[i].name; *at != '\0'; at++) {
            name[len++] = (char)(*at == '-' ? '_' : *at - 'a' + 'A');
        }
        name[len] = '\0';
        const char *value = getenv(name);
        if (value != NULL) {
            offer(&settings[i], arena_copy(arena, str_from_c(value)), "environment");
        }
    }
}

static struct str trim(struct str s)
{
    while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && strchr(" \t\r\n", s.data[s.len - 1]) != NULL) {
        s.len--;
    }
    return s;
}

static bool read_line(struct setting *settings, struct str line, struct str file, int number,
                      struct err *err)
{
    line = trim(line);
    if (line.len == 0 || line.data[0] == '#') {
        return true;
    }
    const char *equals = memchr(line.data, '=', line.len);
    struct str name =
        equals == NULL ? line : trim(str_make(line.data, (size_t)(equals - line.data)));
    struct setting *setting = find(settings, name);
    if (equals == NULL || setting == NULL) {
        return err_set(err, ERR_VALIDATION, "%.*s:%d: %s '%.*s'", STR_ARG(file), number,
                       equals == NULL ? "expected `name = value`, not" : "unknown setting",
                       STR_ARG(name));
    }
    offer(setting, trim(str_skip(line, (size_t)(equals - line.data) + 1)), "configuration file");
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
        good = read_line(settings, arena_copy(arena, str_from_c(line)), file, number, err);
    }
    free(line);
    fclose(stream);
    return good;
}

static bool read_number(const struct setting *setting, int64_t min, int64_t max, int64_t *out,
                        struct err *err)
{
    if (str_to_int64(setting->text, out) && *out >= min && *out <= max) {
        return true;
    }
    char expected[80];
    snprintf(expected, sizeof(expected), "a number from %lld to %lld", (long long)min,
             (long long)max);
    return complain(err, setting, expected);
}

/* HOST:PORT, [IPv6]:PORT or just PORT. */
static bool read_listen(const struct setting *setting, struct config *out, struct err *err)
{
    struct str text = setting->text;
    size_t colon = text.len;
    while (colon > 0 && text.data[colon - 1] != ':') {
        colon--;
    }
    int64_t port;
    if (!str_to_int64(str_skip(text, colon), &port) || port < 0 || port > 65535) {
        return complain(err, setting, "HOST:PORT");
    }
    struct str host = colon == 0 ? STR("127.0.0.1") : str_make(text.data, colon - 1);
    if (host.len >= 2 && host.data[0] == '[' && host.data[host.len - 1] == ']') {
        host = str_make(host.data + 1, host.len - 2);
    }
    out->host = host;
    out->port = (int)port;
    return true;
}

static bool read_account(const struct setting *setting, struct config *out, struct err *err)
{
    int64_t number;
    if (setting->text.len != 12 || !str_to_int64(setting->text, &number) || number < 0) {
        return complain(err, setting, "12 digits");
    }
    out->account = setting->text;
    return true;
}

static bool read_streams(const struct setting *settings, struct config *out, struct err *err)
{
    const int64_t year_ms = (int64_t)365 * 24 * 60 * 60 * 1000;
    const struct setting *shards = &settings[SETTING_stream_shards];
    out->stream_shards = 0;
    if (!str_eq(shards->text, STR("auto")) &&
        !read_number(shards, 1, 1000, &out->stream_shards, err)) {
        return false;
    }
    return read_number(&settings[SETTING_stream_shard_ms], 100, year_ms, &out->stream_shard_ms,
                       err) &&
           read_number(&settings[SETTING_stream_retention_ms], 100, year_ms,
                       &out->stream_retention_ms, err);
}

static bool read_switch(const struct setting *setting, bool *out, struct err *err)
{
    *out = str_eq(setting->text, STR("on"));
    return *out || str_eq(setting->text, STR("off")) || complain(err, setting, "on or off");
}

static bool interpret(const struct setting *settings, struct config *out, struct err *err)
{
    int64_t threads;
    int64_t cache_mb;
    int64_t scrub_mb;
    int64_t memory_mb;
    int64_t min_rate;
    int64_t connections;
    if (!read_listen(&settings[SETTING_listen], out, err) ||
        !read_account(&settings[SETTING_account], out, err) ||
        !read_number(&settings[SETTING_threads], 0, 256, &threads, err) ||
        !read_number(&settings[SETTING_cache_mb], 0, 1 << 20, &cache_mb, err) ||
        !read_number(&settings[SETTING_scrub_mb], 0, 1 << 20, &scrub_mb, err) ||
        !read_number(&settings[SETTING_memory_mb], 0, 1 << 20, &memory_mb, err) ||
        !read_number(&settings[SETTING_min_rate], 0, 1 << 30, &min_rate, err) ||
        !read_number(&settings[SETTING_connections], 1, 1000000, &connections, err) ||
        !read_number(&settings[SETTING_table_delay_ms], 0, 3600000, &out->table_delay_ms, err) ||
        !read_number(&settings[SETTING_ttl_delay_ms], 0, 172800000, &out->ttl_delay_ms, err) ||
        !read_streams(settings, out, err) ||
        !read_switch(&settings[SETTING_test_clock], &out->test_clock, err)) {
        return false;
    }
    out->store = settings[SETTING_store].text;
    out->region = settings[SETTING_region].text;
    out->threads = (int)threads;
    out->cache_bytes = (size_t)cache_mb << 20;
    out->scrub_bytes_per_second = (size_t)scrub_mb << 20;
    out->memory_bytes = (size_t)memory_mb << 20;
    out->rate_bytes_min = (int)min_rate;
    out->connections = (int)connections;
    if (!auth_mode_from_name(settings[SETTING_auth].text, &out->auth)) {
        return complain(err, &settings[SETTING_auth], "any or none");
    }
    if (!log_level_from_name(settings[SETTING_log_level].text, &out->log_level)) {
        return complain(err, &settings[SETTING_log_level], "error, warn, info or debug");
    }
    struct str format = settings[SETTING_log_format].text;
    if (!str_eq(format, STR("text")) && !str_eq(format, STR("json"))) {
        return complain(err, &settings[SETTING_log_format], "text or json");
    }
    out->log_format = str_eq(format, STR("json")) ? LOG_JSON : LOG_TEXT;
    return true;
}

bool config_read(struct arena *arena, int argc, char **argv, struct config *out, struct err *err)
{
    struct setting settings[SETTING_COUNT];
    memcpy(settings, settings_template, sizeof(settings));
    struct str file = STR_NULL;
    if (!read_arguments(arena, settings, argc, argv, &file, err)) {
        return false;
    }
    read_environment(arena, settings);
    if (str_is_null(file) && getenv("GRAMME_CONFIG") != NULL) {
        file = str_from_c(getenv("GRAMME_CONFIG"));
    }
    if (!str_is_null(file) && !read_file(arena, settings, file, err)) {
        return false;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        offer(&settings[i], str_from_c(settings[i].default_text), "default");
    }
    *out = (struct config){0};
    return interpret(settings, out, err);
}

void config_print_help(void)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_template[i];
        char option[64];
        snprintf(option, sizeof(option), "--%s %s", setting->name, setting->value_name);
        printf("  %-24s %s\n  %-24s (default %s)\n", option, setting->help, "",
               setting->default_text);
    }
    printf("  %-24s read settings from FILE, one `name = value` per line, # for comments\n",
           "--config FILE");
}
