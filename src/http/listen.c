/* Binds listening sockets, on the thread that opens the server. With SO_REUSEPORT every thread has
 * its own socket, and the kernel distributes connections among them. A second server process could
 * bind the same address in this way and get half of the connections; so a socket without
 * SO_REUSEPORT is bound first, which fails if another process listens there, and is kept until the
 * others are bound. */
#include "http/http_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct address {
    struct sockaddr_storage storage;
    socklen_t len;
};

static bool fail(struct err *err, const struct http_listener *listener, const char *why)
{
    return err_set(err, ERR_INTERNAL, "cannot listen on %.*s port %d: %s", STR_ARG(listener->host),
                   listener->port, why);
}

/* Resolves the host to its first address; IPv4 comes first if a name has both. */
static bool resolve(const struct http_listener *listener, struct address *out, struct err *err)
{
    char host[256];
    char port[16];
    if (listener->host.len >= sizeof(host)) {
        return fail(err, listener, "host name too long");
    }
    /* localhost must work without a hosts file, too. */
    bool local = str_eq_nocase(listener->host, STR("localhost"));
    struct str name = local ? STR("127.0.0.1") : listener->host;
    snprintf(host, sizeof(host), "%.*s", STR_ARG(name));
    snprintf(port, sizeof(port), "%d", listener->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, port, &hints, &found);
    if (result != 0) {
        return fail(err, listener, gai_strerror(result));
    }
    const struct addrinfo *best = found;
    while (best != NULL && best->ai_family != AF_INET) {
        best = best->ai_next;
    }
    best = best == NULL ? found : best;
    memcpy(&out->storage, best->ai_addr, best->ai_addrlen);
    out->len = best->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static int set_flag(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Returns a bound socket, or -1; errno says why. */
static int bind_socket(const struct address *address, bool share_port)
{
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    bool is_ipv6 = address->storage.ss_family == AF_INET6;
    if (set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
        (share_port && set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) ||
        (is_ipv6 && set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) != 0) || /* "::" means all */
        bind(fd, (const struct sockaddr *)&address->storage, address->len) != 0) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

static in_port_t *port_of(struct address *address)
{
    return address->storage.ss_family == AF_INET6
               ? &((struct sockaddr_in6 *)&address->storage)->sin6_port
               : &((struct sockaddr_in *)&address->storage)->sin_port;
}

/* For port 0 the first bind chooses a port; the other sockets must use the same. */
static bool learn_port(int fd, struct address *address)
{
    struct address bound = {.len = sizeof(bound.storage)};
    if (getsockname(fd, (struct sockaddr *)&bound.storage, &bound.len) != 0) {
        return false;
    }
    *port_of(address) = *port_of(&bound);
    return true;
}

static void close_all(int *fds, int count)
{
    for (int i = 0; i < count; i++) {
        close(fds[i]);
    }
}

static bool bind_shared(const struct address *address, int *fds, int count)
{
    for (int i = 0; i < count; i++) {
        fds[i] = bind_socket(address, true);
        if (fds[i] < 0) {
            int reason = errno;
            close_all(fds, i);
            errno = reason;
            return false;
        }
    }
    return true;
}

bool listen_bind(const struct http_listener *listener, struct listen_sockets *sockets,
                 struct err *err)
{
    struct address address;
    if (!resolve(listener, &address, err)) {
        return false;
    }
    int probe = bind_socket(&address, false);
    if (probe < 0) {
        return fail(err, listener,
                    errno == EADDRINUSE ? "another server listens there" : strerror(errno));
    }
    bool bound = learn_port(probe, &address) && bind_shared(&address, sockets->fds, sockets->count);
    int reason = errno;
    close(probe);
    if (!bound) {
        return fail(err, listener, strerror(reason));
    }
    sockets->port = ntohs(*port_of(&address));
    return true;
}
