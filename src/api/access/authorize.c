/* Finds which actions on which resources a request asks for, and decides by the policies. It finds
 * the members of a request by name, so an operation needs only its line in ops.def. Called by
 * api_decode() and by the PartiQL operations, on the thread of the call. */
#include "api/access/authorize.h"

#include "api/access/resource_policy.h"
#include "api/arn.h"
#include "base/mem.h"

/* Members ----------------------------------------------------------------------------------- */

static const struct field *find_field(const struct shape *shape, const char *name)
{
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        if (strcmp(field->name, name) == 0) {
            return field;
        }
    }
    return NULL;
}

const void *authorize_member(const struct shape *shape, const void *request, const char *name,
                             enum shape_kind kind)
{
    const struct field *field = shape == NULL ? NULL : find_field(shape, name);
    return field == NULL || field->shape->kind != kind ? NULL
                                                       : (const char *)request + field->offset;
}

const struct shape *authorize_shape(const struct shape *shape, const char *name)
{
    const struct field *field = find_field(shape, name);
    assert(field != NULL);
    return field->shape;
}

static struct str member_text(const struct shape *shape, const void *request, const char *name)
{
    const struct str *text = authorize_member(shape, request, name, SHAPE_STRING);
    return text == NULL ? STR_NULL : *text;
}

static struct wire_enum member_enum(const struct shape *shape, const void *request,
                                    const char *name)
{
    const struct wire_enum *value = authorize_member(shape, request, name, SHAPE_ENUM);
    return value == NULL ? (struct wire_enum){0} : *value;
}

/* Resources --------------------------------------------------------------------------------- */

static struct str table_arn(struct api_call *call, struct str name)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    return arena_format(call->arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(region),
                        STR_ARG(account), STR_ARG(name));
}

static struct str stream_arn(struct api_call *call, const struct arn *arn)
{
    struct str table = table_arn(call, arn->table);
    return arena_format(call->arena, "%.*s/stream/%.*s", STR_ARG(table), STR_ARG(arn->part));
}

static struct str resource_of(const struct question *question)
{
    if (!str_is_null(question->resource)) {
        return question->resource;
    }
    struct str arn = table_arn(question->call, question->table);
    return str_is_null(question->index) ? arn
                                        : arena_format(question->call->arena, "%.*s/index/%.*s",
                                                       STR_ARG(arn), STR_ARG(question->index));
}

/* Decisions --------------------------------------------------------------------------------- */

static void fill_tags(struct question *question)
{
    const struct table *table = question->description;
    struct context_tag *tags =
        ARENA_ARRAY(question->call->arena, struct context_tag, table->tag_count + 1);
    for (size_t i = 0; i < table->tag_count; i++) {
        tags[i] = (struct context_tag){.name = table->tag_names[i], .value = table->tag_values[i]};
    }
    question->context.tags[CONTEXT_RESOURCE_TAG - CONTEXT_KEY_COUNT] =
        (struct context_tags){.tags = tags, .count = table->tag_count};
}

static void fill_context(struct question *question, uint64_t mentions)
{
    question->context = *question->call->guard->context;
    bool is_tagged = question->description != NULL && question->stream == NULL;
    if ((mentions & CONTEXT_BIT(CONTEXT_RESOURCE_TAG)) != 0 && is_tagged) {
        fill_tags(question);
    }
    if (question->statement != NULL) {
        authorize_fill_statement(question, mentions);
    } else {
        authorize_fill_keys(question, mentions);
    }
}

/* Adds a resource to a list that does not contain it. */
static void note_resource(struct api_call *call, struct resource_list *list, struct str resource)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->arns[i], resource)) {
            return;
        }
    }
    if (list->count == RESOURCES_MAX) {
        return;
    }
    if ((list->count & (list->count - 1)) == 0) { /* full: 0, 1, 2, 4, ... */
        struct str *more = ARENA_ARRAY(call->arena, struct str, list->count * 2 + 1);
        if (list->count > 0) {
            memcpy(more, list->arns, list->count * sizeof(*more));
        }
        list->arns = more;
    }
    list->arns[list->count++] = resource;
}

