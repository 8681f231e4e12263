/* Checks the constraints of the service's model. Paths are written as the service does: members
 * with their first letter in lower case, list elements as "keySchema.1.member.attributeName", map
 * values as "requestItems.name.member.keys". Terse shapes are named as on the wire, without their
 * value. Called by src/api. */
#include "model/limits.h"
#include "wire/print_internal.h"

struct validator {
    struct buf errors; /* joined by "; " */
    int error_count;
    enum value_wording wording;
};

/* The service lists at most this many. */
enum { ERRORS_MAX = 10, ERROR_BYTES_MAX = 128 * 1024 };

/* The path to the current value, on the stack; printed only for an error. */
struct path {
    const struct path *parent; /* NULL: the request itself */
    const char *member;        /* of a struct, or NULL: */
    struct str key;            /* of a map, or STR_NULL: */
    size_t index;              /* of a list, from 1 */
};

static void validate(struct validator *v, const struct shape *shape, const void *kept,
                     const struct path *path);

/* --- messages --- */

static void print_path(struct buf *out, const struct path *path, bool terse)
{
    if (path->parent == NULL) {
        return;
    }
    print_path(out, path->parent, terse);
    if (path->member == NULL) {
        if (str_is_null(path->key)) {
            buf_format(out, ".%zu.member", path->index);
        } else {
            buf_format(out, ".%.*s.member", STR_ARG(path->key));
        }
        return;
    }
    buf_add(out, path->parent->parent == NULL ? STR("") : STR("."));
    if (terse) {
        buf_add(out, str_from_c(path->member));
    } else {
        print_member_name(out, path->member);
    }
}

/* Starts the next error of the list; false if it is full. Names in errors may be megabytes long; a
 * answer contains less than ERROR_BYTES_MAX of them. */
static bool next_error(struct validator *v)
{
    if (v->error_count == ERRORS_MAX) {
        return false;
    }
    v->errors.len = MIN(v->errors.len, (size_t)ERROR_BYTES_MAX);
    buf_add(&v->errors, v->error_count++ > 0 ? STR("; ") : STR(""));
    return true;
}

static bool is_terse(const struct validator *v, const struct shape *shape)
{
    return shape->terse && v->wording == WORDING_CURRENT;
}

/* "Value 'x' at 'member' failed to satisfy constraint: "; false if the list is full. */
static bool add_failed(struct validator *v, const struct shape *shape, const void *kept,
                       const struct path *path, bool terse)
{
    if (!next_error(v)) {
        return false;
    }
    buf_add(&v->errors, STR("Value "));
    if (!terse) {
        buf_add_char(&v->errors, '\'');
        print_kept(&v->errors, shape, kept);
        buf_add(&v->errors, STR("' "));
    }
    buf_add(&v->errors, STR("at '"));
    print_path(&v->errors, path, terse);
    buf_add(&v->errors, STR("' failed to satisfy constraint: "));
    return true;
}

static void add_null(struct validator *v, const struct path *path)
{
    if (next_error(v)) {
        buf_add(&v->errors, STR("Value null at '"));
        print_path(&v->errors, path, false);
        buf_add(&v->errors, STR("' failed to satisfy constraint: Member must not be null"));
    }
}

/* --- constraints --- */

static bool is_below(const struct shape *shape, int64_t measure)
{
    return (shape->min != 0 || shape->bounded_below) && measure < shape->min;
}

static bool is_above(const struct shape *shape, int64_t measure)
{
    return shape->max != 0 && measure > shape->max;
}

static void check_bounds(struct validator *v, const struct shape *shape, const void *kept,
                         const struct path *path, int64_t measure, const char *what)
{
    bool below = is_below(shape, measure);
    bool outside = below || is_above(shape, measure);
    if (outside && add_failed(v, shape, kept, path, is_terse(v, shape))) {
        buf_format(&v->errors, "Member must have %s %s than or equal to %lld", what,
                   below ? "greater" : "less", (long long)(below ? shape->min : shape->max));
    }
}

