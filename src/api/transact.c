#include "api/transact.h"

struct reasons {
    const struct item_write *writes;
    size_t count;
};

static const char *reason_code(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return "None";
    case ERR_CONDITIONAL_CHECK_FAILED:
        return "ConditionalCheckFailed";
    case ERR_ITEM_COLLECTION_SIZE_LIMIT_EXCEEDED:
        return "ItemCollectionSizeLimitExceeded";
    case ERR_TRANSACTION_CONFLICT:
        return "TransactionConflict";
    default:
        return "ValidationError";
    }
}

static void write_reason(struct buf *out, const struct item_write *write)
{
    JSON_PUT(out, "{\"Code\":");
    json_write_plain_string(out, str_from_c(reason_code(write->err.code)));
    if (write->err.code == ERR_CONDITIONAL_CHECK_FAILED && !value_is_absent(write->old_item)) {
        JSON_PUT(out, ",\"Item\":");
        value_json_write_item(out, write->old_item);
    }
    if (write->err.code != ERR_NONE) {
        JSON_PUT(out, ",\"Message\":");
        json_write_string(out, write->err.message);
    }
    JSON_PUT(out, "}");
}

static void write_reasons(struct api_call *call)
{
    const struct reasons *reasons = call->state;
    JSON_PUT(call->out, ",\"CancellationReasons\":[");
    for (size_t i = 0; i < reasons->count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        write_reason(call->out, &reasons->writes[i]);
    }
    JSON_PUT(call->out, "]");
}

void transact_cancel(struct api_call *call, const struct item_write *writes, size_t count)
{
    struct reasons *reasons = ARENA_NEW(call->arena, struct reasons);
    *reasons = (struct reasons){.writes = writes, .count = count};
    struct str codes = STR("");
    for (size_t i = 0; i < count; i++) {
        codes = arena_format(call->arena, "%.*s%s%s", STR_ARG(codes), i > 0 ? ", " : "",
                             reason_code(writes[i].err.code));
    }
    call->state = reasons;
    call->write_error_members = write_reasons;
    err_set(&call->err, ERR_TRANSACTION_CANCELED,
            "Transaction cancelled, please refer cancellation reasons for specific reasons [%.*s]",
            STR_ARG(codes));
}
