/* Counts errors by name. Each worker thread has its own tally; they are merged at the end. */
#include "bench/tally_internal.h"

void tally_add(struct tally *tally, struct str name, uint64_t count)
{
    name.len = MIN(name.len, TALLY_NAME_MAX - 1);
    for (size_t i = 0; i < tally->kind_count; i++) {
        if (str_eq(name, str_from_c(tally->kinds[i].name))) {
            tally->kinds[i].count += count;
            return;
        }
    }
    if (tally->kind_count == TALLY_KINDS_MAX) {
        tally->kinds[TALLY_KINDS_MAX - 1].count += count;
        return;
    }
    if (tally->kind_count == TALLY_KINDS_MAX - 1) {
        name = STR("others");
    }
    size_t at = tally->kind_count++;
    memcpy(tally->kinds[at].name, name.data, name.len);
    tally->kinds[at].name[name.len] = '\0';
    tally->kinds[at].count = count;
}

void tally_merge(struct tally *into, const struct tally *from)
{
    for (size_t i = 0; i < from->kind_count; i++) {
        tally_add(into, str_from_c(from->kinds[i].name), from->kinds[i].count);
    }
}

uint64_t tally_total(const struct tally *tally)
{
    uint64_t total = 0;
    for (size_t i = 0; i < tally->kind_count; i++) {
        total += tally->kinds[i].count;
    }
    return total;
}
