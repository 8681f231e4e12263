/* Reads the configuration of the server: gathers and checks the settings (settings.c), and parses
 * those that are more than a text or number. Called when the server starts and when it rereads its
 * configuration, on the main thread. */
#include "server/config.h"

#include "server/settings_internal.h"
#include "store/store.h"

/* With other servers on the same store there is a load balancer, which needs so long to notice. */
static const int64_t drain_shared_ms = 1500;

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
            !read_address(str_trim(str_make(text.data, len), SETTING_SPACES),
                          &out->listeners[out->listener_count])) {
            return setting_complain(err, setting,
                                    "HOST:PORT or https://HOST:PORT, at most 8 of them");
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

static bool read_cors(struct arena *arena, const struct setting *setting, struct config *out,
                      struct err *err)
{
    struct err problem = ERR_INIT(arena);
    return cors_parse(arena, setting->text, &out->cors, &problem) ||
           setting_complain(err, setting,
                            arena_format(arena, "%.*s", STR_ARG(problem.message)).data);
}

/* Reads the accepted host names. They are checked if signatures are not required, also on addresses
 * that other machines can reach: the port of a container is published on a loopback address. */
static bool read_hosts(struct arena *arena, const struct setting *setting, struct config *out,
                       struct err *err)
{
    struct err problem = ERR_INIT(arena);
    struct str listen[HTTP_LISTENERS_MAX];
    for (int i = 0; i < out->listener_count; i++) {
        listen[i] = out->listeners[i].host;
    }
    if (!hosts_parse(arena, setting->text, listen, (size_t)out->listener_count, &out->hosts,
                     &problem)) {
        return setting_complain(err, setting,
                                arena_format(arena, "%.*s", STR_ARG(problem.message)).data);
    }
    out->hosts.is_checked = out->auth != AUTH_ON;
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

/* Refuses to listen on an address that other machines can reach without authentication, unless
 * --insecure is given. */
static bool check_exposure(const struct setting *settings, const struct config *config,
                           struct err *err)
{
    bool is_insecure = setting_is_on(&settings[SETTING_insecure]);
    bool is_open = false;
    for (int i = 0; i < config->listener_count; i++) {
        is_open = is_open || !host_is_loopback(config->listeners[i].host);
    }
    return config->auth == AUTH_ON || is_insecure || !is_open ||
           err_set(err, ERR_VALIDATION,
                   "--listen %.*s can be reached from other machines, which could read and change "
                   "everything: use --auth on, or --insecure to allow this",
                   STR_ARG(settings[SETTING_listen].text));
}

static bool interpret(struct arena *arena, const struct setting *settings, struct config *out,
                      struct err *err)
{
    if (!read_addresses(&settings[SETTING_listen], out, err)) {
        return false;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (!setting_check(&settings[i], err)) {
            return false;
        }
        setting_store(&settings[i], out);
    }
    if (!read_cors(arena, &settings[SETTING_cors], out, err)) {
        return false;
    }
    bool good = auth_mode_from_name(settings[SETTING_auth].text, &out->auth) &&
                log_level_from_name(settings[SETTING_log_level].text, &out->log_level);
    assert(good); /* the table has the same words */
    if (str_eq(settings[SETTING_drain_ms].text, STR("auto"))) {
        out->drain_ms = store_url_is_shared(out->store) ? drain_shared_ms : 0;
    }
    out->log_format = str_eq(settings[SETTING_log_format].text, STR("json")) ? LOG_JSON : LOG_TEXT;
    return read_hosts(arena, &settings[SETTING_host], out, err) &&
           read_tls(arena, settings, out, err) && check_exposure(settings, out, err);
}

bool config_read(struct arena *arena, int argc, char **argv, struct config *out, struct err *err)
{
    struct setting settings[SETTING_COUNT];
    *out = (struct config){.argc = argc, .argv = argv};
    return settings_gather(arena, argc, argv, settings, err) &&
           interpret(arena, settings, out, err);
}
