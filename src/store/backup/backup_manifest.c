/* Writes and reads the manifest of a backup. Called by store_backup.c, on the main thread of a
 * command.
 */
#include "store/backup/backup_manifest.h"

#include "base/bytes.h"
#include "base/hash.h"

enum { NAME_LEN_MAX = 255 };

bool backup_name_is_valid(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '-' || c == '_' || c == '.';
        if (!good) {
            return false;
        }
    }
    return name.len > 0 && name.len <= NAME_LEN_MAX && name.data[0] != '.';
}

static void add_file(struct buf *out, const struct backup_file *file)
{
    buf_format(out, "file %llu ", (unsigned long long)file->size_bytes);
    for (size_t i = 0; i < sizeof(file->hash); i++) {
        buf_format(out, "%02x", file->hash[i]);
    }
    buf_format(out, " %.*s\n", STR_ARG(file->name));
}

void backup_manifest_write(const struct backup_manifest *manifest, struct buf *out)
{
    size_t start = out->len;
    buf_format(out, "gramme backup 1\nformat %u\nseed %016llx\ncreated %lld\n", manifest->format,
               (unsigned long long)manifest->seed, (long long)manifest->created_ms);
    for (size_t i = 0; i < manifest->file_count; i++) {
        assert(backup_name_is_valid(manifest->files[i].name));
        add_file(out, &manifest->files[i]);
    }
    uint64_t hash = hash_64(str_make(out->data + start, out->len - start));
    buf_format(out, "end %llu %016llx\n", (unsigned long long)manifest->file_count,
               (unsigned long long)hash);
}

/* Reading -------------------------------------------------------------------------------------- */

/* Removes `text` from the front of *rest. False: it does not start with it. */
static bool take(struct str *rest, struct str text)
{
    if (!str_starts_with(*rest, text)) {
        return false;
    }
    *rest = str_skip(*rest, text.len);
    return true;
}

static bool take_number(struct str *rest, uint64_t *out)
{
    size_t len = 0;
    *out = 0;
    while (len < rest->len && len < 19 && rest->data[len] >= '0' && rest->data[len] <= '9') {
        *out = *out * 10 + (uint64_t)(rest->data[len++] - '0');
    }
    *rest = str_skip(*rest, len);
    return len > 0;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(struct str *rest, uint8_t *out, size_t len)
{
    if (rest->len < 2 * len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        int high = digit_value(rest->data[2 * i]);
        int low = digit_value(rest->data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    *rest = str_skip(*rest, 2 * len);
    return true;
}

static bool take_hex_u64(struct str *rest, uint64_t *out)
{
    uint8_t bytes[8];
    if (!take_hex(rest, bytes, sizeof(bytes))) {
        return false;
    }
    *out = get_u64_be(bytes);
    return true;
}

static bool take_file(struct arena *arena, struct str *rest, struct backup_file *out)
{
    if (!take_number(rest, &out->size_bytes) || !take(rest, STR(" ")) ||
        !take_hex(rest, out->hash, sizeof(out->hash)) || !take(rest, STR(" "))) {
        return false;
    }
    const char *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    if (end == NULL) {
        return false;
    }
    out->name = arena_copy_c(arena, str_make(rest->data, (size_t)(end - rest->data)));
    *rest = str_skip(*rest, out->name.len + 1);
    return backup_name_is_valid(out->name);
}

static size_t count_lines(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text.data[i] == '\n';
    }
    return count;
}

static bool take_head(struct str *rest, struct backup_manifest *out)
{
    uint64_t format;
    uint64_t created;
    bool good = take(rest, STR("gramme backup 1\nformat ")) && take_number(rest, &format) &&
                take(rest, STR("\nseed ")) && take_hex_u64(rest, &out->seed) &&
                take(rest, STR("\ncreated ")) && take_number(rest, &created) &&
                take(rest, STR("\n"));
    out->format = good ? (uint32_t)format : 0;
    out->created_ms = good ? (int64_t)created : 0;
    return good;
}

static bool take_end(struct str text, struct str *rest, const struct backup_manifest *manifest)
{
    uint64_t hash = hash_64(str_make(text.data, text.len - rest->len));
    uint64_t count;
    uint64_t stored;
    return take(rest, STR("end ")) && take_number(rest, &count) && take(rest, STR(" ")) &&
           take_hex_u64(rest, &stored) && take(rest, STR("\n")) && rest->len == 0 &&
           count == manifest->file_count && stored == hash;
}

bool backup_manifest_read(struct arena *arena, struct str text, struct backup_manifest *out,
                          struct err *err)
{
    *out = (struct backup_manifest){0};
    struct str rest = text;
    bool good = take_head(&rest, out);
    out->files = ARENA_ARRAY(arena, struct backup_file, count_lines(rest) + 1);
    while (good && take(&rest, STR("file "))) {
        good = take_file(arena, &rest, &out->files[out->file_count]);
        out->file_count += good;
    }
    return (good && take_end(text, &rest, out)) ||
           err_set(err, ERR_INTERNAL, "it is not a manifest of a backup, or it is damaged");
}
