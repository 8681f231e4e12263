/* Fuzzes items in JSON. Input: an item. Properties: an accepted item is a well-formed value;
 * written and read again it has the same bytes. */
#include "wire/value_json.h"

#include <stdlib.h>

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

/* Parses an item. Returns VALUE_ABSENT if it is refused or has a problem. */
static struct value read_item(struct arena *arena, struct str text)
{
    struct json_reader json;
    json_reader_init(&json, arena, text);
    struct value_reader reader = {.json = &json, .complaint = STR_NULL};
    builder_init(&reader.builder, arena, 64);
    if (!value_json_read_item(&reader, PLACE_MEMBER) || !json_at_end(&json)) {
        return VALUE_ABSENT;
    }
    if (reader.problem.fault != FAULT_NONE) {
        require(value_problem_text(&reader.problem, WORDING_CURRENT, arena).len > 0);
        require(value_problem_text(&reader.problem, WORDING_OLDER, arena).len > 0);
        return VALUE_ABSENT;
    }
    return builder_finish(&reader.builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    struct value item = read_item(&arena, str_make(data, size));
    if (!value_is_absent(item)) {
        require(value_is_valid(str_make(item.data, item.len)));
        struct buf out = {0};
        value_json_write_item(&out, item);
        struct value again = read_item(&arena, buf_str(&out));
        require(value_eq(item, again) && item_size(item) == item_size(again));
        buf_finish(&out);
    }
    arena_finish(&arena);
    return 0;
}
