/* Applies updates to items, in two passes. The first, update_eval(), finds the value that each
 * action leaves at its path. It reads only the old item, so all right-hand sides see the item
 * before the update. Values are referenced where they are; only results of list_append, ADD and
 * DELETE are created, and at most as many as an item can hold.
 *
 * The second pass, update_write(), writes the new item: the old item and the tree of paths are both
 * sorted, and parts that no path names are copied. Runs on the committer thread. */
#include "err/messages.h"
#include "expr/bound/update_internal.h"

#include "model/limits.h"

enum {
    ATTRIBUTE_DEPTH_MAX = 32,
    LIST_SIZE = 3,                 /* bytes that a list counts besides its elements */
    COUNTED_BYTES_MIN = 64 * 1024, /* below this many encoded bytes sizes are not counted */
    /* Results with more encoded bytes are too large for an item: a byte of its size takes at most
     * 12 of them (a list of sets, each with an empty string). */
    RESULT_BYTES_MAX = 16 * ITEM_BYTES_MAX,
};

/* The value at an action's path in the old item. */
struct target {
    struct value old;
    bool lost; /* the path does not exist: no map or list contains its last step */
};

struct run {
    const struct update *update;
    struct value item; /* the old one; just the key if there was none */
    struct arena *arena;
    struct target *targets; /* both by action */
    struct value *results;  /* the new value at its path, or absent */
    size_t made_bytes;      /* upper bound of the encoded length of lists and sets created so far */
    size_t made_size;       /* lower bound of their size by the service's rules */
    bool too_large;         /* the results alone are over ITEM_BYTES_MAX: nothing more is made */
    struct err *err;
};

/* --- finding the targets --- */

static void find_targets(const struct run *r, const struct path_node *node, struct value value);

static void find_entries(const struct run *r, const struct path_node *child, struct value map)
{
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    while (child != NULL && value_next_entry(&iter, &name, &value)) {
        for (; child != NULL && str_cmp(child->step.name, name.text) < 0; child = child->next) {
            find_targets(r, child, VALUE_ABSENT);
        }
        if (child != NULL && str_eq(child->step.name, name.text)) {
            find_targets(r, child, value);
            child = child->next;
        }
    }
    for (; child != NULL; child = child->next) {
        find_targets(r, child, VALUE_ABSENT);
    }
}

static void find_elements(const struct run *r, const struct path_node *child, struct value list)
{
    struct value_iter iter = value_iter(list);
    struct value value;
    for (uint32_t index = 0; child != NULL && value_next(&iter, &value); index++) {
        if (child->step.index == index) {
            find_targets(r, child, value);
            child = child->next;
        }
    }
    for (; child != NULL; child = child->next) {
        find_targets(r, child, VALUE_ABSENT);
    }
}

static void mark_targets_missing(const struct run *r, const struct path_node *node)
{
    if (path_node_is_end(node)) {
        r->targets[node->number].lost = true;
    }
    for (const struct path_node *child = node->children; child != NULL; child = child->next) {
        mark_targets_missing(r, child);
    }
}

static void find_targets(const struct run *r, const struct path_node *node, struct value value)
{
    enum value_type type = value_type(value);
    if (path_node_is_end(node)) {
        r->targets[node->number].old = value;
    } else if (type == VALUE_M && !str_is_null(node->children->step.name)) {
        find_entries(r, node->children, value);
    } else if (type == VALUE_L && str_is_null(node->children->step.name)) {
        find_elements(r, node->children, value);
    } else {
        mark_targets_missing(r, node);
    }
}

/* --- what each action leaves --- */

static bool fail_type(const struct run *r)
{
    return err_set(r->err, ERR_VALIDATION,
                   r->update->legacy
                       ? "Type mismatch for attribute to update"
                       : "An operand in the update expression has an incorrect data type");
}

static bool fail_path(const struct run *r)
{
    return err_set(r->err, ERR_VALIDATION,
                   "The document path provided in the update expression is invalid for update");
}

/* Finds the value of an operand, where it is. */
static bool operand_find(const struct run *r, const struct operand *operand, struct value *out)
{
    switch (operand->kind) {
    case OPERAND_VALUE:
        *out = operand->value;
        return true;
    case OPERAND_IF_NOT_EXISTS:
        *out = expr_path_get(&operand->operands[0].path, r->item);
        return !value_is_absent(*out) || operand_find(r, &operand->operands[1], out);
    default:
        assert(operand->kind == OPERAND_PATH);
        *out = expr_path_get(&operand->path, r->item);
        if (value_is_absent(*out)) {
            return err_set(r->err, ERR_VALIDATION,
                           "The provided expression refers to an attribute that does not exist in "
                           "the item");
        }
        return true;
    }
}

