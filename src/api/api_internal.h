/* api/api_internal.h: what the operations share. */
#ifndef GRAMME_API_API_INTERNAL_H
#define GRAMME_API_API_INTERNAL_H

#include "api/api.h"
#include "base/map.h"
#include "json/writer.h"
#include "wire/shape.h"

struct api_thread {
    struct engine *engine;
    struct expr_cache *cache;
    struct map policies;        /* of tables, compiled: see api_resource_policy() */
    struct meter_thread *meter; /* or NULL */
};

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ADMIN };

/* On what an operation acts, for policies. */
enum resource_kind {
    RESOURCE_FREE,        /* anybody may call it */
    RESOURCE_ANY,         /* on "*" */
    RESOURCE_TABLES,      /* on table/ * */
    RESOURCE_TABLE,       /* TableName */
    RESOURCE_INDEX,       /* TableName and IndexName, if there is one */
    RESOURCE_NEW_TABLE,   /* TableName; Tags and ResourcePolicy need more permissions */
    RESOURCE_ARN,         /* ResourceArn: a table or stream */
    RESOURCE_STREAM,      /* StreamArn */
    RESOURCE_ITERATOR,    /* the stream of ShardIterator */
    RESOURCE_BATCH,       /* each table of RequestItems */
    RESOURCE_TRANSACTION, /* each item of TransactItems, with the action of its kind */
    RESOURCE_STATEMENTS,  /* the table or index of each statement, with PartiQL's actions */
};

struct op {
    const char *name;
    const char *action; /* "dynamodb:" and the name */
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

/* Returns all operations of a list, sorted by name. */
const struct op *api_operations(enum api_service service, size_t *out_count);

/* Reads the body into *out (see wire_decode()), and asks whether the caller may do what it says.
 * Every operation begins with it. False: call->err. */
MUST_USE bool api_decode(struct api_call *call, const struct shape *shape, void *out);
/* The policy of a table, compiled, or NULL if it has none. Valid until the next call. */
const struct policy *api_resource_policy(struct api_call *call, const struct table *table);
/* Frees the compiled policies of a thread. */
void api_forget_policies(struct api_thread *thread);

/* Ends the call: with an error if call->err is set, else with what was written to call->out. */
void api_finish(struct api_call *call);

/* Adds an access to those that are recorded when the call ends. It must live as long as the call;
 * the operation fills it in as it learns more. */
static inline void api_meter(struct api_call *call, struct meter_access *access)
{
    access->next = call->accesses;
    call->accesses = access;
}

/* Whether an operation is carried out; always, unless faults are simulated. False: call->err is
 * set. */
static inline bool api_admit(struct api_call *call, const struct meter_access *access)
{
    return LIKELY(!simulation_is_on(call->thread->meter)) ||
           simulation_admit(call->thread->meter, access, call->arena, &call->throttling,
                            &call->err);
}

/* Whether calls of this thread are recorded. */
static inline bool api_is_metered(const struct api_call *call)
{
    return call->thread->meter != NULL;
}

/* Whether there is no memory for the answer: what writes a long one stops, and api_finish() answers
 * with an error instead. */
static inline bool api_is_over_budget(const struct api_call *call)
{
    return arena_is_over_budget(call->arena) ||
           UNLIKELY(budget_state(call->out->budget) != BUDGET_FITS);
}

/* Prepares the engine's part of a call; `done` gets it back with the outcome in .err. */
struct engine_call api_engine_call(struct api_call *call, void (*done)(struct engine_call *));

/* The four functions below do what the engine's own do, unless older states are simulated. */

/* Starts writes (engine_write_items()). */
void api_write_items(struct api_call *call, struct items_write *const *writes, size_t count);
/* Remembers writes that have ended, if they succeeded, so that reads can see the state before. */
void api_remember_writes(struct api_call *call, const struct items_write *write);
/* Replaces the row of an item, just read and not consistently, if the read is to be stale. */
void api_see_past_item(struct api_call *call, const struct table *table, struct str row_key,
                       struct row *row);
/* Starts reading a range (engine_read_items()). */
void api_read_items(struct api_call *call, struct items_read *read);

/* The wording of errors in this call's layer. */
static inline enum value_wording api_wording(const struct api_call *call)
{
    return call->layer == LAYER_OLDER ? WORDING_OLDER : WORDING_CURRENT;
}

/* --- tables --- */

enum { TABLE_NAME_MIN = 3, TABLE_NAME_MAX = 255 };

/* Checks the length and letters of a table's name (shape_table_name has taken it out of an ARN);
 * reported alone. */
MUST_USE bool api_check_table_name(struct api_call *call, struct str name);
/* The name in arn:aws:dynamodb:region:account:table/name; STR_NULL if it is no such ARN. */
struct str api_table_in_arn(struct str arn);
/* The table of that name, kept until the call ends. NULL: call->err says it is not there. */
const struct table *api_table(struct api_call *call, struct str name);
/* An index that is being filled cannot be read yet. */
MUST_USE bool api_check_readable(const struct index *index, struct err *err);

/* --- shapes that many requests have --- */

extern const struct shape shape_table_name;    /* of requests on one table */
extern const struct shape shape_table_pattern; /* the same with its pattern: in transactions */
extern const struct shape shape_table_key;     /* the name as the key of a map: in batches */
/* The same where all of the model is enforced: in CreateTable and DescribeTable. */
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
    struct wire_list values; /* of struct wire_value */
    struct wire_value value; /* Expected only, like the next */
    struct wire_bool exists;
};

/* --- expressions --- */

struct named_text {
    const char *name; /* of the parameter */
    struct str text;  /* STR_NULL: not given */
};

