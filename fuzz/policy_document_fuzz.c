/* Fuzzes the JSON of resource policies. Input: a document. Properties: the same document gives the
 * same result or error twice; the canonical form of a valid one is valid, is its own canonical
 * form, and grants access to everybody if the document does. */
#include "api/access/policy_document.h"

#include <stdlib.h>

#include "auth/policy.h"

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static bool is_valid(struct arena *arena, struct str document, bool *out_unbounded)
{
    struct err err = ERR_INIT(arena);
    struct policy *policy = NULL;
    bool good = policy_document_check(arena, document, &err) &&
                policy_parse(document, POLICY_RESOURCE, &policy, &err);
    *out_unbounded = good && policy_is_unbounded(policy);
    policy_destroy(policy);
    require(good || err.message.len > 0);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str document = str_make(data, size);
    struct arena arena;
    arena_init(&arena);
    bool is_unbounded;
    bool is_unbounded_too;
    bool good = is_valid(&arena, document, &is_unbounded);
    require(is_valid(&arena, document, &is_unbounded_too) == good);
    if (good) {
        struct str canonical = policy_document_canonical(&arena, document);
        require(is_valid(&arena, canonical, &is_unbounded_too) && is_unbounded == is_unbounded_too);
        require(str_eq(canonical, policy_document_canonical(&arena, canonical)));
    }
    arena_finish(&arena);
    return 0;
}
