/* bench/options_internal.h: the command line of gramme-bench. */
#ifndef GRAMME_BENCH_OPTIONS_INTERNAL_H
#define GRAMME_BENCH_OPTIONS_INTERNAL_H

#include "err/err.h"

#define TEXT(member_, name_, value_, default_, help_)               struct str member_;
#define NUMBER(member_, name_, value_, default_, min_, max_, help_) int64_t member_;
#define REAL(member_, name_, value_, default_, min_, max_, help_)   double member_;
#define FLAG(member_, name_, help_)                                 bool member_;
struct bench_options {
    struct str workload; /* STR_NULL: a limit */
#include "bench/options.def"
};
#undef TEXT
#undef NUMBER
#undef REAL
#undef FLAG

/* Reads the arguments. Texts borrow from argv. False: ERR_VALIDATION. */
MUST_USE bool options_read(int argc, char **argv, struct bench_options *out, struct err *err);
/* Prints the options with their defaults to standard output. */
void options_print_help(void);

#endif
