/* Decodes the JSON of a request to a C struct, by its shape. Called by src/api at the start of
 * every operation. */
#include <stdlib.h>

#include "wire/serialization_internal.h"
#include "wire/shape.h"

/* The state of decoding one request. */
struct decoder {
    struct arena *arena;
    struct json_reader json;
    struct builder builder; /* used for all values in turn */
    struct str complaint;   /* STR_NULL: none */
    void *context;          /* of the `keep` functions */
};

static bool decode(struct decoder *d, const struct shape *shape, enum wire_place place, void *out);

size_t shape_kept_size(const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_STRING:
    case SHAPE_ANY:
        return sizeof(struct str);
    case SHAPE_ENUM:
        return sizeof(struct wire_enum);
    case SHAPE_BOOL:
        return sizeof(struct wire_bool);
    case SHAPE_INTEGER:
    case SHAPE_LONG:
    case SHAPE_TIMESTAMP:
        return sizeof(struct wire_int);
    case SHAPE_STRUCT:
        return sizeof(void *);
    case SHAPE_LIST:
        return sizeof(struct wire_list);
    case SHAPE_MAP:
        return sizeof(struct wire_map);
    case SHAPE_VALUE:
        return sizeof(struct wire_value);
    case SHAPE_ITEM:
        return sizeof(struct wire_item);
    }
    return 0;
}

bool shape_is_absent(const struct shape *shape, const void *kept)
{
    switch (shape->kind) {
    case SHAPE_STRING:
    case SHAPE_ANY:
        return str_is_null(*(const struct str *)kept);
    case SHAPE_ENUM:
        return str_is_null(((const struct wire_enum *)kept)->text);
    case SHAPE_BOOL:
        return !((const struct wire_bool *)kept)->given;
    case SHAPE_INTEGER:
    case SHAPE_LONG:
    case SHAPE_TIMESTAMP:
        return !((const struct wire_int *)kept)->given;
    case SHAPE_STRUCT:
        return *(void *const *)kept == NULL;
    case SHAPE_LIST:
        return !((const struct wire_list *)kept)->given;
    case SHAPE_MAP:
        return !((const struct wire_map *)kept)->given;
    case SHAPE_VALUE:
        return value_is_absent(((const struct wire_value *)kept)->value);
    case SHAPE_ITEM:
        return !((const struct wire_item *)kept)->given;
    }
    return true;
}

static bool complain(struct decoder *d, struct str complaint)
{
    if (str_is_null(d->complaint) && d->json.mistake == NULL) {
        d->complaint = complaint;
    }
    return false;
}

static bool decode_text(struct decoder *d, struct str *out)
{
    struct json_string text;
    if (json_peek(&d->json) != JSON_STRING) {
        return complain(d, serialization_scalar(&d->json, "String"));
    }
    if (!json_read_string(&d->json, &text)) {
        return false;
    }
    *out = text.text;
    return true;
}

static bool decode_string(struct decoder *d, const struct shape *shape, struct str *out)
{
    if (!decode_text(d, out)) {
        return false;
    }
    if (shape->keep != NULL) {
        *out = shape->keep(*out, d->context);
    }
    return true;
}

static bool decode_enum(struct decoder *d, const struct shape *shape, struct wire_enum *out)
{
    if (!decode_text(d, &out->text)) {
        return false;
    }
    out->value = -1;
    for (int i = 0; shape->values[i] != NULL; i++) {
        if (str_eq(out->text, str_from_c(shape->values[i]))) {
            out->value = i;
        }
    }
    return true;
}

static bool decode_bool(struct decoder *d, struct wire_bool *out)
{
    if (json_peek(&d->json) != JSON_BOOL) {
        return complain(d, serialization_scalar(&d->json, "Boolean"));
    }
    out->given = true;
    return json_read_bool(&d->json, &out->value);
}

/* Reads a JSON number as the service reads an integer: cuts off the fraction, and limits it to the
 * largest that fits. */
