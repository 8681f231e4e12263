/* Builds trees of values: the gramme_set_...() and gramme_add_...() functions. Called by users of
 * the library; a tree is used by one thread at a time. */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/value_tree_internal.h"
#include "model/number.h"

/* --- trees --- */

struct tree *tree_create(enum gramme_type root)
{
    struct tree *tree = mem_zalloc(sizeof(*tree));
    arena_init(&tree->arena);
    tree->root = value_create(tree, root);
    return tree;
}

void tree_destroy(struct tree *tree)
{
    if (tree != NULL) {
        arena_finish(&tree->arena);
        mem_free(tree);
    }
}

void tree_complain(struct tree *tree, const char *format, ...)
{
    if (tree->problem != NULL) {
        return;
    }
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tree->problem = tree_copy_text(tree, str_from_c(text)).data;
}

struct str tree_copy_text(struct tree *tree, struct str text)
{
    return arena_copy_c(&tree->arena, text);
}

struct gramme_value *value_create(struct tree *tree, enum gramme_type type)
{
    struct gramme_value *value = ARENA_NEW(&tree->arena, struct gramme_value);
    value->tree = tree;
    value->type = type;
    return value;
}

struct gramme_value *value_create_text(struct tree *tree, enum gramme_type type, struct str text)
{
    struct gramme_value *value = value_create(tree, type);
    value->text = tree_copy_text(tree, text);
    return value;
}

static struct gramme_value *copy_into(struct tree *tree, const struct gramme_value *from)
{
    struct gramme_value *value = value_create(tree, from->type);
    value->truth = from->truth;
    if (from->text.data != NULL) {
        value->text = tree_copy_text(tree, from->text);
    }
    for (size_t i = 0; i < from->count; i++) {
        struct gramme_value *child = copy_into(tree, from->children[i]);
        if (from->type == GRAMME_MAP) {
            child->name = tree_copy_text(tree, from->children[i]->name);
        }
        value_append(value, child);
    }
    return value;
}

struct gramme_value *value_create_copy(struct tree *tree, const struct gramme_value *from)
{
    if (from->tree->problem != NULL && from->tree != tree) {
        tree_complain(tree, "%s", from->tree->problem);
    }
    return copy_into(tree, from);
}

void value_append(struct gramme_value *container, struct gramme_value *child)
{
    if (container->count == container->capacity) {
        size_t capacity = container->capacity == 0 ? 4 : container->capacity * 2;
        struct gramme_value **children =
            ARENA_ARRAY(&container->tree->arena, struct gramme_value *, capacity);
        if (container->count > 0) {
            memcpy(children, container->children, container->count * sizeof(children[0]));
        }
        container->children = children;
        container->capacity = capacity;
    }
    container->children[container->count++] = child;
}