static void check_string(struct validator *v, const struct shape *shape, const struct str *text,
                         const struct path *path)
{
    bool fits = shape->matches == NULL || shape->matches(*text);
    if (shape->length_first) {
        check_bounds(v, shape, text, path, (int64_t)text->len, "length");
    }
    if (!fits && add_failed(v, shape, text, path, false)) {
        buf_format(&v->errors, "Member must satisfy regular expression pattern: %s",
                   shape->pattern);
    }
    if (!shape->length_first) {
        check_bounds(v, shape, text, path, (int64_t)text->len, "length");
    }
}

static void check_enum(struct validator *v, const struct shape *shape, const struct wire_enum *kept,
                       const struct path *path)
{
    if (kept->value >= 0) {
        return;
    }
    if (is_terse(v, shape)) {
        if (next_error(v)) {
            buf_format(&v->errors,
                       "Failed to satisfy constraint: Member must satisfy enum value set: [%s]",
                       shape->terse_values);
        }
        return;
    }
    if (!add_failed(v, shape, kept, path, false)) {
        return;
    }
    buf_add(&v->errors, STR("Member must satisfy enum value set: ["));
    for (int i = 0; shape->values[i] != NULL; i++) {
        buf_format(&v->errors, "%s%s", i > 0 ? ", " : "", shape->values[i]);
    }
    buf_add_char(&v->errors, ']');
}

static void validate_field(struct validator *v, const struct field *field, const char *decoded,
                           const struct path *parent)
{
    const void *kept = decoded + field->offset;
    struct path path = {.parent = parent, .member = field->name};
    if (!shape_is_absent(field->shape, kept)) {
        validate(v, field->shape, kept, &path);
    } else if (field->required) {
        add_null(v, &path);
    }
}

static void validate_struct(struct validator *v, const struct shape *shape, const char *decoded,
                            const struct path *path)
{
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        validate_field(v, field, decoded, path);
    }
}

/* Checks an element of a list or map, which must not be null. (A null value is FAULT_EMPTY
 * already.) */
static void validate_element(struct validator *v, const struct shape *shape, const void *kept,
                             const struct path *path)
{
    if (shape_is_absent(shape, kept)) {
        add_null(v, path);
    } else {
        validate(v, shape, kept, path);
    }
}

static void validate_list(struct validator *v, const struct shape *shape,
                          const struct wire_list *list, const struct path *path)
{
    check_bounds(v, shape, list, path, (int64_t)list->count, "length");
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < list->count && v->error_count < ERRORS_MAX; i++) {
        struct path element = {.parent = path, .index = i + 1};
        validate_element(v, shape->element, (const char *)list->elements + i * size, &element);
    }
}

/* --- maps ---
 *
 * A name that violates a constraint is reported as a failure of the map, with all constraints of
 * names. So is a list in a map that is too long or too short, unless it is terse. */

static void add_constraints(struct buf *out, const struct shape *shape)
{
    buf_format(out,
               "[Member must have length less than or equal to %lld, Member must have length "
               "greater than or equal to %lld",
               (long long)shape->max, (long long)shape->min);
    if (shape->pattern != NULL) {
        buf_format(out, ", Member must satisfy regular expression pattern: %s", shape->pattern);
    }
    buf_add_char(out, ']');
}

static bool name_fits(const struct shape *shape, struct str name)
{
    struct str kept = shape->keep == NULL ? name : shape->keep(name, NULL);
    return !is_below(shape, (int64_t)kept.len) && !is_above(shape, (int64_t)kept.len) &&
           (shape->matches == NULL || shape->matches(kept));
}

static bool list_fits(const struct shape *shape, const void *kept)
{
    const struct wire_list *list = kept;
    return !list->given ||
           (!is_below(shape, (int64_t)list->count) && !is_above(shape, (int64_t)list->count));
}

static void check_names(struct validator *v, const struct shape *shape, const struct wire_map *map,
                        const struct path *path)
{
    for (size_t i = 0; i < map->count; i++) {
        if (!name_fits(shape->key, map->names[i])) {
            if (add_failed(v, shape, map, path, false)) {
                buf_add(&v->errors, STR("Map keys must satisfy constraint: "));
                add_constraints(&v->errors, shape->key);
            }
            return;
        }
    }
}

