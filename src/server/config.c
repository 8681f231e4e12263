#include "server/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

enum check_kind { CHECK_NUMBER, CHECK_WORD, CHECK_TEXT, CHECK_ADDRESSES, CHECK_FLAG };

enum { WORDS_MAX = 5 };

/* Which values a setting takes. */
struct setting_check {
    enum check_kind kind;
    int64_t min; /* of a number, or of a text's length */
    int64_t max;
    const char *letters;          /* CHECK_TEXT: that it may have, or NULL */
    const char *words[WORDS_MAX]; /* CHECK_WORD: the values; CHECK_NUMBER: one beside the numbers */
};

/* One setting while values are gathered; the first source that names it wins. */
struct setting {
    const char *name;
    const char *value_name;
    const char *default_text;
    struct setting_check check;
    const char *help;
    struct str text; /* STR_NULL: not yet given */
    const char *source;
};

enum {
#define SETTING(member_, name_, value_, default_, check_, help_) SETTING_##member_,
#include "server/settings.def"
#undef SETTING
    SETTING_COUNT
};

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
#define ADDRESSES                                                                                  \
    {                                                                                              \
        .kind = CHECK_ADDRESSES                                                                    \
    }

/* On or off; `--name` alone means on. */
#define FLAG                                                                                       \
    {                                                                                              \
        .kind = CHECK_FLAG, .words = { "on", "off" }                                               \
    }

#define SETTING(member_, name_, value_, default_, check_, help_)                                   \
    {.name = (name_),                                                                              \
     .value_name = (value_),                                                                       \
     .default_text = (default_),                                                                   \
     .check = check_,                                                                              \
     .help = (help_)},
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

/* Settings that may be given several times on the command line: each adds to a list. */
static bool is_list(const struct setting *settings, const struct setting *setting)
{
    return setting == &settings[SETTING_cors] || setting == &settings[SETTING_host] ||
           setting == &settings[SETTING_listen];
}

static void take_argument(struct arena *arena, struct setting *settings, struct setting *setting,
                          struct str value)
{
    if (is_list(settings, setting) && !str_is_null(setting->text)) {
        setting->text = arena_format(arena, "%.*s,%.*s", STR_ARG(setting->text), STR_ARG(value));
    }
    offer(setting, value, "command line");
}