static int64_t whole_part(struct str text, int64_t largest)
{
    struct number number;
    enum number_status status = number_parse(text, &number);
    int64_t sign = text.data[0] == '-' ? -1 : 1;
    if (status == NUMBER_UNDERFLOW) {
        return 0;
    }
    if (status == NUMBER_OVERFLOW) {
        return sign * largest;
    }
    char digits[NUMBER_TEXT_MAX];
    struct str whole = text;
    if (status == NUMBER_OK) {
        whole = str_make(digits, number_format(number_str(&number), digits));
    }
    size_t len = 0;
    while (len < whole.len && whole.data[len] != '.' && whole.data[len] != 'e' &&
           whole.data[len] != 'E') {
        len++;
    }
    int64_t value;
    if (!str_to_int64(str_make(whole.data, len), &value)) {
        return sign * largest;
    }
    return MAX(-largest, MIN(value, largest));
}

static bool decode_int(struct decoder *d, const struct shape *shape, struct wire_int *out)
{
    bool is_long = shape->kind == SHAPE_LONG;
    struct str text;
    if (json_peek(&d->json) != JSON_NUMBER) {
        return complain(d, serialization_scalar(&d->json, is_long ? "Long" : "Integer"));
    }
    if (!json_read_number(&d->json, &text)) {
        return false;
    }
    out->given = true;
    out->value = whole_part(text, is_long ? INT64_MAX : INT32_MAX);
    return true;
}

enum {
    /* A list with a length limit keeps at most this many elements: the others are checked for
     * errors and dropped. That exceeds every limit, and is enough for the message, which quotes up
     * to 32 KB of the list with at least two bytes per element. */
    BOUNDED_KEPT_MAX = 16 * 1024,
    /* The largest request that the service accepts, decoded, takes less than half of this. */
    DECODED_BYTES_MAX = 64 * 1024 * 1024,
};

/* Whether the request uses more memory than it may; decoding then stops. */
static bool is_over_budget(const struct decoder *d)
{
    const struct budget *budget = d->arena->budget;
    return budget != NULL &&
           (budget_state(budget) != BUDGET_FITS || budget_used(budget) > DECODED_BYTES_MAX);
}

/* Reads seconds with an optional fraction. */
static bool decode_timestamp(struct decoder *d, struct wire_int *out)
{
    struct str text;
    if (json_peek(&d->json) != JSON_NUMBER) {
        return complain(d, serialization_scalar(&d->json, "Date"));
    }
    if (!json_read_number(&d->json, &text)) {
        return false;
    }
    const double largest_s = 1e15;
    double seconds = strtod(arena_format(d->arena, "%.*s", STR_ARG(text)).data, NULL);
    seconds = MAX(-largest_s, MIN(seconds, largest_s));
    out->given = true;
    out->value = (int64_t)(seconds * 1000);
    return true;
}

/* Doubles an array of elements in the arena when it is full. */
static void *grow(struct decoder *d, void *array, size_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return array;
    }
    char *bigger = arena_zalloc(d->arena, MAX(count * 2, (size_t)1) * size);
    if (count > 0) {
        memcpy(bigger, array, count * size);
    }
    return bigger;
}

/* Reads an element only to find errors. */
static bool decode_and_drop(struct decoder *d, const struct shape *shape)
{
    struct arena_mark mark = arena_mark(d->arena);
    struct builder builder = d->builder; /* it may move to memory that is freed by the rewind */
    void *room = arena_zalloc(d->arena, shape_kept_size(shape));
    if (!decode(d, shape, PLACE_ELEMENT, room)) {
        return false; /* the message may be allocated after the mark */
    }
    d->builder = builder;
    arena_rewind(d->arena, mark);
    return true;
}

static bool decode_kept(struct decoder *d, const struct shape *shape, struct wire_list *out)
{
    size_t size = shape_kept_size(shape);
    out->elements = grow(d, out->elements, out->count, size);
    if (!decode(d, shape, PLACE_ELEMENT, (char *)out->elements + out->count * size)) {
        return false;
    }
    out->count++;
    return true;
}

