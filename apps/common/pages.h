/* apps/common/pages.h: files of the web pages, read once when the server starts. */
#ifndef GRAMME_APPS_PAGES_H
#define GRAMME_APPS_PAGES_H

#include "base/map.h"
#include "http/http.h"

struct pages {
    struct map files; /* path -> struct page_file */
};

/* Reads all files under `directory`. A directory that does not exist has no files. */
void pages_init(struct pages *pages, const char *directory);
/* Frees the files. */
void pages_finish(struct pages *pages);
/* Answers with the file of that path, or with the index.html of the folder; a folder without a
 * trailing slash is redirected. False: there is no such file, and nothing was answered. */
bool pages_answer(const struct pages *pages, struct http_exchange *exchange, struct str path);

#endif
