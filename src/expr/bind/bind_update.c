/* Binds updates and projections. Like the service, goes through the paths from the last to the
 * first, and then through the right-hand sides in the same way: this decides which of several
 * errors is reported. */
#include "expr/bind/bind_internal.h"
#include "expr/bound/projection_internal.h"

static bool add_path(const struct binder *b, struct path_node *root, const struct expr_path *path,
                     size_t number)
{
    struct arena *arena = b->scope->arena;
    const struct expr_path *other;
    enum path_clash clash = path_tree_add(root, path, number, arena, &other);
    if (clash == PATH_FITS) {
        return true;
    }
    struct str one = path_describe(path, arena);
    struct str two = path_describe(other, arena);
    return binder_fail(b,
                       "Two document paths %s with each other; must remove or rewrite one of these "
                       "paths; path one: %.*s, path two: %.*s",
                       clash == PATH_OVERLAPS ? "overlap" : "conflict", STR_ARG(one), STR_ARG(two));
}

bool update_creates(const struct update *update)
{
    bool creates = update->action_count == 0;
    for (size_t i = 0; i < update->action_count && !creates; i++) {
        enum action_kind kind = update->actions[i].kind;
        creates = kind == ACTION_SET || kind == ACTION_ADD;
    }
    return creates;
}

bool bind_update_path(const struct binder *binder, struct update *update, size_t number)
{
    return add_path(binder, &update->root, &update->actions[number].path, number);
}

/* Returns the tree's actions as an array, so that they can be visited backwards. */
static const struct tree_action **actions_of(const struct binder *b)
{
    const struct tree_action **actions =
        ARENA_ARRAY(b->scope->arena, const struct tree_action *, b->tree->action_count);
    size_t count = 0;
    for (const struct tree_action *action = b->tree->actions; action != NULL;
         action = action->next) {
        actions[count++] = action;
    }
    return actions;
}

bool expr_projection(struct expr_scope *scope, struct str text, const struct projection **out,
                     struct err *err)
{
    struct binder b;
    if (!binder_init(&b, scope, TREE_PROJECTION, text, "ProjectionExpression", err)) {
        return false;
    }
    const struct tree_action **actions = actions_of(&b);
    struct projection *projection = ARENA_NEW(scope->arena, struct projection);
    projection->path_count = b.tree->action_count;
    projection->paths = ARENA_ARRAY(scope->arena, struct expr_path, projection->path_count);
    for (size_t i = projection->path_count; i-- > 0;) {
        if (!bind_path(&b, actions[i]->path, &projection->paths[i]) ||
            !add_path(&b, &projection->root, &projection->paths[i], i)) {
            return false;
        }
    }
    *out = projection;
    return true;
}

static const char *add_type_name(enum value_type type)
{
    static const char *const names[VALUE_TYPE_COUNT] = {
        [VALUE_S] = "STRING", [VALUE_N] = "NUMBER",  [VALUE_B] = "BINARY",     [VALUE_M] = "MAP",
        [VALUE_L] = "LIST",   [VALUE_NULL] = "NULL", [VALUE_BOOL] = "BOOLEAN",
    };
    return names[type];
}

/* ADD takes numbers and sets, DELETE takes sets. */
static bool check_change(const struct binder *b, const struct update_action *action)
{
    enum value_type type = value_type(action->value.value);
    if (value_is_set(type) || (action->kind == ACTION_ADD && type == VALUE_N)) {
        return true;
    }
    return binder_fail(b,
                       "Incorrect operand type for operator or function; operator: %s, operand "
                       "type: %s",
                       action_name(action->kind), add_type_name(type));
}

static bool bind_action_value(const struct binder *b, const struct tree_action *from,
                              struct update_action *to)
{
    if (from->value == NULL) {
        return true;
    }
    return bind_operand(b, from->value, &to->value) &&
           (to->kind == ACTION_SET || check_change(b, to));
}

static bool bind_actions(const struct binder *b, struct update *update)
{
    const struct tree_action **actions = actions_of(b);
    for (size_t i = update->action_count; i-- > 0;) {
        struct update_action *action = &update->actions[i];
        action->kind = actions[i]->kind;
        if (!bind_path(b, actions[i]->path, &action->path) || !bind_update_path(b, update, i)) {
            return false;
        }
    }
    for (size_t i = update->action_count; i-- > 0;) {
        if (!bind_action_value(b, actions[i], &update->actions[i])) {
            return false;
        }
    }
    return binder_finish(b);
}

bool expr_update(struct expr_scope *scope, struct str text, const struct update **out,
                 struct err *err)
{
    struct binder b;
    if (!binder_init(&b, scope, TREE_UPDATE, text, "UpdateExpression", err)) {
        return false;
    }
    struct update *update = ARENA_NEW(scope->arena, struct update);
    update->action_count = b.tree->action_count;
    update->actions = ARENA_ARRAY(scope->arena, struct update_action, update->action_count);
    if (!bind_actions(&b, update)) {
        return false;
    }
    update->creates = update_creates(update);
    *out = update;
    return true;
}

void update_visit_paths(const struct update *update,
                        void (*visit)(void *context, const struct expr_path *path), void *context)
{
    for (size_t i = 0; i < update->action_count; i++) {
        visit(context, &update->actions[i].path);
    }
}

static void visit_operand(const struct operand *operand,
                          void (*visit)(void *context, const struct expr_path *path), void *context)
{
    if (operand->kind == OPERAND_PATH) {
        visit(context, &operand->path);
    } else if (operand->kind != OPERAND_VALUE) {
        visit_operand(&operand->operands[0], visit, context);
        visit_operand(&operand->operands[1], visit, context);
    }
}

void update_visit_operands(const struct update *update,
                           void (*visit)(void *context, const struct expr_path *path),
                           void *context)
{
    for (size_t i = 0; i < update->action_count; i++) {
        if (update->actions[i].kind == ACTION_SET) {
            visit_operand(&update->actions[i].value, visit, context);
        }
    }
}
