/* api/api_internal.h: declarations that the operations share. All functions run on the thread of
 * the call unless stated otherwise; memory is allocated from call->arena and lives as long as the
 * call. A function that returns false has set call->err, or *err if it has that parameter. */
#ifndef GRAMME_API_API_INTERNAL_H
#define GRAMME_API_API_INTERNAL_H

#include "api/api.h"
#include "api/arn.h"
#include "base/map.h"
#include "json/writer.h"
#include "wire/shape.h"

struct api_thread {
    struct engine *engine;
    struct expr_cache *cache;
    struct map policies;        /* compiled policies of tables: see api_resource_policy() */
    struct meter_thread *meter; /* NULL: calls are not recorded */
};

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ADMIN };

/* The kind of resource that an operation acts on; says how authorize.c finds the resources and
 * actions of a request. */
enum resource_kind {
    RESOURCE_FREE,      /* no permission is needed */
    RESOURCE_ANY,       /* the resource is "*" */
    RESOURCE_TABLES,    /* the resource is all tables: table/ * */
    RESOURCE_TABLE,     /* the table of TableName */
    RESOURCE_INDEX,     /* the table of TableName, or its index IndexName */
    RESOURCE_QUERY,     /* the same, with the action dynamodb:Query */
    RESOURCE_NEW_TABLE, /* the table of TableName; further actions for Tags and ResourcePolicy */
    RESOURCE_ARN,       /* the table or stream of ResourceArn */
    RESOURCE_BACKUP,    /* the backup of BackupArn */
    RESOURCE_RESTORE,   /* the source, and the new table TargetTableName, which is written to */
    RESOURCE_IMPORT,    /* the table of TableCreationParameters, and objects: s3:ListBucket,
                           s3:GetObject */
    RESOURCE_BULK,    /* the table of TableName, and objects: as for an import, and s3:PutObject */
    RESOURCE_KINESIS, /* the table of TableName, and the Kinesis stream: kinesis:PutRecords and so
                         on */
    RESOURCE_LOAD,    /* the import or bulk operation of ImportArn or BulkOperationArn */
    RESOURCE_EXPORT, /* the table of TableArn, and objects: s3:PutObject; or the export of ExportArn
                      */
    RESOURCE_STREAM, /* the stream of StreamArn */
    RESOURCE_ITERATOR,    /* the stream of ShardIterator */
    RESOURCE_BATCH,       /* each table of RequestItems */
    RESOURCE_TRANSACTION, /* the table of each item of TransactItems, with that item's action */
    RESOURCE_STATEMENTS,  /* the table or index of each statement, with the actions of PartiQL */
};

struct op {
    const char *name;
    const char *action; /* the action for policies: "dynamodb:GetItem" */
    void (*run)(struct api_call *call);
    enum access access;
    enum resource_kind resource;
    const char *summary;
};

#define OP(name_, run_, access_, resource_, summary_) void run_(struct api_call *call);
#include "wire/ops.def"
#include "wire/stream_ops.def"
#include "wire/gramme_ops.def"
#undef OP

/* Returns the operations of a list, sorted by name. The array is static. */
const struct op *api_operations(enum api_family family, size_t *out_count);

/* Decodes the body into *out (see wire_decode()), and checks whether the policies allow the
 * request. Every operation calls it first. */
MUST_USE bool api_decode(struct api_call *call, const struct shape *shape, void *out);
struct arn;
/* Returns the compiled policy of the table or stream that `arn` names, or NULL if it has none. The
 * thread's cache owns it; valid until the next call of this function. */
const struct policy *api_resource_policy(struct api_call *call, const struct table *table,
                                         const struct arn *arn);
/* Frees the cached policies of a thread. */
void api_forget_policies(struct api_thread *thread);

/* Ends the call: with an error answer if call->err is set, else with what was written to
 * call->out. Releases the tables of the call and calls done() or move(); runs the call again if a
 * table has changed since the call looked it up. The caller must not use *call afterwards. */
void api_finish(struct api_call *call);

/* Adds an access to those that the meter records when the call ends. `access` must live as long as
 * the call; the operation may fill it in later. */
static inline void api_meter(struct api_call *call, struct meter_access *access)
{
    access->next = call->accesses;
    call->accesses = access;
}

