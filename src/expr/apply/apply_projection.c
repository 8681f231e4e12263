/* Applies projections to items. Called by src/api when it writes items to an answer. */
#include "expr/bound/projection_internal.h"

void projection_apply(const struct projection *projection, struct value item,
                      struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_M);
    uint32_t count = path_tree_project(&projection->root, item, builder);
    builder_close_sorted(builder, open, count);
}

void projection_visit_paths(const struct projection *projection,
                            void (*visit)(void *context, const struct expr_path *path),
                            void *context)
{
    for (size_t i = 0; i < projection->path_count; i++) {
        visit(context, &projection->paths[i]);
    }
}