static bool decode_list(struct decoder *d, const struct shape *shape, enum wire_place place,
                        struct wire_list *out)
{
    if (json_peek(&d->json) != JSON_ARRAY) {
        return complain(d, serialization_list(&d->json, place));
    }
    if (!json_enter_array(&d->json)) {
        return false;
    }
    *out = (struct wire_list){.given = true};
    while (json_next_element(&d->json)) {
        bool drop = shape->max > 0 && out->count >= BOUNDED_KEPT_MAX;
        if (is_over_budget(d) ||
            !(drop ? decode_and_drop(d, shape->element) : decode_kept(d, shape->element, out))) {
            return false;
        }
    }
    return d->json.mistake == NULL;
}

/* --- maps --- */

struct map_entry {
    struct str name;
    size_t place;
};

static int compare_entries(const void *a, const void *b)
{
    const struct map_entry *left = a;
    const struct map_entry *right = b;
    int order = str_cmp(left->name, right->name);
    return order != 0 ? order : left->place < right->place ? -1 : 1;
}

/* Removes duplicates: of entries with equal names the last value is kept, at the position of the
 * first. */
static void drop_doubles(struct decoder *d, struct wire_map *map, size_t size)
{
    struct map_entry *entries = ARENA_ARRAY(d->arena, struct map_entry, map->count);
    bool *dropped = ARENA_ARRAY(d->arena, bool, map->count);
    char *values = map->values;
    for (size_t i = 0; i < map->count; i++) {
        entries[i] = (struct map_entry){.name = map->names[i], .place = i};
    }
    qsort(entries, map->count, sizeof(*entries), compare_entries);
    size_t first = 0;
    for (size_t i = 1; i < map->count; i++) {
        if (!str_eq(entries[i].name, entries[first].name)) {
            first = i;
            continue;
        }
        memcpy(values + entries[first].place * size, values + entries[i].place * size, size);
        dropped[entries[i].place] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (!dropped[i]) {
            map->names[kept] = map->names[i];
            memmove(values + kept * size, values + i * size, size);
            kept++;
        }
    }
    map->count = kept;
}

static bool decode_map(struct decoder *d, const struct shape *shape, enum wire_place place,
                       struct wire_map *out)
{
    if (json_peek(&d->json) != JSON_OBJECT) {
        return complain(d, serialization_map(&d->json, shape->java, place));
    }
    const char *start = d->json.at;
    if (!json_enter_object(&d->json)) {
        return false;
    }
    size_t size = shape_kept_size(shape->element);
    *out = (struct wire_map){.given = true};
    struct json_string name;
    while (json_next_member(&d->json, &name)) {
        if (is_over_budget(d)) {
            return false;
        }
        out->names = grow(d, out->names, out->count, sizeof(*out->names));
        out->values = grow(d, out->values, out->count, size);
        out->names[out->count] = name.text;
        if (!decode(d, shape->element, PLACE_ELEMENT, (char *)out->values + out->count * size)) {
            return false;
        }
        out->count++;
    }
    out->source = str_make(start, (size_t)(d->json.at - start));
    if (out->count > 1) {
        drop_doubles(d, out, size);
    }
    return d->json.mistake == NULL;
}

/* --- structures --- */

static const struct field *find_field(const struct shape *shape, struct str name)
{
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        if (strlen(field->name) == name.len && memcmp(field->name, name.data, name.len) == 0) {
            return field;
        }
    }
    return NULL;
}

static bool decode_members(struct decoder *d, const struct shape *shape, char *out)
{
    struct json_string name;
    while (json_next_member(&d->json, &name)) {
        const struct field *field = find_field(shape, name.text);
        bool good = field == NULL ? json_skip(&d->json)
                                  : decode(d, field->shape, PLACE_MEMBER, out + field->offset);
        if (!good) {
            return false;
        }
    }
    return d->json.mistake == NULL;
}

