/* The model's constraints. Paths are written as the service does: the first letter small, list
 * elements as "keySchema.1.member.attributeName", map values as "requestItems.name.member.keys". */
#include "base/buf.h"
#include "wire/shape.h"

struct validator {
    struct arena *arena;
    struct str errors; /* joined by "; " */
    int error_count;
};

/* The service stops listing somewhere; a request of 16 MB must not make a text of gigabytes. */
enum { ERRORS_MAX = 10, PRINTED_MAX = 2048 };

/* Where we are, on the stack; put into words only for an error. */
struct path {
    const struct path *parent; /* NULL: the request itself */
    const char *member;        /* of a struct, or NULL: */
    struct str key;            /* of a map, or STR_NULL: */
    size_t index;              /* of a list, from 1 */
};

static struct str print_path(struct arena *arena, const struct path *path)
{
    if (path->parent == NULL) {
        return STR("");
    }
    struct str before = print_path(arena, path->parent);
    const char *name = path->member;
    if (name != NULL) {
        return arena_format(arena, "%.*s%s%c%s", STR_ARG(before), before.len > 0 ? "." : "",
                            name[0] >= 'A' && name[0] <= 'Z' ? name[0] - 'A' + 'a' : name[0],
                            name + 1);
    }
    if (!str_is_null(path->key)) {
        return arena_format(arena, "%.*s.%.*s.member", STR_ARG(before), STR_ARG(path->key));
    }
    return arena_format(arena, "%.*s.%zu.member", STR_ARG(before), path->index);
}

static void validate(struct validator *v, const struct shape *shape, const void *kept,
                     const struct path *path);

static struct str print_value(struct arena *arena, const struct shape *shape, const void *kept);

static struct str print_list(struct arena *arena, const struct shape *shape,
                             const struct wire_list *list)
{
    struct str text = STR("[");
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < list->count && text.len < PRINTED_MAX; i++) {
        struct str element =
            print_value(arena, shape->element, (const char *)list->elements + i * size);
        text =
            arena_format(arena, "%.*s%s%.*s", STR_ARG(text), i > 0 ? ", " : "", STR_ARG(element));
    }
    return arena_format(arena, "%.*s]", STR_ARG(text));
}

static struct str print_map(struct arena *arena, const struct shape *shape,
                            const struct wire_map *map)
{
    struct str text = STR("{");
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < map->count && text.len < PRINTED_MAX; i++) {
        struct str element =
            print_value(arena, shape->element, (const char *)map->values + i * size);
        text = arena_format(arena, "%.*s%s%.*s=%.*s", STR_ARG(text), i > 0 ? ", " : "",
                            STR_ARG(map->names[i]), STR_ARG(element));
    }
    return arena_format(arena, "%.*s}", STR_ARG(text));
}

static struct str print_value(struct arena *arena, const struct shape *shape, const void *kept)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        return *(const struct str *)kept;
    case SHAPE_ENUM:
        return ((const struct wire_enum *)kept)->text;
    case SHAPE_BOOL:
        return ((const struct wire_bool *)kept)->value ? STR("true") : STR("false");
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        return arena_format(arena, "%lld", (long long)((const struct wire_int *)kept)->value);
    case SHAPE_LIST:
        return print_list(arena, shape, kept);
    case SHAPE_MAP:
        return print_map(arena, shape, kept);
    case SHAPE_STRUCT:
        return str_from_c(shape->java);
    case SHAPE_VALUE:
        return STR("AttributeValue");
    case SHAPE_ITEM:
        return STR("{}");
    }
    return STR("");
}

static bool is_absent(const struct shape *shape, const void *kept)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        return str_is_null(*(const struct str *)kept);
    case SHAPE_ENUM:
        return str_is_null(((const struct wire_enum *)kept)->text);
    case SHAPE_BOOL:
        return !((const struct wire_bool *)kept)->given;
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        return !((const struct wire_int *)kept)->given;
    case SHAPE_STRUCT:
        return *(void *const *)kept == NULL;
    case SHAPE_LIST:
        return !((const struct wire_list *)kept)->given;
    case SHAPE_MAP:
        return !((const struct wire_map *)kept)->given;
    case SHAPE_VALUE:
        return value_is_absent(((const struct wire_value *)kept)->value);
    case SHAPE_ITEM:
        return !((const struct wire_item *)kept)->given;
    }
    return true;
}

static void add_error(struct validator *v, struct str text)
{
    if (v->error_count == ERRORS_MAX) {
        return;
    }
    v->errors = v->error_count++ == 0
                    ? text
                    : arena_format(v->arena, "%.*s; %.*s", STR_ARG(v->errors), STR_ARG(text));
}

