/* Objects as files: DIRECTORY/BUCKET/KEY. An object is written to DIRECTORY/BUCKET/.uploads, synced
 * and renamed, so that it exists as a whole or not at all. Buckets are created by the first write.
 * Called on background threads. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "objects/objects_internal.h"

#define UPLOADS ".uploads"
enum { NAME_MAX_BYTES = 255, FOLDER_MODE = 0777, FILE_MODE = 0666 };

struct folders {
    struct objects objects;
    struct arena arena;
    struct str directory; /* ends with NUL */
};

static struct str directory_of(const struct objects *objects)
{
    return CONTAINER_OF(objects, struct folders, objects)->directory;
}

static void folders_close(struct objects *objects)
{
    struct folders *folders = CONTAINER_OF(objects, struct folders, objects);
    arena_finish(&folders->arena);
    mem_free(folders);
}

/* --- paths --- */

/* Takes the part before the next slash off *rest. */
static bool next_component(struct str *rest, struct str *out)
{
    if (str_is_null(*rest)) {
        return false;
    }
    const char *slash = rest->len == 0 ? NULL : memchr(rest->data, '/', rest->len);
    size_t len = slash == NULL ? rest->len : (size_t)(slash - rest->data);
    *out = str_make(rest->data, len);
    *rest = slash == NULL ? STR_NULL : str_skip(*rest, len + 1);
    return true;
}

/* Whether the key is the path of a file below the bucket: no empty parts, no `.`, no `..`. */
static bool is_path(struct str key)
{
    struct str part;
    bool is_first = true;
    while (next_component(&key, &part)) {
        if (part.len == 0 || part.len > NAME_MAX_BYTES || str_eq(part, STR(".")) ||
            str_eq(part, STR("..")) || (is_first && str_eq(part, STR(UPLOADS)))) {
            return false;
        }
        is_first = false;
    }
    return true;
}

static bool make_path(struct objects *objects, struct arena *arena, struct str bucket,
                      struct str key, struct str *out, struct object_error *error)
{
    if (!is_path(key)) {
        return object_fail(error, 400, "InvalidArgument",
                           "The key cannot be a path of a file in a folder: it has an empty part, "
                           "'.', '..', or one of more than 255 bytes");
    }
    struct str directory = directory_of(objects);
    *out = arena_format(arena, "%.*s/%.*s/%.*s", STR_ARG(directory), STR_ARG(bucket), STR_ARG(key));
    return true;
}

