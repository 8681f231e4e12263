/* Chooses the store by its URL and forwards the calls. */
#include "store/store.h"

#include "base/bytes.h"
#include "store/rocks/rocks.h"

bool store_open(struct str url, const struct store_options *options, struct store **out,
                struct err *err)
{
    if (str_starts_with(url, STR("rocksdb:")) && url.len > 8) {
        return rocks_open(str_skip(url, 8), options, out, err);
    }
    if (str_eq(url, STR("memory:"))) {
        return rocks_open(STR_NULL, options, out, err);
    }
    return err_set(err, ERR_INTERNAL,
                   "unknown store '%.*s': use rocksdb:DIRECTORY or memory:", STR_ARG(url));
}

void store_close(struct store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}

void store_get(struct store *store, struct store_get *get)
{
    store->ops->get(store, get);
}

void store_range(struct store *store, struct store_range *range)
{
    store->ops->range(store, range);
}

void store_update(struct store *store, struct store_update *update)
{
    store->ops->update(store, update);
}

void store_drop_space(struct store *store, uint32_t space)
{
    store->ops->drop_space(store, space);
}

uint64_t store_seed(const struct store *store)
{
    return store->seed;
}

struct store_count store_count_value(struct str row)
{
    struct store_count value = {0};
    if (!str_is_null(row)) {
        assert(row.len == STORE_COUNT_LEN);
        value.count = (int64_t)get_u64_le(row.data);
        value.bytes = (int64_t)get_u64_le(row.data + 8);
    }
    return value;
}

void store_count_encode(struct store_count value, char out[STORE_COUNT_LEN])
{
    put_u64_le(out, (uint64_t)value.count);
    put_u64_le(out + 8, (uint64_t)value.bytes);
}
