#include "api/tags.h"

struct untag_resource_request {
    struct str arn;
    struct wire_list keys;
};

static const struct shape shape_tag_keys = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<java.lang.String>",
    .element = &shape_string,
};
static const struct field untag_resource_fields[] = {
    FIELD(struct untag_resource_request, arn, "ResourceArn", shape_string),
    FIELD(struct untag_resource_request, keys, "TagKeys", shape_tag_keys),
    FIELD_END,
};
static const struct shape shape_untag_resource = {
    .kind = SHAPE_STRUCT,
    .fields = untag_resource_fields,
    .size = sizeof(struct untag_resource_request),
};

struct untag_resource {
    struct tags_change change;
    struct untag_resource_request request;
};

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
    const struct wire_list *keys =
        &CONTAINER_OF(change, struct untag_resource, change.engine)->request.keys;
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

static bool check(struct untag_resource *op, struct str *out_name)
{
    struct api_call *call = op->change.call;
    struct err *err = &call->err;
    struct untag_resource_request *request = &op->request;
    if (!api_decode(call, &shape_untag_resource, request) ||
        !wire_validate(&shape_untag_resource, request, WORDING_OLDER, err) ||
        !tags_table_name(call, request->arn, out_name)) {
        return false;
    }
    if (request->keys.count == 0) {
        return err_set(err, ERR_VALIDATION, "Atleast one Tag Key needs to be provided as Input.");
    }
    return tags_check_keys(&request->keys, err);
}

void op_untag_resource(struct api_call *call)
{
    struct untag_resource *op = ARENA_NEW(call->arena, struct untag_resource);
    op->change.call = call;
    struct str name;
    if (!check(op, &name)) {
        api_finish(call);
        return;
    }
    op->change.arn = op->request.arn;
    tags_start_change(&op->change, name, remove_tags);
}
