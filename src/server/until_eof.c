/* Ends the server with the process that started it, for test suites: the starter keeps the writing
 * end of a pipe open, which the kernel closes when the starter ends, also if it is killed. Called
 * by serve.c; the thread ends with the process. */
#include "server/until_eof.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "err/messages.h"

static void *read_until_eof(void *unused)
{
    char discarded[512];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t got;
    do {
        poll(&input, 1, -1); /* another process may have made the pipe non-blocking */
        got = read(STDIN_FILENO, discarded, sizeof(discarded));
    } while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
    log_write(LOG_INFO, "server", "standard input has ended");
    kill(getpid(), SIGINT);
    return unused;
}

bool until_eof_start(struct err *err)
{
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) {
        return err_set(err, ERR_INTERNAL, "--until-eof: there is no standard input");
    }
    pthread_t thread;
    int result = pthread_create(&thread, NULL, read_until_eof, NULL);
    if (result != 0) {
        return err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD ": %s", strerror(result));
    }
    pthread_detach(thread);
    return true;
}
