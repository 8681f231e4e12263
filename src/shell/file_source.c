/* A file as a source of bytes: see file_source_internal.h. Main thread. */
#include "shell/file_source_internal.h"

#include <errno.h>
#include <string.h>

static bool read_file(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                      struct err *err)
{
    struct file_source *file = CONTAINER_OF(source, struct file_source, source);
    *out_len = fread(room, 1, room_len, file->file);
    return *out_len > 0 || ferror(file->file) == 0 ||
           err_set(err, ERR_SERVICE_UNAVAILABLE, "cannot read: %s", strerror(errno));
}

struct file_source file_source_make(FILE *file)
{
    return (struct file_source){.source.read = read_file, .file = file};
}
