/* api/authorize.h: whether the caller may do what a request asks for. api_decode() asks as soon as
 * the types of a request are known, and before anything is looked up; statements of PartiQL are
 * asked about when they have been parsed. Nothing is asked if the call has no guard.
 *
 * authorize.c finds the actions and resources of a request, authorize_keys.c fills in the condition
 * keys of one question, authorize_statement.c those of a statement. */
#ifndef GRAMME_API_AUTHORIZE_H
#define GRAMME_API_AUTHORIZE_H

#include "api/api_internal.h"
#include "auth/policy.h"

struct partiql;

/* A list of texts that grows in an arena. */
struct text_list {
    struct str *texts;
    size_t count;
    size_t capacity;
};

/* One action on one resource, and what of the request belongs to it. */
struct question {
    struct api_call *call;
    const char *action;            /* "dynamodb:GetItem" */
    struct str resource;           /* ARN, or "*"; STR_NULL: made from table and index */
    struct str table;              /* STR_NULL: none */
    struct str index;              /* STR_NULL: none */
    const char *enclosing;         /* the transaction that it is part of, or NULL */
    const struct shape *shape;     /* of what follows, or NULL */
    const void *request;           /* the decoded struct with its keys, expressions and so on */
    struct wire_enum capacity;     /* ReturnConsumedCapacity, which may stand outside of that */
    const struct wire_list *items; /* BatchWriteItem: the requests of one table; else NULL */
    const struct partiql *partiql; /* a statement; else NULL */

    const struct table *description; /* acquired by authorize.c; NULL: there is no such table */
    struct auth_context context;
};

/* Fills in the condition keys that `mentions` has (CONTEXT_BITs). */
void authorize_fill_keys(struct question *question, uint64_t mentions);
/* The same for a question about a statement. */
void authorize_fill_statement(struct question *question, uint64_t mentions);

/* The member of a decoded struct, or NULL if its shape has none of that name and kind. */
const void *authorize_member(const struct shape *shape, const void *request, const char *name,
                             enum shape_kind kind);
/* The shape of a member that exists. */
const struct shape *authorize_shape(const struct shape *shape, const char *name);

/* For the functions above. */
void authorize_set(struct question *question, enum context_key_id id, struct str text);
void authorize_set_list(struct question *question, enum context_key_id id,
                        const struct text_list *list);
void authorize_add_text(struct question *question, struct text_list *list, struct str text);
/* Adds a value of a partition key as policies see it. Values of other types add nothing. */
void authorize_add_value(struct question *question, struct text_list *list, struct value value);
/* The keys of the table or index; NULL if it does not exist. */
const struct key_schema *authorize_schema(const struct question *question);
/* Adds the partition key values of a key or item to lists[0] and so on, one for each attribute. If
 * the table does not exist, all its values: then the answer does not tell. */
void authorize_add_keys(struct question *question, struct text_list lists[KEY_ATTRIBUTES_MAX],
                        struct value item);
/* Sets the partition key values of a request; an empty list means that it names none. */
void authorize_set_keys(struct question *question,
                        const struct text_list lists[KEY_ATTRIBUTES_MAX]);
/* A visitor that adds the first name of a path to the list in struct attribute_names. */
struct attribute_names {
    struct question *question;
    struct text_list list;
};
void authorize_visit_path(void *attribute_names, const struct expr_path *path);

/* Whether the caller may run the statement, whose table has not been looked up. False:
 * ERR_ACCESS_DENIED in *err. */
MUST_USE bool authorize_statement(struct api_call *call, const struct partiql *partiql,
                                  const struct wire_enum *capacity, const char *enclosing,
                                  struct err *err);

#endif