/* Returns whether the simulation lets the access pass; always true unless faults are simulated. */
static inline bool api_admit(struct api_call *call, const struct meter_access *access)
{
    return LIKELY(!simulation_is_on(call->meter)) ||
           simulation_admit(call->meter, access, call->arena, &call->throttling, &call->err);
}

/* Returns whether the meter records the call. */
static inline bool api_is_metered(const struct api_call *call)
{
    return call->meter != NULL;
}

/* Returns whether the call has exceeded a memory budget. Code that writes a long answer then
 * stops; api_finish() responds with an error. */
static inline bool api_is_over_budget(const struct api_call *call)
{
    return arena_is_over_budget(call->arena) ||
           UNLIKELY(budget_state(call->out->budget) != BUDGET_FITS);
}

/* Returns the engine's part of a call. The engine passes it to `done`, on the thread of call->home,
 * with the result in .err. */
struct engine_call api_engine_call(struct api_call *call, void (*done)(struct engine_call *));

/* The four functions below do the same as those of the engine, unless stale reads are simulated:
 * then reads may return earlier states. */

/* Starts writes (engine_write_items()). */
void api_write_items(struct api_call *call, struct items_write *const *writes, size_t count);
/* Records the items as they were before a write that has succeeded, so that stale reads can return
 * them. Does nothing if the write failed. */
void api_remember_writes(struct api_call *call, const struct items_write *write);
/* Replaces the row of an item that was read with eventual consistency by an earlier state, if the
 * read is to be stale. */
void api_see_past_item(struct api_call *call, const struct table *table, struct str row_key,
                       struct row *row);
/* Starts the read of a range (engine_read_items()). */
void api_read_items(struct api_call *call, struct items_read *read);

/* Returns the wording of value errors in this call's layer. */
static inline enum value_wording api_wording(const struct api_call *call)
{
    return call->layer == LAYER_OLDER ? WORDING_OLDER : WORDING_CURRENT;
}

/* --- tables --- */

enum { TABLE_NAME_MIN = 3, TABLE_NAME_MAX = 255 };

/* Checks the length and characters of a table name. shape_table_name has already extracted it from
 * an ARN, which must be of this Region and account. The error is reported alone, without others of
 * the request. */
MUST_USE bool api_check_table_name(struct api_call *call, struct str name);
/* Checks that no TableName of the request is an ARN of another Region or account. */
MUST_USE bool api_check_table_arns(struct api_call *call);
/* Returns the table name of a key of RequestItems, which may be an ARN. */
struct str api_table_of_key(struct api_call *call, struct str key);
/* Returns the name in arn:aws:dynamodb:region:account:table/name, borrowed from `arn`; STR_NULL if
 * it is not such an ARN. */
struct str api_table_in_arn(struct str arn);
/* The parts of arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/backup/ID. */
struct backup_arn_parts {
    struct str table_arn;
    struct str table;
    struct str id;
};
/* Takes an ARN apart; false: it is of another form. */
MUST_USE bool api_split_backup_arn(struct str arn, struct backup_arn_parts *out);
/* Checks that an ARN, `text`, is that of a table or stream; `kind` is what arn_parse() found. */
MUST_USE bool api_check_resource_arn(struct api_call *call, struct str text, enum arn_kind kind);
/* Returns the table with this name and holds it until the call ends. Returns NULL with call->err
 * set if it does not exist. */
const struct table *api_table(struct api_call *call, struct str name);
/* Checks that an index can be read: not while its backfill is running. */
MUST_USE bool api_check_readable(const struct index *index, struct err *err);

/* --- shapes that many requests have --- */

extern const struct shape shape_table_name;    /* TableName: a name or an ARN */
extern const struct shape shape_table_pattern; /* in transactions: has a pattern */
extern const struct shape shape_table_key;     /* the name as the key of a map: in batches */
/* TableName where the model's length and pattern are checked together with all other members: in
 * CreateTable and DescribeTable. */
