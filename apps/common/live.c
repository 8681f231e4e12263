/* The event loop's side of live updates: clients, and the newest changes, for clients that
 * reconnect. feed.c, on the thread that reads the stream, sends the changes through a mailbox. */
#include "apps/common/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/common/live_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"

static void new_epoch(struct live *live)
{
    uint32_t number;
    random_system(&number, sizeof(number));
    snprintf(live->epoch, sizeof(live->epoch), "%08" PRIx32, number);
    live->newest = 0;
    for (size_t i = 0; i < RING_MAX; i++) {
        gramme_value_destroy(live->ring[i].old_image);
        gramme_value_destroy(live->ring[i].new_image);
        live->ring[i].old_image = live->ring[i].new_image = NULL;
        live->ring[i].number = 0;
    }
}

struct live *live_create(const struct live_options *options)
{
    struct live *live = mem_zalloc(sizeof(*live));
    live->options = *options;
    pthread_mutex_init(&live->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&live->wake, &attributes);
    pthread_cond_init(&live->synced, &attributes);
    pthread_condattr_destroy(&attributes);
    new_epoch(live);
    live->is_idle = true;
    if (pthread_create(&live->thread, NULL, feed_main, live) != 0) {
        abort(); /* no memory */
    }
    live->has_thread = true;
    return live;
}

void live_stop(struct live *live)
{
    if (live == NULL || !live->has_thread) {
        return;
    }
    pthread_mutex_lock(&live->mutex);
    live->stopping = true;
    pthread_cond_broadcast(&live->wake);
    pthread_cond_broadcast(&live->synced);
    pthread_mutex_unlock(&live->mutex);
    pthread_join(live->thread, NULL);
    live->has_thread = false;
}

void live_destroy(struct live *live)
{
    if (live == NULL) {
        return;
    }
    live_stop(live);
    assert(live->clients == NULL);
    new_epoch(live);
    pthread_cond_destroy(&live->wake);
    pthread_cond_destroy(&live->synced);
    pthread_mutex_destroy(&live->mutex);
    mem_free(live);
}

/* --- events --- */

static void send(struct client *client, struct str text)
{
    if (!client->is_leaving) {
        http_stream_send(client->stream, text);
    }
}

static void send_event(struct client *client, const char *name, const char *data)
{
    struct buf text = {0};
    buf_format(&text, "event: %s\ndata: %s\n\n", name, data);
    send(client, buf_str(&text));
    buf_finish(&text);
}

/* Returns the image if the client may see it, else NULL. */
static const struct gramme_value *seen_by(const struct live *live, const struct client *client,
                                          const struct gramme_value *image)
{
    const struct app_live *app = live->options.app;
    return image != NULL && app->type(image) != NULL && app->may_see(&client->who, image) ? image
                                                                                          : NULL;
}

static void send_change(struct client *client, uint64_t number, const struct gramme_value *old,
                        const struct gramme_value *new)
{
    struct live *live = client->live;
    const struct app_live *app = live->options.app;
    bool is_deleted = new == NULL;
    old = seen_by(live, client, old);
    new = seen_by(live, client, new);
    if (new == NULL && (old == NULL || (app->hides_versions && !is_deleted))) {
        return;
    }
    struct gramme_value *data = gramme_map_create();
    gramme_set_string(data, "type", app->type(new != NULL ? new : old));
    gramme_set_string(data, "op", new != NULL ? "put" : "delete");
    if (new != NULL) {
        app->show(&client->who, new, gramme_set_map(data, "item"));
    }
    if (old != NULL) {
        app->show(&client->who, old, gramme_set_map(data, "old"));
    }
    size_t len;
    char *json = gramme_value_to_json(data, GRAMME_PLAIN, &len);
    struct buf text = {0};
    buf_format(&text, "id: %s-%" PRIu64 "\nevent: change\ndata: ", live->epoch, number);
    buf_add(&text, str_make(json, len));
    buf_add(&text, STR("\n\n"));
    send(client, buf_str(&text));
    buf_finish(&text);
    gramme_free(json);
    gramme_value_destroy(data);
}

