/* server/hosts.h: the host names that a server without authentication accepts. If the host name of
 * a web page resolves to a loopback address (DNS rebinding), a browser treats its requests to this
 * server as same-origin; only the Host header shows that they are not from a program on this
 * machine. */
#ifndef GRAMME_SERVER_HOSTS_H
#define GRAMME_SERVER_HOSTS_H

#include "err/err.h"

struct hosts {
    bool is_checked;         /* false: every name is accepted */
    bool is_open;            /* other machines can reach the server: see hosts_allow() */
    const struct str *names; /* in addition to those of the loopback interface */
    size_t count;
};

/* Whether an address or name to listen on can be reached from this machine only. */
MUST_USE bool host_is_loopback(struct str host);

/* Reads the names of --host, separated by commas, into `arena`. Those of `listen` are allowed too.
 * Sets is_open if one of these is not a loopback address. False: one is not a host name
 * (ERR_VALIDATION). */
MUST_USE bool hosts_parse(struct arena *arena, struct str text, const struct str *listen,
                          size_t listen_count, struct hosts *out, struct err *err);

/* Whether a request with this Host header may be carried out. STR_NULL: it has none, so no browser
 * sent it. If hosts->is_open, all IP addresses and names without a dot, such as those of a
 * container network, are accepted too: hardly any web page of the Internet has such a name. */
MUST_USE bool hosts_allow(const struct hosts *hosts, struct str header);

#endif
