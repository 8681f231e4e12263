/* The program gramme-bench, which `gramme bench` runs: passes the command line to bench.c, on the
 * main thread. */
#include "bench/bench.h"

int main(int argc, char **argv)
{
    return bench(argc - 1, argv + 1);
}