static bool operands_find(const struct run *r, const struct operand *operand, enum value_type type,
                          struct value *left, struct value *right)
{
    if (!operand_find(r, &operand->operands[0], left) ||
        !operand_find(r, &operand->operands[1], right)) {
        return false;
    }
    return (value_type(*left) == type && value_type(*right) == type) || fail_type(r);
}

static bool add_numbers(const struct run *r, struct value a, struct value b, bool minus,
                        struct value *out)
{
    struct number number;
    enum number_status status = minus ? number_subtract(value_bytes(a), value_bytes(b), &number)
                                      : number_add(value_bytes(a), value_bytes(b), &number);
    if (status == NUMBER_PRECISION) {
        /* The service has one message for both, unlike for numbers in requests */
        status = NUMBER_OVERFLOW;
    }
    if (status != NUMBER_OK) {
        return err_set(r->err, ERR_VALIDATION, "%s", number_status_text(status));
    }
    *out = value_from_number(&number, arena_alloc(r->arena, VALUE_NUMBER_MAX));
    return true;
}

/* Whether to create the list or set of `a` and `b`: not if the item is then certainly too large.
 * Sizes are counted only after COUNTED_BYTES_MIN bytes were created, so ordinary updates skip this.
 */
static bool may_make(struct run *r, struct value a, struct value b, bool is_list)
{
    r->made_bytes += a.len + b.len;
    if (r->made_bytes > COUNTED_BYTES_MIN && !r->too_large) {
        size_t size_a = value_size(a);
        size_t size_b = value_size(b);
        r->made_size += is_list ? size_a + size_b - LIST_SIZE : MAX(size_a, size_b);
        r->too_large = r->made_size > ITEM_BYTES_MAX;
    }
    return !r->too_large;
}

static struct value append_lists(struct run *r, struct value a, struct value b)
{
    if (!may_make(r, a, b, true)) {
        return a; /* only its type is used */
    }
    struct builder builder;
    builder_init(&builder, r->arena, a.len + b.len);
    size_t open = builder_open(&builder, VALUE_L);
    builder_add_raw(&builder, a.data + VALUE_CONTAINER_HEAD, a.data + a.len);
    builder_add_raw(&builder, b.data + VALUE_CONTAINER_HEAD, b.data + b.len);
    builder_close_list(&builder, open, value_count(a) + value_count(b));
    return builder_finish(&builder);
}

static bool eval_set(struct run *r, const struct operand *operand, struct value *out)
{
    struct value a;
    struct value b;
    switch (operand->kind) {
    case OPERAND_PLUS:
    case OPERAND_MINUS:
        return operands_find(r, operand, VALUE_N, &a, &b) &&
               add_numbers(r, a, b, operand->kind == OPERAND_MINUS, out);
    case OPERAND_LIST_APPEND:
        if (!operands_find(r, operand, VALUE_L, &a, &b)) {
            return false;
        }
        *out = append_lists(r, a, b);
        return true;
    default:
        return operand_find(r, operand, out);
    }
}

/* Makes the union of two sets, or the elements of `a` that are not in `b`; both are sorted. A union
 * that would make the item too large is not created. */
static struct value merge_sets(struct run *r, struct value a, struct value b, bool minus)
{
    if (!minus && !may_make(r, a, b, false)) {
        return a; /* only its type is used */
    }
    struct builder builder;
    builder_init(&builder, r->arena, minus ? a.len : a.len + b.len);
    size_t open = builder_open(&builder, value_type(a));
    struct value_iter left = value_iter(a);
    struct value_iter right = value_iter(b);
    struct value x = VALUE_ABSENT;
    struct value y = VALUE_ABSENT;
    bool more_x = value_next(&left, &x);
    bool more_y = value_next(&right, &y);
    uint32_t count = 0;
    while (more_x || (more_y && !minus)) {
        int order = !more_y ? -1 : !more_x ? 1 : value_cmp(x, y);
        if (order < 0 || (order == 0 && !minus)) {
            builder_add_value(&builder, x);
            count++;
        } else if (order > 0 && !minus) {
            builder_add_value(&builder, y);
            count++;
        }
        more_x = order <= 0 ? value_next(&left, &x) : more_x;
        more_y = order >= 0 ? value_next(&right, &y) : more_y;
    }
    builder_close_sorted(&builder, open, count);
    struct value set = builder_finish(&builder);
    return count == 0 ? VALUE_ABSENT : set; /* there are no empty sets */
}

