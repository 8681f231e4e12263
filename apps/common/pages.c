/* Serves the files of the pages from memory. They are read once, at the start; answering happens on
 * the event loop. */
#include "apps/common/pages.h"

#include <dirent.h>
#include <stdio.h>

#include "base/mem.h"

struct page_file {
    struct str bytes;
    struct str type;
};

static const struct {
    const char *ending;
    const char *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".woff2", "font/woff2"},
    {".ico", "image/x-icon"},
};

static struct str type_of(struct str path)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct str ending = str_from_c(types[i].ending);
        if (path.len >= ending.len && str_eq(str_skip(path, path.len - ending.len), ending)) {
            return str_from_c(types[i].type);
        }
    }
    return STR("application/octet-stream");
}

static void add_file(struct pages *pages, const char *file_name, struct str path)
{
    FILE *file = fopen(file_name, "rb");
    if (file == NULL) {
        return;
    }
    struct buf bytes = {0};
    size_t count;
    do {
        enum { PIECE = 64 * 1024 };
        count = fread(buf_reserve(&bytes, PIECE), 1, PIECE, file);
        buf_added(&bytes, count);
    } while (count > 0);
    fclose(file);
    struct page_file *page = mem_zalloc(sizeof(*page));
    page->bytes = buf_str(&bytes); /* the page takes over the memory of the buffer */
    page->type = type_of(path);
    map_put(&pages->files, path, page);
}

static void add_directory(struct pages *pages, const char *name, struct str path)
{
    DIR *directory = opendir(name);
    if (directory == NULL) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        struct str inner = arena_format(&arena, "%.*s/%s", STR_ARG(path), entry->d_name);
        char inner_name[4096];
        snprintf(inner_name, sizeof(inner_name), "%s/%s", name, entry->d_name);
        if (entry->d_type == DT_DIR) {
            add_directory(pages, inner_name, inner);
        } else {
            add_file(pages, inner_name, inner);
        }
    }
    arena_finish(&arena);
    closedir(directory);
}

void pages_init(struct pages *pages, const char *directory)
{
    map_init(&pages->files);
    add_directory(pages, directory, STR(""));
}

void pages_finish(struct pages *pages)
{
    size_t at = 0;
    struct str path;
    void *file;
    while (map_next(&pages->files, &at, &path, &file)) {
        mem_free((char *)((struct page_file *)file)->bytes.data);
        mem_free(file);
    }
    map_finish(&pages->files);
}

/* Content-Security-Policy: all resources from this origin; FullCalendar brings its styles and its
 * font inside its script. */
#define HEADERS_ALWAYS                                                                             \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Content-Security-Policy: default-src 'self'; style-src 'self' 'unsafe-inline'; "              \
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; "            \
    "form-action 'self'; frame-ancestors 'none'\r\n"

bool pages_answer(const struct pages *pages, struct http_exchange *exchange, struct str path)
{
    struct arena *arena = exchange->arena;
    bool is_folder = path.len == 0 || path.data[path.len - 1] == '/';
    struct str wanted = is_folder ? arena_format(arena, "%.*sindex.html", STR_ARG(path)) : path;
    const struct page_file *page = map_get(&pages->files, wanted);
    if (page != NULL) {
        /* Names in assets/ contain a hash of the content, so they may be cached forever. */
        bool is_kept = str_starts_with(path, STR("/assets/"));
        buf_add(exchange->out, page->bytes);
        http_reply(exchange,
                   &(struct http_answer){
                       .status = 200,
                       .content_type = page->type,
                       .headers = is_kept ? STR(HEADERS_ALWAYS "Cache-Control: max-age=31536000, "
                                                               "immutable\r\n")
                                          : STR(HEADERS_ALWAYS "Cache-Control: no-cache\r\n"),
                   });
        return true;
    }
    struct str index = arena_format(arena, "%.*s/index.html", STR_ARG(path));
    if (map_get(&pages->files, index) == NULL) {
        return false;
    }
    struct str location = arena_format(arena, "Location: %.*s/\r\n", STR_ARG(path));
    http_reply(exchange, &(struct http_answer){.status = 301, .headers = location});
    return true;
}