/* Sets *err, unless an earlier question of the request was denied. */
static bool refuse(const struct question *question, const struct policy_request *request,
                   const struct policy_decision *decision, struct err *err)
{
    struct api_call *call = question->call;
    const struct api_guard *guard = call->guard;
    if (call->notes_resources) {
        note_resource(call, &call->denied, request->resource);
    }
    if (err->code != ERR_NONE) {
        return false;
    }
    struct str text = policy_denial_text(guard->policies, decision, request);
    if (guard->refused != NULL && guard->refused(guard, request, decision, text)) {
        return true; /* `--auth warn`: denials are only logged */
    }
    return err_set_str(err, ERR_ACCESS_DENIED, text);
}

/* The resource policy of the question's table or stream, or NULL. */
static const struct policy *resource_policy_of(const struct question *question)
{
    static const struct arn table_itself = {.kind = ARN_TABLE};
    return question->description == NULL
               ? NULL
               : api_resource_policy(question->call, question->description,
                                     question->stream != NULL ? question->stream : &table_itself);
}

/* Decides by all policies, of which `resource` is that of the table or stream. *out_request is the
 * question as it was put to them. */
static struct policy_decision decide(struct question *question, const struct policy *resource,
                                     struct policy_request *out_request)
{
    struct api_call *call = question->call;
    const struct api_guard *guard = call->guard;
    struct policy_set policies = *guard->policies;
    uint64_t mentions = guard->mentions;
    policies.resource = resource;
    if (policies.resource != NULL) {
        mentions |= policy_mentions(policies.resource);
    }
    fill_context(question, mentions);
    *out_request = (struct policy_request){
        .caller = guard->caller,
        .action = str_from_c(question->action),
        .resource = resource_of(question),
        .is_prefix = question->is_prefix,
        .context = &question->context,
        .arena = call->arena,
    };
    struct policy_decision decision = policy_decide(&policies, out_request);
    if (decision.is_allowed && question->shows_old_on_failure) {
        authorize_set(question, CONTEXT_DDB_RETURN_VALUES, STR("ALL_OLD"));
        decision = policy_decide(&policies, out_request);
    }
    return decision;
}

/* Decides one question. The table need not exist. */
static bool decide_one(struct question *question, struct err *err)
{
    struct api_call *call = question->call;
    call->is_authorized = true; /* or denied: *err is set */
    if (UNLIKELY(call->notes_resources)) {
        call->resource = resource_of(question);
        note_resource(call, &call->resources, call->resource);
    }
    if (call->guard == NULL) {
        return true;
    }
    if (!str_is_null(question->table)) {
        question->description = table_acquire(call->engine, question->table);
    }
    struct policy_request request;
    struct policy_decision decision = decide(question, resource_policy_of(question), &request);
    bool is_allowed = decision.is_allowed || refuse(question, &request, &decision, err);
    table_release(question->description);
    question->description = NULL;
    return is_allowed;
}

/* Asks a question of a request that may have several. False: the request is denied, and *err says
 * so; other questions need not be asked. For the audit log they are, so that it can name all denied
 * resources: then the result is true, and ask_all() finds *err. */
static bool ask(struct question *question, struct err *err)
{
    struct api_call *call = question->call;
    return decide_one(question, err) ||
           (call->notes_resources && ++call->denial_count < RESOURCES_MAX);
}

bool authorize_allows_under(struct api_call *call, const char *action, const struct arn *arn,
                            struct str document)
{
    if (call->guard == NULL) {
        return true;
    }
    struct policy *policy = NULL;
    struct err err = ERR_INIT(call->arena);
    bool good = policy_parse(document, POLICY_RESOURCE, &policy, &err);
    assert(good); /* the caller has checked it */
    struct question question = {
        .call = call,
        .action = action,
        .resource = arn->kind == ARN_TABLE ? STR_NULL : stream_arn(call, arn),
        .table = arn->table,
        .stream = arn->kind == ARN_STREAM ? arn : NULL,
        .description = table_acquire(call->engine, arn->table),
    };
    struct policy_request request;
    struct policy_decision decision = decide(&question, policy, &request);
    bool is_allowed = decision.is_allowed || refuse(&question, &request, &decision, &err);
    table_release(question.description);
    policy_destroy(policy);
    return is_allowed;
}

/* Requests ---------------------------------------------------------------------------------- */

