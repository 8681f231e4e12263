/* api/transact.h: what the two transaction operations share: the reasons of a cancellation. */
#ifndef GRAMME_API_TRANSACT_H
#define GRAMME_API_TRANSACT_H

#include "api/api_internal.h"

/* Sets call->err to TransactionCanceledException with one reason per write: its err, if any. The
 * writes must live until the call ends. */
void transact_cancel(struct api_call *call, const struct item_write *writes, size_t count);

#endif