/* Returns the index of the entry; SIZE_MAX: there is none. */
static size_t find_index(const struct gramme_value *map, struct str name)
{
    for (size_t i = map->count; i-- > 0;) {
        if (str_eq(map->children[i]->name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

struct gramme_value *value_find(const struct gramme_value *map, struct str name)
{
    if (map == NULL || map->type != GRAMME_MAP) {
        return NULL;
    }
    size_t index = find_index(map, name);
    return index == SIZE_MAX ? NULL : map->children[index];
}

/* --- numbers as text --- */

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Writes the shortest decimal text that reads back as this number, in any locale. */
static void write_double(double number, char *out, size_t size)
{
    pthread_once(&c_locale_once, make_c_locale);
    locale_t before = uselocale(c_locale);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, number);
        if (strtod(out, NULL) == number) {
            break;
        }
    }
    uselocale(before);
}

bool gramme_value_double(const struct gramme_value *value, double *out)
{
    if (value == NULL || value->type != GRAMME_NUMBER) {
        return false;
    }
    pthread_once(&c_locale_once, make_c_locale);
    *out = strtod_l(value->text.data, NULL, c_locale);
    return true;
}

static struct gramme_value *create_double(struct tree *tree, double number)
{
    if (!isfinite(number)) {
        tree_complain(tree, "a number is infinite or not a number");
        return NULL;
    }
    char text[32];
    write_double(number, text, sizeof(text));
    return value_create_text(tree, GRAMME_NUMBER, str_from_c(text));
}

static struct gramme_value *create_int(struct tree *tree, int64_t number)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%lld", (long long)number);
    return value_create_text(tree, GRAMME_NUMBER, str_make(text, (size_t)len));
}

/* Normalises the text, to a form that is also valid JSON. */
static struct gramme_value *create_number(struct tree *tree, const char *text)
{
    struct number number;
    enum number_status status =
        text == NULL ? NUMBER_BAD_TEXT : number_parse(str_from_c(text), &number);
    if (status != NUMBER_OK) {
        tree_complain(tree, "'%.60s' is not a number, or not one that DynamoDB can hold",
                      text == NULL ? "NULL" : text);
        return NULL;
    }
    char form[NUMBER_TEXT_MAX];
    size_t len = number_format(number_str(&number), form);
    return value_create_text(tree, GRAMME_NUMBER, str_make(form, len));
}

/* --- other scalars --- */

static struct gramme_value *create_string(struct tree *tree, struct str text)
{
    if (text.data == NULL) {
        tree_complain(tree, "a string is NULL");
        return NULL;
    }
    if (!utf8_is_valid(text)) {
        tree_complain(tree, "a string is not UTF-8: '%.*s'", (int)MIN(text.len, 60), text.data);
        return NULL;
    }
    return value_create_text(tree, GRAMME_STRING, text);
}

static struct gramme_value *create_format(struct tree *tree, const char *format, va_list args)
{
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    if (len < 0) {
        tree_complain(tree, "cannot format '%.60s'", format);
        return NULL;
    }
    struct gramme_value *value = create_string(tree, str_make(text, (size_t)len));
    free(text);
    return value;
}

static struct gramme_value *create_bool(struct tree *tree, bool truth)
{
    struct gramme_value *value = value_create(tree, GRAMME_BOOL);
    value->truth = truth;
    return value;
}

static struct gramme_value *create_binary(struct tree *tree, const void *data, size_t len)
{
    if (data == NULL && len > 0) {
        tree_complain(tree, "a binary is NULL");
        return NULL;
    }
    return value_create_text(tree, GRAMME_BINARY, str_make(data, len));
}

/* --- into a map --- */

/* Whether an entry can be added; else the mistake is recorded. */
static bool is_place(struct gramme_value *map, const char *name)
{
    if (map == NULL) {
        return false; /* the function that returned NULL has recorded the mistake */
    }
    if (map->type != GRAMME_MAP) {
        tree_complain(map->tree, "'%.60s' is set in a value that is not a map",
                      name == NULL ? "NULL" : name);
        return false;
    }
    if (name == NULL || !utf8_is_valid(str_from_c(name))) {
        tree_complain(map->tree, "a name is NULL or not UTF-8");
        return false;
    }
    return true;
}

/* Sets the entry of the map, replacing one of the same name. */
static struct gramme_value *put(struct gramme_value *map, const char *name,
                                struct gramme_value *value)
{
    if (value == NULL) {
        return NULL;
    }
    value->name = tree_copy_text(map->tree, str_from_c(name));
    size_t index = find_index(map, value->name);
    if (index == SIZE_MAX) {
        value_append(map, value);
    } else {
        map->children[index] = value;
    }
    return value;
}

void gramme_set_string(struct gramme_value *map, const char *name, const char *text)
{
    if (is_place(map, name)) {
        put(map, name, create_string(map->tree, str_from_c(text)));
    }
}

void gramme_set_text(struct gramme_value *map, const char *name, const char *text, size_t len)
{
    if (is_place(map, name)) {
        put(map, name, create_string(map->tree, str_make(text, len)));
    }
}

void gramme_set_format(struct gramme_value *map, const char *name, const char *format, ...)
{
    if (is_place(map, name)) {
        va_list args;
        va_start(args, format);
        put(map, name, create_format(map->tree, format, args));
        va_end(args);
    }
}

void gramme_set_int(struct gramme_value *map, const char *name, int64_t number)
{
    if (is_place(map, name)) {
        put(map, name, create_int(map->tree, number));
    }
}

void gramme_set_double(struct gramme_value *map, const char *name, double number)
{
    if (is_place(map, name)) {
        put(map, name, create_double(map->tree, number));
    }
}

void gramme_set_number(struct gramme_value *map, const char *name, const char *number)
{
    if (is_place(map, name)) {
        put(map, name, create_number(map->tree, number));
    }
}

void gramme_set_bool(struct gramme_value *map, const char *name, bool truth)
{
    if (is_place(map, name)) {
        put(map, name, create_bool(map->tree, truth));
    }
}

void gramme_set_null(struct gramme_value *map, const char *name)
{
    if (is_place(map, name)) {
        put(map, name, value_create(map->tree, GRAMME_NULL));
    }
}

void gramme_set_binary(struct gramme_value *map, const char *name, const void *data, size_t len)
{
    if (is_place(map, name)) {
        put(map, name, create_binary(map->tree, data, len));
    }
}

void gramme_set_value(struct gramme_value *map, const char *name, const struct gramme_value *value)
{
    if (value == NULL) {
        gramme_remove(map, name);
    } else if (is_place(map, name)) {
        put(map, name, value_create_copy(map->tree, value));
    }
}

static struct gramme_value *set_container(struct gramme_value *map, const char *name,
                                          enum gramme_type type)
{
    return is_place(map, name) ? put(map, name, value_create(map->tree, type)) : NULL;
}

struct gramme_value *gramme_set_map(struct gramme_value *map, const char *name)
{
    return set_container(map, name, GRAMME_MAP);
}

struct gramme_value *gramme_set_list(struct gramme_value *map, const char *name)
{
    return set_container(map, name, GRAMME_LIST);
}

struct gramme_value *gramme_set_string_set(struct gramme_value *map, const char *name)
{
    return set_container(map, name, GRAMME_STRING_SET);
}

struct gramme_value *gramme_set_number_set(struct gramme_value *map, const char *name)
{
    return set_container(map, name, GRAMME_NUMBER_SET);
}

struct gramme_value *gramme_set_binary_set(struct gramme_value *map, const char *name)
{
    return set_container(map, name, GRAMME_BINARY_SET);
}

void gramme_remove(struct gramme_value *map, const char *name)
{
    if (!is_place(map, name)) {
        return;
    }
    size_t index = find_index(map, str_from_c(name));
    if (index != SIZE_MAX) {
        map->count--;
        memmove(map->children + index, map->children + index + 1,
                (map->count - index) * sizeof(map->children[0]));
    }
}

struct gramme_value *value_need(struct gramme_value *map, const char *name, enum gramme_type type)
{
    struct gramme_value *there = value_find(map, str_from_c(name));
    return there != NULL && there->type == type ? there : set_container(map, name, type);
}

/* --- into a list or set --- */

/* Whether a value of the type may be added; else the mistake is recorded. */
static bool takes(struct gramme_value *list, enum gramme_type type)
{
    if (list == NULL) {
        return false;
    }
    bool fits = list->type == GRAMME_LIST ||
                (list->type == GRAMME_STRING_SET && type == GRAMME_STRING) ||
                (list->type == GRAMME_NUMBER_SET && type == GRAMME_NUMBER) ||
                (list->type == GRAMME_BINARY_SET && type == GRAMME_BINARY);
    if (!fits) {
        tree_complain(list->tree,
                      "a value is added to one that is neither a list nor a set of its type");
    }
    return fits;
}

static struct gramme_value *add(struct gramme_value *list, struct gramme_value *value)
{
    if (value != NULL) {
        value_append(list, value);
    }
    return value;
}

void gramme_add_string(struct gramme_value *list, const char *text)
{
    if (takes(list, GRAMME_STRING)) {
        add(list, create_string(list->tree, str_from_c(text)));
    }
}

void gramme_add_text(struct gramme_value *list, const char *text, size_t len)
{
    if (takes(list, GRAMME_STRING)) {
        add(list, create_string(list->tree, str_make(text, len)));
    }
}

void gramme_add_format(struct gramme_value *list, const char *format, ...)
{
    if (takes(list, GRAMME_STRING)) {
        va_list args;
        va_start(args, format);
        add(list, create_format(list->tree, format, args));
        va_end(args);
    }
}

void gramme_add_int(struct gramme_value *list, int64_t number)
{
    if (takes(list, GRAMME_NUMBER)) {
        add(list, create_int(list->tree, number));
    }
}

void gramme_add_double(struct gramme_value *list, double number)
{
    if (takes(list, GRAMME_NUMBER)) {
        add(list, create_double(list->tree, number));
    }
}

void gramme_add_number(struct gramme_value *list, const char *number)
{
    if (takes(list, GRAMME_NUMBER)) {
        add(list, create_number(list->tree, number));
    }
}

void gramme_add_bool(struct gramme_value *list, bool truth)
{
    if (takes(list, GRAMME_BOOL)) {
        add(list, create_bool(list->tree, truth));
    }
}

void gramme_add_null(struct gramme_value *list)
{
    if (takes(list, GRAMME_NULL)) {
        add(list, value_create(list->tree, GRAMME_NULL));
    }
}

void gramme_add_binary(struct gramme_value *list, const void *data, size_t len)
{
    if (takes(list, GRAMME_BINARY)) {
        add(list, create_binary(list->tree, data, len));
    }
}

void gramme_add_value(struct gramme_value *list, const struct gramme_value *value)
{
    if (list != NULL && value == NULL) {
        tree_complain(list->tree, "a value to be added is NULL");
    } else if (list != NULL && takes(list, value->type)) {
        add(list, value_create_copy(list->tree, value));
    }
}

struct gramme_value *gramme_add_map(struct gramme_value *list)
{
    return takes(list, GRAMME_MAP) ? add(list, value_create(list->tree, GRAMME_MAP)) : NULL;
}

struct gramme_value *gramme_add_list(struct gramme_value *list)
{
    return takes(list, GRAMME_LIST) ? add(list, value_create(list->tree, GRAMME_LIST)) : NULL;
}

/* --- values that the user owns --- */

struct gramme_value *gramme_map_create(void)
{
    return tree_create(GRAMME_MAP)->root;
}

struct gramme_value *gramme_list_create(void)
{
    return tree_create(GRAMME_LIST)->root;
}

struct gramme_value *gramme_value_copy(const struct gramme_value *value)
{
    if (value == NULL) {
        return NULL;
    }
    struct tree *tree = tree_create(GRAMME_MAP);
    tree->root = value_create_copy(tree, value);
    return tree->root;
}

void gramme_value_destroy(struct gramme_value *value)
{
    if (value != NULL) {
        assert(value == value->tree->root);
        tree_destroy(value->tree);
    }
}

const char *gramme_value_problem(const struct gramme_value *value)
{
    return value == NULL ? NULL : value->tree->problem;
}