static bool has_bucket(struct objects *objects, struct arena *arena, struct str bucket)
{
    struct stat status;
    struct str directory = directory_of(objects);
    struct str path = arena_format(arena, "%.*s/%.*s", STR_ARG(directory), STR_ARG(bucket));
    return stat(path.data, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Words a failed system call. */
static bool fail_call(struct objects *objects, struct str bucket, struct str key,
                      struct object_error *error)
{
    int number = errno;
    struct arena arena;
    arena_init(&arena);
    bool found = has_bucket(objects, &arena, bucket);
    arena_finish(&arena);
    if (number == ENOENT || number == ENOTDIR || number == EISDIR) {
        return found
                   ? object_fail(error, 404, "NoSuchKey", "The specified key does not exist.")
                   : object_fail(error, 404, "NoSuchBucket", "The specified bucket does not exist");
    }
    if (number == EACCES || number == EPERM || number == EROFS) {
        return object_fail(error, 403, "AccessDenied", "Access Denied");
    }
    return object_fail(error, 500, "InternalError", "%.*s/%.*s: %s", STR_ARG(bucket), STR_ARG(key),
                       strerror(number));
}

/* --- reading --- */

static void info_of(const struct stat *status, struct object_info *out)
{
    out->size_bytes = (uint64_t)status->st_size;
    snprintf(out->etag, sizeof(out->etag), "%llx-%llx%08lx", (unsigned long long)status->st_ino,
             (unsigned long long)status->st_mtim.tv_sec, (unsigned long)status->st_mtim.tv_nsec);
}

/* Opens a file for reading; -1: *error. */
static int open_object(struct objects *objects, struct str bucket, struct str key,
                       struct stat *status, struct object_error *error)
{
    struct arena arena;
    struct str path;
    int fd = -1;
    arena_init(&arena);
    if (make_path(objects, &arena, bucket, key, &path, error)) {
        fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bool is_file = fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode);
        if (!is_file) {
            int number = fd >= 0 ? ENOENT : errno;
            if (fd >= 0) {
                close(fd);
            }
            fd = -1;
            errno = number;
            fail_call(objects, bucket, key, error);
        }
    }
    arena_finish(&arena);
    return fd;
}

static bool folders_head(struct objects *objects, struct str bucket, struct str key,
                         struct object_info *out, struct object_error *error)
{
    struct stat status;
    int fd = open_object(objects, bucket, key, &status, error);
    if (fd < 0) {
        return false;
    }
    info_of(&status, out);
    close(fd);
    return true;
}

static bool read_range(int fd, struct object_range range, struct buf *out)
{
    size_t left = range.bytes;
    uint64_t offset = range.offset;
    while (left > 0) {
        ssize_t got = pread(fd, buf_reserve(out, left), left, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        buf_added(out, (size_t)got);
        left -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

static bool folders_read(struct objects *objects, struct str bucket, struct str key,
                         struct object_range range, const char *etag, struct buf *out,
                         struct object_error *error)
{
    struct stat status;
    struct object_info info;
    int fd = open_object(objects, bucket, key, &status, error);
    if (fd < 0) {
        return false;
    }
    info_of(&status, &info);
    bool good = true;
    if (etag != NULL && etag[0] != '\0' && strcmp(etag, info.etag) != 0) {
        good = object_fail(error, 412, "PreconditionFailed", "the object has changed");
    } else if (range.offset < info.size_bytes) {
        range.bytes = (size_t)MIN((uint64_t)range.bytes, info.size_bytes - range.offset);
        good = read_range(fd, range, out) || fail_call(objects, bucket, key, error);
    }
    close(fd);
    return good;
}

/* --- listing --- */

struct listing {
    struct arena *arena;
    struct object_list *list;
    struct buf path; /* of the folder */
    struct buf key;  /* what keys of the folder start with */
    bool has_failed;
};

/* The names in a folder; those of folders end with a slash, which puts keys into the order of their
 * bytes. */
struct names {
    struct str *names;
    size_t count;
    size_t capacity;
};

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool is_folder(int folder_fd, const struct dirent *entry)
{
    struct stat status;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) {
        return entry->d_type == DT_DIR;
    }
    return fstatat(folder_fd, entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static void add_name(struct names *names, struct arena *arena, const char *name, bool folder)
{
    if (names->count == names->capacity) {
        names->capacity = MAX(2 * names->capacity, (size_t)64);
        names->names = mem_realloc(names->names, names->capacity * sizeof(names->names[0]));
    }
    names->names[names->count++] = arena_format(arena, "%s%s", name, folder ? "/" : "");
}

static bool read_names(const struct listing *listing, struct arena *arena, struct names *out)
{
    DIR *folder = opendir(listing->path.data);
    if (folder == NULL) {
        return errno == ENOENT && listing->key.len > 0; /* deleted meanwhile */
    }
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(folder)) != NULL) {
        bool is_ours = listing->key.len == 0 && strcmp(entry->d_name, UPLOADS) == 0;
        if (!is_ours && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            add_name(out, arena, entry->d_name, is_folder(dirfd(folder), entry));
        }
    }
    int number = errno; /* 0: the folder's end */
    closedir(folder);
    if (out->count > 0) {
        qsort(out->names, out->count, sizeof(out->names[0]), compare_names);
    }
    errno = number;
    return number == 0;
}

/* Whether a folder can have wanted keys. `key` ends with a slash. */
static bool may_hold(const struct object_list *list, struct str key)
{
    bool fits = str_starts_with(key, list->prefix) || str_starts_with(list->prefix, key);
    return fits && (str_cmp(key, list->after) > 0 || str_starts_with(list->after, key));
}

static void add_entry(struct listing *listing, struct str key)
{
    struct object_list *list = listing->list;
    struct stat status;
    if (!str_starts_with(key, list->prefix) || str_cmp(key, list->after) <= 0 ||
        stat(listing->path.data, &status) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    if (list->count == list->limit) {
        list->more = true;
        return;
    }
    struct object_entry *entry = &list->entries[list->count++];
    entry->key = arena_copy(listing->arena, key);
    info_of(&status, &entry->info);
}

static void list_folder(struct listing *listing);

/* Visits a file or folder of the folder that is being listed. */
static void visit(struct listing *listing, struct str name)
{
    size_t path_len = listing->path.len;
    size_t key_len = listing->key.len;
    bool folder = name.data[name.len - 1] == '/';
    buf_format(&listing->path, "/%.*s", (int)(name.len - folder), name.data);
    buf_add(&listing->key, name);
    struct str key = buf_str(&listing->key);
    if (!folder) {
        add_entry(listing, key);
    } else if (may_hold(listing->list, key)) {
        list_folder(listing);
    }
    listing->path.len = path_len;
    listing->path.data[path_len] = '\0';
    listing->key.len = key_len;
}

/* Recursion is bounded by the length of a path. */
static void list_folder(struct listing *listing)
{
    struct arena arena;
    struct names names = {0};
    arena_init(&arena);
    if (!read_names(listing, &arena, &names)) {
        listing->has_failed = true;
    }
    for (size_t i = 0; i < names.count && !listing->list->more && !listing->has_failed; i++) {
        visit(listing, names.names[i]);
    }
    mem_free(names.names);
    arena_finish(&arena);
}

static bool folders_list(struct objects *objects, struct arena *arena, struct str bucket,
                         struct object_list *list, struct object_error *error)
{
    struct listing listing = {.arena = arena, .list = list};
    struct str directory = directory_of(objects);
    list->entries = ARENA_ARRAY(arena, struct object_entry, list->limit);
    buf_format(&listing.path, "%.*s/%.*s", STR_ARG(directory), STR_ARG(bucket));
    list_folder(&listing);
    bool good = !listing.has_failed || fail_call(objects, bucket, list->prefix, error);
    buf_finish(&listing.path);
    buf_finish(&listing.key);
    return good;
}

/* --- writing --- */

static bool sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

/* Syncs the folder that `path` is in. */
static bool sync_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return sync_folder(slash == NULL ? "." : "/");
    }
    *slash = '\0';
    bool good = sync_folder(path);
    *slash = '/';
    return good;
}

/* Makes the folder `path` and those above it, each durable under its name. */
static bool make_folders(char *path)
{
    if (mkdir(path, FOLDER_MODE) == 0) {
        return sync_parent(path);
    }
    char *slash = strrchr(path, '/');
    if (errno != ENOENT || slash == NULL || slash == path) {
        return errno == EEXIST;
    }
    *slash = '\0';
    bool good = make_folders(path);
    *slash = '/';
    return good && (mkdir(path, FOLDER_MODE) == 0 ? sync_parent(path) : errno == EEXIST);
}

/* Makes the folder that `path` is in. */
static bool make_parent(struct str path)
{
    char *slash = strrchr((char *)path.data, '/');
    *slash = '\0';
    bool good = make_folders((char *)path.data);
    *slash = '/';
    return good;
}

static bool folders_begin(struct object_writer *writer, struct object_error *error)
{
    struct str path;
    char id[UUID_TEXT_LEN];
    struct str directory = directory_of(writer->objects);
    if (!make_path(writer->objects, &writer->arena, writer->bucket, writer->key, &path, error)) {
        return false;
    }
    random_uuid(id);
    writer->upload = arena_format(&writer->arena, "%.*s/%.*s/" UPLOADS "/%.*s", STR_ARG(directory),
                                  STR_ARG(writer->bucket), UUID_TEXT_LEN, id);
    bool good = make_parent(writer->upload) &&
                (writer->fd = open(writer->upload.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                   FILE_MODE)) >= 0;
    return good || fail_call(writer->objects, writer->bucket, writer->key, error);
}

static bool write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.data, bytes.len);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes = str_skip(bytes, written < 0 ? 0 : (size_t)written);
    }
    return true;
}

