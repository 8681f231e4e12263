/* Threads that compute TLS handshakes: each takes 0.1 to 1 ms of processor time, mostly for a
 * signature, and thousands of clients may connect at once. The threads have a low priority, so that
 * the loops serve open connections first. They do one step of a handshake at a time, in the order
 * in which the bytes were received.
 *
 * While a thread has a `struct tls`, its loop does not use it; the thread returns it by posting
 * tls->task to the loop's mailbox. */
#include "http/http_internal.h"

#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/thread.h"
#include "err/messages.h"

struct handshake_pool {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct tls *oldest;
    struct tls **newest_link;
    bool closing;
    int thread_count;
    pthread_t threads[];
};

/* Notes why the handshake failed, for the logs. */
static void note_problem(struct tls *tls)
{
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    int number = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    bool is_bad_certificate = number == SSL_R_CERTIFICATE_VERIFY_FAILED;
    tls->is_plain_http = number == SSL_R_HTTP_REQUEST;
    snprintf(tls->problem, sizeof(tls->problem), "%s%s%s",
             reason != NULL ? reason : "unknown reason", is_bad_certificate ? ": " : "",
             is_bad_certificate ? X509_verify_cert_error_string(SSL_get_verify_result(tls->ssl))
                                : "");
}

static void take_step(struct tls *tls)
{
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        tls->stage = TLS_OPEN;
        tls_note_client(tls);
    } else if (SSL_get_error(tls->ssl, result) != SSL_ERROR_WANT_READ) {
        tls->stage = TLS_BROKEN;
        note_problem(tls);
        tls_note_client(tls);
    }
    ERR_clear_error();
}

/* Waits for a connection. NULL: the pool is closing. */
static struct tls *take(struct handshake_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->oldest == NULL && !pool->closing) {
        pthread_cond_wait(&pool->came, &pool->mutex);
    }
    struct tls *tls = pool->oldest;
    if (tls != NULL) {
        pool->oldest = tls->next_waiting;
        pool->newest_link = pool->oldest == NULL ? &pool->oldest : pool->newest_link;
    }
    pthread_mutex_unlock(&pool->mutex);
    return tls;
}

static void *handshake_main(void *argument)
{
    struct tls *tls;
    thread_lower_priority(THREAD_LOW_NICE);
    while ((tls = take(argument)) != NULL) {
        take_step(tls);
        mailbox_post(&tls->conn->loop->mailbox, &tls->task);
    }
    return NULL;
}

void handshake_start(struct tls *tls)
{
    struct handshake_pool *pool = tls->conn->loop->server->handshakes;
    tls->is_away = true;
    tls->next_waiting = NULL;
    pthread_mutex_lock(&pool->mutex);
    *pool->newest_link = tls;
    pool->newest_link = &tls->next_waiting;
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_signal(&pool->came);
}

bool handshake_open(struct http_server *server, struct err *err)
{
    int count = server->options.thread_count;
    struct handshake_pool *pool =
        mem_zalloc(sizeof(*pool) + (size_t)count * sizeof(pool->threads[0]));
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->came, NULL);
    pool->newest_link = &pool->oldest;
    server->handshakes = pool;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* other threads handle signals */
    int result = 0;
    while (result == 0 && pool->thread_count < count) {
        pthread_t *thread = &pool->threads[pool->thread_count];
        result = pthread_create(thread, NULL, handshake_main, pool);
        if (result == 0) {
            pthread_setname_np(*thread, "http-handshake");
            pool->thread_count++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result == 0 || err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD);
}

void handshake_close(struct handshake_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    assert(pool->oldest == NULL); /* all connections are closed */
    pool->closing = true;
    pthread_cond_broadcast(&pool->came);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->came);
    pthread_mutex_destroy(&pool->mutex);
    mem_free(pool);
}
