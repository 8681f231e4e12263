/* server/notify.h: tells a service manager (systemd, Type=notify) that the server is ready, alive
 * or stopping, by datagrams to the socket that $NOTIFY_SOCKET names (sd_notify(3)). Everything has
 * no effect if the variable is not set. Main thread only. */
#ifndef GRAMME_SERVER_NOTIFY_H
#define GRAMME_SERVER_NOTIFY_H

#include "base/base.h"

#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int fd;            /* -1: there is no service manager */
    bool has_watchdog; /* the service manager restarts a server that is silent for too long */
    struct sockaddr_un address;
    socklen_t address_len;
};

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID. A socket that cannot be used is logged
 * and then ignored: the service manager then reports a time-out. */
void notify_open(struct notify *out);
/* Sends lines such as "READY=1\nSTATUS=serving". */
void notify_send(const struct notify *notify, const char *state);
/* To be called once a second while the server works, if has_watchdog is true: keeps the service
 * manager's watchdog from restarting it. */
void notify_alive(const struct notify *notify);
/* Closes the socket. */
void notify_close(struct notify *notify);

#endif
