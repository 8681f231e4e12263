/* shell/import_internal.h: what the two files of `gramme import` share. */
#ifndef GRAMME_SHELL_IMPORT_INTERNAL_H
#define GRAMME_SHELL_IMPORT_INTERNAL_H

#include <stdio.h>

#include "archive/decompress.h"
#include "archive/record.h"
#include "shell/subcommand_internal.h"

/* In the order of the words of --format. */
enum import_format { IMPORT_DYNAMODB_JSON, IMPORT_ION, IMPORT_CSV, IMPORT_PLAIN };

struct import_arguments {
    struct subcommand command;
    const char *table; /* NULL: not given, like the other texts */
    const char *path;  /* NULL or "-": standard input */
    const char *bucket;
    const char *prefix;
    const char *key;
    const char *quiet;
    const char *format_word;
    const char *compression_word;
    const char *delimiter_word;
    enum import_format format;
    enum compression compression;
    char delimiter; /* 0: not given */
};

/* A file that is being loaded. */
struct loading {
    struct subcommand *command;
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
    FILE *file;
    double file_bytes; /* 0: not known */
};

/* The second form of the command: ImportTable, and waiting for it. Returns the exit status. */
int import_table(struct import_arguments *arguments);

#endif
