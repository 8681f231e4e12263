/* store/backup/backup.h: copies of whole stores. A backup is a directory with the tables of a store
 * as of one instant, and the file BACKUP (backup_manifest.h), which is written last: without it
 * there is no backup. Files are copied, never linked: a link would share damage with the original.
 *
 * Knows files only. Where the tables come from: rocks_checkpoint() in store/rocks/rocks.h. */
#ifndef GRAMME_STORE_BACKUP_BACKUP_H
#define GRAMME_STORE_BACKUP_BACKUP_H

#include "store/backup/backup_manifest.h"
#include "store/image/finding.h"

struct backup_options {
    uint64_t bytes_per_second; /* 0: as fast as it goes */
    /* Called after each piece; may be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    finding_report *report; /* damage that is found in tables; may be NULL */
    void *context;          /* of both */
};

/* Copies the files of `from`, a directory in which nobody writes, to `to`, which is created or
 * empty; syncs them, reads them again, checks every block, and writes BACKUP. `manifest` has the
 * format and the seed of the store; its files are filled in, in `arena`. Damaged blocks are
 * reported and are no failure: they are damaged in the store as well. */
MUST_USE bool backup_write(const struct backup_options *options, const char *from, const char *to,
                           struct arena *arena, struct backup_manifest *manifest, struct err *err);

/* Reads BACKUP, or its copy. */
MUST_USE bool backup_open(const char *directory, struct arena *arena, struct backup_manifest *out,
                          struct err *err);
/* Whether the directory looks like a backup: BACKUP or its copy is in it. */
MUST_USE bool backup_is_one(const char *directory);
/* Checks the length and checksum of every file, and every block of tables. False: a file is not
 * what it was, or cannot be read. */
MUST_USE bool backup_verify(const struct backup_options *options, const char *directory,
                            const struct backup_manifest *manifest, struct err *err);
/* Makes a store of a backup in `to`, which is empty or does not exist; checks every file on the
 * way. After a failure `to` holds no store. */
MUST_USE bool backup_restore(const struct backup_options *options, const char *directory,
                             const struct backup_manifest *manifest, const char *to,
                             struct err *err);

#endif
