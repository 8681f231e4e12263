/* Host names by which the server may be reached. Called by config.c once and by route.c for every
 * request of a server without authentication. */
#include "server/hosts.h"

#include <arpa/inet.h>

/* Four numbers of which the first is 127. */
static bool is_loopback_ipv4(struct str host)
{
    if (!str_starts_with(host, STR("127."))) {
        return false;
    }
    int dots = 0;
    for (size_t i = 0; i < host.len; i++) {
        bool is_digit = host.data[i] >= '0' && host.data[i] <= '9';
        if (!is_digit && host.data[i] != '.') {
            return false; /* 127.0.0.1.example.com */
        }
        dots += host.data[i] == '.';
    }
    return dots == 3;
}

/* Names below .localhost are this machine for browsers too, whatever DNS says. */
static bool is_localhost(struct str host)
{
    static const struct str suffix = {".localhost", 10};
    return str_eq_nocase(host, STR("localhost")) ||
           (host.len > suffix.len && str_eq_nocase(str_skip(host, host.len - suffix.len), suffix));
}

bool host_is_loopback(struct str host)
{
    return is_localhost(host) || is_loopback_ipv4(host) || str_eq(host, STR("::1")) ||
           str_eq_nocase(host, STR("::ffff:127.0.0.1"));
}

static bool is_host(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c <= ' ' || c > '~' || c == '/' || c == '@') {
            return false;
        }
    }
    return text.len > 0;
}

bool hosts_parse(struct arena *arena, struct str text, const struct str *listen,
                 size_t listen_count, struct hosts *out, struct err *err)
{
    struct str *names = ARENA_ARRAY(arena, struct str, text.len / 2 + 1 + listen_count);
    *out = (struct hosts){.names = names};
    for (size_t i = 0; i < listen_count; i++) {
        names[out->count++] = listen[i];
        out->is_open = out->is_open || !host_is_loopback(listen[i]);
    }
    while (text.len > 0) {
        const char *comma = memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        struct str name = str_trim(str_make(text.data, len), " ");
        text = str_skip(text, MIN(len + 1, text.len));
        if (name.len == 0) {
            continue;
        }
        if (!is_host(name)) {
            return err_set(err, ERR_VALIDATION, "host names such as db.example.com");
        }
        names[out->count++] = arena_copy(arena, name);
    }
    return true;
}

/* The host of "host:port", "[IPv6]:port" or either without a port. */
static struct str without_port(struct str header)
{
    if (header.len > 0 && header.data[0] == '[') {
        const char *end = memchr(header.data, ']', header.len);
        return end == NULL ? header : str_make(header.data + 1, (size_t)(end - header.data) - 1);
    }
    const char *colon = header.len == 0 ? NULL : memchr(header.data, ':', header.len);
    return colon == NULL ? header : str_make(header.data, (size_t)(colon - header.data));
}

static bool is_address(struct str host)
{
    char copy[INET6_ADDRSTRLEN];
    uint8_t address[16];
    if (host.len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, host.data, host.len);
    copy[host.len] = '\0';
    return inet_pton(AF_INET, copy, address) == 1 || inet_pton(AF_INET6, copy, address) == 1;
}

bool hosts_allow(const struct hosts *hosts, struct str header)
{
    if (!hosts->is_checked || str_is_null(header)) {
        return true;
    }
    struct str host = without_port(header);
    if (host.len > 0 && host.data[host.len - 1] == '.') { /* the root of DNS */
        host.len--;
    }
    if (host.len == 0) {
        return false;
    }
    if (host_is_loopback(host) ||
        (hosts->is_open && (memchr(host.data, '.', host.len) == NULL || is_address(host)))) {
        return true;
    }
    for (size_t i = 0; i < hosts->count; i++) {
        if (str_eq_nocase(hosts->names[i], host)) {
            return true;
        }
    }
    return false;
}