static void add_failed(struct validator *v, struct str printed, const struct path *path,
                       const char *constraint)
{
    struct str at = print_path(v->arena, path);
    add_error(v, arena_format(v->arena, "Value '%.*s' at '%.*s' failed to satisfy constraint: %s",
                              STR_ARG(printed), STR_ARG(at), constraint));
}

static void check_bounds(struct validator *v, const struct shape *shape, const void *kept,
                         const struct path *path, int64_t measure, const char *what)
{
    bool below = (shape->min != 0 || shape->bounded_below) && measure < shape->min;
    bool above = shape->max != 0 && measure > shape->max;
    if (below || above) {
        struct str text =
            arena_format(v->arena, "Member must have %s %s than or equal to %lld", what,
                         below ? "greater" : "less", (long long)(below ? shape->min : shape->max));
        add_failed(v, print_value(v->arena, shape, kept), path, text.data);
    }
}

static void check_pattern(struct validator *v, const struct shape *shape, struct str text,
                          const struct path *path)
{
    if (shape->matches != NULL && !shape->matches(text)) {
        add_failed(v, text, path,
                   arena_format(v->arena, "Member must satisfy regular expression pattern: %s",
                                shape->pattern)
                       .data);
    }
}

static void check_enum(struct validator *v, const struct shape *shape, const struct wire_enum *kept,
                       const struct path *path)
{
    if (kept->value >= 0) {
        return;
    }
    struct str set = STR("");
    for (int i = 0; shape->values[i] != NULL; i++) {
        set = arena_format(v->arena, "%.*s%s%s", STR_ARG(set), i > 0 ? ", " : "", shape->values[i]);
    }
    add_failed(
        v, kept->text, path,
        arena_format(v->arena, "Member must satisfy enum value set: [%.*s]", STR_ARG(set)).data);
}

static void validate_field(struct validator *v, const struct field *field, const char *decoded,
                           const struct path *parent)
{
    const void *kept = decoded + field->offset;
    struct path path = {.parent = parent, .member = field->name};
    if (!is_absent(field->shape, kept)) {
        validate(v, field->shape, kept, &path);
    } else if (field->required) {
        struct str at = print_path(v->arena, &path);
        add_error(v, arena_format(v->arena,
                                  "Value null at '%.*s' failed to satisfy constraint: Member must "
                                  "not be null",
                                  STR_ARG(at)));
    }
}

static void validate_struct(struct validator *v, const struct shape *shape, const char *decoded,
                            const struct path *path)
{
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        validate_field(v, field, decoded, path);
    }
}

static void validate_list(struct validator *v, const struct shape *shape,
                          const struct wire_list *list, const struct path *path)
{
    check_bounds(v, shape, list, path, (int64_t)list->count, "length");
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < list->count && v->error_count < ERRORS_MAX; i++) {
        struct path element = {.parent = path, .index = i + 1};
        validate(v, shape->element, (const char *)list->elements + i * size, &element);
    }
}

static void validate_map(struct validator *v, const struct shape *shape, const struct wire_map *map,
                         const struct path *path)
{
    check_bounds(v, shape, map, path, (int64_t)map->count, "length");
    size_t size = shape_kept_size(shape->element);
    for (size_t i = 0; i < map->count && v->error_count < ERRORS_MAX; i++) {
        struct path value = {.parent = path, .key = map->names[i]};
        validate(v, shape->element, (const char *)map->values + i * size, &value);
    }
}

static void validate(struct validator *v, const struct shape *shape, const void *kept,
                     const struct path *path)
{
    if (is_absent(shape, kept)) {
        return;
    }
    switch (shape->kind) {
    case SHAPE_STRING:
        check_bounds(v, shape, kept, path, (int64_t)((const struct str *)kept)->len, "length");
        check_pattern(v, shape, *(const struct str *)kept, path);
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
    case SHAPE_BOOL:
    case SHAPE_VALUE:
    case SHAPE_ITEM:
        break;
    }
}

static bool report(const struct validator *v, struct err *err)
{
    if (v->error_count == 0) {
        return true;
    }
    return err_set(err, ERR_VALIDATION, "%d validation error%s detected: %.*s", v->error_count,
                   v->error_count == 1 ? "" : "s", STR_ARG(v->errors));
}

bool wire_validate(struct arena *arena, const struct shape *shape, const void *decoded,
                   struct err *err)
{
    struct validator v = {.arena = arena};
    validate_struct(&v, shape, decoded, &(struct path){0});
    return report(&v, err);
}

bool wire_validate_member(struct arena *arena, const struct shape *shape, const void *decoded,
                          const char *name, struct err *err)
{
    struct validator v = {.arena = arena};
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        if (strcmp(field->name, name) == 0) {
            validate_field(&v, field, decoded, &(struct path){0});
        }
    }
    return report(&v, err);
}
