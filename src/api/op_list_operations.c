/* ListOperations: returns the lists of operations (wire/ops.def, stream_ops.def, gramme_ops.def) as
 * JSON, for help texts and completion in the console and in shells. Called by dispatch.c on the
 * thread of the call. */
#include "api/api_internal.h"

static const struct field list_operations_fields[] = {FIELD_END};
static const struct shape shape_list_operations = {
    .kind = SHAPE_STRUCT,
    .fields = list_operations_fields,
    .size = 1,
};

static void write_operation(struct buf *out, const struct op *op)
{
    static const char *const access[] = {
        [ACCESS_READ] = "Read", [ACCESS_WRITE] = "Write", [ACCESS_ADMIN] = "Admin"};
    buf_format(out, "{\"Name\":\"%s\",\"Access\":\"%s\",\"Summary\":", op->name,
               access[op->access]);
    json_write_string(out, str_from_c(op->summary));
    buf_add_char(out, '}');
}

static void write_operations(struct api_call *call, const char *member, enum api_family family)
{
    size_t count;
    const struct op *ops = api_operations(family, &count);
    api_member(call, str_from_c(member));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_add_char(call->out, ',');
        }
        write_operation(call->out, &ops[i]);
    }
    buf_add_char(call->out, ']');
}

void op_list_operations(struct api_call *call)
{
    char ignored;
    if (api_decode(call, &shape_list_operations, &ignored)) {
        api_begin(call);
        write_operations(call, "DynamoDB", API_DYNAMODB);
        write_operations(call, "DynamoDBStreams", API_STREAMS);
        write_operations(call, "Gramme", API_GRAMME);
        api_end(call);
    }
    api_finish(call);
}
