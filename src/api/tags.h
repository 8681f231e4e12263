/* api/tags.h: what CreateTable, TagResource, UntagResource and ListTagsOfResource share: tags and
 * the ARNs of what bears them. */
#ifndef GRAMME_API_TAGS_H
#define GRAMME_API_TAGS_H

#include "api/api_internal.h"

struct tag_request {
    struct str key;
    struct str value;
};

/* A list of struct tag_request pointers. The model's lengths are not in it: the service has words
 * of its own for them. */
extern const struct shape shape_tags;

/* The tag at `i` of such a list. */
static inline const struct tag_request *tags_at(const struct wire_list *tags, size_t i)
{
    return ((struct tag_request *const *)tags->elements)[i];
}

/* How many there are, their lengths and letters, and that no key comes twice. */
MUST_USE bool tags_check(const struct wire_list *tags, struct err *err);
/* The same for a list of keys to remove; of these one may come twice. */
MUST_USE bool tags_check_keys(const struct wire_list *keys, struct err *err);
/* More tags than a table may have. Returns false. */
bool tags_refuse_count(struct err *err);

/* The table's name in an ARN (STR_NULL: absent) of this account and Region; refusals are in
 * call->err. */
MUST_USE bool tags_table_name(struct api_call *call, struct str arn, struct str *out);
/* Sets the error of a call on a table that does not exist. */
void tags_refuse_missing(struct api_call *call, struct str arn);

/* A change of a table's tags under way. */
struct tags_change {
    struct api_call *call;
    struct str arn;
    struct table_change engine;
};
/* Has `change` make the new description, and answers the call with an empty body. */
void tags_start_change(struct tags_change *op, struct str table_name,
                       const struct table *(*change)(struct table_change *change,
                                                     const struct table *table));

#endif
