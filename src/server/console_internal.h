/* server/console_internal.h: the files of the console, as tools/console writes them into a C file.
 */
#ifndef GRAMME_SERVER_CONSOLE_INTERNAL_H
#define GRAMME_SERVER_CONSOLE_INTERNAL_H

#include <stddef.h>

struct console_file {
    const char *path; /* behind "/_gramme/"; the page itself is "" */
    const char *type; /* Content-Type */
    const char *etag; /* with its quotes */
    const char *gzip; /* the content, compressed */
    size_t gzip_len;
    size_t len; /* uncompressed */
};

extern const struct console_file console_files[];
extern const size_t console_file_count; /* 0: built without the console */

#endif