/* Returns a question about the operation itself. */
static struct question begin(struct api_call *call, const struct shape *shape, const void *request)
{
    return (struct question){
        .call = call,
        .action = call->op->action,
        .shape = shape,
        .request = request,
        .capacity = member_enum(shape, request, "ReturnConsumedCapacity"),
    };
}

/* Asks about TableName. If it is missing, the operation reports the error. */
static bool ask_table(struct question *question)
{
    struct api_call *call = question->call;
    question->table = member_text(question->shape, question->request, "TableName");
    return question->table.len == 0 || ask(question, &call->err);
}

static bool ask_index(struct question *question)
{
    struct str index = member_text(question->shape, question->request, "IndexName");
    if (index.len > 0) {
        question->index = index;
    }
    return ask_table(question);
}

/* Returns an ARN with the partition and Region of this server. Some operations ignore those of the
 * request, so policies decide about the ARN of what is found. Text that is not an ARN is returned
 * unchanged: the operation refuses it. */
static struct str own_arn(struct api_call *call, struct str text)
{
    struct str region = engine_region(call->engine);
    struct str rest = text; /* from the account on */
    for (int i = 0; i < 4; i++) {
        const char *colon = rest.len == 0 ? NULL : memchr(rest.data, ':', rest.len);
        if (colon == NULL) {
            return text;
        }
        rest = str_skip(rest, (size_t)(colon - rest.data) + 1);
    }
    return arena_format(call->arena, "arn:aws:dynamodb:%.*s:%.*s", STR_ARG(region), STR_ARG(rest));
}

/* Asks about the table or stream of an ARN. */
static bool ask_arn(struct question *question, struct str text)
{
    struct arn arn = arn_parse(text);
    if (arn.kind != ARN_TABLE && arn.kind != ARN_STREAM) {
        return true; /* the operation reports the error */
    }
    question->resource = own_arn(question->call, text);
    question->table = arn.table;
    question->stream = arn.kind == ARN_STREAM ? &arn : NULL;
    return ask(question, &question->call->err);
}

/* Asks about the backup of an ARN. Its table may be deleted; resource policies of the table do not
 * apply. */
static bool ask_backup(struct question *question)
{
    struct str text = member_text(question->shape, question->request, "BackupArn");
    struct backup_arn_parts parts;
    if (str_is_null(text) || !api_split_backup_arn(text, &parts)) {
        return true; /* the operation refuses it */
    }
    question->resource = own_arn(question->call, text);
    bool is_allowed = ask(question, &question->call->err);
    question->resource = STR_NULL;
    return is_allowed;
}

/* Asks about the import or bulk operation of an ARN. Its table may be deleted; resource policies of
 * the table do not apply. */
static bool ask_load(struct question *question)
{
    struct str import = member_text(question->shape, question->request, "ImportArn");
    struct str bulk = member_text(question->shape, question->request, "BulkOperationArn");
    question->resource = own_arn(question->call, str_is_null(import) ? bulk : import);
    return question->resource.len == 0 || ask(question, &question->call->err);
}

/* Buckets and Kinesis streams: the server reads and writes them with its own credentials, so the
 * caller needs the permissions for them too. */

static bool ask_other(struct api_call *call, const char *action, struct str resource,
                      bool is_prefix)
{
    struct question question = {
        .call = call, .action = action, .resource = resource, .is_prefix = is_prefix};
    return ask(&question, &call->err);
}

/* Asks whether the caller may read the objects of a bucket whose keys start with a prefix. */
static bool ask_read_objects(struct api_call *call, const struct shape *shape, const void *source)
{
    struct str bucket = member_text(shape, source, "S3Bucket");
    struct str prefix = member_text(shape, source, "S3KeyPrefix");
    return bucket.len == 0 || /* the operation reports the error */
           (ask_other(call, "s3:ListBucket",
                      arena_format(call->arena, "arn:aws:s3:::%.*s", STR_ARG(bucket)), false) &&
            ask_other(call, "s3:GetObject",
                      arena_format(call->arena, "arn:aws:s3:::%.*s/%.*s*", STR_ARG(bucket),
                                   STR_ARG(prefix)),
                      true));
}

