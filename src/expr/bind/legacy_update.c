/* Turns AttributeUpdates and AttributesToGet into bound updates and projections. Called by src/api.
 * A request may name very many attributes, so the names are sorted first: adding them to a tree of
 * paths from the last to the first then needs no search. */
#include "expr/legacy.h"

#include <stdlib.h>

#include "err/messages.h"
#include "expr/bind/bind_internal.h"
#include "expr/bound/projection_internal.h"

static int compare(const void *a, const void *b, void *paths)
{
    const struct expr_path *all = paths;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    int order = str_cmp(all[left].steps[0].name, all[right].steps[0].name);
    return order != 0 ? order : left < right ? -1 : left > right;
}

/* Paths of one name each. */
static struct expr_path *make_paths(struct arena *arena, const struct str *names, size_t count)
{
    struct expr_path *paths = ARENA_ARRAY(arena, struct expr_path, count);
    struct expr_step *steps = ARENA_ARRAY(arena, struct expr_step, count);
    for (size_t i = 0; i < count; i++) {
        steps[i].name = names[i];
        paths[i] = (struct expr_path){.steps = &steps[i], .step_count = 1};
    }
    return paths;
}

/* Adds the paths to the tree; duplicates are an error. */
static bool add_paths(struct arena *arena, struct path_node *root, const struct expr_path *paths,
                      size_t count, struct err *err)
{
    size_t *order = ARENA_ARRAY(arena, size_t, count);
    size_t again = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    if (count > 1) {
        qsort_r(order, count, sizeof(*order), compare, (void *)(uintptr_t)paths);
    }
    for (size_t i = count; i-- > 0;) {
        const struct expr_path *other;
        if (path_tree_add(root, &paths[order[i]], order[i], arena, &other) != PATH_FITS) {
            again = MIN(again, order[i + 1]);
        }
    }
    return again == SIZE_MAX ||
           err_set(err, ERR_VALIDATION,
                   "One or more parameter values were invalid: Duplicate value in attribute name: "
                   "%.*s",
                   STR_ARG(paths[again].steps[0].name));
}

/* --- AttributeUpdates --- */

static bool check_update(const struct legacy_update *update, struct err *err)
{
    enum value_type type = value_type(update->value);
    if (update->attribute.len == 0) {
        return err_set(err, ERR_VALIDATION, MESSAGE_EMPTY_NAME);
    }
    if (type == VALUE_NONE && update->action != LEGACY_DELETE) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: Only DELETE action is allowed "
                       "when no attribute value is specified");
    }
    if (update->action == LEGACY_DELETE && type != VALUE_NONE && !value_is_set(type)) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: DELETE action with value is not "
                       "supported for the type %s",
                       value_type_name(type));
    }
    if (update->action == LEGACY_ADD && type != VALUE_N && type != VALUE_L && !value_is_set(type)) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: ADD action is not supported for "
                       "the type %s",
                       value_type_name(type));
    }
    return true;
}

static enum action_kind action_for(const struct legacy_update *update)
{
    switch (update->action) {
    case LEGACY_PUT:
        return ACTION_SET;
    case LEGACY_ADD:
        return ACTION_ADD;
    case LEGACY_DELETE:
        break;
    }
    return value_is_absent(update->value) ? ACTION_REMOVE : ACTION_DELETE;
}

bool legacy_updates(struct arena *arena, const struct legacy_update *updates, size_t count,
                    const struct update **out, struct err *err)
{
    struct update *update = ARENA_NEW(arena, struct update);
    struct str *names = ARENA_ARRAY(arena, struct str, count);
    update->legacy = true;
    update->action_count = count;
    update->actions = ARENA_ARRAY(arena, struct update_action, count);
    for (size_t i = 0; i < count; i++) {
        if (!check_update(&updates[i], err)) {
            return false;
        }
        names[i] = updates[i].attribute;
        update->actions[i].kind = action_for(&updates[i]);
        update->actions[i].value =
            (struct operand){.kind = OPERAND_VALUE, .value = updates[i].value};
    }
    update->creates = update_creates(update);
    const struct expr_path *paths = make_paths(arena, names, count);
    for (size_t i = 0; i < count; i++) {
        update->actions[i].path = paths[i];
    }
    *out = update;
    return add_paths(arena, &update->root, paths, count, err);
}

/* --- AttributesToGet --- */

bool legacy_projection(struct arena *arena, const struct str *names, size_t count,
                       const struct projection **out, struct err *err)
{
    struct projection *projection = ARENA_NEW(arena, struct projection);
    for (size_t i = 0; i < count; i++) {
        if (names[i].len == 0) {
            return err_set(err, ERR_VALIDATION, MESSAGE_EMPTY_NAME);
        }
    }
    projection->paths = make_paths(arena, names, count);
    projection->path_count = count;
    *out = projection;
    return add_paths(arena, &projection->root, projection->paths, count, err);
}
