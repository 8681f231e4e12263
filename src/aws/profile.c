/* Reads settings of AWS profile files, which are INI files: sections in brackets, `name = value`,
 * comments after # or ; at the start of a line or after white space. Lines that start with white
 * space continue a setting and are not needed here
 * (docs.aws.amazon.com/sdkref/latest/guide/file-format.html). */
#include "aws/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"

const char *profile_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

enum { FILE_BYTES_MAX = 1024 * 1024, READ_BYTES = 4096 };

#define SPACES " \t\r"

static bool is_space(char c)
{
    return memchr(SPACES, c, sizeof(SPACES) - 1) != NULL;
}

/* Returns the text up to a # or ; at the start or after white space. */
static struct str without_comment(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((s.data[i] == '#' || s.data[i] == ';') && (i == 0 || is_space(s.data[i - 1]))) {
            return str_make(s.data, i);
        }
    }
    return s;
}

/* Removes the first line from *text. */
static bool next_line(struct str *text, struct str *line)
{
    if (text->len == 0) {
        return false;
    }
    const char *end = memchr(text->data, '\n', text->len);
    size_t len = end == NULL ? text->len : (size_t)(end - text->data);
    *line = str_make(text->data, len);
    *text = str_skip(*text, end == NULL ? len : len + 1);
    return true;
}

/* Whether a line "[...]" starts the section of the profile. */
static bool is_section_of(struct str line, struct str profile, bool sections_are_profiles)
{
    const char *end = memchr(line.data, ']', line.len);
    if (end == NULL) {
        return false;
    }
    struct str name = str_trim(str_make(line.data + 1, (size_t)(end - line.data) - 1), SPACES);
    if (!sections_are_profiles && str_starts_with(name, STR("profile")) && name.len > 7 &&
        is_space(name.data[7])) {
        return str_eq(str_trim(str_skip(name, 7), SPACES), profile);
    }
    bool is_default = str_eq(name, STR("default"));
    return (sections_are_profiles || is_default) && str_eq(name, profile);
}

struct str profile_find(struct str text, struct str profile, struct str name,
                        bool sections_are_profiles)
{
    struct str line;
    struct str found = STR_NULL;
    bool inside = false;
    while (next_line(&text, &line)) {
        bool continues = line.len > 0 && is_space(line.data[0]);
        line = str_trim(without_comment(line), SPACES);
        if (line.len == 0 || continues) {
            continue;
        }
        if (line.data[0] == '[') {
            inside = is_section_of(line, profile, sections_are_profiles);
            continue;
        }
        const char *sign = memchr(line.data, '=', line.len);
        if (!inside || sign == NULL) {
            continue;
        }
        size_t at = (size_t)(sign - line.data);
        if (str_eq_nocase(str_trim(str_make(line.data, at), SPACES), name)) {
            found = str_trim(str_skip(line, at + 1), SPACES); /* of several the last counts */
        }
    }
    return found.len > 0 ? found : STR_NULL;
}

/* --- files --- */

/* Appends a file to `out`, which has room for all of it before: a buffer that grows leaves copies
 * of secrets in freed memory. */
static bool read_file(const char *path, struct buf *out)
{
    struct stat facts;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    setvbuf(file, NULL, _IONBF, 0); /* which would keep a copy of secrets */
    bool has_size = fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode);
    size_t size = has_size ? MIN((size_t)facts.st_size, (size_t)FILE_BYTES_MAX) : FILE_BYTES_MAX;
    (void)buf_reserve(out, size + READ_BYTES); /* the last read finds the end */
    size_t got;
    do {
        got = fread(buf_reserve(out, READ_BYTES), 1, READ_BYTES, file);
        buf_added(out, got);
    } while (got > 0 && out->len < FILE_BYTES_MAX);
    fclose(file);
    return true;
}

/* Returns the path of a file: the value of the variable, or a path in the home directory. */
static struct str file_path(struct arena *arena, const char *variable, const char *in_home)
{
    const char *path = profile_variable(variable);
    const char *home = getenv("HOME");
    if (path != NULL) {
        if (path[0] == '~' && path[1] == '/' && home != NULL) {
            return arena_format(arena, "%s%s", home, path + 1);
        }
        return str_from_c(path);
    }
    return home == NULL ? STR_NULL : arena_format(arena, "%s/%s", home, in_home);
}

static struct str setting_in_file(struct arena *arena, struct str path, struct str profile,
                                  const char *name, bool sections_are_profiles)
{
    struct buf text = {0};
    struct str found = STR_NULL;
    if (!str_is_null(path) && read_file(path.data, &text)) {
        found = profile_find(buf_str(&text), profile, str_from_c(name), sections_are_profiles);
        found = str_is_null(found) ? found : arena_copy_c(arena, found);
    }
    buf_erase(&text);
    buf_finish(&text);
    return found;
}

static const char *chosen_profile(const char *profile)
{
    const char *name = profile != NULL ? profile : profile_variable("AWS_PROFILE");
    return name != NULL ? name : "default";
}

struct str profile_setting(struct arena *arena, const char *profile, const char *name)
{
    struct str wanted = str_from_c(chosen_profile(profile));
    struct str credentials = file_path(arena, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    struct str found = setting_in_file(arena, credentials, wanted, name, true);
    if (str_is_null(found)) {
        struct str config = file_path(arena, "AWS_CONFIG_FILE", ".aws/config");
        found = setting_in_file(arena, config, wanted, name, false);
    }
    return found;
}
