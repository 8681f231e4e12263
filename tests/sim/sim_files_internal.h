/* tests/sim/sim_files_internal.h: the contents and names of files in memory, as a process sees them
 * and as they are on disk: for sim_files.c (calls), sim_crash.c and sim_edit.c. */
#ifndef GRAMME_TESTS_SIM_SIM_FILES_INTERNAL_H
#define GRAMME_TESTS_SIM_SIM_FILES_INTERNAL_H

#include "sim_files.h"

enum { SECTOR = 512, NAME_MAX_LEN = 40 };

struct sim_inode {
    char *bytes;  /* as a process sees them */
    char *synced; /* on disk */
    uint64_t size;
    uint64_t synced_size;
    uint64_t capacity; /* of both, in bytes; what is beyond the size is zero */
    bool *dirty;       /* by sector */
};

/* Frees a file and its contents. */
void inode_destroy(struct sim_inode *inode);
/* Writes bytes, which are not synced then. */
void inode_write(struct sim_inode *inode, const void *data, size_t len, uint64_t offset);
/* Makes a file shorter, or longer by zeroes. */
void inode_resize(struct sim_inode *inode, uint64_t size);
/* Brings the bytes and the size of a file to disk. */
void inode_sync(struct sim_inode *inode);
/* A sync that fails: some sectors reach the disk; all count as clean from now on. */
void inode_fail_sync(struct sim_inode *inode, struct random *random);
/* Returns a copy, which is as durable as the original. */
struct sim_inode *inode_copy(const struct sim_inode *from);
/* Makes a file what the next process finds after a power cut: each sector that is not synced has
 * `new_chance` of 100 to be new, the rest are old, and some garbage. */
void inode_cut_power(struct sim_inode *inode, struct random *random, uint64_t new_chance,
                     uint64_t garbage_chance);
/* Adds a file without a name. Returns its index. */
int sim_add_inode(struct sim_files *sim, struct sim_inode *inode);

struct sim_name {
    char name[NAME_MAX_LEN];
    int inode;
};

/* Of names: `from` goes, `to` comes; either may be empty. */
struct sim_change {
    char from[NAME_MAX_LEN];
    char to[NAME_MAX_LEN];
    int inode;
};

/* Returns the index of a name; -1: there is none. */
int names_find(const struct sim_name *names, size_t count, const char *name);
/* Carries out a change. Does nothing if what it depends upon did not happen. */
void names_apply(struct sim_name **names, size_t *count, const struct sim_change *change);
/* Replaces a list of names by a copy of another one. */
void names_copy(struct sim_name **to, size_t *to_count, const struct sim_name *from, size_t count);
/* Changes a name as a process sees it: not synced yet. `from` or `to` may be empty. */
void sim_change_names(struct sim_files *sim, const char *from, const char *to, int inode);

#endif
