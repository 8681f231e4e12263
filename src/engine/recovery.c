/* Point-in-time recovery: switching it on and off, its window, and the internal backups ("pins")
 * that keep the items of an instant. Called by the operations on the thread of the request; the
 * changes run inside of evals. */
#include "base/clock.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

static const int64_t day_ms = (int64_t)24 * 60 * 60 * 1000;
/* The service does not restore to the last five minutes, either. */
static const int64_t ahead_ms_max = (int64_t)5 * 60 * 1000;

struct recovery_window recovery_window(const struct engine *engine, const struct table *table,
                                       int64_t now_ms)
{
    int64_t since_ms = MAX(table->recovery_enabled_ms, table->recovery_since_ns / 1000000);
    return (struct recovery_window){
        .earliest_ms = MAX(since_ms, now_ms - (int64_t)table->recovery_days * day_ms),
        .latest_ms = MAX(since_ms, now_ms - engine->recovery_lag_ms),
    };
}

bool recovery_is_beginning(const struct table *table)
{
    return table->recovery && table->recovery_since_ns == 0;
}

void recovery_enable(struct table_change *change, struct table *table, uint32_t days)
{
    if (!table->recovery) {
        backup_begin_history(change, table);
        table->recovery = true;
        table->recovery_enabled_ms = change->update.time_ns / 1000000;
        table->recovery_since_ns = 0;
        table->recovery_days = days == 0 ? RECOVERY_DAYS_MAX : days;
    } else if (days != 0 && days != table->recovery_days) {
        /* the start of the window never moves back */
        int64_t cut_ns = change->update.time_ns - (int64_t)table->recovery_days * day_ms * 1000000;
        if (table->recovery_since_ns != 0) {
            table->recovery_since_ns = MAX(table->recovery_since_ns, cut_ns);
        }
        table->recovery_days = days;
    }
    change->awaits_recovery = recovery_is_beginning(table);
}

void recovery_disable(struct table_change *change, struct table *table)
{
    table->recovery = false;
    table->recovery_enabled_ms = 0;
    table->recovery_since_ns = 0;
    table->recovery_days = 0;
    backup_end_history(change, table);
}

bool recovery_is_ahead(const struct engine *engine, int64_t update_ns)
{
    return update_ns / 1000000 > trusted_clock_ms(&engine->clock) + ahead_ms_max;
}

static bool check_time(struct recovery_pin *pin, const struct table *table, int64_t *out_ns)
{
    struct engine_call *call = &pin->change.call;
    int64_t update_ns = pin->change.update.time_ns;
    if (recovery_is_ahead(call->engine, update_ns)) {
        struct str until = backup_iso_time(call->arena, update_ns / 1000000);
        return err_set(&call->err, ERR_RECOVERY_UNAVAILABLE, MESSAGE_TIMES_ARE_AHEAD,
                       STR_ARG(until));
    }
    int64_t now_ms = MIN(update_ns / 1000000, trusted_clock_ms(&call->engine->clock));
    struct recovery_window window = recovery_window(call->engine, table, now_ms);
    int64_t wanted_ms = pin->instant_ms < 0 ? window.latest_ms : pin->instant_ms;
    if (wanted_ms < window.earliest_ms || wanted_ms > window.latest_ms) {
        struct str wanted = backup_iso_time(call->arena, wanted_ms);
        struct str earliest = backup_iso_time(call->arena, window.earliest_ms);
        struct str latest = backup_iso_time(call->arena, window.latest_ms);
        return err_set(&call->err, ERR_INVALID_RESTORE_TIME, MESSAGE_RESTORE_TIME, STR_ARG(wanted),
                       STR_ARG(earliest), STR_ARG(latest));
    }
    *out_ns = MAX(wanted_ms * 1000000, table->recovery_since_ns);
    return true;
}

struct str backup_add_pin(struct table_change *change, struct table *made, int64_t instant_ns,
                          struct str name)
{
    struct arena *arena = change->call.arena;
    made->history_holds++;
    struct backup pin = {
        .state = instant_ns == 0 ? BACKUP_CREATING : BACKUP_AVAILABLE,
        .kind = BACKUP_INTERNAL,
        .created_ms = clock_wall_ms(),
        .instant_ns = instant_ns,
        .ready_version = made->history_since,
        .name = name,
        .table = *made,
    };
    struct str row_name = backup_new_row_name(arena, pin.created_ms, made->name);
    store_batch_put_owned(change->batch, backup_key(arena, row_name), backup_encode(arena, &pin));
    return row_name;
}

static const struct table *add_pin(struct table_change *change, const struct table *table)
{
    struct recovery_pin *pin = CONTAINER_OF(change, struct recovery_pin, change);
    struct engine_call *call = &change->call;
    int64_t instant_ns = 0;
    if (!table->recovery) {
        err_set(&call->err, ERR_RECOVERY_UNAVAILABLE, MESSAGE_RECOVERY_IS_OFF,
                STR_ARG(table->name));
        return NULL;
    }
    if (!check_time(pin, table, &instant_ns)) {
        return NULL;
    }
    if (table->recovery_since_ns == 0) {
        err_set(&call->err, ERR_CONTINUOUS_BACKUPS_UNAVAILABLE, MESSAGE_BACKUPS_BEGIN,
                STR_ARG(table->name));
        return NULL;
    }
    struct table *made = backup_copy_table(change, table);
    made->history_holds++;
    pin->backup = (struct backup){
        .state = BACKUP_AVAILABLE,
        .kind = BACKUP_INTERNAL,
        .created_ms = clock_wall_ms(),
        .instant_ns = instant_ns,
        .name = STR("point-in-time"),
        .table = *made,
    };
    pin->row_name = backup_new_row_name(call->arena, pin->backup.created_ms, table->name);
    store_batch_put_owned(change->batch, backup_key(call->arena, pin->row_name),
                          backup_encode(call->arena, &pin->backup));
    return made;
}

void engine_pin_instant(struct recovery_pin *pin)
{
    pin->change.change = add_pin;
    engine_change_table(&pin->change);
}
