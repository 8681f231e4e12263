/* tests/store/quarantine_support.h: for tests of bad blocks: a store in which an SST file of level
 * 0 holds newer versions of the rows of another one and can be damaged, and writes that let
 * compactions read it. */
#ifndef GRAMME_TESTS_STORE_QUARANTINE_SUPPORT_H
#define GRAMME_TESTS_STORE_QUARANTINE_SUPPORT_H

#include "quarantine_calls.h"
#include "support.h"

/* All rows are in one space, which has ROWS of them. */
enum { ROWS = 1000, SPACE = 7 };
/* Compactions that work leave no more SST files of level 0 than these. */
enum { FEW_FILES = 12 };

/* Returns the key of a row. */
struct str row_key(struct client *client, uint64_t id);
/* Returns a version of a row; it cannot be compressed. */
struct str row_value(struct client *client, uint64_t id, uint64_t version);
/* Writes a version of a row. */
void put_version(struct client *client, uint64_t id, uint64_t version);
/* Whether a row is written again and again: one of every hundred, and none near the damage. */
bool is_busy(uint64_t id);
/* Writes a version of all busy rows. */
void put_busy_rows(struct client *client, uint64_t version);
/* Checks that no row has an older version than 1; busy rows have `version` or the one before.
 * Returns how many cannot be read, and the first and last of these. */
size_t check_rows(struct client *client, uint64_t version, uint64_t *first, uint64_t *last);

/* Creates a store and closes it: version 0 of each row is in a file of the bottom level, version 1
 * in one of level 0. */
struct client *fill_two_levels(struct fixture *fixture);
/* Opens the store of a fixture that was closed by store_close(). Its clients become valid again. */
void open_closed(struct fixture *fixture);
/* Finds the newest SST file. Returns how many there are. */
size_t newest_sst(const char *directory, char *out, size_t size);
/* Returns whether the directory has a file whose name contains `part`. */
bool directory_has(const char *directory, const char *part);
/* Changes some bits of a byte of the newest SST file: at a part of it, in thousandths. */
void flip_in_newest(const char *directory, char bits, int thousandths);
/* Damages a block in the middle of the newest SST file; no flip of one bit corrects it. */
void damage_newest(const char *directory);

/* Writes until compactions have read the bad block. Returns the last version. */
uint64_t write_until_quarantine(struct store *store, struct client *client, uint64_t version);
/* Opens a store whose newest SST file has a block in quarantine, in which these bits of a byte were
 * changed. Returns the last version. */
uint64_t prepare_quarantine_of(struct fixture *fixture, struct client **out, char bits);
/* The same with damage that no flip of one bit corrects. */
uint64_t prepare_quarantine(struct fixture *fixture, struct client **out);

#endif
