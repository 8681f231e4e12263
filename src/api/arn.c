/* Parses ARNs. Called while requests are checked, on any thread; keeps no state. */
#include "api/arn.h"

/* Returns the part of *text before the separator, and advances *text past it. Without a separator
 * it returns all of *text, and sets *text to STR_NULL. */
static struct str cut(struct str *text, char separator)
{
    struct str part = *text;
    const char *at = part.len == 0 ? NULL : memchr(part.data, separator, part.len);
    if (at == NULL) {
        *text = STR_NULL;
        return part;
    }
    part.len = (size_t)(at - part.data);
    *text = str_skip(*text, part.len + 1);
    return part;
}

static enum arn_kind kind_of(struct str word, struct str part)
{
    if (part.len == 0) {
        return ARN_OTHER;
    }
    return str_eq(word, STR("index"))    ? ARN_INDEX
           : str_eq(word, STR("stream")) ? ARN_STREAM
                                         : ARN_OTHER;
}

struct arn arn_parse(struct str text)
{
    struct arn arn = {.kind = ARN_OTHER};
    struct str rest = text;
    if (!str_starts_with(text, STR("arn:"))) {
        return (struct arn){.kind = ARN_NONE};
    }
    cut(&rest, ':');
    arn.partition = cut(&rest, ':');
    struct str service = cut(&rest, ':');
    arn.region = cut(&rest, ':');
    arn.account = cut(&rest, ':');
    struct str word = cut(&rest, '/');
    arn.table = cut(&rest, '/');
    if (!str_eq(service, STR("dynamodb")) || !str_eq(word, STR("table")) || arn.table.len == 0 ||
        arn.partition.len == 0 || arn.region.len == 0 || arn.account.len == 0) {
        return arn;
    }
    if (str_is_null(rest)) {
        arn.kind = ARN_TABLE;
        return arn;
    }
    struct str inner = cut(&rest, '/');
    arn.part = rest;
    arn.kind = kind_of(inner, arn.part);
    return arn;
}
