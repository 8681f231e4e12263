/* auth/context.h: the condition keys of a request, such as aws:SourceIp and dynamodb:LeadingKeys,
 * and their values.
 *
 * The caller fills a struct auth_context before it asks for a decision. The context borrows all
 * values; they must live until the decision is made. Every function here can be called on any
 * thread. */
#ifndef GRAMME_AUTH_CONTEXT_H
#define GRAMME_AUTH_CONTEXT_H

#include "base/str.h"

#define CONTEXT_KEY(name_, text_, multivalued_) CONTEXT_##name_,
enum context_key_id {
#include "auth/context_keys.def"
    CONTEXT_KEY_COUNT,
    /* Families of keys whose names end in the name of a tag. */
    CONTEXT_PRINCIPAL_TAG = CONTEXT_KEY_COUNT,
    CONTEXT_REQUEST_TAG,
    CONTEXT_RESOURCE_TAG,
    CONTEXT_UNKNOWN, /* a key that no request has here */
};
#undef CONTEXT_KEY

enum { CONTEXT_TAG_FAMILY_COUNT = CONTEXT_UNKNOWN - CONTEXT_KEY_COUNT };

/* A condition key as a policy names it. */
struct context_key {
    enum context_key_id id;
    struct str tag; /* the tag's name, for keys of the three tag families */
};

/* The values of one key in a request. */
struct context_values {
    const struct str *values;
    size_t count;
    bool is_present; /* a multivalued key may be present and empty */
};

struct context_tag {
    struct str name;
    struct str value;
};

/* The tags of the principal, of the request or of the resource. */
struct context_tags {
    const struct context_tag *tags;
    size_t count;
};

struct auth_context {
    struct context_values keys[CONTEXT_KEY_COUNT];
    struct context_tags tags[CONTEXT_TAG_FAMILY_COUNT];
};

/* Returns the key with this name, or one with the id CONTEXT_UNKNOWN. Names compare without regard
 * to case. The result borrows `name`. */
MUST_USE struct context_key context_key_from_name(struct str name);
/* Returns whether the key can have several values, so that a policy must use ForAllValues or
 * ForAnyValue with it. */
MUST_USE bool context_key_is_multivalued(enum context_key_id id);
/* Returns the values of a key. is_present is false if the request does not have the key. The result
 * borrows `context`. */
MUST_USE struct context_values context_find(const struct auth_context *context,
                                            struct context_key key);

/* The bit of a key in a set of keys such as policy_mentions() returns. */
#define CONTEXT_BIT(id_) (UINT64_C(1) << (id_))

#endif
