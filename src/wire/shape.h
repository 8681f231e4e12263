/* wire/shape.h: the structure of a request, as data. A shape says which JSON is accepted, how it is
 * stored in C, and which constraints the service's model puts on it; wire_decode() reads a body by
 * it and wire_validate() checks the constraints and words the errors as the service does.
 *
 *   kind                 kept as
 *   SHAPE_STRING         struct str; STR_NULL if absent
 *   SHAPE_ENUM           struct wire_enum
 *   SHAPE_BOOL           struct wire_bool
 *   SHAPE_INTEGER, LONG  struct wire_int
 *   SHAPE_TIMESTAMP      struct wire_int: milliseconds since 1970, of seconds in JSON
 *   SHAPE_STRUCT         pointer to the struct, NULL if absent
 *   SHAPE_LIST           struct wire_list of elements kept as above
 *   SHAPE_MAP            struct wire_map of values kept as above, in order of arrival
 *   SHAPE_VALUE          struct wire_value
 *   SHAPE_ITEM           struct wire_item: attribute values by name as one M value
 *   SHAPE_ANY            struct str: the JSON as it was sent; STR_NULL if absent
 *
 * Members that are unknown are skipped; JSON's null is the same as absence; of members with one
 * name the last one counts. */
#ifndef GRAMME_WIRE_SHAPE_H
#define GRAMME_WIRE_SHAPE_H

#include "err/err.h"
#include "wire/value_json.h"

enum shape_kind {
    SHAPE_STRING,
    SHAPE_ENUM,
    SHAPE_BOOL,
    SHAPE_INTEGER,
    SHAPE_LONG,
    SHAPE_TIMESTAMP,
    SHAPE_STRUCT,
    SHAPE_LIST,
    SHAPE_MAP,
    SHAPE_VALUE,
    SHAPE_ITEM,
    SHAPE_ANY,
};

struct wire_enum {
    struct str text; /* STR_NULL: absent */
    int value;       /* index in the shape's values, -1: none of them; 0 if absent */
};

struct wire_bool {
    bool given;
    bool value; /* false if absent */
};

struct wire_int {
    bool given;
    int64_t value;
};

struct wire_list {
    bool given;
    size_t count;
    void *elements; /* array of elements, each kept as the table above says */
};

struct wire_map {
    bool given;
    size_t count;
    struct str *names;
    void *values;      /* an array of what the element's kind is kept as */
    struct str source; /* its JSON as it was sent */
};

struct wire_value {
    struct value value; /* VALUE_ABSENT if absent */
    struct value_problem problem;
};

struct wire_item {
    bool given;
    struct value value;
    struct value_problem problem;
};

struct shape;

struct field {
    const char *name; /* as in JSON */
    const struct shape *shape;
    size_t offset;
    bool required;
};

struct shape {
    enum shape_kind kind;
    const char *java; /* SHAPE_STRUCT, LIST, MAP: the type's name in error texts */
    /* Length of a string, list or map; value of a number. 0 and 0: no bound. */
    int64_t min;
    int64_t max;
    bool bounded_below; /* min applies even if it is 0 */
    bool (*matches)(struct str text);
    const char *pattern; /* as messages show it */
    bool length_first;   /* SHAPE_STRING: a wrong length is reported before the pattern */
    /* SHAPE_ENUM: ends with NULL, in the order in which the service prints */
    const char *const *values;
    const struct field *fields; /* SHAPE_STRUCT: ends with a NULL name; sorted as errors come out */
    size_t size;                /* SHAPE_STRUCT: size of the C struct */
    const struct shape *element; /* SHAPE_LIST, SHAPE_MAP */
    const struct shape *key;     /* SHAPE_MAP: constraints of its names, or NULL */
    /* SHAPE_STRING: returns the part of the text to keep; NULL: all of it. `context` is that of
     * wire_decode_with(), or NULL. */
    struct str (*keep)(struct str text, void *context);
    /* The current layer (see enum value_wording) reports a bound or an enum of this shape without
     * the value; an enum with this list of values. */
    bool terse;
    const char *terse_values;
    bool echo_json;   /* SHAPE_MAP: errors quote the JSON as it was sent */
    const char *tail; /* SHAPE_STRUCT: printed after its members, or NULL */
};

#define FIELD(struct_, member_, name_, shape_)                                                     \
    {                                                                                              \
        .name = (name_), .shape = &(shape_), .offset = offsetof(struct_, member_)                  \
    }
#define FIELD_REQUIRED(struct_, member_, name_, shape_)                                            \
    {                                                                                              \
        .name = (name_), .shape = &(shape_), .offset = offsetof(struct_, member_),                 \
        .required = true                                                                           \
    }
#define FIELD_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Returns how many bytes a value of this shape takes in its container. */
size_t shape_kept_size(const struct shape *shape);
/* Whether a decoded value is absent or null. */
bool shape_is_absent(const struct shape *shape, const void *kept);

/* Decodes `body` to *out (shape->size bytes, zeroed here). Allocates from `arena`; strings borrow
 * `body`. False: ERR_SERIALIZATION, or err_set_over_budget() if the request exceeds the arena's
 * budget. A list with a length limit may be cut after that limit. */
MUST_USE bool wire_decode(struct arena *arena, const struct shape *shape, struct str body,
                          void *out, struct err *err);
/* As wire_decode(), with a context for the `keep` functions of the shapes. */
MUST_USE bool wire_decode_with(struct arena *arena, const struct shape *shape, struct str body,
                               void *context, void *out, struct err *err);

/* Writes a decoded struct as a JSON object: the members that were given. */
void wire_write_struct(struct buf *out, const struct shape *shape, const void *decoded);

/* Checks all constraints of the model on a decoded struct, and reports all violations together: "2
 * validation errors detected: ...; ...". Lists and maps that pass contain no nulls. */
MUST_USE bool wire_validate(const struct shape *shape, const void *decoded,
                            enum value_wording wording, struct err *err);
/* As wire_validate() for one member. */
MUST_USE bool wire_validate_member(const struct shape *shape, const void *decoded, const char *name,
                                   enum value_wording wording, struct err *err);

#endif
