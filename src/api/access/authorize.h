/* api/access/authorize.h: decides by the policies whether the caller may do what a request asks
 * for. api_decode() calls it after the request has been decoded and before any table is looked up;
 * PartiQL statements are authorized after they have been parsed. A call without a guard is not
 * checked.
 *
 * authorize.c finds the actions and resources of a request, authorize_keys.c fills in the condition
 * keys of one question, authorize_statement.c those of a PartiQL statement. All functions run on
 * the thread of the call. */
#ifndef GRAMME_API_ACCESS_AUTHORIZE_H
#define GRAMME_API_ACCESS_AUTHORIZE_H

#include "api/api_internal.h"
#include "api/arn.h"
#include "auth/policy.h"
#include "partiql/partiql.h"

/* A list of texts that grows in the arena of the call. */
struct text_list {
    struct str *texts;
    size_t count;
    size_t capacity;
};

/* A parsed PartiQL statement and the parameters of its request that condition keys are made of. */
struct statement_question {
    const struct statement *statement;
    struct wire_enum return_on_failure; /* ReturnValuesOnConditionCheckFailure */
    const char *enclosing;              /* the transaction that contains it, or NULL */
};

/* One question to the policies: an action on a resource, and the part of the request that it
 * concerns. */
struct question {
    struct api_call *call;
    const char *action;       /* "dynamodb:GetItem" */
    struct str resource;      /* an ARN or "*"; STR_NULL: derived from table and index */
    struct str table;         /* STR_NULL: none */
    struct str index;         /* STR_NULL: none */
    const struct arn *stream; /* the resource is this stream of the table; else NULL */
    bool is_prefix;           /* `resource` stands for many: see struct policy_request */
    const char
        *enclosing; /* dynamodb:EnclosingOperation: the transaction that contains it, or NULL */
    const struct shape *shape;     /* the shape of `request`, or NULL */
    const void *request;           /* the decoded struct that has the keys, expressions and so on */
    struct wire_enum capacity;     /* ReturnConsumedCapacity, which may be outside of `request` */
    const struct wire_list *items; /* BatchWriteItem: the requests of one table; else NULL */
    const struct statement_question *statement; /* PartiQL; else NULL */

    const struct table *description; /* set by authorize.c; NULL: the table does not exist */
    struct auth_context context;
    /* Set with the context: if the condition fails, the answer has the whole old item. The policies
     * must then allow it with ReturnValues ALL_OLD, too. */
    bool shows_old_on_failure;
};

/* Fills in those condition keys of question->context that are in `mentions` (CONTEXT_BITs). */
void authorize_fill_keys(struct question *question, uint64_t mentions);
/* As authorize_fill_keys(), for a question about a PartiQL statement. */
void authorize_fill_statement(struct question *question, uint64_t mentions);

/* Returns a pointer to a member of a decoded struct, or NULL if its shape has no member of this
 * name and kind. */
const void *authorize_member(const struct shape *shape, const void *request, const char *name,
                             enum shape_kind kind);
/* Returns the shape of a member, which must exist. */
const struct shape *authorize_shape(const struct shape *shape, const char *name);

/* Sets a condition key that has one value. */
void authorize_set(struct question *question, enum context_key_id id, struct str text);
/* Sets a condition key that has several values. */
void authorize_set_list(struct question *question, enum context_key_id id,
                        const struct text_list *list);
/* Adds a text to a list. The list borrows it. */
void authorize_add_text(struct question *question, struct text_list *list, struct str text);
/* Adds a partition key value to a list, in the form that policies compare. Adds nothing for a value
 * of another type than S, N or B. */
void authorize_add_value(struct question *question, struct text_list *list, struct value value);
/* Returns the key schema of the question's table or index; NULL if that does not exist. */
const struct key_schema *authorize_schema(const struct question *question);
/* Adds the partition key values of a key or item to `lists`, one list for each partition key
 * attribute. If the table does not exist, adds all values of the item to lists[0], so that the
 * decision does not reveal whether the table exists. */
void authorize_add_keys(struct question *question, struct text_list lists[KEY_ATTRIBUTES_MAX],
                        struct value item);
/* Sets the condition keys of partition key values: dynamodb:LeadingKeys and so on. An empty list:
 * the request names no value. */
void authorize_set_keys(struct question *question,
                        const struct text_list lists[KEY_ATTRIBUTES_MAX]);
/* The context of authorize_visit_path(). */
struct attribute_names {
    struct question *question;
    struct text_list list;
};
/* A visitor for the functions of expr.h: adds the first name of each path to the list of
 * `attribute_names`, a struct attribute_names. */
void authorize_visit_path(void *attribute_names, const struct expr_path *path);

/* Returns whether the caller could do `action` with the table or stream of `arn` if that had the
 * resource policy `document`, which is valid. True if there is no guard. */
MUST_USE bool authorize_allows_under(struct api_call *call, const char *action,
                                     const struct arn *arn, struct str document);

/* Returns whether the caller may run a parsed statement; called before its table is looked up.
 * Returns false with ERR_ACCESS_DENIED in *err. */
MUST_USE bool authorize_statement(struct api_call *call, const struct statement_question *asked,
                                  struct err *err);

#endif
