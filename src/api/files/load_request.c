/* Parameters and parts of answers of the operations on imports and bulk operations. Called by these
 * operations, on the thread of the request. */
#include "api/files/load_request.h"

#include "api/arn.h"
#include "base/hex.h"
#include "base/random.h"
#include "err/messages.h"

/* --- shapes --- */

static bool is_client_token(struct str text)
{
    return text.len > 0 && memchr(text.data, '$', text.len) == NULL;
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_bucket(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!is_alphanumeric(c) && c != '.' && c != '-' && c != '_') {
            return false;
        }
    }
    return text.len >= 2 && is_alphanumeric(text.data[0]) &&
           is_alphanumeric(text.data[text.len - 1]);
}

static bool is_owner(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
    }
    return text.len == 12;
}

const struct shape shape_client_token = {
    .kind = SHAPE_STRING, .matches = is_client_token, .pattern = "^[^\\$]+$"};
const struct shape shape_bucket = {
    .kind = SHAPE_STRING,
    .max = 255,
    .matches = is_bucket,
    .pattern = "^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$",
};
const struct shape shape_bucket_owner = {
    .kind = SHAPE_STRING, .matches = is_owner, .pattern = "[0-9]{12}"};
const struct shape shape_bucket_prefix = {.kind = SHAPE_STRING, .max = 1024};
const struct shape shape_compression = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ZSTD", "NONE", "GZIP", NULL},
};
const struct shape shape_load_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};
const struct shape shape_load_page = {.kind = SHAPE_INTEGER, .min = 1, .max = 25};

enum load_compression load_request_compression(const struct wire_enum *given)
{
    static const enum load_compression kinds[] = {
        [WIRE_ZSTD] = LOAD_ZSTD, [WIRE_NONE] = LOAD_NONE, [WIRE_GZIP] = LOAD_GZIP};
    return str_is_null(given->text) ? LOAD_NONE : kinds[given->value];
}

/* --- ARNs --- */

/* arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/import/ID */
bool load_request_row(struct api_call *call, enum load_kind kind, struct str text, struct str *out)
{
    struct str word = kind == LOAD_IMPORT ? STR("/import/") : STR("/bulk-operation/");
    const char *at = memmem(text.data, text.len, word.data, word.len);
    struct str table_arn = at == NULL ? STR("") : str_make(text.data, (size_t)(at - text.data));
    struct arn arn = arn_parse(table_arn);
    struct str id = at == NULL ? STR("") : str_skip(text, table_arn.len + word.len);
    if (arn.kind != ARN_TABLE || id.len == 0) {
        return err_set(&call->err, ERR_VALIDATION, "Invalid %s ARN",
                       kind == LOAD_IMPORT ? "Import" : "Bulk Operation");
    }
    if (!str_eq(arn.account, engine_account(call->engine)) || !str_eq(arn.partition, STR("aws"))) {
        return err_set(&call->err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
    }
    *out = load_row_name(call->arena, id, arn.table);
    return true;
}

/* --- tokens of lists: hexadecimal digits in groups of 16, at least 112 of them --- */

enum { TOKEN_GROUP = 8, TOKEN_BYTES_MIN = 56 };

bool load_request_is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return text.len > 0 && text.len % (2 * (size_t)TOKEN_GROUP) == 0;
}

static struct str make_token(struct arena *arena, struct str row_name)
{
    size_t len =
        MAX((row_name.len + TOKEN_GROUP) / TOKEN_GROUP * TOKEN_GROUP, (size_t)TOKEN_BYTES_MIN);
    char *text = arena_bytes(arena, 2 * len);
    hex_encode(row_name, text);
    memset(text + 2 * row_name.len, '0', 2 * (len - row_name.len));
    return str_make(text, 2 * len);
}

void load_request_answer_list(struct api_call *call, const struct load_list *list,
                              struct str member,
                              void (*put)(struct api_call *call, const struct load_entry *entry))
{
    call->err = list->call.err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, member);
        buf_add_char(call->out, '[');
        for (size_t i = 0; i < list->count; i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            api_begin(call);
            put(call, &list->entries[i]);
            api_end(call);
        }
        buf_add_char(call->out, ']');
        if (list->more) {
            struct str last = list->entries[list->count - 1].row_name;
            load_request_text(call, STR("NextToken"), make_token(call->arena, last));
        }
        api_end(call);
    }
    api_finish(call);
}

