/* TagResource and UntagResource: add and remove tags of a table. They differ only in struct
 * tags_kind. Called by dispatch.c on the thread of the call. */
#include "api/tables/tags.h"

struct tags_request {
    struct str arn;
    struct wire_list list; /* elements are tags (TagResource) or keys (UntagResource) */
};

static const struct shape shape_tag_keys = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<java.lang.String>",
    .element = &shape_string,
};
static const struct field tag_resource_fields[] = {
    FIELD(struct tags_request, arn, "ResourceArn", shape_string),
    FIELD(struct tags_request, list, "Tags", shape_tags),
    FIELD_END,
};
static const struct field untag_resource_fields[] = {
    FIELD(struct tags_request, arn, "ResourceArn", shape_string),
    FIELD(struct tags_request, list, "TagKeys", shape_tag_keys),
    FIELD_END,
};
static const struct shape shape_tag_resource = {
    .kind = SHAPE_STRUCT,
    .fields = tag_resource_fields,
    .size = sizeof(struct tags_request),
};
static const struct shape shape_untag_resource = {
    .kind = SHAPE_STRUCT,
    .fields = untag_resource_fields,
    .size = sizeof(struct tags_request),
};

struct tags_op {
    struct tags_change change;
    struct tags_request request;
};

/* The differences between the two operations. */
struct tags_kind {
    const struct shape *shape;
    const char *empty_message; /* the error for an empty list */
    bool (*check)(const struct wire_list *list, struct err *err);
    const struct table *(*change)(struct table_change *change, const struct table *table);
};

static const struct wire_list *list_of(struct table_change *change)
{
    return &CONTAINER_OF(change, struct tags_op, change.engine)->request.list;
}

/* --- TagResource --- */

/* Sets one tag. The arrays have room for one more. */
static void set_tag(struct table *table, struct str *names, struct str *values,
                    const struct tag_request *tag)
{
    size_t at = 0;
    while (at < table->tag_count && !str_eq(names[at], tag->key)) {
        at++;
    }
    names[at] = tag->key;
    values[at] = tag->value;
    table->tag_count = MAX(table->tag_count, at + 1);
}

static const struct table *add_tags(struct table_change *change, const struct table *table)
{
    const struct wire_list *tags = list_of(change);
    struct arena *arena = change->call.arena;
    struct table *changed = ARENA_NEW(arena, struct table);
    *changed = *table;
    struct str *names = ARENA_ARRAY(arena, struct str, table->tag_count + tags->count);
    struct str *values = ARENA_ARRAY(arena, struct str, table->tag_count + tags->count);
    for (size_t i = 0; i < table->tag_count; i++) {
        names[i] = table->tag_names[i];
        values[i] = table->tag_values[i];
    }
    for (size_t i = 0; i < tags->count; i++) {
        set_tag(changed, names, values, tags_at(tags, i));
    }
    changed->tag_names = names;
    changed->tag_values = values;
    if (changed->tag_count > TAGS_MAX) {
        tags_refuse_count(&change->call.err);
        return NULL;
    }
    return changed;
}

/* --- UntagResource --- */

static bool is_removed(const struct wire_list *keys, struct str key)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (str_eq(((const struct str *)keys->elements)[i], key)) {
            return true;
        }
    }
    return false;
}

static const struct table *remove_tags(struct table_change *change, const struct table *table)
{
    const struct wire_list *keys = list_of(change);
    struct arena *arena = change->call.arena;
    struct table *changed = ARENA_NEW(arena, struct table);
    *changed = *table;
    struct str *names = ARENA_ARRAY(arena, struct str, table->tag_count + 1);
    struct str *values = ARENA_ARRAY(arena, struct str, table->tag_count + 1);
    changed->tag_count = 0;
    for (size_t i = 0; i < table->tag_count; i++) {
        if (!is_removed(keys, table->tag_names[i])) {
            names[changed->tag_count] = table->tag_names[i];
            values[changed->tag_count++] = table->tag_values[i];
        }
    }
    changed->tag_names = names;
    changed->tag_values = values;
    return changed;
}

/* --- both --- */

static bool check_request(struct tags_op *op, const struct tags_kind *kind, struct str *out_name)
{
    struct api_call *call = op->change.call;
    struct err *err = &call->err;
    struct tags_request *request = &op->request;
    if (!api_decode(call, kind->shape, request) ||
        !wire_validate(kind->shape, request, WORDING_OLDER, err) ||
        !tags_table_name(call, request->arn, out_name)) {
        return false;
    }
    if (request->list.count == 0) {
        return err_set(err, ERR_VALIDATION, "%s", kind->empty_message);
    }
    return kind->check(&request->list, err);
}

static void run(struct api_call *call, const struct tags_kind *kind)
{
    struct tags_op *op = ARENA_NEW(call->arena, struct tags_op);
    op->change.call = call;
    struct str name;
    if (!check_request(op, kind, &name)) {
        api_finish(call);
        return;
    }
    op->change.arn = op->request.arn;
    tags_start_change(&op->change, name, kind->change);
}

void op_tag_resource(struct api_call *call)
{
    static const struct tags_kind kind = {
        .shape = &shape_tag_resource,
        .empty_message = "Atleast one Tag needs to be provided as Input.",
        .check = tags_check,
        .change = add_tags,
    };
    run(call, &kind);
}

void op_untag_resource(struct api_call *call)
{
    static const struct tags_kind kind = {
        .shape = &shape_untag_resource,
        .empty_message = "Atleast one Tag Key needs to be provided as Input.",
        .check = tags_check_keys,
        .change = remove_tags,
    };
    run(call, &kind);
}
