/* bench/bench.h: the program gramme-bench: a load generator for any DynamoDB endpoint, and
 * measurements of what the machine's disk, memory and network allow, for comparison. */
#ifndef GRAMME_BENCH_BENCH_H
#define GRAMME_BENCH_BENCH_H

/* Runs the load generator with the arguments of the command line, without the program's name.
 * Called by main(). Returns the exit status: 0, 1 if requests failed or nothing could be measured,
 * 2 if the arguments are wrong. */
int bench(int argc, char **argv);

#endif
