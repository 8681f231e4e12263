/* Messages to the service manager: sd_notify(3) without its library, which is one datagram to a
 * Unix socket. Called by serve.c on the main thread. */
#include "server/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* The watchdog is for this process only if WATCHDOG_PID names it, or is not set. */
static bool has_watchdog(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *interval_us = getenv("WATCHDOG_USEC");
    return interval_us != NULL && atoll(interval_us) > 0 &&
           (pid == NULL || atoll(pid) == (long long)getpid());
}

/* A path, or a name in the abstract namespace, which is written with @ for its first byte. */
static bool read_address(const char *path, struct notify *out)
{
    size_t len = strlen(path);
    if (len < 2 || len >= sizeof(out->address.sun_path) || (path[0] != '/' && path[0] != '@')) {
        return false;
    }
    out->address.sun_family = AF_UNIX;
    memcpy(out->address.sun_path, path, len + 1);
    if (path[0] == '@') {
        out->address.sun_path[0] = '\0';
    }
    out->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

void notify_open(struct notify *out)
{
    *out = (struct notify){.fd = -1};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL) {
        return;
    }
    if (!read_address(path, out)) {
        log_write(LOG_WARN, "server", "NOTIFY_SOCKET is not the path of a socket: '%s'", path);
        return;
    }
    out->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    out->has_watchdog = has_watchdog();
}

void notify_send(const struct notify *notify, const char *state)
{
    if (notify->fd >= 0 &&
        sendto(notify->fd, state, strlen(state), MSG_NOSIGNAL,
               (const struct sockaddr *)&notify->address, notify->address_len) < 0) {
        log_write(LOG_WARN, "server", "the service manager cannot be reached: %s", strerror(errno));
    }
}

void notify_alive(const struct notify *notify)
{
    notify_send(notify, "WATCHDOG=1");
}

void notify_close(struct notify *notify)
{
    if (notify->fd >= 0) {
        close(notify->fd);
    }
    notify->fd = -1;
}
