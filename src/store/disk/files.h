/* store/disk/files.h: every system call that the write-ahead log makes, as a struct of functions.
 * The server uses files_system(); tests/sim passes functions that record what is written and
 * synced, and that fail on command. Each function returns a negative value and sets errno when it
 * fails, as the system call does. */
#ifndef GRAMME_STORE_DISK_FILES_H
#define GRAMME_STORE_DISK_FILES_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/buf.h"
#include "err/err.h"

typedef void files_visit(void *context, const char *name);

struct files {
    /* `flags` as of open(2); new files get mode 0600. */
    int (*open)(const struct files *files, const char *path, int flags);
    int (*close)(const struct files *files, int fd);
    ssize_t (*pread)(const struct files *files, int fd, void *out, size_t len, uint64_t offset);
    ssize_t (*pwritev)(const struct files *files, int fd, const struct iovec *parts, int count,
                       uint64_t offset);
    /* As fdatasync(2): the data, and the metadata that is needed to read it. */
    int (*sync)(const struct files *files, int fd);
    int64_t (*size)(const struct files *files, int fd);
    int (*resize)(const struct files *files, int fd, uint64_t size);
    int (*rename)(const struct files *files, const char *from, const char *to);
    int (*unlink)(const struct files *files, const char *path);
    /* Syncs a directory: makes the names of its files durable. */
    int (*sync_directory)(const struct files *files, const char *path);
    /* Calls `visit` with the name of each entry but "." and "..", in any order. */
    int (*list)(const struct files *files, const char *path, files_visit *visit, void *context);
    /* Switches O_DIRECT on or off. */
    int (*set_direct)(const struct files *files, int fd, bool is_direct);
    /* Drops the pages of a file, which will not be read, from the kernel's cache. */
    void (*drop_cache)(const struct files *files, int fd);
    /* Returns the free space of the file system; 0: not known. */
    uint64_t (*free_bytes)(const struct files *files, const char *path);
};

/* Returns the functions that make the system calls. */
MUST_USE const struct files *files_system(void);

/* Writes all the bytes: repeats short and interrupted writes; a write of 0 bytes is EIO. Changes
 * `parts`. False: errno says why; some of the bytes may have been written. */
MUST_USE bool files_write_all(const struct files *files, int fd, struct iovec *parts, int count,
                              uint64_t offset);
/* Reads up to `len` bytes; fewer only at the end of the file. Negative: errno says why. */
MUST_USE ssize_t files_read_all(const struct files *files, int fd, void *out, size_t len,
                                uint64_t offset);
/* fdatasync, repeated if it was interrupted. */
MUST_USE bool files_sync(const struct files *files, int fd);
/* Reads a whole file into `out`, replacing what is in it. False: errno says why. */
MUST_USE bool files_read_file(const struct files *files, const char *path, struct buf *out);
/* Creates the directory (mode 0700) if it is missing, and syncs its parent then, so that it
 * survives a crash. False: errno says why. */
MUST_USE bool files_make_directory(const struct files *files, const char *directory);
/* Fails if the directory `target`, which may not exist yet, is in the directory of a store or is
 * that directory: foreign files there would be in the way of the store, and be lost with it. */
MUST_USE bool files_check_outside(const char *target, const char *store, struct err *err);
/* Closes a descriptor and preserves errno. */
void files_close(const struct files *files, int fd);

#endif
