/* Prints the parameters of every operation as JSON, from the tables that the server decodes
 * requests with: runs each operation with an empty request and prints the shape that it decodes.
 * tools/docs makes the reference of operations from it. Linked with --wrap=wire_decode_with, so
 * that operations call __wrap_wire_decode_with() below. */
#include <setjmp.h>
#include <stdio.h>

#include "api/api_internal.h"
#include "base/buf.h"

/* Shapes that contain each other (attribute values, conditions) are not followed deeper than this.
 */
enum { DEPTH_MAX = 8 };

static jmp_buf after_decode;
static struct buf out;

/* Called instead of wire_decode_with(). */
bool __wrap_wire_decode_with(struct arena *arena, const struct shape *shape, struct str body,
                             void *context, void *decoded, struct err *err);

static void write_shape(const struct shape *shape, int depth);

static void write_values(const char *const *values)
{
    JSON_PUT(&out, ",\"values\":[");
    for (size_t i = 0; values[i] != NULL; i++) {
        buf_format(&out, "%s\"%s\"", i > 0 ? "," : "", values[i]);
    }
    JSON_PUT(&out, "]");
}

static void write_fields(const struct field *fields, int depth)
{
    JSON_PUT(&out, ",\"members\":{");
    for (size_t i = 0; fields[i].name != NULL; i++) {
        buf_format(&out, "%s\"%s\":{\"required\":%s,", i > 0 ? "," : "", fields[i].name,
                   fields[i].required ? "true" : "false");
        write_shape(fields[i].shape, depth + 1);
        JSON_PUT(&out, "}");
    }
    JSON_PUT(&out, "}");
}

/* Writes the members of an object, without its braces. */
static void write_shape(const struct shape *shape, int depth)
{
    static const char *const kinds[] = {
        [SHAPE_STRING] = "string",        [SHAPE_ENUM] = "enum",    [SHAPE_BOOL] = "boolean",
        [SHAPE_INTEGER] = "integer",      [SHAPE_LONG] = "integer", [SHAPE_TIMESTAMP] = "timestamp",
        [SHAPE_STRUCT] = "structure",     [SHAPE_LIST] = "list",    [SHAPE_MAP] = "map",
        [SHAPE_VALUE] = "AttributeValue", [SHAPE_ITEM] = "item",
    };
    buf_format(&out, "\"kind\":\"%s\"", kinds[shape->kind]);
    if (shape->min != 0 || shape->max != 0 || shape->bounded_below) {
        buf_format(&out, ",\"min\":%lld,\"max\":%lld", (long long)shape->min,
                   (long long)shape->max);
    }
    if (shape->values != NULL) {
        write_values(shape->values);
    }
    if (shape->fields != NULL && depth < DEPTH_MAX) {
        write_fields(shape->fields, depth);
    }
    if (shape->element != NULL && depth < DEPTH_MAX) {
        JSON_PUT(&out, ",\"element\":{");
        write_shape(shape->element, depth + 1);
        JSON_PUT(&out, "}");
    }
}

bool __wrap_wire_decode_with(struct arena *arena, const struct shape *shape, struct str body,
                             void *context, void *decoded, struct err *err)
{
    (void)arena, (void)body, (void)context, (void)decoded, (void)err;
    write_shape(shape, 0);
    longjmp(after_decode, 1);
}

static void write_operation(const struct op *op, enum api_family family)
{
    static const char *const access[] = {
        [ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_ADMIN] = "admin"};
    struct arena arena;
    struct api_thread thread = {0};
    arena_init(&arena);
    struct api_call call = {
        .thread = &thread,
        .family = family,
        .operation = str_from_c(op->name),
        .body = STR("{}"),
        .arena = &arena,
        .err = ERR_INIT(&arena),
        .op = op,
    };
    buf_format(&out, "\"%s\":{\"access\":\"%s\",\"summary\":\"%s\",", op->name, access[op->access],
               op->summary);
    if (setjmp(after_decode) == 0) {
        op->run(&call);
    }
    JSON_PUT(&out, "}");
    arena_finish(&arena);
}

int main(void)
{
    static const char *const families[] = {
        [API_DYNAMODB] = "DynamoDB", [API_STREAMS] = "DynamoDBStreams", [API_GRAMME] = "Gramme"};
    for (int family = API_DYNAMODB; family <= API_GRAMME; family++) {
        size_t count;
        const struct op *ops = api_operations((enum api_family)family, &count);
        buf_format(&out, "%s\"%s\":{", family == API_DYNAMODB ? "{" : ",\n", families[family]);
        for (size_t i = 0; i < count; i++) {
            JSON_PUT(&out, "\n");
            write_operation(&ops[i], (enum api_family)family);
            buf_add_char(&out, i + 1 < count ? ',' : '}');
        }
    }
    JSON_PUT(&out, "}\n");
    fwrite(out.data, 1, out.len, stdout);
    buf_finish(&out);
    return 0;
}
