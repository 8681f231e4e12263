/* Reads the XML of S3's lists of objects. It is machine-written and flat, so elements are looked up
 * by name. Called by s3.c. */
#include "base/percent.h"
#include "objects/objects_internal.h"

bool s3_take_element(struct str *rest, struct str start, struct str end, struct str *out)
{
    const char *from = rest->len == 0 ? NULL : memmem(rest->data, rest->len, start.data, start.len);
    if (from == NULL) {
        return false;
    }
    struct str inner = str_skip(*rest, (size_t)(from - rest->data) + start.len);
    const char *to = memmem(inner.data, inner.len, end.data, end.len);
    if (to == NULL) {
        return false;
    }
    *out = str_make(inner.data, (size_t)(to - inner.data));
    *rest = str_skip(inner, out->len + end.len);
    return true;
}

struct str s3_without_entities(struct arena *arena, struct str text)
{
    static const struct {
        struct str entity;
        char character;
    } entities[] = {{STR("&amp;"), '&'},  {STR("&lt;"), '<'},  {STR("&gt;"), '>'},
                    {STR("&quot;"), '"'}, {STR("&#34;"), '"'}, {STR("&#39;"), '\''},
                    {STR("&apos;"), '\''}};
    char *out = arena_bytes(arena, text.len + 1);
    size_t len = 0;
    while (text.len > 0) {
        size_t i = 0;
        while (i < COUNT_OF(entities) && !str_starts_with(text, entities[i].entity)) {
            i++;
        }
        bool found = i < COUNT_OF(entities);
        out[len++] = found ? entities[i].character : text.data[0];
        text = str_skip(text, found ? entities[i].entity.len : 1);
    }
    return str_make(out, len);
}

void s3_copy_etag(struct str text, char out[OBJECT_ETAG_MAX + 1])
{
    if (text.len >= 2 && text.data[0] == '"') {
        text = str_make(text.data + 1, text.len - 2);
    }
    size_t len = MIN(text.len, (size_t)OBJECT_ETAG_MAX);
    if (len > 0) {
        memcpy(out, text.data, len);
    }
    out[len] = '\0';
}

/* Whether the service has encoded the keys as requested; some ignore the parameter. */
static bool is_encoded(struct str body)
{
    struct str type;
    return s3_take_element(&body, STR("<EncodingType>"), STR("</EncodingType>"), &type) &&
           str_eq(type, STR("url"));
}

static bool read_entry(struct arena *arena, struct str contents, bool encoded,
                       struct object_entry *out)
{
    struct str key;
    struct str text;
    struct str rest = contents;
    int64_t size;
    if (!s3_take_element(&rest, STR("<Key>"), STR("</Key>"), &key)) {
        return false;
    }
    key = s3_without_entities(arena, key);
    out->key = encoded ? percent_decode(arena, key, ' ') : key;
    rest = contents;
    if (!s3_take_element(&rest, STR("<Size>"), STR("</Size>"), &text) ||
        !str_to_int64(text, &size) || size < 0) {
        return false;
    }
    out->info.size_bytes = (uint64_t)size;
    rest = contents;
    out->info.etag[0] = '\0';
    if (s3_take_element(&rest, STR("<ETag>"), STR("</ETag>"), &text)) {
        s3_copy_etag(s3_without_entities(arena, text), out->info.etag);
    }
    return true;
}

/* Whether the next page can begin behind this one. A service that ignores start-after would return
 * the first page again. */
static bool can_go_on(const struct object_list *list)
{
    return list->count > 0 && !str_eq(list->entries[list->count - 1].key, list->after);
}

bool s3_read_list(struct arena *arena, struct str body, struct object_list *list)
{
    struct str rest = body;
    struct str text;
    if (!s3_take_element(&rest, STR("<ListBucketResult"), STR(">"), &text)) {
        return false;
    }
    bool encoded = is_encoded(body);
    struct str contents;
    struct str end = rest;
    list->more = s3_take_element(&end, STR("<IsTruncated>"), STR("</IsTruncated>"), &text) &&
                 str_eq(text, STR("true"));
    list->entries = ARENA_ARRAY(arena, struct object_entry, list->limit);
    while (s3_take_element(&rest, STR("<Contents>"), STR("</Contents>"), &contents)) {
        if (list->count == list->limit ||
            !read_entry(arena, contents, encoded, &list->entries[list->count++])) {
            return false;
        }
    }
    return !list->more || can_go_on(list);
}
