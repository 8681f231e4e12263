#include "api/tags.h"

struct tag_resource_request {
    struct str arn;
    struct wire_list tags;
};

static const struct field tag_resource_fields[] = {
    FIELD(struct tag_resource_request, arn, "ResourceArn", shape_string),
    FIELD(struct tag_resource_request, tags, "Tags", shape_tags),
    FIELD_END,
};
static const struct shape shape_tag_resource = {
    .kind = SHAPE_STRUCT,
    .fields = tag_resource_fields,
    .size = sizeof(struct tag_resource_request),
};

struct tag_resource {
    struct tags_change change;
    struct tag_resource_request request;
};

/* Sets one tag among `table`'s, which have room for one more. */
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
    const struct wire_list *tags =
        &CONTAINER_OF(change, struct tag_resource, change.engine)->request.tags;
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

static bool check(struct tag_resource *op, struct str *out_name)
{
    struct api_call *call = op->change.call;
    struct err *err = &call->err;
    struct tag_resource_request *request = &op->request;
    if (!api_decode(call, &shape_tag_resource, request) ||
        !wire_validate(&shape_tag_resource, request, WORDING_OLDER, err) ||
        !tags_table_name(call, request->arn, out_name)) {
        return false;
    }
    if (request->tags.count == 0) {
        return err_set(err, ERR_VALIDATION, "Atleast one Tag needs to be provided as Input.");
    }
    return tags_check(&request->tags, err);
}

void op_tag_resource(struct api_call *call)
{
    struct tag_resource *op = ARENA_NEW(call->arena, struct tag_resource);
    op->change.call = call;
    struct str name;
    if (!check(op, &name)) {
        api_finish(call);
        return;
    }
    op->change.arn = op->request.arn;
    tags_start_change(&op->change, name, add_tags);
}
