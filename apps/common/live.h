/* apps/common/live.h: sends changes of the table's stream to open pages (server-sent events), and
 * applies them to the application's data in memory. apps/API.md describes the events.
 *
 * One thread per application reads the stream (feed.c). Clients, and the newest changes, which are
 * kept for clients that reconnect, belong to the server's event loop (live.c). While no client is
 * connected, nothing is read. Without a stream, clients get an event to read again every few
 * seconds, and at once after a write of this server. */
#ifndef GRAMME_APPS_LIVE_H
#define GRAMME_APPS_LIVE_H

#include "apps/common/app.h"
#include "http/http.h"

struct live;

struct live_options {
    const struct app_live *app;
    void *state; /* of the application; for app->apply() */
    struct gramme_db *db;
    struct gramme_db *streams; /* where the operations of streams go; may be `db` */
    int interval_ms;           /* between readings of the stream */
    int poll_ms;               /* without a stream: between two events `reload` */
};

/* Starts the thread that reads the table's stream. */
struct live *live_create(const struct live_options *options);
/* Ends the thread. Call it before closing the server, which closes the clients' connections. */
void live_stop(struct live *live);
/* Frees the state. Call it when no client is connected any more. */
void live_destroy(struct live *live);

/* Answers the exchange with the events that `who` may see. Call it on the exchange's thread.
 * `headers`: lines to send besides those of the event stream. `last_id`: the header Last-Event-ID,
 * NULL if there is none. */
void live_subscribe(struct live *live, struct http_exchange *exchange, const struct identity *who,
                    struct str headers, const char *last_id);
/* Call it after each write of this server; on any thread. */
void live_note_write(struct live *live);
/* Waits until every change that was written before the call has been applied. False: there is no
 * stream, or the database does not answer: the data in memory must not be used. */
bool live_sync(struct live *live);

#endif
