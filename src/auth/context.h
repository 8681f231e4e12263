/* auth/context.h: what a policy may ask about a request: the values of its condition keys.
 *
 * The caller fills a struct auth_context before it asks for a decision. Everything is borrowed and
 * must live until the decision is made. */
#ifndef GRAMME_AUTH_CONTEXT_H
#define GRAMME_AUTH_CONTEXT_H

#include "base/str.h"

#define CONTEXT_KEY(name_, text_, multivalued_) CONTEXT_##name_,
enum context_key_id {
#include "auth/context_keys.def"
    CONTEXT_KEY_COUNT,
    /* Families of keys that end in the name of a tag. */
    CONTEXT_PRINCIPAL_TAG = CONTEXT_KEY_COUNT,
    CONTEXT_REQUEST_TAG,
    CONTEXT_RESOURCE_TAG,
    CONTEXT_UNKNOWN, /* a key that no request of ours carries */
};
#undef CONTEXT_KEY

enum { CONTEXT_TAG_FAMILY_COUNT = CONTEXT_UNKNOWN - CONTEXT_KEY_COUNT };

/* A condition key as a policy names it. */
struct context_key {
    enum context_key_id id;
    struct str tag; /* of the three tag families only: the tag's name */
};

struct context_values {
    const struct str *values;
    size_t count;
    bool is_present; /* a multivalued key may be present and empty */
};

struct context_tag {
    struct str name;
    struct str value;
};

struct context_tags {
    const struct context_tag *tags;
    size_t count;
};

struct auth_context {
    struct context_values keys[CONTEXT_KEY_COUNT];
    struct context_tags tags[CONTEXT_TAG_FAMILY_COUNT];
};

/* The key that a policy calls `name`; names compare without case. The result borrows `name`. */
MUST_USE struct context_key context_key_from_name(struct str name);
/* Whether a key of this kind holds several values, so that a policy must ask with ForAllValues or
 * ForAnyValue. */
MUST_USE bool context_key_is_multivalued(enum context_key_id id);
/* The values of a key. is_present is false if the request does not carry it. A tag's value is a
 * slice of `context`. */
MUST_USE struct context_values context_find(const struct auth_context *context,
                                            struct context_key key);

/* The bit of a key in the sets that policy_mentions() returns. */
#define CONTEXT_BIT(id_) (UINT64_C(1) << (id_))

#endif