static bool folders_add_part(struct object_writer *writer, struct object_error *error)
{
    return write_all(writer->fd, buf_str(&writer->part)) ||
           fail_call(writer->objects, writer->bucket, writer->key, error);
}

static bool close_file(struct object_writer *writer)
{
    bool good = fsync(writer->fd) == 0;
    good = close(writer->fd) == 0 && good;
    writer->fd = -1;
    return good;
}

/* Makes the file durable under its name. */
static bool publish(struct object_writer *writer, struct str path)
{
    char *slash = strrchr((char *)path.data, '/');
    bool good =
        close_file(writer) && make_parent(path) && rename(writer->upload.data, path.data) == 0;
    *slash = '\0';
    good = good && sync_folder(path.data);
    *slash = '/';
    return good;
}

static bool folders_complete(struct object_writer *writer, struct object_info *out,
                             struct object_error *error)
{
    struct str path;
    if (!make_path(writer->objects, &writer->arena, writer->bucket, writer->key, &path, error)) {
        return false;
    }
    if (!publish(writer, path)) {
        int number = errno;
        bool is_taken = number == EISDIR || number == ENOTDIR || number == EEXIST;
        errno = number;
        return is_taken ? object_fail(error, 400, "InvalidArgument",
                                      "a part of the key is the name of another object")
                        : fail_call(writer->objects, writer->bucket, writer->key, error);
    }
    out->size_bytes = writer->size_bytes;
    object_etag_of_parts(writer, out->etag);
    return true;
}

