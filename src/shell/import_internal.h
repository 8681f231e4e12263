/* shell/import_internal.h: what the two files of `gramme import` share. */
#ifndef GRAMME_SHELL_IMPORT_INTERNAL_H
#define GRAMME_SHELL_IMPORT_INTERNAL_H

#include <stdio.h>

#include "archive/decompress.h"
#include "archive/record.h"
#include "gramme/gramme.h"

/* In the order of the words of --format. */
enum import_format { IMPORT_DYNAMODB_JSON, IMPORT_ION, IMPORT_CSV, IMPORT_PLAIN };

struct import_arguments {
    const char *url; /* NULL: not given, like the other texts */
    const char *table;
    const char *path; /* NULL or "-": standard input */
    const char *bucket;
    const char *prefix;
    const char *key;
    enum import_format format;
    bool has_format;
    enum compression compression;
    bool has_compression;
    char delimiter; /* 0: not given */
    bool quiet;
    int64_t shown_us; /* when progress was shown last */
};

/* A file that is being loaded. */
struct loading {
    struct gramme_db *db;
    struct table table; /* its name and attribute definitions */
    struct str key[2];  /* names of key attributes; STR_NULL: none */
    struct arena arena;
    struct arena scratch; /* of the items of a batch */
    struct value items[25];
    size_t numbers[25]; /* of the records */
    size_t count;
    size_t bytes;
    size_t records;
    size_t written;
    size_t errors;
    int64_t start_us;
};

/* Shows a line of progress on standard error, if that is a terminal; a few times a second. */
void import_show_progress(struct import_arguments *arguments, const char *text, bool is_last);

/* Prints a line that ends with a text of a server or a file, in which control characters are
 * replaced. */
void import_say(FILE *out, const char *start, struct str message);

/* The second form of the command: ImportTable, and waiting for it. Returns the exit status. */
int import_table(struct import_arguments *arguments, struct gramme_db *db);

#endif
