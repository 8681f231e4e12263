/* api/items/transact.h: functions that the transaction operations share: cancellation reasons,
 * limits, consumed capacity, and reads. All run on the thread of the call. A function that returns
 * false has set call->err. */
#ifndef GRAMME_API_ITEMS_TRANSACT_H
#define GRAMME_API_ITEMS_TRANSACT_H

#include "api/api_internal.h"

/* Clears the errors of all writes after the first that has one, because the service stops at the
 * first wrong key, and in ExecuteTransaction at any first error. */
void transact_keep_first_reason(struct api_call *call, struct item_write *writes, size_t count);
/* Returns whether no write has its err set. Otherwise sets call->err to
 * TransactionCanceledException with one reason per write; the writes must live until the call
 * ends. */
MUST_USE bool transact_check_reasons(struct api_call *call, const struct item_write *writes,
                                     size_t count);
/* Sets call->err after the engine has refused the transaction: TransactionCanceledException as
 * above, or ValidationException if a write has an empty index key. */
void transact_refuse(struct api_call *call, const struct item_write *writes, size_t count);

/* A read of several items at one instant, for TransactGetItems and ExecuteTransaction. The caller
 * sets the members before `get` and calls transact_read_start(). */
struct transact_read {
    struct api_call *call;
    const struct wire_enum *return_consumed_capacity;
    const struct table **tables; /* the table of each item */
    const struct item_key *keys;
    size_t count;
    /* Returns the value that the answer has for an item that exists; VALUE_ABSENT: none. Called
     * for each item in order. */
    struct value (*project)(struct transact_read *read, size_t i, struct value item);
    /* Sets the operation and attributes of *access for item i, for the meter; the counts are set
     * afterwards. */
    void (*describe)(struct transact_read *read, size_t i, struct meter_access *access);
    struct items_get get;
};
/* Starts the read; when it is done, writes the answer and ends the call. *read must live as long
 * as the call. */
void transact_read_start(struct transact_read *read);

/* ClientRequestToken. */
extern const struct shape shape_request_token;
/* Finishes `builder`, to which the caller has added everything that determines what a request does,
 * and returns its digest in `arena`, to be stored with the token. */
struct str transact_digest(struct builder *builder, struct arena *arena);

/* Sets call->err for two operations on one item. Returns false. */
bool transact_refuse_duplicate(struct api_call *call);
/* Checks the limit of 4 MB on what all actions of a transaction send, or on the items that it reads
 * (docs/internals/decisions.md). */
MUST_USE bool transact_check_size(struct api_call *call, size_t bytes);

/* Checks the simulated limits. False: they refuse a write, and call->err is set. */
MUST_USE bool transact_admit(struct api_call *call, struct item_write *writes, size_t count);
/* Records the writes of a transaction, executed or cancelled, for the meter. `operations` are the
 * meter's names by enum write_kind. */
void transact_meter(struct api_call *call, const char *const operations[4],
                    const struct items_write *engine);

/* Returns the sizes of the written items, to be stored with the ClientRequestToken;
 * transact_member_capacity() needs them when the same request comes again. */
struct str transact_note_sizes(struct items_write *write);
/* Writes the member ConsumedCapacity of writes that were executed by this request, or by an earlier
 * one with the same token. */
void transact_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                              const struct items_write *engine);

#endif