extern const struct shape shape_whole_table_name;
extern const struct shape shape_string;
extern const struct shape shape_bool;
extern const struct shape shape_item;
extern const struct shape shape_key;
extern const struct shape shape_value;
extern const struct shape shape_attribute_name;
extern const struct shape shape_attribute_names; /* AttributesToGet */
extern const struct shape shape_name_map;        /* ExpressionAttributeNames */
extern const struct shape shape_value_map;       /* ExpressionAttributeValues */
extern const struct shape shape_return_consumed_capacity;
extern const struct shape shape_return_collection_metrics;
extern const struct shape shape_return_values;
extern const struct shape shape_return_on_failure;
extern const struct shape shape_conditional_operator;
extern const struct shape shape_expected;
extern const struct shape shape_conditions; /* KeyConditions, QueryFilter, ScanFilter */
extern const struct shape shape_select;
extern const struct shape shape_index_name;
extern const struct shape shape_new_index_name; /* in table requests */
extern const struct shape shape_limit;

enum { CAPACITY_INDEXES, CAPACITY_TOTAL, CAPACITY_NONE };
enum { RETURN_ALL_NEW, RETURN_UPDATED_OLD, RETURN_ALL_OLD, RETURN_NONE, RETURN_UPDATED_NEW };
enum { FAILURE_ALL_OLD, FAILURE_NONE };
enum { METRICS_SIZE, METRICS_NONE };
enum { SELECT_SPECIFIC, SELECT_COUNT, SELECT_ALL, SELECT_ALL_PROJECTED };

/* One entry of Expected, KeyConditions, QueryFilter or ScanFilter. */
struct condition_request {
    struct wire_enum comparison;
    struct wire_list values; /* elements are struct wire_value */
    struct wire_value value; /* only in Expected, like `exists` */
    struct wire_bool exists;
};

/* --- expressions --- */

struct named_text {
    const char *name; /* the parameter's name in the request */
    struct str text;  /* STR_NULL: not given */
};

struct named_flag {
    const char *name;
    bool given;
};

/* The expressions, placeholders and legacy parameters of a request. */
struct expression_request {
    const struct wire_map *names;  /* NULL: the operation has no such parameter */
    const struct wire_map *values; /* likewise */
    struct named_text expressions[3];
    size_t expression_count;
    struct named_flag legacy[5];
    size_t legacy_count;
};

/* Checks that the request does not use expressions and legacy parameters together, and that it has
 * an expression if it has names or values. */
MUST_USE bool api_check_mixing(struct api_call *call, const struct expression_request *request);
/* Checks ExpressionAttributeNames and ExpressionAttributeValues and fills *scope with them. */
MUST_USE bool api_scope(struct api_call *call, const struct expression_request *request,
                        struct expr_scope *scope);
/* Parses and binds a condition or filter expression. Leaves *out unchanged if there is none. */
MUST_USE bool api_condition_expression(struct api_call *call, struct expr_scope *scope,
                                       struct named_text expression, const struct condition **out);
/* Checks that the expressions have used every name and value of the scope. */
MUST_USE bool api_check_used(struct api_call *call, const struct expr_scope *scope);

/* Checks the value of ConditionalOperator, in operations that report it before the model's
 * constraints. */
MUST_USE bool api_check_conditional_operator(struct api_call *call,
                                             const struct wire_enum *conditional_operator);
/* Converts Expected to a condition. The values of `map` are struct condition_request pointers. *out
 * is NULL if there are no entries. */
MUST_USE bool api_expected(struct api_call *call, const struct wire_map *map,
                           const struct wire_enum *conditional_operator,
                           const struct condition **out);
/* Converts QueryFilter or ScanFilter to a condition; parameters as api_expected(). */
MUST_USE bool api_filter(struct api_call *call, const struct wire_map *map,
                         const struct wire_enum *conditional_operator,
                         const struct condition **out);
/* Converts KeyConditions to a key expression; parameters as api_expected(). */
MUST_USE bool api_key_conditions(struct api_call *call, const struct wire_map *map,
                                 const struct key_expression **out);
/* Converts AttributesToGet to a projection; *out is NULL if it is not given. */
MUST_USE bool api_attributes_to_get(struct api_call *call, const struct wire_list *attributes,
                                    const struct projection **out);
/* Parses and binds ProjectionExpression. Leaves *out unchanged if there is none. */
MUST_USE bool api_projection(struct api_call *call, struct expr_scope *scope, struct str expression,
                             const struct projection **out);

