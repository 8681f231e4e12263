/* Values as flat bytes: names of types, sizes, equality, look-up, validation. Any thread: values do
 * not change. */
#include "model/value.h"

#include "base/bytes.h"
#include "base/utf8.h"

static const char *const type_names[VALUE_TYPE_COUNT] = {
    [VALUE_NONE] = "none", [VALUE_S] = "S",       [VALUE_N] = "N",       [VALUE_B] = "B",
    [VALUE_SS] = "SS",     [VALUE_NS] = "NS",     [VALUE_BS] = "BS",     [VALUE_M] = "M",
    [VALUE_L] = "L",       [VALUE_NULL] = "NULL", [VALUE_BOOL] = "BOOL",
};

const char *value_type_name(enum value_type type)
{
    return type_names[type];
}

enum value_type value_type_from_name(struct str name)
{
    for (int type = VALUE_S; type < VALUE_TYPE_COUNT; type++) {
        if (str_eq(name, str_from_c(type_names[type]))) {
            return (enum value_type)type;
        }
    }
    return VALUE_NONE;
}

struct value value_map_get(struct value map, struct str name)
{
    struct value_iter iter = value_iter(map);
    struct value_name entry;
    struct value value;
    while (value_next_entry(&iter, &entry, &value)) {
        if (str_eq(entry.text, name)) {
            return value;
        }
    }
    return VALUE_ABSENT;
}

struct value value_list_get(struct value list, size_t index)
{
    struct value_iter iter = value_iter(list);
    struct value value;
    if (index >= iter.left) {
        return VALUE_ABSENT;
    }
    while (value_next(&iter, &value)) {
        if (index-- == 0) {
            return value;
        }
    }
    return VALUE_ABSENT;
}

bool value_has_element(struct value container, struct value element)
{
    struct value_iter iter = value_iter(container);
    struct value value;
    while (value_next(&iter, &value)) {
        if (value_eq(value, element)) {
            return true;
        }
    }
    return false;
}

/* By DynamoDB's rules sets count only their elements; lists and maps 3 bytes more, and 1 per
 * element. */
static size_t container_size(struct value value)
{
    enum value_type type = value_type(value);
    struct value_iter iter = value_iter(value);
    bool document = type == VALUE_L || type == VALUE_M;
    size_t size = document ? 3 + (size_t)iter.left : 0;
    struct value_name name = {0};
    struct value element;
    while (type == VALUE_M ? value_next_entry(&iter, &name, &element)
                           : value_next(&iter, &element)) {
        size += name.text.len + value_size(element);
    }
    return size;
}

size_t value_size(struct value value)
{
    switch (value_type(value)) {
    case VALUE_S:
    case VALUE_B:
        return value_bytes(value).len;
    case VALUE_N:
        return number_size(value_bytes(value));
    case VALUE_NULL:
    case VALUE_BOOL:
        return 1;
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
    case VALUE_M:
    case VALUE_L:
        return container_size(value);
    case VALUE_NONE:
    case VALUE_TYPE_COUNT:
        break;
    }
    return 0;
}

size_t item_size(struct value item)
{
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    size_t size = 0;
    while (value_next_entry(&iter, &name, &value)) {
        size += name.text.len + value_size(value);
    }
    return size;
}

int value_depth(struct value value)
{
    enum value_type type = value_type(value);
    if (type != VALUE_M && type != VALUE_L) {
        return 1;
    }
    struct value_iter iter = value_iter(value);
    struct value_name name;
    struct value element;
    int deepest = 0;
    while (type == VALUE_M ? value_next_entry(&iter, &name, &element)
                           : value_next(&iter, &element)) {
        int depth = value_depth(element); /* MAX() would evaluate it twice, at every level */
        deepest = MAX(deepest, depth);
    }
    return deepest + 1;
}

bool value_text_is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == '"' || c == '\\') {
            return false;
        }
    }
    return true;
}

