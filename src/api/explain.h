/* api/explain.h: responses of the operations that show plans. */
#ifndef GRAMME_API_EXPLAIN_H
#define GRAMME_API_EXPLAIN_H

#include "api/api_internal.h"
#include "plan/plan.h"

/* Ends the call with {"Plan": text}. */
void api_finish_with_plan(struct api_call *call, const struct plan *plan);

#endif