/* Asks whether the caller may write objects below a folder of a bucket. */
static bool ask_write_objects(struct api_call *call, struct str bucket, struct str folder)
{
    while (folder.len > 0 && folder.data[folder.len - 1] == '/') {
        folder.len--;
    }
    return bucket.len == 0 ||
           ask_other(call, "s3:PutObject",
                     arena_format(call->arena, "arn:aws:s3:::%.*s/%.*s%s*", STR_ARG(bucket),
                                  STR_ARG(folder), folder.len > 0 ? "/" : ""),
                     true);
}

/* Returns a struct inside of the request, and its shape; NULL: the request lacks it, and the
 * operation reports the error. */
static const void *inner_struct(const struct question *question, const char *name,
                                const struct shape **out_shape)
{
    const void *const *inner =
        authorize_member(question->shape, question->request, name, SHAPE_STRUCT);
    assert(inner != NULL);
    *out_shape = authorize_shape(question->shape, name);
    return *inner;
}

/* ImportTable: asks about the new table and the objects. */
static bool ask_import(struct question *question)
{
    const struct shape *shape;
    const void *table = inner_struct(question, "TableCreationParameters", &shape);
    question->table = table == NULL ? STR_NULL : member_text(shape, table, "TableName");
    if (question->table.len > 0 && !ask(question, &question->call->err)) {
        return false;
    }
    const void *source = inner_struct(question, "S3BucketSource", &shape);
    return source == NULL || ask_read_objects(question->call, shape, source);
}

/* StartBulkPutItems: asks about the table, the objects that are read and those that are written. */
static bool ask_bulk(struct question *question)
{
    const struct shape *shape;
    if (!ask_table(question)) {
        return false;
    }
    const void *input = inner_struct(question, "InputS3Configuration", &shape);
    if (input != NULL && !ask_read_objects(question->call, shape, input)) {
        return false;
    }
    const void *output = inner_struct(question, "OutputS3Configuration", &shape);
    return output == NULL ||
           ask_write_objects(question->call, member_text(shape, output, "S3Bucket"),
                             member_text(shape, output, "S3KeyPrefix"));
}

/* EnableKinesisStreamingDestination: asks about the table and the stream. */
static bool ask_kinesis(struct question *question)
{
    struct api_call *call = question->call;
    struct str stream = member_text(question->shape, question->request, "StreamArn");
    return ask_table(question) &&
           (stream.len == 0 || (ask_other(call, "kinesis:DescribeStream", stream, false) &&
                                ask_other(call, "kinesis:PutRecords", stream, false)));
}

/* An export: asks about the table that is exported and the objects that are written; or about the
 * export of an ARN, whose table may be deleted. */
static bool ask_export(struct question *question, struct str table_arn)
{
    if (!str_is_null(table_arn)) {
        return ask_arn(question, table_arn) &&
               ask_write_objects(question->call,
                                 member_text(question->shape, question->request, "S3Bucket"),
                                 member_text(question->shape, question->request, "S3Prefix"));
    }
    question->resource =
        own_arn(question->call, member_text(question->shape, question->request, "ExportArn"));
    return question->resource.len == 0 || ask(question, &question->call->err);
}

/* A restore: asks about the source, and about the new table with all actions that read and write
 * its items. */
static bool ask_restore(struct question *question)
{
    static const char *const actions[] = {
        NULL, /* the operation itself */
        "dynamodb:BatchWriteItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:Scan",
        "dynamodb:UpdateItem",
    };
    struct str target = member_text(question->shape, question->request, "TargetTableName");
    struct str name = member_text(question->shape, question->request, "SourceTableName");
    struct str arn = member_text(question->shape, question->request, "SourceTableArn");
    struct err *err = &question->call->err;
    question->table = name.len > 0 ? name : api_table_in_arn(arn);
    if (!ask_backup(question) || (question->table.len > 0 && !ask(question, err))) {
        return false;
    }
    question->table = target;
    for (size_t i = 0; target.len > 0 && i < COUNT_OF(actions); i++) {
        question->action = actions[i] == NULL ? question->call->op->action : actions[i];
        if (!ask(question, err)) {
            return false;
        }
    }
    return true;
}

/* Returns the stream's ARN, with which an iterator starts; STR_NULL if there is none. */
static struct str arn_in_iterator(struct str iterator)
{
    const char *end = iterator.len == 0 ? NULL : memchr(iterator.data, '|', iterator.len);
    return end == NULL ? STR_NULL : str_make(iterator.data, (size_t)(end - iterator.data));
}

