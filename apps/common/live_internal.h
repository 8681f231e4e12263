/* What live.c (the event loop's side) and feed.c (the reader's thread) share. */
#ifndef GRAMME_APPS_LIVE_INTERNAL_H
#define GRAMME_APPS_LIVE_INTERNAL_H

#include <pthread.h>

#include "apps/common/live.h"

enum live_source { LIVE_NONE, LIVE_STREAM, LIVE_POLL };

enum {
    RING_MAX = 512,        /* changes kept for clients that reconnect */
    IDLE_AFTER_MS = 30000, /* the stream is read for this time after the last client has left */
    /* Connections are closed after this time, so that clients are authenticated again. */
    CLIENT_MS_MAX = 15 * 60 * 1000,
};

/* Messages from the reader to the event loop. */
enum message_kind {
    MESSAGE_READY,
    MESSAGE_CHANGE,
    MESSAGE_RELOAD,
    MESSAGE_STATUS,
    MESSAGE_PING, /* sends a comment to each client, which detects lost connections */
};

struct message {
    struct task task;
    struct live *live;
    enum message_kind kind;
    enum live_source source;                    /* READY */
    bool is_up;                                 /* STATUS */
    struct gramme_value *old_image, *new_image; /* CHANGE; NULL: none */
};

struct client {
    struct client *next;
    struct live *live;
    struct http_stream *stream;
    struct identity who;
    int64_t since_ms; /* when it was opened */
    bool is_ready;    /* has been sent the event `ready` */
    bool is_leaving;  /* its connection is being closed: no more events are sent */
    char last_id[64];
};

struct live {
    struct live_options options;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* guards what follows, up to the next blank line */
    pthread_cond_t wake;   /* for the reader */
    pthread_cond_t synced; /* for threads that wait in live_sync() */
    bool stopping;
    bool is_idle;
    int client_count;
    int64_t needed_at_ms; /* the last time when a client was connected or live_sync() was called */
    bool was_written;     /* this server has written since the reader's last wait */
    uint64_t sync_wanted;
    uint64_t sync_done;
    bool can_sync;
    enum live_source position; /* the position of the reader; LIVE_NONE: none yet */
    struct mailbox *mailbox;   /* of the event loop; NULL: no client has connected yet */

    /* Used by the event loop only. */
    struct client *clients;
    enum live_source source;
    bool is_down;
    char epoch[9];
    uint64_t newest; /* number of the newest change of this epoch */
    struct {
        uint64_t number;
        struct gramme_value *old_image, *new_image;
    } ring[RING_MAX];
};

/* feed.c: the function of the reader's thread. */
void *feed_main(void *live);
/* live.c: sends a message to the event loop; takes over the images. On the reader's thread. */
void live_post(struct live *live, const struct message *message);

#endif
