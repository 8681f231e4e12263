/* tests/sim/disk_mirror.h: replaces open(), write(), fsync() and the like of the whole program by
 * functions that also carry them out on a file system in memory (sim_files.h), which knows what has
 * been synced: for one directory at a time, RocksDB's files included. A call that is to fail there
 * (sim_files.fail_at) fails for the program, too, and changes nothing on disk. pread() fails in the
 * same way. */
#ifndef GRAMME_TESTS_SIM_DISK_MIRROR_H
#define GRAMME_TESTS_SIM_DISK_MIRROR_H

#include "sim_files.h"

/* Starts to mirror a directory with the files that it has, all of which count as synced. `before`
 * of the result is called on the thread of each call that changes something, and no other such call
 * runs meanwhile. */
struct sim_files *disk_mirror_start(const char *directory, uint64_t seed, enum sim_bug bug);
/* Until disk_mirror_thaw() other threads wait before they change a file: to use the mirror outside
 * of `before`. */
void disk_mirror_freeze(void);
/* Lets the other threads continue. */
void disk_mirror_thaw(void);
/* Ends it. Files of the directory may still be open. */
void disk_mirror_stop(void);

#endif
