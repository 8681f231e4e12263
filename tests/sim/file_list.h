/* tests/sim/file_list.h: the names and contents of the files of a store as text, to show that they
 * did not change. */
#ifndef GRAMME_TESTS_SIM_FILE_LIST_H
#define GRAMME_TESTS_SIM_FILE_LIST_H

#include "base/buf.h"

/* Appends a line for each file but the lock and RocksDB's LOG files, in the order of their names:
 * name, size and a hash of the contents. Holes of sparse files are skipped. `only_data`: only the
 * identity, SST files and segments. */
void file_list(const char *directory, bool only_data, struct buf *out);

#endif