/* CreateTable: asks also for the permissions to set tags and a policy, if the request has them. */
static bool ask_creation(struct question *question)
{
    const struct wire_list *tags =
        authorize_member(question->shape, question->request, "Tags", SHAPE_LIST);
    struct str policy = member_text(question->shape, question->request, "ResourcePolicy");
    if (!ask_table(question)) {
        return false;
    }
    if (tags != NULL && tags->count > 0) {
        question->action = "dynamodb:TagResource";
        if (!ask_table(question)) {
            return false;
        }
    }
    question->action = "dynamodb:PutResourcePolicy";
    return str_is_null(policy) || ask_table(question);
}

static bool ask_batch(struct question *question)
{
    const struct wire_map *tables =
        authorize_member(question->shape, question->request, "RequestItems", SHAPE_MAP);
    assert(tables != NULL);
    const struct shape *element = authorize_shape(question->shape, "RequestItems")->element;
    for (size_t i = 0; i < tables->count; i++) {
        struct question one = *question;
        one.table = shape_table_key.keep(tables->names[i], NULL);
        if (element->kind == SHAPE_LIST) {
            one.items = &((const struct wire_list *)tables->values)[i];
            one.shape = element->element;
            one.request = NULL;
        } else {
            one.request = ((void *const *)tables->values)[i];
            one.shape = one.request == NULL ? NULL : element;
        }
        if (one.table.len > 0 && !ask(&one, &question->call->err)) {
            return false;
        }
    }
    return true;
}

/* The action of each kind of TransactItems. */
static const struct {
    const char *member;
    const char *action;
} member_actions[] = {
    {"ConditionCheck", "dynamodb:ConditionCheckItem"},
    {"Delete", "dynamodb:DeleteItem"},
    {"Get", "dynamodb:GetItem"},
    {"Put", "dynamodb:PutItem"},
    {"Update", "dynamodb:UpdateItem"},
};

static bool ask_member(struct question *question, const struct shape *shape, const void *item)
{
    for (size_t i = 0; i < COUNT_OF(member_actions); i++) {
        const void *const *action =
            authorize_member(shape, item, member_actions[i].member, SHAPE_STRUCT);
        if (action == NULL || *action == NULL) {
            continue;
        }
        struct question one = *question;
        one.action = member_actions[i].action;
        one.shape = authorize_shape(shape, member_actions[i].member);
        one.request = *action;
        if (!ask_table(&one)) {
            return false;
        }
    }
    return true;
}

static bool ask_transaction(struct question *question)
{
    const struct wire_list *items =
        authorize_member(question->shape, question->request, "TransactItems", SHAPE_LIST);
    assert(items != NULL);
    const struct shape *element = authorize_shape(question->shape, "TransactItems")->element;
    question->enclosing = question->call->op->name;
    for (size_t i = 0; i < items->count; i++) {
        const void *item = ((void *const *)items->elements)[i];
        if (item != NULL && !ask_member(question, element, item)) {
            return false;
        }
    }
    return true;
}

static bool ask_all(struct api_call *call, const struct shape *shape, const void *request)
{
    struct question question = begin(call, shape, request);
    switch (call->op->resource) {
    case RESOURCE_FREE:
    case RESOURCE_STATEMENTS: /* see authorize_statement() */
        call->is_authorized = call->op->resource == RESOURCE_FREE;
        return true;
    case RESOURCE_ANY:
        question.resource = STR("*");
        return ask(&question, &call->err);
    case RESOURCE_TABLES:
        question.resource = table_arn(call, STR("*"));
        return ask(&question, &call->err);
    case RESOURCE_TABLE:
        return ask_table(&question);
    case RESOURCE_INDEX:
        return ask_index(&question);
    case RESOURCE_QUERY:
        question.action = "dynamodb:Query";
        return ask_index(&question);
    case RESOURCE_NEW_TABLE:
        return ask_creation(&question);
    case RESOURCE_ARN:
        return ask_arn(&question, member_text(shape, request, "ResourceArn"));
    case RESOURCE_LOAD:
        return ask_load(&question);
    case RESOURCE_IMPORT:
        return ask_import(&question);
    case RESOURCE_BULK:
        return ask_bulk(&question);
    case RESOURCE_KINESIS:
        return ask_kinesis(&question);
    case RESOURCE_BACKUP:
        return ask_backup(&question);
    case RESOURCE_EXPORT:
        return ask_export(&question, member_text(shape, request, "TableArn"));
    case RESOURCE_RESTORE:
        return ask_restore(&question);
    case RESOURCE_STREAM:
        return ask_arn(&question, member_text(shape, request, "StreamArn"));
    case RESOURCE_ITERATOR:
        return ask_arn(&question, arn_in_iterator(member_text(shape, request, "ShardIterator")));
    case RESOURCE_BATCH:
        return ask_batch(&question);
    case RESOURCE_TRANSACTION:
        return ask_transaction(&question);
    }
    return err_set(&call->err, ERR_INTERNAL, "%s", "");
}