/* --name VALUE, --name=VALUE or, of a flag, --name. *out_file gets the value of --config. */
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
        struct str value = STR_NULL;
        if (equals != NULL) {
            value = str_skip(name, (size_t)(equals - name.data) + 1);
            name.len = (size_t)(equals - name.data);
        }
        struct setting *setting = find(settings, name);
        bool is_flag = setting != NULL && setting->check.kind == CHECK_FLAG;
        if (equals == NULL && is_flag) {
            value = STR("on");
        } else if (equals == NULL && i + 1 < argc) {
            value = arena_copy(arena, str_from_c(argv[++i]));
        } else if (equals == NULL) {
            return err_set(err, ERR_VALIDATION, "%s needs a value; see gramme serve --help",
                           argv[i]);
        }
        if (str_eq(name, STR("config"))) {
            *out_file = value;
        } else if (setting == NULL) {
            return err_set(err, ERR_VALIDATION, "unknown option --%.*s; see gramme serve --help",
                           STR_ARG(name));
        } else {
            take_argument(arena, settings, setting, value);
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

/* --- checking --- */

static bool is_word(const struct setting *setting)
{
    for (size_t i = 0; i < WORDS_MAX && setting->check.words[i] != NULL; i++) {
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
    return complain(err, setting, expected);
}

static bool check_word(const struct setting *setting, struct err *err)
{
    if (is_word(setting)) {
        return true;
    }
    char expected[120] = "";
    for (size_t i = 0; i < WORDS_MAX && setting->check.words[i] != NULL; i++) {
        size_t len = strlen(expected);
        snprintf(expected + len, sizeof(expected) - len, "%s%s", i > 0 ? " or " : "",
                 setting->check.words[i]);
    }
    return complain(err, setting, expected);
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
    return complain(err, setting, expected);
}

/* [http[s]://]HOST:PORT, with [IPv6] for HOST, or just PORT. */
static bool read_address(struct str text, struct http_listener *out)
{
    *out = (struct http_listener){.is_secure = str_starts_with(text, STR("https://"))};
    if (out->is_secure) {
        text = str_skip(text, STR("https://").len);
    } else if (str_starts_with(text, STR("http://"))) {
        text = str_skip(text, STR("http://").len);
    }
    size_t colon = text.len;
    while (colon > 0 && text.data[colon - 1] != ':') {
        colon--;
    }
    int64_t port;
    if (!str_to_int64(str_skip(text, colon), &port) || port < 0 || port > 65535) {
        return false;
    }
    struct str host = colon == 0 ? STR("127.0.0.1") : str_make(text.data, colon - 1);
    if (host.len >= 2 && host.data[0] == '[' && host.data[host.len - 1] == ']') {
        host = str_make(host.data + 1, host.len - 2);
    }
    out->host = host;
    out->port = (int)port;
    return host.len == 0 || memchr(host.data, '/', host.len) == NULL;
}

static bool read_addresses(const struct setting *setting, struct config *out, struct err *err)
{
    struct str text = setting->text;
    out->listener_count = 0;
    do {
        const char *comma = text.len == 0 ? NULL : memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        if (out->listener_count == HTTP_LISTENERS_MAX ||
            !read_address(trim(str_make(text.data, len)), &out->listeners[out->listener_count])) {
            return complain(err, setting, "HOST:PORT or https://HOST:PORT, at most 8 of them");
        }
        out->listener_count++;
        text = str_skip(text, MIN(len + 1, text.len));
    } while (text.len > 0);
    return true;
}

bool config_uses_tls(const struct config *config)
{
    for (int i = 0; i < config->listener_count; i++) {
        if (config->listeners[i].is_secure) {
            return true;
        }
    }
    return false;
}

static bool check_setting(const struct setting *setting, struct err *err)
{
    struct config ignored;
    switch (setting->check.kind) {
    case CHECK_NUMBER:
        return check_number(setting, err);
    case CHECK_WORD:
    case CHECK_FLAG:
        return check_word(setting, err);
    case CHECK_TEXT:
        return check_text(setting, err);
    case CHECK_ADDRESSES:
        return read_addresses(setting, &ignored, err);
    }
    return false;
}

/* --- from checked settings to values --- */

/* 0 if it is the word beside the numbers. */
static int64_t number_of(const struct setting *setting)
{
    int64_t number = 0;
    return str_to_int64(setting->text, &number) ? number : 0;
}

static bool read_cors(struct arena *arena, const struct setting *setting, struct config *out,
                      struct err *err)
{
    struct err problem = ERR_INIT(arena);
    return cors_parse(arena, setting->text, &out->cors, &problem) ||
           complain(err, setting, arena_format(arena, "%.*s", STR_ARG(problem.message)).data);
}

/* Host names that are accepted; they are looked at if nothing else protects a server that web pages
 * on this machine can reach. */
static bool read_hosts(struct arena *arena, const struct setting *setting, struct config *out,
                       struct err *err)
{
    struct err problem = ERR_INIT(arena);
    struct str listen[HTTP_LISTENERS_MAX];
    bool is_loopback = false;
    for (int i = 0; i < out->listener_count; i++) {
        listen[i] = out->listeners[i].host;
        is_loopback = is_loopback || host_is_loopback(listen[i]);
    }
    if (!hosts_parse(arena, setting->text, listen, (size_t)out->listener_count, &out->hosts,
                     &problem)) {
        return complain(err, setting, arena_format(arena, "%.*s", STR_ARG(problem.message)).data);
    }
    out->hosts.is_checked = out->auth != AUTH_ON && is_loopback;
    return true;
}

static bool read_tls(struct arena *arena, const struct setting *settings, struct config *out,
                     struct err *err)
{
    out->tls = (struct http_tls_options){
        .cert_file = arena_copy_c(arena, settings[SETTING_tls_cert].text),
        .key_file = arena_copy_c(arena, settings[SETTING_tls_key].text),
        .client_ca_file = arena_copy_c(arena, settings[SETTING_tls_client_ca].text),
    };
    bool uses_tls = config_uses_tls(out);
    bool has_both = out->tls.cert_file.len > 0 && out->tls.key_file.len > 0;
    bool has_any =
        out->tls.cert_file.len > 0 || out->tls.key_file.len > 0 || out->tls.client_ca_file.len > 0;
    if (uses_tls && !has_both) {
        return err_set(err, ERR_VALIDATION, "--listen https://... needs --tls-cert and --tls-key");
    }
    return uses_tls || !has_any ||
           err_set(err, ERR_VALIDATION,
                   "--tls-cert, --tls-key and --tls-client-ca are for --listen https://HOST:PORT, "
                   "which is missing");
}

/* Whoever reaches the server may read and change everything unless requests are authenticated. */
static bool check_exposure(const struct setting *settings, const struct config *config,
                           struct err *err)
{
    bool is_insecure = str_eq(settings[SETTING_insecure].text, STR("on"));
    bool is_open = false;
    for (int i = 0; i < config->listener_count; i++) {
        is_open = is_open || !host_is_loopback(config->listeners[i].host);
    }
    return config->auth == AUTH_ON || is_insecure || !is_open ||
           err_set(err, ERR_VALIDATION,
                   "--listen %.*s can be reached from other machines, which could read and change "
                   "everything: use --auth on, or --insecure if that is wanted",
                   STR_ARG(settings[SETTING_listen].text));
}

static bool interpret(struct arena *arena, const struct setting *settings, struct config *out,
                      struct err *err)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (!check_setting(&settings[i], err)) {
            return false;
        }
    }
    if (!read_cors(arena, &settings[SETTING_cors], out, err)) {
        return false;
    }
    bool good = read_addresses(&settings[SETTING_listen], out, err) &&
                auth_mode_from_name(settings[SETTING_auth].text, &out->auth) &&
                log_level_from_name(settings[SETTING_log_level].text, &out->log_level);
    assert(good); /* the table has the same words */
    if (!read_hosts(arena, &settings[SETTING_host], out, err) ||
        !read_tls(arena, settings, out, err) || !check_exposure(settings, out, err)) {
        return false;
    }
    out->users_file = settings[SETTING_users].text;
    out->master_key_file = settings[SETTING_master_key_file].text;
    out->audit_file = settings[SETTING_audit].text;
    out->audit_all = str_eq(settings[SETTING_audit_all].text, STR("on"));
    out->key_requests = (int)number_of(&settings[SETTING_key_requests]);
    out->key_bytes = (size_t)number_of(&settings[SETTING_key_mb]) << 20;
    out->auth_skew_ms = number_of(&settings[SETTING_auth_skew]) * 1000;
    out->store = settings[SETTING_store].text;
    out->region = settings[SETTING_region].text;
    out->account = settings[SETTING_account].text;
    out->threads = (int)number_of(&settings[SETTING_threads]);
    out->cache_bytes = (size_t)number_of(&settings[SETTING_cache_mb]) << 20;
    out->scrub_bytes_per_second = (size_t)number_of(&settings[SETTING_scrub_mb]) << 20;
    out->reserve_bytes = (size_t)number_of(&settings[SETTING_reserve_mb]) << 20;
    out->memory_bytes = (size_t)number_of(&settings[SETTING_memory_mb]) << 20;
    out->rate_bytes_min = (int)number_of(&settings[SETTING_min_rate]);
    out->connections = (int)number_of(&settings[SETTING_connections]);
    out->console = str_eq(settings[SETTING_console].text, STR("on"));
    out->drain_ms = number_of(&settings[SETTING_drain_ms]);
    out->table_delay_ms = number_of(&settings[SETTING_table_delay_ms]);
    out->ttl_delay_ms = number_of(&settings[SETTING_ttl_delay_ms]);
    out->clock_confirm_ms = number_of(&settings[SETTING_clock_confirm_ms]);
    out->stream_shards = number_of(&settings[SETTING_stream_shards]);
    out->stream_shard_ms = number_of(&settings[SETTING_stream_shard_ms]);
    out->stream_retention_ms = number_of(&settings[SETTING_stream_retention_ms]);
    out->test_clock = str_eq(settings[SETTING_test_clock].text, STR("on"));
    out->insight = str_eq(settings[SETTING_insight].text, STR("on"));
    out->prices = settings[SETTING_prices].text;
    out->log_format = str_eq(settings[SETTING_log_format].text, STR("json")) ? LOG_JSON : LOG_TEXT;
    out->log_file = settings[SETTING_log_file].text;
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
    *out = (struct config){.argc = argc, .argv = argv};
    return interpret(arena, settings, out, err);
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