/* Checks the names of attributes, in an item or in a value. */
static void check_value_names(struct validator *v, const struct shape *shape, const void *kept,
                              const struct value_problem *problem, const struct path *path)
{
    static const struct shape name = {.kind = SHAPE_STRING, .max = ATTRIBUTE_NAME_BYTES_MAX};
    if (problem->fault == FAULT_LONG_NAME && add_failed(v, shape, kept, path, false)) {
        buf_add(&v->errors, STR("Map keys must satisfy constraint: "));
        add_constraints(&v->errors, &name);
    }
}

static void check_lists(struct validator *v, const struct shape *shape, const struct wire_map *map,
                        const struct path *path)
{
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < map->count; i++) {
        if (!list_fits(shape->element, (const char *)map->values + i * size)) {
            if (add_failed(v, shape, map, path, false)) {
                buf_add(&v->errors, STR("Map value must satisfy constraint: "));
                add_constraints(&v->errors, shape->element);
            }
            return;
        }
    }
}

static void validate_entry(struct validator *v, const struct shape *shape, const void *kept,
                           const struct path *path)
{
    if (shape->kind != SHAPE_LIST) {
        validate_element(v, shape, kept, path);
        return;
    }
    struct shape unbounded = *shape; /* its length was checked with the map */
    unbounded.min = 0;
    unbounded.max = 0;
    validate_element(v, &unbounded, kept, path);
}

static void validate_map(struct validator *v, const struct shape *shape, const struct wire_map *map,
                         const struct path *path)
{
    check_bounds(v, shape, map, path, (int64_t)map->count, "length");
    if (shape->key != NULL) {
        check_names(v, shape, map, path);
    }
    if (shape->element->kind == SHAPE_LIST) {
        check_lists(v, shape, map, path);
    }
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < map->count && v->error_count < ERRORS_MAX; i++) {
        struct path value = {.parent = path, .key = map->names[i]};
        validate_entry(v, shape->element, (const char *)map->values + i * size, &value);
    }
}

static void validate(struct validator *v, const struct shape *shape, const void *kept,
                     const struct path *path)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        check_string(v, shape, kept, path);
        break;
    case SHAPE_ENUM:
        check_enum(v, shape, kept, path);
        break;
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        check_bounds(v, shape, kept, path, ((const struct wire_int *)kept)->value, "value");
        break;
    case SHAPE_STRUCT:
        validate_struct(v, shape, *(const char *const *)kept, path);
        break;
    case SHAPE_LIST:
        validate_list(v, shape, kept, path);
        break;
    case SHAPE_MAP:
        validate_map(v, shape, kept, path);
        break;
    case SHAPE_VALUE:
        check_value_names(v, shape, kept, &((const struct wire_value *)kept)->problem, path);
        break;
    case SHAPE_ITEM:
        check_value_names(v, shape, kept, &((const struct wire_item *)kept)->problem, path);
        break;
    case SHAPE_BOOL:
    case SHAPE_TIMESTAMP:
    case SHAPE_ANY:
        break;
    }
}

static bool report(struct validator *v, struct err *err)
{
    if (v->error_count > 0) {
        err_set(err, ERR_VALIDATION, "%d validation error%s detected: %.*s", v->error_count,
                v->error_count == 1 ? "" : "s", STR_ARG(buf_str(&v->errors)));
    }
    buf_finish(&v->errors);
    return v->error_count == 0;
}

bool wire_validate(const struct shape *shape, const void *decoded, enum value_wording wording,
                   struct err *err)
{
    struct validator v = {.wording = wording};
    validate_struct(&v, shape, decoded, &(struct path){0});
    return report(&v, err);
}

bool wire_validate_member(const struct shape *shape, const void *decoded, const char *name,
                          enum value_wording wording, struct err *err)
{
    struct validator v = {.wording = wording};
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        if (strcmp(field->name, name) == 0) {
            validate_field(&v, field, decoded, &(struct path){0});
        }
    }
    return report(&v, err);
}
