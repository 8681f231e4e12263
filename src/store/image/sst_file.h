/* store/image/sst_file.h: reads all entries of one SST file of RocksDB (NUMBER.sst) in order, and
 * checks every block. A damaged block is reported and skipped. If the index is damaged, reads
 * blocks from the start of the file, one after the other, up to the first that is not intact. */
#ifndef GRAMME_STORE_IMAGE_SST_FILE_H
#define GRAMME_STORE_IMAGE_SST_FILE_H

#include "store/disk/files.h"
#include "store/image/finding.h"

struct sst_file;

struct sst_file_options {
    const struct files *files;
    const char *directory;
    uint64_t number;
    uint64_t size_bytes; /* from the manifest; 0: not known */
    struct str smallest; /* smallest key, from the manifest; STR_NULL: not known */
    struct str largest;
    bool is_for_repair;  /* a single flipped bit is corrected and is not damage */
    bool never_corrects; /* a block with a flipped bit is as bad as any other */
    /* Gets all findings; one with a range of keys before any later entry is returned. */
    finding_report *report;
    void *context;
};

enum entry_type { ENTRY_DELETION = 0, ENTRY_VALUE = 1, ENTRY_SINGLE_DELETION = 7 };

struct sst_entry {
    struct str key;
    struct str value;
    uint64_t sequence;
    uint8_t type; /* enum entry_type; stores use no other types */
};

/* Opens an SST file and checks everything but its data blocks. Never returns NULL: a file that
 * cannot be read is reported, and has no entries. Copies `options`, but not what it points to.
 * Close the SST file with sst_file_close(). */
MUST_USE struct sst_file *sst_file_open(const struct sst_file_options *options);
/* Reads the next entry, by ascending key and, for one key, from the newest version to the oldest;
 * borrowed until the next call. False: there are no more. */
MUST_USE bool sst_file_next(struct sst_file *sst, struct sst_entry *out);
/* A data block that cannot be read. All its keys are in first <= key <= last. */
struct sst_bad_block {
    uint64_t offset;
    uint64_t size; /* of the stored contents, without the trailer */
    struct str first;
    struct str last; /* no other block of the file has this key */
    /* The bytes with their trailer, if a single flipped bit explains the damage; else STR_NULL. */
    struct str corrected;
};
/* Instead of sst_file_next(): reads data blocks up to the next one that is bad; borrowed until the
 * file is closed. Tries to correct the first few only, because that takes long. False: there are no
 * more. */
MUST_USE bool sst_file_next_bad_block(struct sst_file *sst, struct sst_bad_block *out);
/* Returns whether sst_file_next_bad_block() finds the range of each bad block: the index is intact,
 * and no key is in two blocks. */
MUST_USE bool sst_file_has_exact_index(const struct sst_file *sst);
/* Returns the kind of the checksums, for block_make_filler(). */
MUST_USE uint8_t sst_file_checksum_type(const struct sst_file *sst);
/* Returns how many bytes of the file were read so far. */
MUST_USE uint64_t sst_file_bytes_read(const struct sst_file *sst);
/* Closes the file and frees the struct. */
void sst_file_close(struct sst_file *sst);

#endif
