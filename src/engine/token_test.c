/* Tests idempotency tokens: replays, mismatches, expiry, and the sweep. */
#include "engine/token.h"

#include "engine/engine_testing.h"

/* One write of a token, and whether it was new. */
struct use {
    struct store_update update;
    struct str key;
    struct str digest;
    int64_t now_ms;
    enum token_state state;
    char note[16];
    bool done;
};

static bool use_eval(struct store_update *update, const struct str *rows, struct store_batch *batch)
{
    struct use *use = CONTAINER_OF(update, struct use, update);
    struct str note = STR("");
    use->state = token_check(rows[0], use->digest, use->now_ms, &note);
    memcpy(use->note, note.data, MIN(note.len, sizeof(use->note) - 1));
    if (use->state == TOKEN_FRESH) {
        token_remember(update, batch, 0, use->digest, STR("sizes"), use->now_ms);
    }
    return use->state == TOKEN_FRESH;
}

static void use_done(struct store_update *update)
{
    CONTAINER_OF(update, struct use, update)->done = true;
}

static enum token_state use_token(const char *token, const char *digest, int64_t now_ms)
{
    struct use use = {
        .key = token_key(engine, str_from_c(token), &arena),
        .digest = str_from_c(digest),
        .now_ms = now_ms,
    };
    use.update = (struct store_update){
        .keys = &use.key,
        .key_count = 1,
        .arena = &arena,
        .home = waiting_mailbox_box(background.mailbox),
        .eval = use_eval,
        .done = use_done,
    };
    store_update(store, &use.update);
    waiting_mailbox_run(background.mailbox, &use.done);
    if (use.state == TOKEN_REPLAY) {
        assert_string_equal(use.note, "sizes");
    }
    return use.state;
}

static int count;
static bool counted;

static bool count_row(struct store_range *range, struct str key, struct str value)
{
    (void)range;
    (void)key;
    (void)value;
    count++;
    return true;
}

static void count_done(struct store_range *range)
{
    (void)range;
    counted = true;
}

/* Rows of both of the tokens' spaces. */
static int count_rows(void)
{
    struct key_writer writer;
    key_start(&writer, &arena, SPACE_TOKENS);
    struct str lo = key_finish(&writer);
    key_start(&writer, &arena, SPACE_TOKEN_EXPIRY + 1);
    struct str hi = key_finish(&writer);
    struct store_range range = {
        .lo = lo,
        .hi = hi,
        .arena = &arena,
        .home = waiting_mailbox_box(background.mailbox),
        .row = count_row,
        .done = count_done,
    };
    count = 0;
    counted = false;
    store_range(store, &range);
    waiting_mailbox_run(background.mailbox, &counted);
    return count;
}

/* Far ahead: the engine's own housekeeper sweeps by the real time. */
static const int64_t start = 4102444800000;

static void test_tokens(void **state)
{
    (void)state;
    assert_int_equal(use_token("a", "one", start), TOKEN_FRESH);
    assert_int_equal(use_token("a", "one", start + 1), TOKEN_REPLAY);
    assert_int_equal(use_token("a", "two", start + 1), TOKEN_MISMATCH);
    assert_int_equal(use_token("b", "two", start + 1), TOKEN_FRESH);
    assert_int_equal(use_token("a", "one", start + TOKEN_LIFETIME_MS - 1), TOKEN_REPLAY);
    assert_int_equal(count_rows(), 4);

    /* "a" is used anew after it expired: the old expiry row is deleted, the token is kept. */
    assert_int_equal(use_token("a", "two", start + TOKEN_LIFETIME_MS), TOKEN_FRESH);
    token_sweep(&background, start + TOKEN_LIFETIME_MS + 1);
    assert_int_equal(count_rows(), 2);
    assert_int_equal(use_token("a", "two", start + TOKEN_LIFETIME_MS + 2), TOKEN_REPLAY);
    token_sweep(&background, start + 3 * TOKEN_LIFETIME_MS);
    assert_int_equal(count_rows(), 0);
}

static void test_many(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) {
        use_token(arena_format(&arena, "token%d", i).data, "x", start + i);
    }
    assert_int_equal(count_rows(), 1200);
    token_sweep(&background, start + TOKEN_LIFETIME_MS + 299);
    assert_int_equal(count_rows(), 600);
    token_sweep(&background, start + TOKEN_LIFETIME_MS + 600);
    assert_int_equal(count_rows(), 0);
}

static int open_engine(void **state)
{
    (void)state;
    return open_test_engine(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, open_engine, close_test_engine);
}
