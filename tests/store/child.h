/* tests/store/child.h: runs a part of a test in a child process, which sends reports and can be
 * killed. The child executes the test program again with the arguments "child NAME DIRECTORY
 * NUMBER", because RocksDB's threads do not survive fork(). */
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

/* Starts a child process with the task `name`. */
void child_start(struct child *child, const char *name, const char *directory, uint64_t number);
/* Waits for the next report. Returns false if the child has ended. */
bool child_read(struct child *child, struct report *out);
/* Sends SIGKILL to the child. */
void child_kill(struct child *child);
/* Waits for the end of the child and returns its exit status; -1 if it was killed. */
int child_wait(struct child *child);

/* Called in the child: sends a report to the parent. */
void child_report(uint64_t id, enum store_status status);

/* Called in main(): returns the NAME of the child's task, or NULL in the parent. */
const char *child_name(int argc, char **argv);

#endif