bool load_request_position(struct api_call *call, struct str token, struct str *out)
{
    *out = STR_NULL;
    if (str_is_null(token)) {
        return true;
    }
    char *name = arena_bytes(call->arena, token.len / 2 + 1);
    size_t len = token.len / 2;
    bool is_good = hex_decode(token, name);
    while (is_good && len > 0 && name[len - 1] == 0) {
        len--;
    }
    if (!is_good || len <= LOAD_ID_LEN || len > LOAD_ID_LEN + 1 + TABLE_NAME_MAX ||
        name[LOAD_ID_LEN] != '/') {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_LIST_TOKEN, STR_ARG(token));
    }
    *out = str_make(name, len);
    return true;
}

struct str load_request_client_token(struct api_call *call, struct str given)
{
    if (!str_is_null(given)) {
        return given;
    }
    char uuid[UUID_TEXT_LEN];
    random_uuid(uuid);
    return arena_copy(call->arena, str_make(uuid, sizeof(uuid)));
}

/* --- starting --- */

static void repeated_done(struct engine_call *engine_call)
{
    struct load_begin *begin = CONTAINER_OF(engine_call, struct load_begin, repeated.call);
    begin->call->err = engine_call->err;
    if (engine_call->err.code != ERR_NONE) {
        api_finish(begin->call);
        return;
    }
    begin->answer(begin->call, begin->repeated.row_name, &begin->repeated.load);
}

static void start_done(struct engine_call *engine_call)
{
    struct load_begin *begin = CONTAINER_OF(engine_call, struct load_begin, start.call);
    struct api_call *call = begin->call;
    const struct load_start *start = &begin->start;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && start->is_repeated &&
        !str_eq(start->digest, start->load.digest)) {
        err_set(&call->err, begin->conflict_code, "%s", begin->conflict_text);
    }
    if (call->err.code != ERR_NONE) {
        api_finish(call);
    } else if (start->is_repeated) {
        begin->repeated = (struct load_get){
            .call = api_engine_call(call, repeated_done),
            .kind = begin->load.kind,
            .row_name = start->row_name,
        };
        engine_get_load(&begin->repeated);
    } else {
        begin->answer(call, start->row_name, &start->load);
    }
}

static void running_done(struct engine_call *engine_call)
{
    struct load_begin *begin = CONTAINER_OF(engine_call, struct load_begin, running.call);
    begin->start = (struct load_start){
        .call = api_engine_call(begin->call, start_done),
        .load = begin->load,
        .is_full = begin->running.count >= LOADS_MAX,
    };
    engine_start_load(&begin->start);
}

void load_request_begin(struct load_begin *begin)
{
    begin->running = (struct load_list){
        .call = api_engine_call(begin->call, running_done),
        .kind = begin->load.kind,
        .running = true,
        .limit = LOADS_MAX,
    };
    engine_list_loads(&begin->running);
}

struct str load_request_write(struct api_call *call, const struct shape *shape, const void *decoded)
{
    struct buf out = {0};
    wire_write_struct(&out, shape, decoded);
    struct str text = arena_copy(call->arena, buf_str(&out));
    buf_finish(&out);
    return text;
}

/* --- JSON --- */

const char *load_request_state(const struct load *load)
{
    static const char *const names[] = {
        [LOAD_IN_PROGRESS] = "IN_PROGRESS",
        [LOAD_COMPLETED] = "COMPLETED",
        [LOAD_COMPLETED_WITH_ERRORS] = "COMPLETED_WITH_ERRORS",
        [LOAD_CANCELLING] = "CANCELLING",
        [LOAD_CANCELLED] = "CANCELLED",
        [LOAD_FAILED] = "FAILED",
    };
    return names[load->state];
}

void load_request_text(struct api_call *call, struct str name, struct str text)
{
    api_member(call, name);
    json_write_string(call->out, text);
}

void load_request_int(struct api_call *call, struct str name, int64_t value)
{
    api_member(call, name);
    buf_add_int64(call->out, value);
}

void load_request_json(struct api_call *call, struct str name, struct str json)
{
    if (!str_is_null(json)) {
        api_member(call, name);
        buf_add(call->out, json);
    }
}

void load_request_table_arn(struct api_call *call, struct str table_name)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    load_request_text(call, STR("TableArn"),
                      arena_format(call->arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s",
                                   STR_ARG(region), STR_ARG(account), STR_ARG(table_name)));
}
