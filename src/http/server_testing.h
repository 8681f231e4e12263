/* http/server_testing.h: a server with a handler made for tests, and a client on a bare socket. */
#ifndef GRAMME_HTTP_SERVER_TESTING_H
#define GRAMME_HTTP_SERVER_TESTING_H

#include <pthread.h>

#include "base/testing.h"
#include "http/http.h"
#include "http/tls_testing.h"

/* What the handler does is chosen by the target:
 *   /echo    answers at once with the body
 *   /later   answers with the body from a task that another thread posts
 *   /split   writes the first half of the body at once, and answers like /later
 *   /hold    answers with the body when testing_release() is called
 *   /slow    the same on a slow thread
 *   /size/N  answers at once with N bytes that compress well
 *   /coded/N the same, said to be compressed already
 *   /crc/N   the same with a checksum
 *   /none    answers 204
 *   /exclusive  answers "yes" or "no": whether the buffer of the answer is exclusive
 *   /header  answers with the value of the header X-Test
 *   /close   answers with the body and closes
 *   /long    answers with a very long header
 *   others   404 with "METHOD TARGET" */
struct testing_server {
    struct arena arena;
    struct http_server *server;
    int port;
    atomic_int call_count;
    pthread_t worker;
    struct waiting_mailbox *worker_mailbox;
    bool worker_is_done;
    struct task worker_end;
    pthread_mutex_t mutex;
    struct work *held; /* under the mutex */
    int held_count;
};

/* Small limits and time-outs of a minute; one thread. */
struct http_options testing_options(void);
void testing_open(struct testing_server *testing, const struct http_options *options);
/* Closes the server if it is open yet, releasing what is held. */
void testing_close(struct testing_server *testing);
/* Lets the exchanges of /hold be answered. */
void testing_release(struct testing_server *testing);
/* Waits until so many are held. */
void testing_wait_held(struct testing_server *testing, int count);
void testing_wait_calls(struct testing_server *testing, int count);
/* Waits until the handler has not been called for a while. */
void testing_wait_calm(struct testing_server *testing);
void testing_wait_connections(struct testing_server *testing, int count);

struct client {
    int fd;
    SSL *ssl;                  /* NULL: plain, or the server did not shake hands: it has closed */
    pthread_mutex_t ssl_mutex; /* a test may send on another thread than it receives */
    struct buf in;
    size_t at; /* before it: answers that have been read */
    int status;
    struct str head; /* of the last answer, until the next is read */
    struct str body;
};

void client_open(struct client *client, int port);
/* False if nobody listens. */
bool client_try_open(struct client *client, int port);
void client_close(struct client *client);
/* Closes so that the server gets a reset. */
void client_abort(struct client *client);
void client_send(struct client *client, struct str text);
/* Sends so many bytes more, whatever becomes of them. */
void client_send_fill(struct client *client, size_t count);
/* Sends a request with a body, "" for none. */
void client_request(struct client *client, const char *target, const char *body);
/* Takes what is there, at most so much, for client_read() to find. */
void client_receive_some(struct client *client, size_t bytes_max);
/* Reads one answer into *client; fails the test if none comes. */
void client_read(struct client *client);
/* The same, without a body whatever the head says: for HEAD and 100 Continue. */
void client_read_head(struct client *client);
/* Waits for the server to close the connection; anything else fails the test. */
void client_read_end(struct client *client);
/* The value of a header of the last answer, or STR_NULL. */
struct str client_header(const struct client *client, const char *name);

/* Reads an answer and compares. */
#define CHECK_ANSWER(client_, status_, body_)                                                      \
    do {                                                                                           \
        client_read(client_);                                                                      \
        assert_int_equal((client_)->status, status_);                                              \
        CHECK_STR_EQ(#client_, (client_)->body, str_from_c(body_));                                \
    } while (0)

#endif
