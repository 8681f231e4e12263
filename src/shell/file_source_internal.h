/* shell/file_source_internal.h: a file as a source of bytes, for the readers of src/archive. */
#ifndef GRAMME_SHELL_FILE_SOURCE_INTERNAL_H
#define GRAMME_SHELL_FILE_SOURCE_INTERNAL_H

#include <stdio.h>

#include "archive/source.h"

struct file_source {
    struct byte_source source;
    FILE *file; /* borrowed */
};

/* Makes a source that reads `file` from where it is. */
struct file_source file_source_make(FILE *file);

#endif
