/* Document paths: look-up in an item, trees of paths, and projection of items. Called when
 * expressions are bound and applied. */
#include "expr/bound/path_tree_internal.h"

#include "base/buf.h"

static struct value step_get(const struct expr_step *step, struct value value)
{
    enum value_type type = value_type(value);
    if (str_is_null(step->name)) {
        return type == VALUE_L ? value_list_get(value, step->index) : VALUE_ABSENT;
    }
    return type == VALUE_M ? value_map_get(value, step->name) : VALUE_ABSENT;
}

struct value expr_path_get(const struct expr_path *path, struct value item)
{
    struct value value = item;
    for (size_t i = 0; i < path->step_count && !value_is_absent(value); i++) {
        value = step_get(&path->steps[i], value);
    }
    return value;
}

static bool same_kind(const struct expr_step *a, const struct expr_step *b)
{
    return str_is_null(a->name) == str_is_null(b->name);
}

/* Compares names by their bytes, indexes by number; both steps are of one kind. */
static int step_cmp(const struct expr_step *a, const struct expr_step *b)
{
    if (!str_is_null(a->name)) {
        return str_cmp(a->name, b->name);
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

bool path_eq(const struct expr_path *a, const struct expr_path *b)
{
    if (a->step_count != b->step_count) {
        return false;
    }
    for (size_t i = 0; i < a->step_count; i++) {
        if (!same_kind(&a->steps[i], &b->steps[i]) || step_cmp(&a->steps[i], &b->steps[i]) != 0) {
            return false;
        }
    }
    return true;
}

struct str path_describe(const struct expr_path *path, struct arena *arena)
{
    struct buf buf = {0};
    for (size_t i = 0; i < path->step_count; i++) {
        buf_add(&buf, i == 0 ? STR("[") : STR(", "));
        if (str_is_null(path->steps[i].name)) {
            buf_format(&buf, "[%u]", path->steps[i].index);
        } else {
            buf_add(&buf, path->steps[i].name);
        }
    }
    buf_add_char(&buf, ']');
    struct str copy = arena_copy(arena, buf_str(&buf));
    buf_finish(&buf);
    return copy;
}

/* --- the search tree of the children of one node: an AA tree (Andersson, "Balanced search trees
 * made simple", 1993), so that adding n paths costs n log n in whatever order a client sends them
 * --- */

/* A search for the child of `parent` with `step`. */
struct child_search {
    struct path_node *parent;
    const struct expr_step *step;
    struct arena *arena;
    struct path_node *before; /* the last child known to be less than `step`, or NULL */
    struct path_node *child;  /* set when found or added */
};

/* Adds a child behind search->before, with all fields of the search tree set. */
static struct path_node *new_child(struct child_search *search)
{
    struct path_node **at =
        search->before != NULL ? &search->before->next : &search->parent->children;
    struct path_node *child = ARENA_NEW(search->arena, struct path_node);
    child->step = *search->step;
    child->next = *at;
    child->level = 1;
    *at = child;
    search->child = child;
    return child;
}

/* Removes a left child of the same level by a rotation. */
static struct path_node *skew(struct path_node *top)
{
    struct path_node *left = top->left;
    if (left == NULL || left->level != top->level) {
        return top;
    }
    top->left = left->right;
    left->right = top;
    return left;
}

/* Removes two right children in a row of the same level by a rotation. */
static struct path_node *split(struct path_node *top)
{
    struct path_node *right = top->right;
    if (right == NULL || right->right == NULL || right->right->level != top->level) {
        return top;
    }
    top->right = right->left;
    right->left = top;
    right->level++;
    return right;
}

/* Finds or adds search->child below `top`. Returns the new top. The recursion is as deep as the
 * tree: at most twice the logarithm of its size. */
static struct path_node *find_or_add(struct path_node *top, struct child_search *search)
{
    if (top == NULL) {
        return new_child(search);
    }
    int order = step_cmp(&top->step, search->step);
    if (order == 0) {
        search->child = top;
        return top;
    }
    if (order < 0) {
        search->before = top;
        top->right = find_or_add(top->right, search);
    } else {
        top->left = find_or_add(top->left, search);
    }
    return split(skew(top));
}

/* Returns the child for a step, a new one if there is none yet. */
static struct path_node *child_for(struct path_node *parent, const struct expr_step *step,
                                   struct arena *arena)
{
    struct child_search search = {.parent = parent, .step = step, .arena = arena};
    parent->top = find_or_add(parent->top, &search);
    return search.child;
}

enum path_clash path_tree_add(struct path_node *root, const struct expr_path *path, size_t number,
                              struct arena *arena, const struct expr_path **out_other)
{
    struct path_node *node = root;
    for (size_t i = 0; i < path->step_count; i++) {
        const struct expr_step *step = &path->steps[i];
        if (node->children != NULL && !same_kind(&node->children->step, step)) {
            *out_other = node->path;
            return PATH_CONFLICTS;
        }
        node = child_for(node, step, arena);
        bool last = i + 1 == path->step_count;
        if (node->path != NULL && (last || path_node_is_end(node))) {
            *out_other = node->path;
            return PATH_OVERLAPS;
        }
        if (node->path == NULL) {
            node->path = path;
            node->number = number;
        }
    }
    return PATH_FITS;
}

/* --- projecting --- */

static bool project(const struct path_node *node, struct value value, struct builder *builder);

static bool project_entry(const struct path_node *node, struct value_name name, struct value value,
                          struct builder *builder)
{
    size_t start = builder->len;
    builder_add_name(builder, name.text, name.plain);
    if (!project(node, value, builder)) {
        builder->len = start; /* nothing of it is projected: remove the name again */
        return false;
    }
    return true;
}

uint32_t path_tree_project(const struct path_node *root, struct value item, struct builder *builder)
{
    uint32_t count = 0;
    const struct path_node *child = root->children;
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    while (child != NULL && value_next_entry(&iter, &name, &value)) {
        while (child != NULL && str_cmp(child->step.name, name.text) < 0) {
            child = child->next;
        }
        if (child != NULL && str_eq(child->step.name, name.text)) {
            count += project_entry(child, name, value, builder);
        }
    }
    return count;
}

static uint32_t project_list(const struct path_node *node, struct value list,
                             struct builder *builder)
{
    uint32_t count = 0;
    uint32_t index = 0;
    const struct path_node *child = node->children;
    struct value_iter iter = value_iter(list);
    struct value value;
    for (; child != NULL && value_next(&iter, &value); index++) {
        if (child->step.index == index) {
            count += project(child, value, builder);
            child = child->next;
        }
    }
    return count;
}

/* Adds the projected parts of the value; false, and nothing is added, if there are none. */
static bool project(const struct path_node *node, struct value value, struct builder *builder)
{
    if (path_node_is_end(node)) {
        builder_add_value(builder, value);
        return true;
    }
    enum value_type wanted = str_is_null(node->children->step.name) ? VALUE_L : VALUE_M;
    if (value_type(value) != wanted) {
        return false;
    }
    size_t open = builder_open(builder, wanted);
    uint32_t count = wanted == VALUE_M ? path_tree_project(node, value, builder)
                                       : project_list(node, value, builder);
    if (count == 0) {
        builder->len = open;
        return false;
    }
    builder_close_sorted(builder, open, count);
    return true;
}