/* Reads the number of the last change that a reconnecting client has received. False: later changes
 * are not all kept. */
static bool find_position(const struct live *live, const char *last_id, uint64_t *out)
{
    size_t len = strlen(live->epoch);
    int64_t number;
    if (strncmp(last_id, live->epoch, len) != 0 || last_id[len] != '-' ||
        !str_to_int64(str_from_c(last_id + len + 1), &number) || number < 0) {
        return false;
    }
    *out = (uint64_t)number;
    return *out <= live->newest && live->newest - *out <= RING_MAX;
}

static void send_ready(struct client *client)
{
    struct live *live = client->live;
    uint64_t position = 0;
    bool is_resumed =
        live->source == LIVE_STREAM && find_position(live, client->last_id, &position);
    struct buf text = {0};
    buf_format(&text,
               "id: %s-%" PRIu64 "\nevent: ready\ndata: {\"source\":\"%s\",\"resumed\":%s}\n\n",
               live->epoch, is_resumed ? position : live->newest,
               live->source == LIVE_STREAM ? "stream" : "poll", is_resumed ? "true" : "false");
    send(client, buf_str(&text));
    buf_finish(&text);
    client->is_ready = true;
    for (uint64_t i = position + 1; is_resumed && i <= live->newest; i++) {
        size_t at = i % RING_MAX;
        send_change(client, i, live->ring[at].old_image, live->ring[at].new_image);
    }
}

/* --- messages of the reader --- */

/* Closes a connection. The client reconnects by itself, and is then authenticated again. */
static void end_connection(struct client *client)
{
    if (!client->is_leaving) {
        client->is_leaving = true;
        http_stream_close(client->stream);
    }
}

static void take_change(struct live *live, struct message *message)
{
    const struct app_live *app = live->options.app;
    uint64_t number = ++live->newest;
    size_t at = number % RING_MAX;
    gramme_value_destroy(live->ring[at].old_image);
    gramme_value_destroy(live->ring[at].new_image);
    live->ring[at].number = number;
    live->ring[at].old_image = message->old_image;
    live->ring[at].new_image = message->new_image;
    for (struct client *client = live->clients; client != NULL; client = client->next) {
        if (client->is_ready) {
            send_change(client, number, message->old_image, message->new_image);
        }
        if (app->must_rejoin != NULL &&
            app->must_rejoin(&client->who, message->old_image, message->new_image)) {
            end_connection(client);
        }
    }
}

/* The reader has found a new position. Clients that were ready may have missed changes since the
 * old one, including changes of their permissions. */
static void take_ready(struct live *live, const struct message *message)
{
    live->source = message->source;
    new_epoch(live);
    for (struct client *client = live->clients; client != NULL; client = client->next) {
        if (client->is_ready && live->options.app->must_rejoin != NULL) {
            end_connection(client);
        } else if (client->is_ready) {
            send_event(client, "reload", "{}");
        } else {
            send_ready(client);
        }
    }
}

static void take_status(struct live *live, const struct message *message)
{
    live->is_down = !message->is_up;
    for (struct client *client = live->clients; client != NULL; client = client->next) {
        send_event(client, "status",
                   live->is_down ? "{\"database\":\"down\"}" : "{\"database\":\"up\"}");
    }
}

/* Closes connections older than the limit; the client reconnects with Last-Event-ID and is
 * authenticated again. */
static void take_ping(struct live *live)
{
    int64_t now = clock_monotonic_us() / 1000;
    for (struct client *client = live->clients; client != NULL; client = client->next) {
        if (now - client->since_ms > CLIENT_MS_MAX) {
            end_connection(client);
        } else {
            send(client, STR(": still here\n\n"));
        }
    }
}

