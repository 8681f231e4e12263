/* api/statements/explain.h: the responses of ExplainQuery and ExplainStatement. */
#ifndef GRAMME_API_STATEMENTS_EXPLAIN_H
#define GRAMME_API_STATEMENTS_EXPLAIN_H

#include "api/api_internal.h"
#include "plan/plan.h"

/* Ends the call with {"Plan": text}; see api_finish(). */
void api_finish_with_plan(struct api_call *call, const struct plan *plan);

#endif
