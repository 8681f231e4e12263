/* Restores as changes of the catalog: the description of the new table, and the backup that it is
 * filled from; restore.c copies the items. Called by the operations on the thread of the request,
 * and inside of the evals of catalog_change.c. */
#include "base/clock.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

static bool is_restoring(const struct table *table)
{
    return table->restore.space != 0;
}

size_t engine_count_restores(struct engine *engine)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count = catalog_collect(engine, is_restoring, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        table_release(tables[i]);
    }
    arena_finish(&arena);
    return count;
}

/* Indexes are made with the table, so none of them is being filled. */
static void reset_indexes(struct arena *arena, struct table *table)
{
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count + 1);
    for (size_t i = 0; i < table->index_count; i++) {
        indexes[i] = table->indexes[i];
        indexes[i].status = STATUS_ACTIVE;
        indexes[i].changed_ms = 0;
        indexes[i].backfilling = false;
        indexes[i].warm = (struct unit_pair){0};
        indexes[i].insights = (struct insights){0};
    }
    table->indexes = indexes;
    table->deleting_index = NULL;
    table_prune_definitions(arena, table);
}

void backup_prepare_restore(struct table_create *create, struct table *table, struct str row_name,
                            const struct backup *backup)
{
    struct engine *engine = create->call.engine;
    struct arena *arena = create->call.arena;
    struct str source = backup->table.name;
    bool is_internal = backup->kind == BACKUP_INTERNAL;
    create->backup_key = backup_key(arena, row_name);
    table->restore = (struct restore_source){
        .backup_row = row_name,
        .backup_arn = is_internal ? STR_NULL : backup_arn(engine, arena, row_name),
        .table_arn =
            arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(engine->region),
                         STR_ARG(engine->account), STR_ARG(source)),
        .time_ms = is_internal ? backup->instant_ns / 1000000 : backup->created_ms,
        .instant_ns = backup->instant_ns,
        .space = backup->table.space,
        .history_space = backup->table.history_space,
    };
    table->status = STATUS_CREATING;
    table->created_ms = clock_wall_ms();
    table->on_demand_since_ms = table->billing == BILLING_PAY_PER_REQUEST ? table->created_ms : 0;
    table->history_space = 0;
    table->history_since = 0;
    table->history_holds = 0;
    table->recovery = false;
    table->recovery_enabled_ms = 0;
    table->recovery_since_ns = 0;
    table->recovery_days = 0;
    table->collection_space = 0;
    table->class = TABLE_CLASS_STANDARD;
    table->class_given = false;
    table->class_changed_ms = 0;
    table->deletion_protection = false;
    table->stream = STREAM_NONE;
    table->stream_since_ms = 0;
    table->stream_space = 0;
    table->stream_shards = 0;
    table->stream_shard_ms = 0;
    table->ttl = TTL_DISABLED;
    table->ttl_attribute = STR_NULL;
    table->ttl_changed_ms = 0;
    table->ttl_space = 0;
    table->ttl_since_version = 0;
    table->policy = STR_NULL;
    table->policy_revision = STR_NULL;
    table->tag_count = 0;
    table->warm = (struct unit_pair){0};
    table->insights = (struct insights){0};
    table->destinations = NULL;
    table->destination_count = 0;
    table->feed_space = 0;
    table->feed_slots = 0;
    table->feed_version = 0;
    reset_indexes(arena, table);
}

bool backup_begin_restore(struct table_create *create, struct str row, struct store_batch *batch)
{
    struct engine_call *call = &create->call;
    struct str row_name = create->wanted->restore.backup_row;
    struct str arn = backup_arn(call->engine, call->arena, row_name);
    struct backup backup;
    if (str_is_null(row)) {
        return backup_refuse_missing(call, row_name);
    }
    if (!backup_decode(call->arena, row, &backup, &call->err)) {
        return false;
    }
    if (!str_is_null(backup.target) || backup.state != BACKUP_AVAILABLE) {
        return err_set(&call->err, ERR_BACKUP_IN_USE, MESSAGE_BACKUP_IS_USED, STR_ARG(arn));
    }
    backup.target = create->wanted->name;
    store_batch_put(batch, 3, backup_encode(call->arena, &backup));
    return true;
}

bool backup_end_failed_restore(struct table_delete *remove, struct str row,
                               struct store_batch *batch)
{
    struct backup backup;
    if (str_is_null(row)) { /* there is nothing to release */
        return true;
    }
    if (!backup_decode(remove->call.arena, row, &backup, &remove->call.err)) {
        return false;
    }
    backup.target = STR_NULL;
    store_batch_put(batch, 2, backup_encode(remove->call.arena, &backup));
    return true;
}
