/* api/transact.h: what the transaction operations share: the reasons of a cancellation, limits, and
 * what the writes cost. */
#ifndef GRAMME_API_TRANSACT_H
#define GRAMME_API_TRANSACT_H

#include "api/api_internal.h"

/* Leaves only the first write that has a reason against it with one: the service stops there when
 * it looks at keys, and in ExecuteTransaction always. */
void transact_keep_first_reason(struct api_call *call, struct item_write *writes, size_t count);
/* Whether no write has a reason against it, its err. Else sets call->err to
 * TransactionCanceledException with one reason per write; the writes must live until the call
 * ends. */
MUST_USE bool transact_check_reasons(struct api_call *call, const struct item_write *writes,
                                     size_t count);
/* Cancels likewise after the engine has refused; but an empty index key is the whole request's
 * fault. */
void transact_refuse(struct api_call *call, const struct item_write *writes, size_t count);

/* A read of several items at one instant, for TransactGetItems and ExecuteTransaction. The caller
 * sets the first members and calls transact_read_start(), which answers the call. */
struct transact_read {
    struct api_call *call;
    const struct wire_enum *return_consumed_capacity;
    const struct table **tables; /* of each item */
    const struct item_key *keys;
    size_t count;
    /* Returns what the response has for an item that exists; VALUE_ABSENT: nothing. Called for each
     * item in order. */
    struct value (*project)(struct transact_read *read, size_t i, struct value item);
    /* Tells the meter what item i is read for; the numbers are set afterwards. */
    void (*describe)(struct transact_read *read, size_t i, struct meter_access *access);
    struct items_get get;
};
/* Starts the read. */
void transact_read_start(struct transact_read *read);

/* ClientRequestToken. */
extern const struct shape shape_request_token;

/* Sets call->err for two operations on one item; returns false. */
bool transact_refuse_duplicate(struct api_call *call);
/* The limit on all items that are to be put. */
MUST_USE bool transact_check_size(struct api_call *call, const struct item_write *writes,
                                  size_t count);

/* Asks for each write whether simulated limits let it pass; one that does not has its err set. */
void transact_admit(struct api_call *call, struct item_write *writes, size_t count);
/* Describes what a transaction wrote, or would have written, for the meter; `operation` is the name
 * of the operation, with a space. */
void transact_meter(struct api_call *call, const char *const operations[4],
                    const struct items_write *engine);

/* To be remembered with a token: what transact_member_capacity() needs for a replay. */
struct str transact_note_sizes(struct items_write *write);
/* The member ConsumedCapacity of writes that were carried out, now or before. */
void transact_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                              const struct items_write *engine);

#endif
