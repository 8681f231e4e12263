/* store/backup/store_backup.h: backups of whole stores. A backup is a directory with the SST files
 * of a store as of one instant, and the file BACKUP (backup_manifest.h), which is written last: a
 * directory without it is not a backup. Files are copied, not linked, because damage to a linked
 * file would affect both the store and the backup.
 *
 * The caller provides the SST files, by rocks_checkpoint() of store/rocks/rocks.h. */
#ifndef GRAMME_STORE_BACKUP_STORE_BACKUP_H
#define GRAMME_STORE_BACKUP_STORE_BACKUP_H

#include "store/backup/backup_manifest.h"
#include "store/image/finding.h"

struct backup_options {
    uint64_t bytes_per_second; /* 0: no limit */
    /* Called after each piece that was copied; may be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    finding_report *report; /* gets damage that is found in SST files; may be NULL */
    void *context;          /* of both */
};

/* Copies the files of the directory `from`, which must not change, to `to`, which is empty or does
 * not exist; syncs them, reads them again, checks every block, and writes BACKUP. The caller sets
 * format and seed in `manifest`; the list of files is added, in `arena`. A damaged block is
 * reported and is not an error: it is damaged in the store as well. */
MUST_USE bool backup_write(const struct backup_options *options, const char *from, const char *to,
                           struct arena *arena, struct backup_manifest *manifest, struct err *err);

/* Reads BACKUP or its copy; everything in *out lives in `arena`. */
MUST_USE bool backup_open(const char *directory, struct arena *arena, struct backup_manifest *out,
                          struct err *err);
/* Returns whether the directory contains BACKUP or its copy. */
MUST_USE bool backup_is_one(const char *directory);
/* Checks the length and checksum of every file, and every block of the SST files. False: a file has
 * changed or cannot be read; *err says which. */
MUST_USE bool backup_verify(const struct backup_options *options, const char *directory,
                            const struct backup_manifest *manifest, struct err *err);
/* Creates a store from a backup in `to`, which is empty or does not exist, and checks every file
 * while it is copied. After a failure `to` is marked as incomplete, and servers refuse it. */
MUST_USE bool backup_restore(const struct backup_options *options, const char *directory,
                             const struct backup_manifest *manifest, const char *to,
                             struct err *err);

#endif
