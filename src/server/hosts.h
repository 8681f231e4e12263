/* server/hosts.h: by which names the server may be reached. A web page whose host name resolves to
 * a loopback address (DNS rebinding) is of its own origin for a browser, so only the Host header
 * tells such requests from those of programs on this machine. */
#ifndef GRAMME_SERVER_HOSTS_H
#define GRAMME_SERVER_HOSTS_H

#include "err/err.h"

struct hosts {
    bool is_checked;         /* false: any name will do */
    const struct str *names; /* besides those of the loopback interface */
    size_t count;
};

/* Whether an address or name to listen on can be reached from this machine only. */
MUST_USE bool host_is_loopback(struct str host);

/* Reads the names of --host, separated by commas, into `arena`. Those of `listen` are allowed too.
 * False: one is not a host name (ERR_VALIDATION). */
MUST_USE bool hosts_parse(struct arena *arena, struct str text, const struct str *listen,
                          size_t listen_count, struct hosts *out, struct err *err);

/* Whether a request with this Host header may be carried out. STR_NULL: it has none, so no browser
 * sent it. */
MUST_USE bool hosts_allow(const struct hosts *hosts, struct str header);

#endif