static void take_message(struct task *task)
{
    struct message *message = CONTAINER_OF(task, struct message, task);
    struct live *live = message->live;
    switch (message->kind) {
    case MESSAGE_READY:
        take_ready(live, message);
        break;
    case MESSAGE_CHANGE:
        take_change(live, message);
        break;
    case MESSAGE_RELOAD:
        for (struct client *client = live->clients; client != NULL; client = client->next) {
            send_event(client, "reload", "{}");
        }
        break;
    case MESSAGE_STATUS:
        take_status(live, message);
        break;
    case MESSAGE_PING:
        take_ping(live);
        break;
    }
    mem_free(message);
}

void live_post(struct live *live, const struct message *message)
{
    pthread_mutex_lock(&live->mutex);
    struct mailbox *mailbox = live->mailbox;
    pthread_mutex_unlock(&live->mutex);
    if (mailbox == NULL) { /* no client has connected yet */
        gramme_value_destroy(message->old_image);
        gramme_value_destroy(message->new_image);
        return;
    }
    struct message *posted = mem_alloc(sizeof(*posted));
    *posted = *message;
    posted->live = live;
    posted->task.run = take_message;
    mailbox_post(mailbox, &posted->task);
}

/* --- clients --- */

static void on_client_closed(void *context)
{
    struct client *client = context;
    struct live *live = client->live;
    struct client **at = &live->clients;
    while (*at != client) {
        at = &(*at)->next;
    }
    *at = client->next;
    mem_free(client);
    pthread_mutex_lock(&live->mutex);
    live->client_count--;
    live->needed_at_ms = clock_monotonic_us() / 1000;
    pthread_mutex_unlock(&live->mutex);
}

/* Adds a client. Returns the position of the reader; if it has one, the client gets all changes
 * from now on. */
static enum live_source join(struct live *live, struct mailbox *mailbox)
{
    pthread_mutex_lock(&live->mutex);
    enum live_source position = live->is_idle ? LIVE_NONE : live->position;
    live->mailbox = mailbox;
    live->client_count++;
    live->needed_at_ms = clock_monotonic_us() / 1000;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->mutex);
    return position;
}

void live_subscribe(struct live *live, struct http_exchange *exchange, const struct identity *who,
                    struct str headers, const char *last_id)
{
    struct client *client = mem_zalloc(sizeof(*client));
    client->live = live;
    client->who = *who;
    client->since_ms = clock_monotonic_us() / 1000;
    snprintf(client->last_id, sizeof(client->last_id), "%s", last_id == NULL ? "" : last_id);
    struct mailbox *mailbox = exchange->mailbox;
    struct http_answer answer = {
        .status = 200,
        .content_type = STR("text/event-stream"),
        .headers = arena_format(exchange->arena,
                                "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n%.*s",
                                STR_ARG(headers)),
    };
    client->stream = http_stream_open(exchange, &answer, on_client_closed, client);
    if (client->stream == NULL) {
        mem_free(client);
        return;
    }
    client->next = live->clients;
    live->clients = client;
    send(client, STR("retry: 1000\n\n"));
    enum live_source position = join(live, mailbox);
    if (live->is_down) {
        send_event(client, "status", "{\"database\":\"down\"}");
    }
    if (position != LIVE_NONE) {
        live->source = position;
        send_ready(client);
    }
}

/* --- functions of live.h --- */

void live_note_write(struct live *live)
{
    pthread_mutex_lock(&live->mutex);
    live->was_written = true;
    if (live->client_count > 0) {
        pthread_cond_signal(&live->wake);
    }
    pthread_mutex_unlock(&live->mutex);
}

bool live_sync(struct live *live)
{
    enum { TIMEOUT_S = 3 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += TIMEOUT_S;
    pthread_mutex_lock(&live->mutex);
    uint64_t mine = ++live->sync_wanted;
    live->needed_at_ms = clock_monotonic_us() / 1000;
    pthread_cond_signal(&live->wake);
    int result = 0;
    while (live->sync_done < mine && !live->stopping && result == 0) {
        result = pthread_cond_timedwait(&live->synced, &live->mutex, &until);
    }
    bool is_fresh = live->sync_done >= mine && live->can_sync;
    pthread_mutex_unlock(&live->mutex);
    return is_fresh;
}
