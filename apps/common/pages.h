/* apps/common/pages.h: files of the web pages, read once when the server starts. */
#ifndef GRAMME_APPS_PAGES_H
#define GRAMME_APPS_PAGES_H

#include "base/map.h"
#include "http/http.h"

struct pages {
    struct map files; /* path -> struct page_file */
};

/* Reads all files under `directory`. A directory that is not there has none. */
void pages_init(struct pages *pages, const char *directory);
/* Frees the files. */
void pages_finish(struct pages *pages);
/* Answers with the file of that path, or with the index.html of the folder; without its slash a
 * folder is sent there. False: there is none, and nothing was answered. */
bool pages_answer(const struct pages *pages, struct http_exchange *exchange, struct str path);

#endif
