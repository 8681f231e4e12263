/* tests/sim/sim_files.h: a file system in memory, behind struct files (store/disk/files.h). It
 * knows what has been synced, so that it can be asked for states in which a crash may leave a disk.
 *
 * A crash of the machine leaves the synced bytes; each 512-byte sector that was written since is
 * old, new or garbage, each on its own; names that were changed since are changed or not. A crash
 * of the process leaves everything as it was written, but it is not more durable than before.
 *
 * A sync that fails leaves sectors that look written until the machine crashes, but may never be:
 * as Linux has it, they count as clean, and the next sync succeeds without writing them. */
#ifndef GRAMME_TESTS_SIM_SIM_FILES_H
#define GRAMME_TESTS_SIM_SIM_FILES_H

#include "base/random.h"
#include "store/disk/files.h"

enum sim_crash { SIM_KILL, SIM_POWER_CUT };

/* Bugs to plant: a test that does not find them is worth nothing. */
enum sim_bug {
    SIM_NO_BUG,
    SIM_SKIP_SYNC,           /* of segments */
    SIM_SKIP_SOME_SYNCS,     /* of segments, one in 16 */
    SIM_SKIP_STATE_SYNC,     /* of wal.state */
    SIM_SKIP_DIRECTORY_SYNC, /* names may vanish */
};

/* How a call fails. */
enum sim_failure { SIM_FAIL_EIO, SIM_FAIL_ENOSPC, SIM_FAIL_EINTR, SIM_FAIL_SHORT, SIM_FAIL_KINDS };

struct sim_inode;
struct sim_name;

struct sim_files {
    struct files files;
    struct sim_inode **inodes;
    size_t inode_count;
    struct sim_name *names; /* as a process sees them */
    size_t name_count;
    struct sim_name *synced_names;
    size_t synced_name_count;
    struct sim_change *changes; /* of names, since they were synced */
    size_t change_count;
    int descriptors[64]; /* index of the inode; -1: free */
    struct random random;
    enum sim_bug bug;
    uint64_t sync_count;
    bool has_no_garbage;    /* sectors are old or new */
    bool has_ordered_names; /* changes of names happen in order, as file systems with a journal have
                               it */

    /* Calls are counted; `before` is called before each that changes something. */
    uint64_t call_count;
    void (*before)(void *context);
    void *context;
    /* Call number fail_at fails, and so do the next fail_count - 1; 0: none. Calls that only read
     * fail with EIO, but pread() also with EINTR or by returning less. */
    uint64_t fail_at;
    uint64_t fail_count;
    enum sim_failure failure;
};

/* Makes an empty file system; what a crash leaves follows from the seed. */
struct sim_files *sim_create(uint64_t seed, enum sim_bug bug);
/* Frees it. */
void sim_destroy(struct sim_files *sim);
/* Counts a pread() that is carried out elsewhere. Returns how many of `len` bytes it may read; -1:
 * it fails, errno says how. */
ssize_t sim_begin_pread(struct sim_files *sim, size_t len);
/* What a crash now might leave, as a file system of its own. */
struct sim_files *sim_crashed(const struct sim_files *sim, enum sim_crash kind,
                              struct random *random);

/* --- damage; files are numbered as they are listed --- */

/* Returns the number of files. */
size_t sim_file_count(const struct sim_files *sim);
/* Returns the name of a file, without its directory; valid until it is renamed or deleted. */
const char *sim_file_name(const struct sim_files *sim, size_t index);
/* Returns the length of a file. */
uint64_t sim_file_bytes(const struct sim_files *sim, size_t index);
/* Inverts a bit of a file, synced or not. */
void sim_flip_bit(struct sim_files *sim, size_t index, uint64_t bit);
/* Overwrites a sector of a file with random bytes. */
void sim_scramble_sector(struct sim_files *sim, size_t index, uint64_t sector);
/* Makes a file shorter. */
void sim_truncate(struct sim_files *sim, size_t index, uint64_t bytes);
/* Removes a file. */
void sim_delete(struct sim_files *sim, size_t index);

/* --- files on disk --- */

/* Adds the files of a directory, all of them synced. */
void sim_load(struct sim_files *sim, const char *directory);
/* Writes the files, as a process sees them, to a directory that exists. */
void sim_save(const struct sim_files *sim, const char *directory);
/* Returns a random number below `limit`. */
uint64_t sim_below(struct random *random, uint64_t limit);

#endif