static bool decode_struct(struct decoder *d, const struct shape *shape, enum wire_place place,
                          void **out)
{
    if (json_peek(&d->json) != JSON_OBJECT) {
        return complain(d, serialization_struct(&d->json, shape->java, place));
    }
    *out = arena_zalloc(d->arena, shape->size);
    return json_enter_object(&d->json) && decode_members(d, shape, *out);
}

/* --- attribute values --- */

/* Starts a value in the shared builder; it is copied out when it is complete. */
static struct value_reader start_value(struct decoder *d)
{
    d->builder.len = 0;
    return (struct value_reader){.json = &d->json, .builder = d->builder};
}

static struct value finish_value(struct decoder *d, const struct value_reader *reader)
{
    d->builder = reader->builder;
    struct str copy = arena_copy(d->arena, str_make(d->builder.data, d->builder.len));
    return (struct value){(const uint8_t *)copy.data, copy.len};
}

static bool decode_value(struct decoder *d, enum wire_place place, struct wire_value *out)
{
    struct value_reader reader = start_value(d);
    if (!value_json_read(&reader, 1, place)) {
        return complain(d, reader.complaint);
    }
    *out = (struct wire_value){.value = finish_value(d, &reader), .problem = reader.problem};
    return true;
}

static bool decode_item(struct decoder *d, enum wire_place place, struct wire_item *out)
{
    struct value_reader reader = start_value(d);
    if (!value_json_read_item(&reader, place)) {
        return complain(d, reader.complaint);
    }
    *out = (struct wire_item){
        .given = true, .value = finish_value(d, &reader), .problem = reader.problem};
    return true;
}

static bool decode(struct decoder *d, const struct shape *shape, enum wire_place place, void *out)
{
    bool null_is_value = shape->kind == SHAPE_VALUE && place == PLACE_ELEMENT;
    if (json_peek(&d->json) == JSON_NULL && !null_is_value) {
        memset(out, 0, shape_kept_size(shape));
        return json_read_null(&d->json);
    }
    switch (shape->kind) {
    case SHAPE_STRING:
        return decode_string(d, shape, out);
    case SHAPE_ENUM:
        return decode_enum(d, shape, out);
    case SHAPE_BOOL:
        return decode_bool(d, out);
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        return decode_int(d, shape, out);
    case SHAPE_TIMESTAMP:
        return decode_timestamp(d, out);
    case SHAPE_STRUCT:
        return decode_struct(d, shape, place, out);
    case SHAPE_LIST:
        return decode_list(d, shape, place, out);
    case SHAPE_MAP:
        return decode_map(d, shape, place, out);
    case SHAPE_VALUE:
        return decode_value(d, place, out);
    case SHAPE_ITEM:
        return decode_item(d, place, out);
    case SHAPE_ANY:
        return json_read_raw(&d->json, out);
    }
    return false;
}

/* The initial capacity for a value; most are small. */
enum { VALUE_ROOM = 1024 };

bool wire_decode(struct arena *arena, const struct shape *shape, struct str body, void *out,
                 struct err *err)
{
    return wire_decode_with(arena, shape, body, NULL, out, err);
}

bool wire_decode_with(struct arena *arena, const struct shape *shape, struct str body,
                      void *context, void *out, struct err *err)
{
    struct decoder d = {.arena = arena, .context = context};
    json_reader_init(&d.json, arena, body);
    builder_init(&d.builder, arena, VALUE_ROOM);
    memset(out, 0, shape->size);
    if (json_peek(&d.json) == JSON_OBJECT && json_enter_object(&d.json) &&
        decode_members(&d, shape, out) && json_at_end(&d.json)) {
        return true;
    }
    if (is_over_budget(&d)) {
        return err_set_over_budget(err, arena->budget);
    }
    return err_set_str(err, ERR_SERIALIZATION, str_is_null(d.complaint) ? STR("") : d.complaint);
}
