/* http/server_testing.h: a server with a handler for tests, and a client on a plain socket. */
#ifndef GRAMME_HTTP_SERVER_TESTING_H
#define GRAMME_HTTP_SERVER_TESTING_H

#include <pthread.h>

#include "base/testing.h"
#include "http/http.h"
#include "http/tls_testing.h"

/* The target of a request selects what the handler does:
 *   /echo    answers at once with the body
 *   /later   answers with the body from a task that another thread posts
 *   /split   writes the first half of the body at once, and answers like /later
 *   /hold    answers with the body when testing_release() is called
 *   /slow    the same on a slow thread
 *   /block   blocks a slow thread until testing_unblock() is called, then answers with the body
 *   /stall   the same, but blocks the thread of the connection
 *   /size/N  answers at once with N bytes that compress well
 *   /coded/N the same, said to be compressed already
 *   /crc/N   the same with a checksum
 *   /none    answers 204
 *   /exclusive  answers "yes" or "no": whether the buffer of the answer is exclusive
 *   /header  answers with the value of the header X-Test
 *   /close   answers with the body and closes
 *   /long    answers with a very long header
 *   others   404 with "METHOD TARGET"
 *
 * The first request, the third and so on, but not those of /exclusive, have a hold; testing_close()
 * checks that all are released. */
struct testing_server {
    struct arena arena;
    struct http_server *server;
    int port;
    atomic_int call_count;
    atomic_int hold_count; /* of holds that are not released */
    pthread_t worker;
    struct waiting_mailbox *worker_mailbox;
    bool worker_is_done;
    struct task worker_end;
    pthread_mutex_t mutex;
    struct work *held; /* under the mutex, as the next */
    int held_count;
    bool is_unblocked;
    pthread_cond_t unblocked;
};

/* Returns options with small limits, time-outs of a minute, and one thread. */
struct http_options testing_options(void);
/* Opens the server and starts the worker thread. */
void testing_open(struct testing_server *testing, const struct http_options *options);
/* Closes the server if it is open; answers the exchanges that are held. */
void testing_close(struct testing_server *testing);
/* Answers the exchanges of /hold and /slow. */
void testing_release(struct testing_server *testing);
/* Ends the blocking of /block and /stall, for good. */
void testing_unblock(struct testing_server *testing);
/* Waits until `count` exchanges are held. */
void testing_wait_held(struct testing_server *testing, int count);
/* Waits until the handler has been called `count` times. */
void testing_wait_calls(struct testing_server *testing, int count);
/* Waits until the handler has not been called for some time. */
void testing_wait_calm(struct testing_server *testing);
/* Waits until `count` connections are open. */
void testing_wait_connections(struct testing_server *testing, int count);
/* Connects a socket, without a handshake, and returns it. */
int testing_connect(const struct testing_server *testing);

struct client {
    int fd;
    SSL *ssl;                  /* NULL: without TLS, or the handshake failed */
    pthread_mutex_t ssl_mutex; /* a test may send and receive on two threads */
    struct buf in;
    size_t at; /* end of the answers that were read */
    int status;
    struct str head; /* of the last answer; valid until the next is read */
    struct str body;
};

/* Connects; a failure fails the test. */
void client_open(struct client *client, int port);
/* Connects. False: nothing listens on the port. */
bool client_try_open(struct client *client, int port);
/* Closes the connection. */
void client_close(struct client *client);
/* Closes the connection with a reset. */
void client_abort(struct client *client);
/* Sends all bytes; a failure fails the test. */
void client_send(struct client *client, struct str text);
/* Sends `count` bytes; ignores errors. */
void client_send_fill(struct client *client, size_t count);
/* Sends a request with a body; "": without one. */
void client_request(struct client *client, const char *target, const char *body);
/* Receives up to `bytes_max` bytes, which client_read() uses later. */
void client_receive_some(struct client *client, size_t bytes_max);
/* Reads one answer into *client; fails the test if there is none. */
void client_read(struct client *client);
/* As client_read() for an answer without a body, whatever its head says: HEAD and 100 Continue. */
void client_read_head(struct client *client);
/* Waits until the server closes the connection; anything else fails the test. */
void client_read_end(struct client *client);
/* Returns the value of a header of the last answer, or STR_NULL. */
struct str client_header(const struct client *client, const char *name);

/* Reads an answer and compares. */
#define CHECK_ANSWER(client_, status_, body_)                                                      \
    do {                                                                                           \
        client_read(client_);                                                                      \
        assert_int_equal((client_)->status, status_);                                              \
        CHECK_STR_EQ(#client_, (client_)->body, str_from_c(body_));                                \
    } while (0)

#endif