/* Only AttributeUpdates add lists. */
static bool eval_add(struct run *r, struct value old, struct value added, struct value *out)
{
    enum value_type type = value_type(old);
    if (type == VALUE_NONE) {
        *out = added;
        return true;
    }
    if (type != value_type(added)) {
        return fail_type(r);
    }
    if (type == VALUE_N) {
        return add_numbers(r, old, added, false, out);
    }
    assert(type == VALUE_L || value_is_set(type)); /* other types have been refused before */
    *out = type == VALUE_L ? append_lists(r, old, added) : merge_sets(r, old, added, false);
    return true;
}

static bool eval_delete(struct run *r, struct value old, struct value removed, struct value *out)
{
    *out = VALUE_ABSENT;
    if (value_is_absent(old)) {
        return true;
    }
    if (value_type(old) != value_type(removed)) {
        return fail_type(r);
    }
    *out = merge_sets(r, old, removed, true);
    return true;
}

static bool eval_action(struct run *r, const struct update_action *action,
                        const struct target *target, struct value *out)
{
    *out = VALUE_ABSENT;
    if (target->lost) {
        return fail_path(r);
    }
    switch (action->kind) {
    case ACTION_SET:
        return eval_set(r, &action->value, out);
    case ACTION_ADD:
        return eval_add(r, target->old, action->value.value, out);
    case ACTION_DELETE:
        return eval_delete(r, target->old, action->value.value, out);
    case ACTION_REMOVE:
    case ACTION_PROJECT:
        break;
    }
    return true;
}

/* A top-level attribute that is copied to another keeps its depth. What is too large is refused
 * anyway: measuring its depth for each action would take long. */
static bool check_depth(const struct run *r, const struct update_action *action,
                        struct value result)
{
    size_t above = action->path.step_count - 1;
    if (value_is_absent(result) || r->too_large ||
        (above == 0 && action->value.kind == OPERAND_PATH) ||
        above + (size_t)value_depth(result) <= ATTRIBUTE_DEPTH_MAX) {
        return true;
    }
    return err_set(r->err, ERR_VALIDATION, MESSAGE_NESTING);
}

static bool eval_actions(struct run *r)
{
    const struct update *update = r->update;
    r->targets = ARENA_ARRAY(r->arena, struct target, update->action_count);
    r->results = ARENA_ARRAY(r->arena, struct value, update->action_count);
    find_entries(r, update->root.children, r->item);
    size_t bytes = 0;
    for (size_t i = 0; i < update->action_count; i++) {
        const struct update_action *action = &update->actions[i];
        if (!eval_action(r, action, &r->targets[i], &r->results[i])) {
            return false;
        }
        bytes += r->results[i].len;
        r->too_large = r->too_large || bytes > RESULT_BYTES_MAX;
        if (!check_depth(r, action, r->results[i])) {
            return false;
        }
    }
    return true;
}

/* Whether the results alone are larger than an item may be. Stops counting when that is certain. */
static bool results_are_too_large(const struct run *r)
{
    size_t bytes = 0;
    size_t count = r->update->action_count;
    for (size_t i = 0; i < count; i++) {
        bytes += r->results[i].len;
    }
    if (r->too_large || bytes <= COUNTED_BYTES_MIN) {
        return r->too_large;
    }
    size_t size = 0;
    for (size_t i = 0; i < count && size <= ITEM_BYTES_MAX; i++) {
        size += value_size(r->results[i]);
    }
    return size > ITEM_BYTES_MAX;
}

bool update_eval(const struct update *update, struct value item, struct value key,
                 struct arena *arena, struct update_result *out, struct err *err)
{
    *out = (struct update_result){.update = update};
    if (value_is_absent(item) && !update->creates) {
        out->has_no_item = true;
        return true;
    }
    struct run r = {
        .update = update, .item = value_is_absent(item) ? key : item, .arena = arena, .err = err};
    if (!eval_actions(&r)) {
        return false;
    }
    out->item = r.item;
    out->values = r.results;
    out->too_large = results_are_too_large(&r);
    return true;
}

struct value update_result_get(const struct update_result *result, struct str name)
{
    const struct path_node *child = result->update->root.children;
    while (child != NULL && !str_eq(child->step.name, name)) {
        child = child->next;
    }
    return child != NULL && path_node_is_end(child) ? result->values[child->number]
                                                    : value_map_get(result->item, name);
}

/* --- writing the new item --- */

struct writer {
    const struct value *results; /* by action */
    struct builder *builder;
};

static bool write_node(const struct writer *w, const struct path_node *node, struct value old);

/* Writes one entry of a map: its name and the value that is left at the node; nothing if there is
 * none. */
