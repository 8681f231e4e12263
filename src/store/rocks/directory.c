#include "store/rocks/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool directory_each(const char *path, const char *ending,
                    void (*visit)(void *context, const char *name), void *context)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return false;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *found = strrchr(entry->d_name, '.');
        if (found != NULL && strcmp(found, ending) == 0) {
            visit(context, entry->d_name);
        }
    }
    closedir(dir);
    return true;
}

bool directory_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return good;
}
