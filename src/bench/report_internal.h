/* bench/report_internal.h: results as text and as JSON. */
#ifndef GRAMME_BENCH_REPORT_INTERNAL_H
#define GRAMME_BENCH_REPORT_INTERNAL_H

#include "bench/limits_internal.h"
#include "bench/run_internal.h"

/* Prints the result of a run to standard output. */
void report_run(const struct bench_options *options, const struct run_plan *plan,
                const struct run_result *result);
/* Prints the result of a limit to standard output. */
void report_limit(const struct bench_options *options, const struct limit_result *result);

/* Writes the result of a run as JSON to a file; "-" is standard output. */
MUST_USE bool report_run_json(struct str path, const struct bench_options *options,
                              const struct run_plan *plan, const struct run_result *result,
                              struct err *err);
/* Writes the result of a limit as JSON. */
MUST_USE bool report_limit_json(struct str path, const struct bench_options *options,
                                const struct limit_result *result, struct err *err);

#endif