/* The part that is not checked yet. */
struct checker {
    const uint8_t *at;
    const uint8_t *end;
};

enum { CHECK_DEPTH_MAX = 64 };

static bool check_varint(struct checker *c, uint32_t *out)
{
    uint64_t result = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (c->at == c->end) {
            return false;
        }
        uint8_t byte = *c->at++;
        result |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            *out = (uint32_t)result;
            return result <= UINT32_MAX && (byte != 0 || shift == 0); /* shortest form only */
        }
    }
    return false;
}

static bool check_bytes(struct checker *c, uint32_t len, struct str *out)
{
    if ((size_t)(c->end - c->at) < len) {
        return false;
    }
    *out = str_make(c->at, len);
    c->at += len;
    return true;
}

static bool check_scalar(struct checker *c, uint8_t tag)
{
    uint32_t len;
    struct str bytes;
    if (!check_varint(c, &len) || !check_bytes(c, len, &bytes)) {
        return false;
    }
    switch (tag & VALUE_TYPE_MASK) {
    case VALUE_S:
        return utf8_is_valid(bytes) && value_text_is_plain(bytes) == ((tag & VALUE_FLAG) != 0);
    case VALUE_N:
        return number_is_valid(bytes) && (tag & VALUE_FLAG) == 0;
    default:
        return (tag & VALUE_FLAG) == 0;
    }
}

static bool check_name(struct checker *c, struct str *out)
{
    uint32_t head;
    return check_varint(c, &head) && check_bytes(c, head >> 1, out) && utf8_is_valid(*out) &&
           value_text_is_plain(*out) == ((head & 1) != 0);
}

static bool check_value(struct checker *c, int depth);

static bool check_container(struct checker *c, enum value_type type, int depth)
{
    if (c->end - c->at < 8 || depth == CHECK_DEPTH_MAX) {
        return false;
    }
    uint32_t len = get_u32_le(c->at);
    uint32_t count = get_u32_le(c->at + 4);
    if (len < 4 || (size_t)(c->end - c->at) < 4 + (size_t)len) {
        return false;
    }
    struct checker inner = {.at = c->at + 8, .end = c->at + 4 + len};
    struct str last_name = STR_NULL;
    struct value last = VALUE_ABSENT;
    for (uint32_t i = 0; i < count; i++) {
        struct str name = STR_NULL;
        if (type == VALUE_M &&
            (!check_name(&inner, &name) || (i > 0 && str_cmp(last_name, name) >= 0))) {
            return false;
        }
        const uint8_t *start = inner.at;
        if (!check_value(&inner, depth + 1)) {
            return false;
        }
        struct value element = {start, (size_t)(inner.at - start)};
        if (value_is_set(type) && (value_type(element) != value_element_type(type) ||
                                   (i > 0 && value_cmp(last, element) >= 0))) {
            return false;
        }
        last_name = name;
        last = element;
    }
    c->at = inner.end;
    return inner.at == inner.end && (count > 0 || !value_is_set(type));
}

static bool check_value(struct checker *c, int depth)
{
    if (c->at == c->end) {
        return false;
    }
    uint8_t tag = *c->at++;
    enum value_type type = (enum value_type)(tag & VALUE_TYPE_MASK);
    if ((tag & ~(VALUE_TYPE_MASK | VALUE_FLAG)) != 0 || type == VALUE_NONE || type > VALUE_BOOL) {
        return false;
    }
    if (type <= VALUE_B) {
        return check_scalar(c, tag);
    }
    if (type == VALUE_BOOL) {
        return true;
    }
    return (tag & VALUE_FLAG) == 0 && (type == VALUE_NULL || check_container(c, type, depth));
}

bool value_is_valid(struct str bytes)
{
    struct checker c = {.at = (const uint8_t *)bytes.data,
                        .end = (const uint8_t *)bytes.data + bytes.len};
    return check_value(&c, 0) && c.at == c.end;
}
