/* The control socket: a thread that waits for a client, creates a checkpoint for it, and deletes
 * the checkpoint when the client disconnects. */
#include "server/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/disk/identity.h"
#include "store/rocks/rocks.h"

enum { REQUEST_LEN_MAX = 64 };

struct control {
    struct store *store;
    const char *directory; /* the store's */
    pthread_t thread;
    int listen_fd;
    int stop_fd;
    int client_fd; /* -1: none */
    char request[REQUEST_LEN_MAX];
    size_t request_len;
};

/* Files ---------------------------------------------------------------------------------------- */

static int open_directory(const char *directory)
{
    return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void delete_files(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        unlinkat(fd, entry->d_name, 0); /* not "." and "..", which it refuses */
    }
    closedir(entries);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void control_delete_checkpoint(const char *directory)
{
    int fd = open_directory(directory);
    if (fd >= 0) {
        delete_files(fd, CONTROL_CHECKPOINT_NAME);
        delete_files(fd, CONTROL_CHECKPOINT_NAME ".tmp"); /* RocksDB's, if it was interrupted */
        close(fd);
    }
}

/* Returns the address by the descriptor of the directory: a socket path has at most 107 bytes. */
static struct sockaddr_un address_in(int directory_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET_NAME,
             directory_fd);
    return address;
}

int control_connect(const char *directory)
{
    int directory_fd = open_directory(directory);
    if (directory_fd < 0) {
        return -1;
    }
    struct sockaddr_un address = address_in(directory_fd);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    int error = errno;
    close(directory_fd);
    errno = error;
    return fd;
}

/* Clients -------------------------------------------------------------------------------------- */

static void answer(int fd, const struct buf *text)
{
    ssize_t sent = send(fd, text->data, text->len, MSG_NOSIGNAL);
    (void)sent; /* poll() notices a client that has disconnected */
}

static void refuse(int fd, const char *message)
{
    struct buf text = {0};
    buf_format(&text, "error %s\n", message);
    answer(fd, &text);
    buf_finish(&text);
}

/* Whether the client runs as the same user, or as root. */
static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_client(struct control *control)
{
    int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (!is_allowed(fd)) {
        refuse(fd, "only the user of the server may do this");
        close(fd);
    } else if (control->client_fd >= 0) {
        refuse(fd, "another backup is under way");
        close(fd);
    } else {
        control->client_fd = fd;
        control->request_len = 0;
    }
}

static void drop_client(struct control *control)
{
    if (control->client_fd >= 0) {
        close(control->client_fd);
        control->client_fd = -1;
        control_delete_checkpoint(control->directory);
    }
}

static void make_checkpoint(struct control *control)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct buf text = {0};
    struct buf path = {0};
    buf_format(&path, "%s/" CONTROL_CHECKPOINT_NAME, control->directory);
    control_delete_checkpoint(control->directory);
    uint32_t format;
    if (rocks_checkpoint(control->store, path.data, &format, &err)) {
        buf_format(&text, "ok %016llx %u %s\n", (unsigned long long)store_seed(control->store),
                   format, CONTROL_CHECKPOINT_NAME);
        log_write(LOG_INFO, "server", "backup: checkpoint created");
    } else {
        buf_format(&text, "error %.*s\n", STR_ARG(err.message));
        log_write(LOG_WARN, "server", "a backup failed: %.*s", STR_ARG(err.message));
    }
    answer(control->client_fd, &text);
    buf_finish(&text);
    buf_finish(&path);
    arena_finish(&arena);
}

/* The client has sent bytes or has disconnected. */
static void read_client(struct control *control)
{
    ssize_t got = recv(control->client_fd, control->request + control->request_len,
                       sizeof(control->request) - control->request_len, 0);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            drop_client(control);
        }
        return;
    }
    control->request_len += (size_t)got;
    struct str request = str_make(control->request, control->request_len);
    if (str_eq(request, STR("checkpoint\n"))) {
        control->request_len = 0;
        make_checkpoint(control);
    } else if (request.len == sizeof(control->request) ||
               memchr(request.data, '\n', request.len) != NULL) {
        refuse(control->client_fd, "the request is not understood");
        drop_client(control);
    }
}

static void *control_main(void *context)
{
    struct control *control = context;
    while (true) {
        struct pollfd polled[] = {{.fd = control->stop_fd, .events = POLLIN},
                                  {.fd = control->listen_fd, .events = POLLIN},
                                  {.fd = control->client_fd, .events = POLLIN}};
        if (poll(polled, COUNT_OF(polled), -1) < 0 && errno != EINTR) {
            break;
        }
        if (polled[0].revents != 0) {
            break;
        }
        if (polled[2].revents != 0) {
            read_client(control);
        }
        if (polled[1].revents != 0) {
            accept_client(control);
        }
    }
    drop_client(control);
    return NULL;
}

/* Starting and stopping ------------------------------------------------------------------------ */

/* Replaces a socket that an earlier server has left: the directory is locked, so no server uses it.
 */
static int listen_in(const char *directory)
{
    int directory_fd = open_directory(directory);
    if (directory_fd < 0) {
        return -1;
    }
    unlinkat(directory_fd, CONTROL_SOCKET_NAME, 0);
    struct sockaddr_un address = address_in(directory_fd);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
         fchmodat(directory_fd, CONTROL_SOCKET_NAME, 0600, 0) != 0 || listen(fd, 4) != 0)) {
        close(fd);
        fd = -1;
    }
    close(directory_fd);
    return fd;
}

struct control *control_start(struct store *store)
{
    const char *directory = store_directory(store);
    if (directory == NULL) {
        return NULL;
    }
    control_delete_checkpoint(directory); /* of a server that was killed */
    struct control *control = mem_zalloc(sizeof(*control));
    control->store = store;
    control->directory = directory;
    control->client_fd = -1;
    control->listen_fd = listen_in(directory);
    control->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (control->listen_fd >= 0 && control->stop_fd >= 0 &&
        pthread_create(&control->thread, NULL, control_main, control) == 0) {
        pthread_setname_np(control->thread, "control");
        return control;
    }
    log_write(LOG_WARN, "server", "no control socket in %s, so no backup of the running server: %s",
              directory, strerror(errno));
    close(control->listen_fd);
    close(control->stop_fd);
    mem_free(control);
    return NULL;
}

void control_stop(struct control *control)
{
    if (control == NULL) {
        return;
    }
    uint64_t one = 1;
    ssize_t written = write(control->stop_fd, &one, sizeof(one));
    assert(written == sizeof(one));
    pthread_join(control->thread, NULL);
    int directory_fd = open_directory(control->directory);
    if (directory_fd >= 0) {
        unlinkat(directory_fd, CONTROL_SOCKET_NAME, 0);
        close(directory_fd);
    }
    close(control->listen_fd);
    close(control->stop_fd);
    mem_free(control);
}
