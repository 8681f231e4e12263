/* store/image/table_file.h: reads all entries of one table of RocksDB (NUMBER.sst) in order, and
 * checks every block. A damaged block is reported and skipped. If the index is damaged, reads
 * blocks from the start of the file, one after the other, up to the first that is not intact. */
#ifndef GRAMME_STORE_IMAGE_TABLE_FILE_H
#define GRAMME_STORE_IMAGE_TABLE_FILE_H

#include "store/image/finding.h"
#include "store/wal/files.h"

struct table_file;

struct table_file_options {
    const struct files *files;
    const char *directory;
    uint64_t number;
    uint64_t size_bytes; /* from the manifest; 0: not known */
    struct str smallest; /* smallest key, from the manifest; STR_NULL: not known */
    struct str largest;
    bool is_for_repair; /* a single flipped bit is corrected and is not damage */
    /* Gets all findings; one with a range of keys before any later entry is returned. */
    finding_report *report;
    void *context;
};

enum entry_type { ENTRY_DELETION = 0, ENTRY_VALUE = 1, ENTRY_SINGLE_DELETION = 7 };

struct table_entry {
    struct str key;
    struct str value;
    uint64_t sequence;
    uint8_t type; /* enum entry_type; stores use no other types */
};

/* Opens a table and checks everything but its data blocks. Never returns NULL: a file that cannot
 * be read is reported, and has no entries. Copies `options`, but not what it points to. Close the
 * table with table_file_close(). */
MUST_USE struct table_file *table_file_open(const struct table_file_options *options);
/* Reads the next entry, by ascending key and, for one key, from the newest version to the oldest;
 * borrowed until the next call. False: there are no more. */
MUST_USE bool table_file_next(struct table_file *table, struct table_entry *out);
/* Returns how many bytes of the file were read so far. */
MUST_USE uint64_t table_file_bytes_read(const struct table_file *table);
/* Closes the file and frees the struct. */
void table_file_close(struct table_file *table);

#endif
