/* Fuzzes sigv4_check.h. Input: the head of a signed request, with the request target on the first
 * line and one header on each other line. The target reads the claim and computes the signature
 * over the canonical request. Properties: the same head gives the same claim or error twice; the
 * parts of the scope are parts of the claim; a signature made with another key is refused. */
#include "signed_head.h"

static void verify(struct arena *arena, const struct sigv4_head *head,
                   const struct sigv4_claim *claim)
{
    static const unsigned char key[SIGV4_HASH_LEN] = "nobody has signed with this key";
    char hash[SIGV4_HEX_LEN];
    sigv4_hash(STR("{}"), hash);
    check(!sigv4_claim_verify(arena, head, claim, key, str_make(hash, sizeof(hash))));
    check(claim->scope.len >= claim->day.len + claim->region.len);
    check(claim->access_key_id.data != NULL && claim->time.len == SIGV4_TIME_SIZE - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    struct str rest = str_make(data, size);
    struct sigv4_header headers[HEADERS_MAX];
    struct sigv4_head head = {
        .method = STR("POST"), .target = take_until(&rest, '\n'), .headers = headers};
    head.header_count = read_headers(rest, headers);
    struct sigv4_expected expected = {
        .service = STR("dynamodb"), .now_ms = 1768471872000, .skew_ms = (int64_t)900 * 1000};
    struct sigv4_claim claim;
    struct sigv4_claim again;
    struct err first = ERR_INIT(&arena);
    struct err second = ERR_INIT(&arena);
    bool good = sigv4_claim_read(&arena, &head, &expected, &claim, &first);
    check(sigv4_claim_read(&arena, &head, &expected, &again, &second) == good);
    check(str_eq(first.message, second.message));
    if (good) {
        check(str_eq(claim.access_key_id, again.access_key_id));
        verify(&arena, &head, &claim);
    } else {
        check(first.message.len > 0);
    }
    arena_finish(&arena);
    return 0;
}
