/* Reads what policies know of a table or stream. Called by the server for SimulatePolicy, on a slow
 * thread, and by the program `gramme` on its main thread; keeps no state. */
#include "api/access/resource_facts.h"

#include "api/access/resource_policy.h"

/* Returns the tags, with texts that outlive the table. */
static struct context_tags copy_tags(struct arena *arena, const struct table *table)
{
    struct context_tag *tags = ARENA_ARRAY(arena, struct context_tag, table->tag_count + 1);
    for (size_t i = 0; i < table->tag_count; i++) {
        tags[i] = (struct context_tag){.name = arena_copy(arena, table->tag_names[i]),
                                       .value = arena_copy(arena, table->tag_values[i])};
    }
    return (struct context_tags){.tags = tags, .count = table->tag_count};
}

/* Returns the compiled resource policy, which the caller frees, or NULL. An index has that of its
 * table. */
static struct policy *read_policy(struct arena *arena, const struct table *table,
                                  const struct arn *arn)
{
    static const struct arn table_itself = {.kind = ARN_TABLE};
    struct policy *policy = NULL;
    struct err err = ERR_INIT(arena);
    struct str text =
        resource_policy_get(arena, table, arn->kind == ARN_STREAM ? arn : &table_itself).text;
    bool good = str_is_null(text) || policy_parse(text, POLICY_RESOURCE, &policy, &err);
    assert(good); /* PutResourcePolicy or CreateTable has parsed it */
    return policy;
}

static bool is_own(const struct engine *engine, const struct arn *arn)
{
    bool is_kind = arn->kind == ARN_TABLE || arn->kind == ARN_INDEX || arn->kind == ARN_STREAM;
    return is_kind && str_eq(arn->partition, STR("aws")) &&
           str_eq(arn->region, engine_region(engine)) &&
           str_eq(arn->account, engine_account(engine));
}

void resource_facts_read(struct engine *engine, struct arena *arena, struct str text,
                         struct resource_facts *out)
{
    struct arn arn = arn_parse(text);
    const struct table *table = is_own(engine, &arn) ? table_acquire(engine, arn.table) : NULL;
    *out = (struct resource_facts){.is_found = table != NULL};
    if (table != NULL) {
        out->policy = read_policy(arena, table, &arn);
        if (arn.kind != ARN_STREAM) {
            out->tags = copy_tags(arena, table);
        }
        table_release(table);
    }
}

void resource_facts_finish(struct resource_facts *facts)
{
    policy_destroy(facts->policy);
    facts->policy = NULL;
}
