/* tests/store/quarantine_calls.h: for tests of bad blocks: kills the process at a system call, lets
 * reads of compactions fail, and shortens a pause of RocksDB. quarantine_calls.c replaces rename(),
 * fdatasync(), fsync(), pwritev(), pread() and usleep() of the whole test program, including
 * RocksDB. */
#ifndef GRAMME_TESTS_STORE_QUARANTINE_CALLS_H
#define GRAMME_TESTS_STORE_QUARANTINE_CALLS_H

/* The exit status of a process that calls_kill_at() has ended. */
enum { CALLS_KILLED = 99 };

/* Ends the process at the call with this number, counted from the one that gives the file STORE its
 * new contents: that is the first step of a quarantine. Counts the calls that change files. */
void calls_kill_at(long number);
/* Makes the next `count` reads of compactions fail with EIO; 0: none. */
void calls_fail_reads(int count);
/* Returns how many of these reads are still to fail. */
int calls_reads_to_fail(void);

#endif
