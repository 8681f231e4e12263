/* tests/store/child.h: runs a part of a test in a process of its own, which can be killed, and
 * which reports on its way. The child is the test program itself, with "child NAME DIRECTORY
 * NUMBER" as arguments: RocksDB's threads would not survive a mere fork. */
#ifndef GRAMME_TESTS_STORE_CHILD_H
#define GRAMME_TESTS_STORE_CHILD_H

#include <sys/types.h>

#include "support.h"

struct report {
    uint64_t id;
    uint64_t status; /* enum store_status */
};

struct child {
    pid_t pid;
    int pipe;
};

void child_start(struct child *child, const char *name, const char *directory, uint64_t number);
/* The next report; waits for it. False: there will be no more. */
bool child_read(struct child *child, struct report *out);
void child_kill(struct child *child);
/* Waits for the end of the child and returns its exit status; -1 if it was killed. */
int child_wait(struct child *child);

/* In the child: tells the parent. */
void child_report(uint64_t id, enum store_status status);

/* In main(): what the child was asked to do, or NULL in the parent. */
const char *child_name(int argc, char **argv);

#endif
