/* api/tables/tags.h: checks of tags and of the ARNs of tagged tables, for CreateTable, TagResource,
 * UntagResource and ListTagsOfResource. */
#ifndef GRAMME_API_TABLES_TAGS_H
#define GRAMME_API_TABLES_TAGS_H

#include "api/api_internal.h"

struct tag_request {
    struct str key;
    struct str value;
};

/* A list of struct tag_request pointers. The shape does not check the lengths: tags_check() does,
 * because the service has special error messages for them. */
extern const struct shape shape_tags;

/* Returns tag `i` of such a list. */
static inline const struct tag_request *tags_at(const struct wire_list *tags, size_t i)
{
    return ((struct tag_request *const *)tags->elements)[i];
}

/* Checks the number of tags, their lengths and characters, and that no key occurs twice. */
MUST_USE bool tags_check(const struct wire_list *tags, struct err *err);
/* Checks a list of tag keys to remove in the same way; a key may occur twice. */
MUST_USE bool tags_check_keys(const struct wire_list *keys, struct err *err);
/* Sets the error for more tags than a table may have. Returns false. */
bool tags_refuse_count(struct err *err);

/* Sets *out to the table name in an ARN (STR_NULL: the request has none), which must be of this
 * account and Region. Returns false with call->err set. */
MUST_USE bool tags_table_name(struct api_call *call, struct str arn, struct str *out);
/* Sets call->err to ResourceNotFoundException, for an ARN whose table does not exist. */
void tags_refuse_missing(struct api_call *call, struct str arn);

/* A change of a table's tags that is being processed. */
struct tags_change {
    struct api_call *call;
    struct str arn;
    struct table_change engine;
};
/* Starts to change a table. The engine calls `change` to make the new description; then the call
 * ends with an empty body or an error. */
void tags_start_change(struct tags_change *op, struct str table_name,
                       const struct table *(*change)(struct table_change *change,
                                                     const struct table *table));

#endif
