/* api/api.h: the operations: decode and check a request, call the engine, encode the answer. Knows
 * no socket: a call is the name of an operation and a JSON body, and ends with an HTTP status
 * and a JSON body, so a server and a library in the same process can both make one. */
#ifndef GRAMME_API_API_H
#define GRAMME_API_API_H

#include "auth/policy.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "meter/meter.h"
#include "meter/simulation.h"

/* The state of one thread for its calls: caches. */
struct api_thread;
/* Creates the state of a thread; it must outlive its calls. */
MUST_USE struct api_thread *api_thread_create(struct engine *engine);
/* Frees it. Accepts NULL. */
void api_thread_destroy(struct api_thread *thread);
/* From now on the thread's calls are recorded there. NULL: nowhere. */
void api_thread_set_meter(struct api_thread *thread, struct meter_thread *meter);

/* Which of the service's layers checks the request: they word some errors differently (see enum
 * value_wording in wire/value_json.h). */
enum api_layer {
    LAYER_OLDER,
    LAYER_CURRENT,
    LAYER_ENVELOPED, /* current, and all that is found before the table is looked up comes after
                        "1 validation error detected: " */
};

/* Lists of operations; each has a target prefix of its own. API_GRAMME: those that DynamoDB does
 * not have. */
enum api_service { API_DYNAMODB, API_STREAMS, API_GRAMME };

/* Who calls, and by which policies it is decided what he may do. */
struct api_guard {
    const struct policy_caller *caller;
    const struct policy_set *policies;  /* but for those of tables */
    uint64_t mentions;                  /* of these policies: see policy_mentions() */
    const struct auth_context *context; /* the keys that depend on caller and connection */
    /* Told of each refusal; true: the call goes on all the same. */
    bool (*refused)(const struct api_guard *guard, const struct policy_request *request,
                    const struct policy_decision *decision, struct str text);
};

struct op;

struct api_call {
    struct api_thread *thread;
    enum api_service service;
    struct str operation; /* "GetItem" */
    struct str body;
    const struct api_guard *guard; /* NULL: the caller may do everything */
    struct str host;     /* by which the client reached us; STR_NULL: in the same process */
    struct arena *arena; /* it and `out` may have budgets: a call that exceeds one fails */
    struct mailbox *home;
    struct buf *out;       /* the answer's body is added to its end */
    bool out_is_exclusive; /* nobody else uses `out` before done(): any thread may write to it */
    void (*done)(struct api_call *call);
    /* Runs the call once more on a thread where it may take long, instead of done(), because it
     * reads much. NULL: it may take long here. */
    void (*move)(struct api_call *call);

    int status; /* HTTP */

    /* For the operations. */
    struct engine *engine;
    enum api_layer layer; /* set by the operation; older if not */
    struct err err;
    size_t out_start; /* out->len before the answer */
    bool only_reads;  /* the operation changes nothing */
    const struct op *op;
    struct str resource; /* the last one that policies were asked about, for the audit log */
    bool is_authorized;  /* the policies were asked; of calls with a guard */
    /* While other threads write the answer, `out` is `away_out`; see leave_thread(). */
    struct buf *home_out;
    struct buf away_out;
    struct held_table *tables;
    int64_t start_ns;              /* for the meter; 0: nothing is recorded */
    struct meter_access *accesses; /* what the operation has described so far */
    struct throttling throttling;  /* why a simulated limit refused the call */
    struct task later;             /* a call whose answer is held back: done() runs from it */
    /* Adds members to the body of an error, each with a comma before it; or NULL. */
    void (*write_error_members)(struct api_call *call);
    void *state; /* the operation's own */
};

/* Whether an operation changes tables or their policies. */
MUST_USE bool api_is_administrative(enum api_service service, struct str name);

/* Whether there is an operation of that name. */
MUST_USE bool api_has_operation(enum api_service service, struct str name);

/* Runs the operation; done() is called on the thread of `home`, possibly before this returns. */
void api_run(struct api_call *call);

#endif
