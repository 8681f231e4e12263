/* Lists the files of a store with a hash of their contents: see file_list.h. Called by sim_damage.
 */
#include "file_list.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

static int is_listed(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "STORE.lock") != 0 &&
           strncmp(entry->d_name, "LOG", 3) != 0;
}

static bool is_data(const char *name)
{
    const char *end = strrchr(name, '.');
    return strcmp(name, "STORE") == 0 || strcmp(name, "STORE.copy") == 0 ||
           (end != NULL && (strcmp(end, ".sst") == 0 || strcmp(end, ".wal") == 0));
}

/* The hash covers where data is, so that data which was moved is a difference. */
static uint64_t hash_of_file(int fd)
{
    static char piece[1 << 16];
    uint64_t hash = 0;
    off_t at = 0;
    while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
        ssize_t len = pread(fd, piece, sizeof(piece), at);
        assert(len > 0);
        hash = hash_64_seeded(str_make(piece, (size_t)len), hash ^ (uint64_t)at);
        at += len;
    }
    return hash;
}

static void add_file(const char *directory, const char *name, struct buf *out)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", directory, name);
    struct stat found;
    int fd = open(path.data, O_RDONLY);
    bool is_read = fd >= 0 && fstat(fd, &found) == 0;
    assert(is_read);
    uint64_t hash = S_ISREG(found.st_mode) ? hash_of_file(fd) : 0;
    buf_format(out, "%s %lld %016" PRIx64 "\n", name, (long long)found.st_size, hash);
    close(fd);
    buf_finish(&path);
}

void file_list(const char *directory, bool only_data, struct buf *out)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_listed, alphasort);
    assert(count >= 0);
    for (int i = 0; i < count; i++) {
        if (!only_data || is_data(entries[i]->d_name)) {
            add_file(directory, entries[i]->d_name, out);
        }
        free(entries[i]);
    }
    free(entries);
}