static bool authorize(struct api_call *call, const struct shape *shape, const void *request)
{
    return ask_all(call, shape, request) && call->err.code == ERR_NONE;
}

bool api_decode(struct api_call *call, const struct shape *shape, void *out)
{
    return wire_decode_with(call->arena, shape, call->body, call, out, &call->err) &&
           (LIKELY(call->guard == NULL && !call->notes_resources) || authorize(call, shape, out));
}

bool authorize_statement(struct api_call *call, const struct statement_question *asked,
                         struct err *err)
{
    static const char *const actions[] = {
        [STATEMENT_SELECT] = "dynamodb:PartiQLSelect",
        [STATEMENT_INSERT] = "dynamodb:PartiQLInsert",
        [STATEMENT_UPDATE] = "dynamodb:PartiQLUpdate",
        [STATEMENT_DELETE] = "dynamodb:PartiQLDelete",
        [STATEMENT_EXISTS] = "dynamodb:PartiQLSelect",
    };
    if (LIKELY(call->guard == NULL && !call->notes_resources)) {
        return true;
    }
    struct question question = {
        .call = call,
        .action = actions[asked->statement->kind],
        .table = asked->statement->table,
        .index = asked->statement->index,
        .enclosing = asked->enclosing,
        .statement = asked,
    };
    return decide_one(&question, err);
}

/* Resource policies ------------------------------------------------------------------------- */

enum { CACHED_POLICIES_MAX = 1000 };

/* An entry of the thread's cache of compiled policies. */
struct cached_policy {
    char table_id[sizeof(((struct table *)NULL)->id)];
    uint32_t version; /* of the table's description, which has the policy's text */
    struct policy *policy;
};

static void free_cached_policy(struct cached_policy *cached)
{
    if (cached != NULL) {
        policy_destroy(cached->policy);
        mem_free(cached);
    }
}

static bool is_current(const struct cached_policy *cached, const struct table *table)
{
    return cached->version == table->version &&
           memcmp(cached->table_id, table->id, sizeof(cached->table_id)) == 0;
}

const struct policy *api_resource_policy(struct api_call *call, const struct table *table,
                                         const struct arn *arn)
{
    if (LIKELY(arn->kind == ARN_TABLE && str_is_null(table->policy))) {
        return NULL;
    }
    struct resource_policy policy = resource_policy_get(call->arena, table, arn);
    if (str_is_null(policy.text)) {
        return NULL;
    }
    struct map *policies = &call->thread->policies;
    struct str name = arn->kind == ARN_TABLE
                          ? table->name /* a name has no slash */
                          : arena_format(call->arena, "%.*s/stream", STR_ARG(table->name));
    struct cached_policy *cached = map_get(policies, name);
    if (cached != NULL && is_current(cached, table)) {
        return cached->policy;
    }
    if (policies->count >= CACHED_POLICIES_MAX) { /* most are of deleted tables */
        api_forget_policies(call->thread);
    }
    struct err err = ERR_INIT(call->arena);
    cached = mem_zalloc(sizeof(*cached));
    cached->version = table->version;
    memcpy(cached->table_id, table->id, sizeof(cached->table_id));
    bool good = policy_parse(policy.text, POLICY_RESOURCE, &cached->policy, &err);
    assert(good); /* PutResourcePolicy or CreateTable has parsed it */
    free_cached_policy(map_put(policies, name, cached));
    return cached->policy;
}

void api_forget_policies(struct api_thread *thread)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&thread->policies, &at, &name, &value)) {
        free_cached_policy(value);
    }
    map_finish(&thread->policies);
}