struct named_flag {
    const char *name;
    bool given;
};

/* A request's expressions and what they refer to. */
struct expression_request {
    const struct wire_map *names;  /* or NULL: the operation has no such parameter */
    const struct wire_map *values; /* or NULL */
    struct named_text expressions[3];
    size_t expression_count;
    struct named_flag legacy[5];
    size_t legacy_count;
};

/* Checks that expressions and legacy parameters are not mixed, and that names and values come with
 * an expression. */
MUST_USE bool api_check_mixing(struct api_call *call, const struct expression_request *request);
/* Checks names and values and fills *scope. */
MUST_USE bool api_scope(struct api_call *call, const struct expression_request *request,
                        struct expr_scope *scope);
/* A condition or filter; *out is untouched if there is none. */
MUST_USE bool api_condition_expression(struct api_call *call, struct expr_scope *scope,
                                       struct named_text expression, const struct condition **out);
/* Every name and value was used by some expression. */
MUST_USE bool api_check_used(struct api_call *call, const struct expr_scope *scope);

/* ConditionalOperator, where the model's constraints come too late for it. */
MUST_USE bool api_check_conditional_operator(struct api_call *call,
                                             const struct wire_enum *conditional_operator);
/* Makes a condition of Expected. `map` has struct condition_request pointers. *out is NULL if there
 * are no entries. */
MUST_USE bool api_expected(struct api_call *call, const struct wire_map *map,
                           const struct wire_enum *conditional_operator,
                           const struct condition **out);
/* Makes a condition of QueryFilter or ScanFilter, as above. */
MUST_USE bool api_filter(struct api_call *call, const struct wire_map *map,
                         const struct wire_enum *conditional_operator,
                         const struct condition **out);
/* Makes a key expression of KeyConditions, as above. */
MUST_USE bool api_key_conditions(struct api_call *call, const struct wire_map *map,
                                 const struct key_expression **out);
/* AttributesToGet; *out NULL: not given. */
MUST_USE bool api_attributes_to_get(struct api_call *call, const struct wire_list *attributes,
                                    const struct projection **out);
/* ProjectionExpression; *out is untouched if there is none. */
MUST_USE bool api_projection(struct api_call *call, struct expr_scope *scope, struct str expression,
                             const struct projection **out);

/* A path that goes inside a key attribute of the table or of an index is refused: a visitor for the
 * functions of expr.h. The first such path is the one that is told. */
struct key_paths {
    const struct table *table;
    struct err *err;
};
/* The visitor; `context` is a struct key_paths. */
void api_visit_key_path(void *context, const struct expr_path *path);
/* Checks all paths of a projection and a condition, either of which may be NULL. */
MUST_USE bool api_check_key_paths(const struct table *table, const struct projection *projection,
                                  const struct condition *condition, struct err *err);

/* Reports what is wrong with a value or item, if anything. */
MUST_USE bool api_check_problem(struct api_call *call, const struct value_problem *problem);
/* Puts "1 validation error detected: " before the error. Returns false. */
bool api_prefix_error(struct api_call *call);
/* The same, if this call's layer does so. Returns false. */
bool api_envelope(struct api_call *call);

/* --- pieces of answers; each adds a member with a comma before it unless it is the first --- */

void api_begin(struct api_call *call);                   /* { */
void api_member(struct api_call *call, struct str name); /* ,"name": */
void api_end(struct api_call *call);                     /* } */

enum capacity_kind { CAPACITY_READ, CAPACITY_WRITE };
/* One ConsumedCapacity object. `transactional` adds ReadCapacityUnits or WriteCapacityUnits. */
void api_write_capacity(struct buf *out, const struct table *table, const struct capacity *capacity,
                        bool indexes, bool transactional, enum capacity_kind kind);
/* The member ConsumedCapacity of a call on one table, if it was asked for. */
void api_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                         const struct table *table, const struct capacity *capacity,
                         enum capacity_kind kind);
/* Whether ReturnConsumedCapacity asks for it. */
static inline bool api_wants_capacity(const struct wire_enum *wanted)
{
    return !str_is_null(wanted->text) && wanted->value != CAPACITY_NONE;
}

/* What calls on several tables consume, by table in the order in which they come. */
struct capacity_list {
    size_t count;
    const struct table **tables;
    struct capacity *capacities;
};
/* The entry of the table, new if need be. `tables_max` bounds how many there will be. */
struct capacity *capacity_list_at(struct capacity_list *list, struct arena *arena,
                                  const struct table *table, size_t tables_max);
/* Adds the units of `from`, those of the table multiplied by `table_factor`. */
void capacity_add(struct capacity *to, const struct capacity *from, double table_factor);
/* Writes the member ConsumedCapacity of a call on several tables, if it was asked for. */
void api_member_capacities(struct api_call *call, const struct wire_enum *wanted,
                           const struct capacity_list *list, bool transactional,
                           enum capacity_kind kind);
/* The member ItemCollectionMetrics of a call with several writes, if it was asked for and there are
 * item collections. The last write of a collection tells its size. */
void api_member_collections(struct api_call *call, const struct wire_enum *wanted,
                            const struct item_write *const *writes, size_t count);
/* One ItemCollectionMetrics object. */
void api_write_collection_metrics(struct buf *out, const struct table *table, struct value hash,
                                  int64_t bytes);

/* The Code of one write or statement among several that an answer tells of. */
const char *api_short_code(enum err_code code);

/* The condition_request pointers of a map. */
static inline const struct condition_request *api_condition(const struct wire_map *map, size_t i)
{
    return ((const struct condition_request *const *)map->values)[i];
}

#endif
