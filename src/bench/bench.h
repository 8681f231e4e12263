/* bench/bench.h: `gramme bench`: a load generator for any DynamoDB endpoint, and the limits of the
 * machine to hold its results against. */
#ifndef GRAMME_BENCH_BENCH_H
#define GRAMME_BENCH_BENCH_H

/* The arguments behind `gramme bench`. Returns the program's exit status: 0, 1 if requests failed
 * or nothing could be measured, 2 if the arguments are wrong. */
int bench(int argc, char **argv);

#endif
