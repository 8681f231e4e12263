/* Keeps answers small: items that do not fit are left out, long texts are cut. Called by the tools.
 */
#include "base/utf8.h"
#include "mcp/mcp_internal.h"

enum {
    TEXT_BYTES_MAX = 2000, /* of a string before it is cut, if an item is too large */
    ELEMENTS_MAX = 50,     /* of a list, set or map, likewise */
    DEPTH_MAX = 8,
};

static size_t json_len(const struct gramme_value *value)
{
    size_t len = 0;
    char *json = gramme_value_to_json(value, GRAMME_PLAIN, &len);
    gramme_free(json);
    return len;
}

static void set_cut(struct gramme_value *map, const char *name, const struct gramme_value *value,
                    int depth);

static void add_cut(struct gramme_value *list, const struct gramme_value *value, int depth)
{
    struct gramme_value *holder = gramme_map_create();
    set_cut(holder, "v", value, depth);
    gramme_add_value(list, gramme_get(holder, "v"));
    gramme_value_destroy(holder);
}

/* Copies a container with a limited number of elements. */
static void set_cut_container(struct gramme_value *map, const char *name,
                              const struct gramme_value *value, int depth)
{
    bool is_map = gramme_value_type(value) == GRAMME_MAP;
    struct gramme_value *out = is_map ? gramme_set_map(map, name) : gramme_set_list(map, name);
    size_t count = gramme_value_count(value);
    for (size_t i = 0; i < MIN(count, (size_t)ELEMENTS_MAX); i++) {
        const struct gramme_value *child = gramme_value_at(value, i);
        if (is_map) {
            set_cut(out, gramme_value_name(child), child, depth + 1);
        } else {
            add_cut(out, child, depth + 1);
        }
    }
    if (count > ELEMENTS_MAX && is_map) {
        gramme_set_format(out, "...", "%zu more attributes", count - ELEMENTS_MAX);
    } else if (count > ELEMENTS_MAX) {
        gramme_add_format(out, "... %zu more elements", count - ELEMENTS_MAX);
    }
}

static void set_cut(struct gramme_value *map, const char *name, const struct gramme_value *value,
                    int depth)
{
    size_t len = gramme_value_len(value);
    switch (gramme_value_type(value)) {
    case GRAMME_STRING:
        if (len > TEXT_BYTES_MAX) {
            struct str start =
                utf8_prefix(str_make(gramme_value_string(value), len), TEXT_BYTES_MAX);
            gramme_set_format(map, name, "%.*s... (%zu more bytes)", STR_ARG(start),
                              len - start.len);
            return;
        }
        break;
    case GRAMME_BINARY:
        if (len > TEXT_BYTES_MAX) {
            gramme_set_format(map, name, "(binary, %zu bytes)", len);
            return;
        }
        break;
    case GRAMME_MAP:
    case GRAMME_LIST:
    case GRAMME_STRING_SET:
    case GRAMME_NUMBER_SET:
    case GRAMME_BINARY_SET:
        if (depth >= DEPTH_MAX) {
            gramme_set_string(map, name, "(nested too deeply to show)");
        } else {
            set_cut_container(map, name, value, depth);
        }
        return;
    default:
        break;
    }
    gramme_set_value(map, name, value);
}

void bounds_set(struct gramme_value *map, const char *name, const struct gramme_value *value)
{
    if (json_len(value) <= ANSWER_BYTES_MAX / 2) {
        gramme_set_value(map, name, value);
    } else {
        set_cut(map, name, value, 0);
        if (json_len(gramme_get(map, name)) > ANSWER_BYTES_MAX) {
            gramme_set_string(map, name, "(too large to show; select single attributes)");
        }
    }
}

size_t bounds_add_items(struct gramme_value *out, const struct gramme_value *items, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct gramme_value *holder = gramme_map_create();
        bounds_set(holder, "item", gramme_value_at(items, i));
        const struct gramme_value *item = gramme_get(holder, "item");
        bytes += json_len(item);
        bool fits = i == 0 || bytes <= ANSWER_BYTES_MAX;
        if (fits) {
            gramme_add_value(out, item);
        }
        gramme_value_destroy(holder);
        if (!fits) {
            return i;
        }
    }
    return count;
}
