/* ListTagsOfResource: lists the tags of a table. All tags, at most 50, are on one page, so the
 * answer has no NextToken and the request's NextToken is ignored. Called by dispatch.c on the
 * thread of the call. */
#include <stdlib.h>

#include "api/tables/tags.h"
#include "err/messages.h"

struct list_tags_request {
    struct str arn;
    struct str next_token;
};

static const struct field list_tags_fields[] = {
    FIELD(struct list_tags_request, arn, "ResourceArn", shape_string),
    FIELD(struct list_tags_request, next_token, "NextToken", shape_string),
    FIELD_END,
};
static const struct shape shape_list_tags = {
    .kind = SHAPE_STRUCT,
    .fields = list_tags_fields,
    .size = sizeof(struct list_tags_request),
};

static int key_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct tag_request *)a)->key, ((const struct tag_request *)b)->key);
}

/* Writes the tags, sorted by key. */
static void write_tags(struct api_call *call, const struct table *table)
{
    struct tag_request *tags = ARENA_ARRAY(call->arena, struct tag_request, table->tag_count + 1);
    for (size_t i = 0; i < table->tag_count; i++) {
        tags[i] = (struct tag_request){table->tag_names[i], table->tag_values[i]};
    }
    qsort(tags, table->tag_count, sizeof(*tags), key_cmp);
    JSON_PUT(call->out, "{\"Tags\":[");
    for (size_t i = 0; i < table->tag_count; i++) {
        buf_add(call->out, i > 0 ? STR(",{\"Key\":") : STR("{\"Key\":"));
        json_write_string(call->out, tags[i].key);
        JSON_PUT(call->out, ",\"Value\":");
        json_write_string(call->out, tags[i].value);
        JSON_PUT(call->out, "}");
    }
    JSON_PUT(call->out, "]}");
}

void op_list_tags_of_resource(struct api_call *call)
{
    struct list_tags_request request;
    struct str name;
    if (!api_decode(call, &shape_list_tags, &request) ||
        !tags_table_name(call, request.arn, &name)) {
        api_finish(call);
        return;
    }
    const struct table *table = table_acquire(call->engine, name);
    if (table == NULL) {
        tags_refuse_missing(call, request.arn);
    } else if (table_status(call->engine, table) == STATUS_CREATING) {
        err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_ARN_NOT_FOUND, STR_ARG(request.arn));
    } else {
        write_tags(call, table);
    }
    table_release(table);
    api_finish(call);
}
