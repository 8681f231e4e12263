/* The program gramme-bench, which `gramme bench` runs. */
#include "bench/bench.h"

int main(int argc, char **argv)
{
    return bench(argc - 1, argv + 1);
}
