/* store/image/table_file.h: reads one table of RocksDB (NUMBER.sst) from its first entry to its
 * last and checks every block on the way. A damaged block is reported and passed over. If the index
 * cannot be read, blocks are taken one after the other from the start of the file, as far as they
 * are intact. */
#ifndef GRAMME_STORE_IMAGE_TABLE_FILE_H
#define GRAMME_STORE_IMAGE_TABLE_FILE_H

#include "store/image/finding.h"
#include "store/wal/files.h"

struct table_file;

struct table_file_options {
    const struct files *files;
    const char *directory;
    uint64_t number;
    uint64_t size_bytes; /* by the manifest; 0: not known */
    struct str smallest; /* keys, by the manifest; STR_NULL: not known */
    struct str largest;
    bool is_for_repair; /* a single flipped bit, which is corrected while reading, is no damage */
    /* Gets all findings; of those with a range, also before any later entry is returned. */
    finding_report *report;
    void *context;
};

enum entry_type { ENTRY_DELETION = 0, ENTRY_VALUE = 1, ENTRY_SINGLE_DELETION = 7 };

struct table_entry {
    struct str key;
    struct str value;
    uint64_t sequence;
    uint8_t type; /* enum entry_type; others are not used by stores */
};

/* Opens a table and checks everything but its data blocks. Never NULL: a file that cannot be read
 * has been reported, and has no entries. `options` is copied, what it points to is not. */
MUST_USE struct table_file *table_file_open(const struct table_file_options *options);
/* The next entry: keys ascend, versions of one key descend. Borrowed until the next call. */
MUST_USE bool table_file_next(struct table_file *table, struct table_entry *out);
/* Bytes of the file that have been read so far. */
MUST_USE uint64_t table_file_bytes_read(const struct table_file *table);
void table_file_close(struct table_file *table);

#endif