static bool write_entry(const struct writer *w, const struct path_node *node, struct value old)
{
    size_t start = w->builder->len;
    builder_add_key(w->builder, node->step.name);
    if (!write_node(w, node, old)) {
        w->builder->len = start;
        return false;
    }
    return true;
}

/* Writes the entries of a map, old and new ones in order. Returns their number. */
static uint32_t write_entries(const struct writer *w, const struct path_node *child,
                              struct value map)
{
    uint32_t count = 0;
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    const uint8_t *start = iter.at; /* start of the entry */
    const uint8_t *kept = start;    /* start of the entries to copy */
    for (; child != NULL && value_next_entry(&iter, &name, &value); start = iter.at) {
        for (; child != NULL && str_cmp(child->step.name, name.text) < 0; child = child->next) {
            builder_add_raw(w->builder, kept, start);
            kept = start;
            count += write_entry(w, child, VALUE_ABSENT);
        }
        if (child != NULL && str_eq(child->step.name, name.text)) {
            builder_add_raw(w->builder, kept, start);
            kept = iter.at;
            count += write_entry(w, child, value);
            child = child->next;
        } else {
            count++;
        }
    }
    builder_add_raw(w->builder, kept, map.data + map.len);
    count += iter.left;
    for (; child != NULL; child = child->next) {
        count += write_entry(w, child, VALUE_ABSENT);
    }
    return count;
}

/* Writes the elements of a list; indexes past the end append, in order. */
static uint32_t write_elements(const struct writer *w, const struct path_node *child,
                               struct value list)
{
    uint32_t count = 0;
    uint32_t index = 0;
    struct value_iter iter = value_iter(list);
    struct value value;
    const uint8_t *start = iter.at;
    const uint8_t *kept = start;
    for (; child != NULL && value_next(&iter, &value); start = iter.at, index++) {
        if (child->step.index == index) {
            builder_add_raw(w->builder, kept, start);
            kept = iter.at;
            count += write_node(w, child, value);
            child = child->next;
        } else {
            count++;
        }
    }
    builder_add_raw(w->builder, kept, list.data + list.len);
    count += iter.left;
    for (; child != NULL; child = child->next) {
        count += write_node(w, child, VALUE_ABSENT);
    }
    return count;
}

/* Writes the value at a node; false, and nothing is written, if there is none. */
static bool write_node(const struct writer *w, const struct path_node *node, struct value old)
{
    if (path_node_is_end(node)) {
        struct value result = w->results[node->number];
        if (value_is_absent(result)) {
            return false;
        }
        builder_add_value(w->builder, result);
        return true;
    }
    enum value_type type = value_type(old);
    assert(type == VALUE_M || type == VALUE_L); /* otherwise the path did not exist */
    size_t open = builder_open(w->builder, type);
    uint32_t count = type == VALUE_M ? write_entries(w, node->children, old)
                                     : write_elements(w, node->children, old);
    builder_close_sorted(w->builder, open, count);
    return true;
}

static struct value write_item(const struct update_result *result, struct arena *arena)
{
    const struct update *update = result->update;
    size_t capacity = result->item.len + 64;
    for (size_t i = 0; i < update->action_count; i++) {
        const struct update_action *action = &update->actions[i];
        capacity +=
            action->path.steps[action->path.step_count - 1].name.len + result->values[i].len;
    }
    struct builder builder;
    builder_init(&builder, arena, capacity);
    struct writer w = {.results = result->values, .builder = &builder};
    size_t open = builder_open(&builder, VALUE_M);
    uint32_t count = write_entries(&w, update->root.children, result->item);
    builder_close_sorted(&builder, open, count);
    return builder_finish(&builder);
}

struct value update_write(const struct update_result *result, struct arena *arena)
{
    assert(!result->too_large);
    return result->has_no_item ? VALUE_ABSENT : write_item(result, arena);
}

bool update_apply(const struct update *update, struct value item, struct value key,
                  struct arena *arena, struct value *out, struct err *err)
{
    struct update_result result;
    if (!update_eval(update, item, key, arena, &result, err)) {
        return false;
    }
    if (result.too_large) {
        return err_set(err, ERR_VALIDATION, MESSAGE_UPDATED_ITEM_SIZE);
    }
    *out = update_write(&result, arena);
    return true;
}

struct value update_touched(const struct update *update, struct value item, struct arena *arena)
{
    if (value_is_absent(item)) {
        return VALUE_ABSENT;
    }
    struct builder builder;
    builder_init(&builder, arena, item.len);
    size_t open = builder_open(&builder, VALUE_M);
    uint32_t count = path_tree_project(&update->root, item, &builder);
    builder_close_sorted(&builder, open, count);
    struct value touched = builder_finish(&builder);
    return count == 0 ? VALUE_ABSENT : touched;
}
