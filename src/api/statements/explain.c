/* Writes the response of ExplainQuery and ExplainStatement: the plan as text. Called by these
 * operations on the thread of the call. */
#include "api/statements/explain.h"

void api_finish_with_plan(struct api_call *call, const struct plan *plan)
{
    struct buf text = {0};
    plan_explain(&text, plan);
    api_begin(call);
    api_member(call, STR("Plan"));
    json_write_string(call->out, buf_str(&text));
    api_end(call);
    buf_finish(&text);
    api_finish(call);
}
