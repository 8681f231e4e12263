/* Messages about faults of values, as the service's two layers word them. Called by src/api and
 * src/archive, on their thread, only when a value is refused. */
#include "base/base64.h"
#include "err/messages.h"
#include "json/writer.h"
#include "wire/value_json.h"

#include <stdlib.h>

/* --- numbers --- */

/* Reads the exponent of a number's text; 0 if it has none. False: it exceeds 64 bits. */
static bool read_exponent(struct str text, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == 'e' || text.data[i] == 'E') {
            struct str digits = str_skip(text, i + 1);
            return str_to_int64(str_starts_with(digits, STR("+")) ? str_skip(digits, 1) : digits,
                                out);
        }
    }
    return true;
}

/* The older layer reads numbers as Java's BigDecimal: the exponent has 32 bits, and so has the
 * position of the first digit, which overflows. */
static enum number_status older_status(int64_t exponent, enum number_status status)
{
    if (exponent > INT32_MAX || exponent < -INT32_MAX) {
        return NUMBER_BAD_TEXT;
    }
    return exponent == INT32_MAX && status == NUMBER_OVERFLOW ? NUMBER_UNDERFLOW : status;
}

static struct str number_fault_text(struct str text, enum value_wording wording,
                                    struct arena *arena)
{
    struct number ignored;
    enum number_status status = number_parse(text, &ignored);
    int64_t exponent;
    if (status == NUMBER_OVERFLOW || status == NUMBER_UNDERFLOW) {
        if (!read_exponent(text, &exponent)) {
            status = NUMBER_BAD_TEXT;
        } else if (wording == WORDING_OLDER) {
            status = older_status(exponent, status);
        }
    }
    if (status != NUMBER_BAD_TEXT) {
        return str_from_c(number_status_text(status));
    }
    if (wording == WORDING_OLDER && text.len == 0) {
        return STR("The parameter cannot be converted to a numeric value");
    }
    return arena_format(arena, "The parameter cannot be converted to a numeric value: %.*s",
                        STR_ARG(text));
}

/* --- equal members of sets --- */

/* The message is cut at about this length. */
enum { MEMBERS_BYTES_MAX = 32 * 1024 };

/* A member of a set: as sent, and its bytes. */
struct member {
    struct str text;
    struct str bytes;
};

/* Reads the members in the order in which they were sent. Returns their number. */
static size_t read_members(const struct value_problem *problem, struct arena *arena,
                           struct member **out)
{
    struct json_reader reader;
    struct json_string element;
    struct buf members = {0};
    json_reader_init(&reader, arena, problem->text);
    bool more = json_enter_array(&reader);
    while (more && json_next_element(&reader) && json_read_string(&reader, &element)) {
        struct member member = {.text = element.text, .bytes = element.text};
        char *bytes = arena_bytes(arena, BASE64_DECODED_MAX(element.text.len));
        size_t len;
        if (problem->type == VALUE_BS && base64_decode(element.text, bytes, &len)) {
            member.bytes = str_make(bytes, len);
        }
        buf_add(&members, str_make(&member, sizeof(member)));
    }
    size_t count = members.len / sizeof(**out);
    *out = ARENA_ARRAY(arena, struct member, count + 1);
    if (count > 0) {
        memcpy(*out, members.data, members.len);
    }
    buf_finish(&members);
    return count;
}

static int compare_members(const void *a, const void *b)
{
    return str_cmp(((const struct member *)a)->bytes, ((const struct member *)b)->bytes);
}

/* The older layer lists the members as sent: b, a, a. */
static struct str list_members(const struct member *members, size_t count, struct arena *arena)
{
    struct buf list = {0};
    for (size_t i = 0; i < count && list.len < MEMBERS_BYTES_MAX; i++) {
        buf_add(&list, i == 0 ? STR("") : STR(", "));
        buf_add(&list, members[i].text);
    }
    struct str text = arena_copy(arena, buf_str(&list));
    buf_finish(&list);
    return text;
}

/* The current layer sorts the members, and lists them up to the first duplicate: "a", "a". */
static struct str quote_members(struct member *members, size_t count, struct arena *arena)
{
    struct buf list = {0};
    qsort(members, count, sizeof(*members), compare_members);
    bool again = false;
    for (size_t i = 0; i < count && !again && list.len < MEMBERS_BYTES_MAX; i++) {
        buf_add(&list, i == 0 ? STR("") : STR(", "));
        json_write_string(&list, members[i].text);
        again = i > 0 && str_eq(members[i].bytes, members[i - 1].bytes);
    }
    struct str text = arena_copy(arena, buf_str(&list));
    buf_finish(&list);
    return text;
}

static struct str duplicates_text(const struct value_problem *problem, enum value_wording wording,
                                  struct arena *arena)
{
    bool older = wording == WORDING_OLDER;
    if (problem->type == VALUE_NS) {
        return older ? STR("Input collection contains duplicates.")
                     : STR(MESSAGE_INVALID "Input collection contains duplicates.");
    }
    struct member *members;
    size_t count = read_members(problem, arena, &members);
    struct str list =
        older ? list_members(members, count, arena) : quote_members(members, count, arena);
    return arena_format(arena, MESSAGE_INVALID "Input collection [%.*s]%s contains duplicates.",
                        STR_ARG(list), older && problem->type == VALUE_BS ? "of type BS" : "");
}

/* --- the rest --- */

static struct str empty_set_text(enum value_type type)
{
    switch (type) {
    case VALUE_SS:
        return STR(MESSAGE_INVALID "An string set  may not be empty");
    case VALUE_NS:
        return STR(MESSAGE_INVALID "An number set  may not be empty");
    default:
        return STR(MESSAGE_INVALID "Binary sets should not be empty");
    }
}

static struct str null_member_text(enum value_type type)
{
    switch (type) {
    case VALUE_SS:
        return STR(MESSAGE_INVALID "An string set  may not have a null string as a member");
    case VALUE_NS:
        return STR(MESSAGE_INVALID "An number set  may not have a null string as a member");
    default:
        return STR(MESSAGE_INVALID "An binary set  may not have a null binary as a member");
    }
}

struct str value_problem_text(const struct value_problem *problem, enum value_wording wording,
                              struct arena *arena)
{
    switch (problem->fault) {
    case FAULT_EMPTY:
        return STR("Supplied AttributeValue is empty, must contain exactly one of the supported "
                   "datatypes");
    case FAULT_TWO_TYPES:
        return STR(MESSAGE_TWO_TYPES);
    case FAULT_NESTED:
        return STR(MESSAGE_NESTING);
    case FAULT_EMPTY_NAME:
        return STR(MESSAGE_EMPTY_NAME);
    case FAULT_LONG_NAME:
        return STR("Attribute name is too large, must be less than 65536 bytes");
    case FAULT_NULL_FALSE:
        return STR(MESSAGE_INVALID "Null attribute value types must have the value of true");
    case FAULT_EMPTY_SET:
        return empty_set_text(problem->type);
    case FAULT_NULL_MEMBER:
        return null_member_text(problem->type);
    case FAULT_DUPLICATES:
        return duplicates_text(problem, wording, arena);
    case FAULT_NUMBER:
        return number_fault_text(problem->text, wording, arena);
    case FAULT_NONE:
        break;
    }
    assert(false);
    return STR("");
}
