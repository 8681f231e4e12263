/* bench/report_internal.h: results as text for people and as JSON for programs. */
#ifndef GRAMME_BENCH_REPORT_INTERNAL_H
#define GRAMME_BENCH_REPORT_INTERNAL_H

#include "bench/limits_internal.h"
#include "bench/run_internal.h"

void report_run(const struct bench_options *options, const struct run_plan *plan,
                const struct run_result *result);
void report_limit(const struct bench_options *options, const struct limit_result *result);

/* Writes the same to a file; "-" is standard output. */
MUST_USE bool report_run_json(struct str path, const struct bench_options *options,
                              const struct run_plan *plan, const struct run_result *result,
                              struct err *err);
MUST_USE bool report_limit_json(struct str path, const struct bench_options *options,
                                const struct limit_result *result, struct err *err);

#endif
