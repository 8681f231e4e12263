/* Readiness, with an engine whose probes end when the test says so, and an HTTP server that keeps
 * the answers: what each answer says, and that many requests share one probe. */
#include "server/ready.h"

#include <unistd.h>

#include "base/testing.h"

enum { REQUESTS = 200, MIB = 1 << 20 };

/* --- the engine and the HTTP server --- */

static _Atomic(struct engine_probe *) under_way; /* the newest probe; NULL: it has ended */
static atomic_int probe_count;
static bool has_lease;

/* Called on the thread of the probe. */
void engine_probe(struct engine_probe *probe)
{
    struct engine_probe *before = atomic_exchange(&under_way, probe);
    assert(before == NULL);
    atomic_fetch_add(&probe_count, 1);
}

bool engine_may_serve(const struct engine *engine)
{
    (void)engine;
    return has_lease;
}

bool engine_clock_is_doubted(const struct engine *engine)
{
    (void)engine;
    return false;
}

const char *store_directory(const struct store *store)
{
    (void)store;
    return NULL;
}

/* A request to the page. */
struct asked {
    struct http_exchange exchange;
    struct arena arena;
    struct buf out;
    int status; /* 0: not answered yet */
};

void http_reply(struct http_exchange *exchange, const struct http_answer *answer)
{
    CONTAINER_OF(exchange, struct asked, exchange)->status = answer->status;
}

/* --- the tests --- */

static struct ready ready;
static struct memory_pool pool;
static struct waiting_mailbox *loop; /* of the thread of the requests: this one */
static struct asked asked[REQUESTS];

static struct engine_probe *wait_for_probe(void)
{
    while (atomic_load(&under_way) == NULL) {
        usleep(100);
    }
    return atomic_load(&under_way);
}

struct ending {
    struct task task;
    struct engine_probe *probe;
    enum err_code code;
};

static void end(struct task *task)
{
    struct ending *ending = CONTAINER_OF(task, struct ending, task);
    struct engine_probe *probe = ending->probe;
    probe->call.err.code = ending->code;
    probe->call.done(&probe->call);
}

/* Ends the probe, on its thread, and gives the request that waits for it the answer. */
static void end_probe(enum err_code code)
{
    struct ending ending = {.task.run = end, .probe = wait_for_probe(), .code = code};
    atomic_store(&under_way, NULL);
    mailbox_post(ending.probe->call.home, &ending.task);
    while (atomic_load(&ready.began_us) != 0) {
        usleep(100);
    }
    mailbox_drain(waiting_mailbox_box(loop));
}

static int setup(void **state)
{
    (void)state;
    under_way = NULL;
    probe_count = 0;
    has_lease = true;
    pool = (struct memory_pool){.bytes_max = MIB};
    loop = waiting_mailbox_create();
    ready_init(&ready, NULL, &pool, NULL);
    for (size_t i = 0; i < REQUESTS; i++) {
        asked[i] = (struct asked){.exchange = {.arena = &asked[i].arena,
                                               .mailbox = waiting_mailbox_box(loop),
                                               .out = &asked[i].out}};
        arena_init(&asked[i].arena);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ready_finish(&ready);
    waiting_mailbox_destroy(loop);
    for (size_t i = 0; i < REQUESTS; i++) {
        arena_finish(&asked[i].arena);
        buf_finish(&asked[i].out);
    }
    return 0;
}

static void ask(size_t number)
{
    ready_handle(&ready, &asked[number].exchange);
}

static void check_answer(size_t number, int status, const char *part)
{
    assert_int_equal(asked[number].status, status);
    struct str body = buf_str(&asked[number].out);
    if (memmem(body.data, body.len, part, strlen(part)) == NULL) {
        fail_msg("%.*s lacks %s", STR_ARG(body), part);
    }
}

static void test_ready(void **state)
{
    (void)state;
    ask(0);
    assert_int_equal(asked[0].status, 0);
    end_probe(ERR_NONE);
    check_answer(0, 200, "{\"ready\":true,\"store\":\"writable\",\"queue\":\"ok\"");
    check_answer(0, 200, "\"memory\":\"ok\"");
}

/* Requests that come while a probe is under way, and in the second after it, begin none. */
static void test_one_probe_for_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS / 2; i++) {
        ask(i);
    }
    end_probe(ERR_INTERNAL);
    assert_int_equal(probe_count, 1);
    check_answer(0, 503, "\"store\":\"not writable\"");
    for (size_t i = REQUESTS / 2; i < REQUESTS - 1; i++) {
        ask(i);
        check_answer(i, 503, "\"store\":\"not writable\"");
    }
    assert_int_equal(probe_count, 1);
    atomic_fetch_sub(&ready.ended_us, 1000 * 1000); /* a second passes */
    ask(REQUESTS - 1);
    end_probe(ERR_NONE);
    assert_int_equal(probe_count, 2);
    check_answer(REQUESTS - 1, 200, "\"store\":\"writable\"");
}

/* A write that waits for more than two seconds. */
static void test_queue(void **state)
{
    (void)state;
    ask(0);
    wait_for_probe();
    ask(1);
    check_answer(1, 200, "\"queue\":\"ok\"");
    atomic_fetch_sub(&ready.began_us, 2100 * 1000); /* time passes */
    ask(2);
    check_answer(2, 503, "\"store\":\"not writable\",\"queue\":\"full\"");
    end_probe(ERR_NONE);
    check_answer(0, 503, "\"store\":\"writable\",\"queue\":\"full\"");
    ask(3);
    check_answer(3, 503, "\"queue\":\"full\"");
    atomic_fetch_sub(&ready.ended_us, 1000 * 1000);
    ask(4);
    end_probe(ERR_NONE);
    check_answer(4, 200, "\"queue\":\"ok\"");
    assert_int_equal(probe_count, 2);
}

/* A write that does not end: the request that has begun it waits for two seconds, others not. */
static void test_silence(void **state)
{
    (void)state;
    ask(0);
    wait_for_probe();
    while (asked[0].status == 0) {
        waiting_mailbox_run_for(loop, 100);
    }
    check_answer(0, 503, "\"store\":\"not writable\",\"queue\":\"full\"");
    ask(1);
    check_answer(1, 503, "\"store\":\"not writable\",\"queue\":\"full\"");
    end_probe(ERR_NONE);
    atomic_fetch_sub(&ready.ended_us, 1000 * 1000);
    ask(2);
    end_probe(ERR_NONE);
    check_answer(2, 200, "\"store\":\"writable\",\"queue\":\"ok\"");
    assert_int_equal(probe_count, 2);
}

/* Not ready if a small request would not fit. */
static void test_memory(void **state)
{
    (void)state;
    size_t most = MIB - BUDGET_SMALL_BYTES;
    memory_pool_add(&pool, most);
    ask(0);
    end_probe(ERR_NONE);
    check_answer(0, 200, "\"memory\":\"ok\"");
    memory_pool_add(&pool, 1);
    ask(1);
    check_answer(1, 503, "\"memory\":\"full\"");
    memory_pool_remove(&pool, most + 1);
    ask(2);
    check_answer(2, 200, "\"memory\":\"ok\"");
}

/* Known without a probe. */
static void test_lease_and_draining(void **state)
{
    (void)state;
    has_lease = false;
    ask(0);
    check_answer(0, 503, "\"lease\":\"lost\"");
    has_lease = true;
    ready_drain(&ready);
    ask(1);
    check_answer(1, 503, "\"stopping\":true");
    assert_int_equal(probe_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_probe_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lease_and_draining, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