static void folders_abort(struct object_writer *writer)
{
    if (writer->fd >= 0) {
        close(writer->fd);
        writer->fd = -1;
    }
    unlink(writer->upload.data);
}

static bool folders_put(struct objects *objects, struct str bucket, struct str key, struct str body,
                        const struct object_attributes *attributes, struct object_info *out,
                        struct object_error *error)
{
    struct object_writer *writer = object_writer_open(objects, bucket, key, attributes, error);
    if (writer == NULL) {
        return false;
    }
    if (!object_writer_add(writer, body, error)) {
        object_writer_abort(writer);
        return false;
    }
    bool good = object_writer_close(writer, out, error);
    object_etag_of(body, out->etag);
    return good;
}

static bool folders_remove(struct objects *objects, struct str bucket, struct str key,
                           struct object_error *error)
{
    struct arena arena;
    struct str path;
    arena_init(&arena);
    bool good = make_path(objects, &arena, bucket, key, &path, error);
    if (good && unlink(path.data) != 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == EISDIR;
        good = (is_missing && has_bucket(objects, &arena, bucket)) ||
               fail_call(objects, bucket, key, error);
    }
    arena_finish(&arena);
    return good;
}

static const struct objects_kind folders_kind = {
    .close = folders_close,
    .head = folders_head,
    .read = folders_read,
    .list = folders_list,
    .put = folders_put,
    .remove = folders_remove,
    .begin = folders_begin,
    .add_part = folders_add_part,
    .complete = folders_complete,
    .abort = folders_abort,
};

bool objects_open_folders(const struct objects_options *options, struct objects **out,
                          struct err *err)
{
    if (options->directory.len == 0) {
        return err_set(err, ERR_INTERNAL, "no directory for objects");
    }
    struct folders *folders = mem_zalloc(sizeof(*folders));
    folders->objects.kind = &folders_kind;
    arena_init(&folders->arena);
    folders->directory = arena_copy_c(&folders->arena, options->directory);
    *out = &folders->objects;
    return true;
}
