/* The compaction filter that removes rows of dropped spaces. RocksDB calls it on its compaction
 * threads; it reads only the set of spaces whose drop is durable. */
#include "store/rocks/database/database.h"

static unsigned char leave_out(void *state, int level, const char *key, size_t key_len,
                               const char *value, size_t value_len, char **new_value,
                               size_t *new_value_len, unsigned char *changed)
{
    (void)level;
    (void)value;
    (void)value_len;
    (void)new_value;
    (void)new_value_len;
    (void)changed;
    const struct rocks *rocks = state;
    return space_set_has(&rocks->purged, store_key_space(str_make(key, key_len)));
}

static void destroy_nothing(void *state)
{
    (void)state;
}

static const char *filter_name(void *state)
{
    (void)state;
    return "gramme.dropped";
}

rocksdb_compactionfilter_t *rocks_drop_filter_create(struct rocks *rocks)
{
    return rocksdb_compactionfilter_create(rocks, destroy_nothing, leave_out, filter_name);
}