/* The context of api_visit_key_path(). */
struct key_paths {
    const struct table *table;
    struct err *err;
};
/* A visitor for the functions of expr.h that refuses paths into key attributes of the table or of
 * an index. `context` is a struct key_paths, whose err is set by the first such path. */
void api_visit_key_path(void *context, const struct expr_path *path);
/* Checks that no path of a projection or condition, either of which may be NULL, goes into a key
 * attribute. */
MUST_USE bool api_check_key_paths(const struct table *table, const struct projection *projection,
                                  const struct condition *condition, struct err *err);

/* Returns false and sets call->err if there is a problem with a value or item. */
MUST_USE bool api_check_problem(struct api_call *call, const struct value_problem *problem);
/* Puts "1 validation error detected: " before the message of call->err. Returns false. */
bool api_prefix_error(struct api_call *call);
/* As api_prefix_error(), if the call's layer is LAYER_ENVELOPED. Returns false. */
bool api_envelope(struct api_call *call);

/* --- parts of answers, appended to call->out or to `out` --- */

/* Starts an object: writes "{". */
void api_begin(struct api_call *call);
/* Starts a member: writes its name and a colon, after a comma unless it is the object's first. The
 * caller writes the value. */
void api_member(struct api_call *call, struct str name);
/* Ends an object: writes "}". */
void api_end(struct api_call *call);

struct plan;
/* Ends the call with {"Plan": text}, the answer of ExplainQuery and ExplainStatement; see
 * api_finish(). */
void api_finish_with_plan(struct api_call *call, const struct plan *plan);

enum capacity_kind { CAPACITY_READ, CAPACITY_WRITE };
/* Writes one ConsumedCapacity object. `indexes` adds the units of each index, `transactional`
 * ReadCapacityUnits or WriteCapacityUnits. */
void api_write_capacity(struct buf *out, const struct table *table, const struct capacity *capacity,
                        bool indexes, bool transactional, enum capacity_kind kind);
/* Writes the member ConsumedCapacity of a call on one table, if `wanted` (ReturnConsumedCapacity)
 * requests it. */
void api_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                         const struct table *table, const struct capacity *capacity,
                         enum capacity_kind kind);
/* Returns whether ReturnConsumedCapacity requests the consumed capacity. */
static inline bool api_wants_capacity(const struct wire_enum *wanted)
{
    return !str_is_null(wanted->text) && wanted->value != CAPACITY_NONE;
}

/* The capacity that a call on several tables consumes, in the order in which the tables first
 * occur. */
struct capacity_list {
    size_t count;
    const struct table **tables;
    struct capacity *capacities;
};
/* Returns the entry of a table, and adds it if there is none. The list lives in `arena` and never
 * has more than `tables_max` entries. */
struct capacity *capacity_list_at(struct capacity_list *list, struct arena *arena,
                                  const struct table *table, size_t tables_max);
/* Adds the units of `from` to `to`; the table's own units are multiplied by `table_factor`. */
void capacity_add(struct capacity *to, const struct capacity *from, double table_factor);
/* Writes the member ConsumedCapacity of a call on several tables, if `wanted` requests it. */
void api_member_capacities(struct api_call *call, const struct wire_enum *wanted,
                           const struct capacity_list *list, bool transactional,
                           enum capacity_kind kind);
/* Writes the member ItemCollectionMetrics of a call with several writes, if `wanted` requests it
 * and one of the tables has item collections. The size of a collection is taken from its last
 * write. */
void api_member_collections(struct api_call *call, const struct wire_enum *wanted,
                            const struct item_write *const *writes, size_t count);
/* Writes one ItemCollectionMetrics object. */
void api_write_collection_metrics(struct buf *out, const struct table *table, struct value hash,
                                  int64_t bytes);

/* Writes the member Item of a failed condition, after a comma; nothing if `item` is absent. */
void api_write_failed_item(struct buf *out, struct value item);

/* Returns the Code of an error in CancellationReasons or in the Error of a statement. */
const char *api_short_code(enum err_code code);

/* Returns entry `i` of a map of struct condition_request pointers. */
static inline const struct condition_request *api_condition(const struct wire_map *map, size_t i)
{
    return ((const struct condition_request *const *)map->values)[i];
}

#endif
