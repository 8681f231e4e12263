/* api/api.h: the operations: decode and check a request, call the engine, encode the answer. This
 * folder knows no sockets: a call is the name of an operation and a JSON body, and ends with an
 * HTTP status and a JSON body, so both a server and a library in the same process can make
 * calls. */
#ifndef GRAMME_API_API_H
#define GRAMME_API_API_H

#include "auth/policy.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "meter/meter.h"
#include "meter/simulation.h"

/* The state of one thread that runs calls: the caches of expressions and policies, and the
 * meter. */
struct api_thread;
/* Creates the state of a thread. Only that thread uses it; it must outlive the thread's calls. Free
 * it with api_thread_destroy(). */
MUST_USE struct api_thread *api_thread_create(struct engine *engine);
/* Frees the state of a thread. Accepts NULL. */
void api_thread_destroy(struct api_thread *thread);
/* Sets where the thread's calls are recorded from now on; NULL: nowhere. Borrows `meter`. */
void api_thread_set_meter(struct api_thread *thread, struct meter_thread *meter);

/* Which of the service's two front ends checks the request; their error messages differ (see enum
 * value_wording in wire/value_json.h). */
enum api_layer {
    LAYER_OLDER,
    LAYER_CURRENT,
    LAYER_ENVELOPED, /* LAYER_CURRENT; errors found before the table is looked up start with "1
                        validation error detected: " */
};

/* The lists of operations; each has its own prefix in the X-Amz-Target header. API_GRAMME: the
 * operations that DynamoDB does not have. */
enum api_family { API_DYNAMODB, API_STREAMS, API_GRAMME };

/* The caller of a call, and the policies that decide what the caller may do. The server fills it;
 * it must live until done(). */
struct api_guard {
    const struct policy_caller *caller;
    const struct policy_set *policies; /* without those of tables, which authorize.c finds */
    uint64_t mentions;                 /* the union of policy_mentions() of these policies */
    /* the condition keys that depend on the caller and the connection */
    const struct auth_context *context;
    /* Called for each denied request, on the thread of the call. Returns true if the call is to go
     * on nevertheless (`--auth warn`). */
    bool (*refused)(const struct api_guard *guard, const struct policy_request *request,
                    const struct policy_decision *decision, struct str text);
};

struct op;

/* Resources that a call has asked the policies about, once each, for the audit log. */
struct resource_list {
    struct str *arns; /* or names; in the arena of the call */
    size_t count;     /* at most RESOURCES_MAX: more than a valid request can name */
};
enum { RESOURCES_MAX = 128 };

struct api_call {
    struct api_thread *thread;
    enum api_family family;
    struct str operation; /* "GetItem" */
    const struct op *op;  /* from api_find_operation(); NULL: api_run() calls it */
    struct str body;
    const struct api_guard *guard; /* NULL: everything is allowed */
    bool notes_resources;          /* fill in `resource`, `resources` and `denied` */
    /* The console reads or writes for its pages: the meter only counts the call, and nothing is
     * simulated for it */
    bool is_from_console;
    /* the host name that the client used; STR_NULL: a call from the same process */
    struct str host;
    struct arena *arena; /* memory of the call; it and `out` may have budgets, and a call that
                            exceeds one fails */
    struct mailbox *home;
    struct buf *out; /* the answer body is appended to it */
    /* nothing else uses `out` before done(), so any thread may write to it */
    bool out_is_exclusive;
    void (*done)(struct api_call *call);
    /* Called instead of done() if the call would read much: runs the call again on a thread that
     * may be busy for long. NULL: this thread may be busy for long itself. */
    void (*move)(struct api_call *call);

    int status; /* HTTP status, set before done() */

    /* The members below are for use inside src/api. */
    struct engine *engine;
    enum api_layer layer; /* set by the operation; LAYER_OLDER by default */
    struct err err;
    size_t out_start; /* out->len before the answer */
    bool only_reads;  /* the operation changes nothing */
    /* For the audit log, if notes_resources is set: the last resource that the policies were asked
     * about and all of them, also without a guard, and those that they denied. */
    struct str resource;
    struct resource_list resources;
    struct resource_list denied;
    size_t denial_count; /* denied questions of a request that names several resources */
    bool is_authorized;  /* the policies have been checked; used if there is a guard */
    /* The first ARN given as a TableName whose Region or account is another one; STR_NULL: none. */
    struct str foreign_arn;
    /* While another thread writes the answer, `out` points to `away_out` and home_out to the
     * caller's buffer; see leave_thread(). */
    struct buf *home_out;
    struct buf away_out;
    struct held_table *tables;
    struct meter_thread *meter; /* that of the thread; NULL: the call is not recorded */
    int64_t start_ns; /* when the call started, for the meter; 0: the call is not recorded */
    struct meter_access *accesses; /* list of accesses to record; see api_meter() */
    struct throttling throttling;  /* set if a simulated limit refused the call */
    struct task later; /* calls done() later, when an answer is delayed by the simulation */
    /* Appends members to the body of an error, each after a comma; or NULL. */
    void (*write_error_members)(struct api_call *call);
    void *state; /* private to the operation */
};

/* Returns the operation with this name in the list, or NULL. */
MUST_USE const struct op *api_find_operation(enum api_family family, struct str name);

/* Returns whether the operation changes tables or their policies (ACCESS_ADMIN), for the audit log.
 * Accepts NULL. */
MUST_USE bool api_is_administrative(const struct op *op);

/* Runs an operation. Calls call->done() or call->move() once, on the thread of `home`, possibly
 * before it returns. *call and all that it points to must live until then. */
void api_run(struct api_call *call);

#endif
