/* store/backup/backup_manifest.h: the file BACKUP of a backup: the list of its files, with sizes
 * and checksums. It is text:
 *
 *   gramme backup 1
 *   format 4
 *   seed 00112233aabbccdd
 *   created 1790000000000
 *   file 63210019 0123456789abcdef0123456789abcdef 000010.sst
 *   end 1 0123456789abcdef
 *
 * A line `file` has the length, XXH3-128 and name of a file. The last line has the number of files
 * and XXH3-64 of all bytes before the line. Without an intact BACKUP or BACKUP.copy a directory is
 * not a backup. */
#ifndef GRAMME_STORE_BACKUP_BACKUP_MANIFEST_H
#define GRAMME_STORE_BACKUP_BACKUP_MANIFEST_H

#include "base/buf.h"
#include "err/err.h"

#define BACKUP_NAME      "BACKUP"
#define BACKUP_COPY_NAME "BACKUP.copy"

struct backup_file {
    struct str name; /* of letters, digits and "._-", not beginning with a dot */
    uint64_t size_bytes;
    uint8_t hash[16];
};

struct backup_manifest {
    uint32_t format; /* of the store */
    uint64_t seed;
    int64_t created_ms;
    struct backup_file *files;
    size_t file_count;
};

/* Returns whether a file of this name can be part of a backup. */
MUST_USE bool backup_name_is_valid(struct str name);
/* Appends the text of a manifest to `out`. */
void backup_manifest_write(const struct backup_manifest *manifest, struct buf *out);
/* Parses a manifest; everything in *out lives in `arena`. False: it is damaged or not a manifest.
 */
MUST_USE bool backup_manifest_read(struct arena *arena, struct str text,
                                   struct backup_manifest *out, struct err *err);

#endif
