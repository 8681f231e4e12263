/* Contents and names of files in memory: see sim_files_internal.h. Called by the other files of the
 * simulator's file system, on the thread that uses it. */
#include "sim_files_internal.h"

#include "base/mem.h"

/* Inodes ------------------------------------------------------------------------------------- */

static void inode_reserve(struct sim_inode *inode, uint64_t bytes)
{
    if (bytes <= inode->capacity) {
        return;
    }
    uint64_t capacity = MAX(2 * inode->capacity, (bytes + SECTOR - 1) / SECTOR * SECTOR);
    capacity = (capacity + SECTOR - 1) / SECTOR * SECTOR;
    inode->bytes = mem_realloc(inode->bytes, capacity);
    inode->synced = mem_realloc(inode->synced, capacity);
    inode->dirty = mem_realloc(inode->dirty, capacity / SECTOR * sizeof(bool));
    memset(inode->bytes + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->synced + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->dirty + inode->capacity / SECTOR, 0, (capacity - inode->capacity) / SECTOR);
    inode->capacity = capacity;
}

void inode_destroy(struct sim_inode *inode)
{
    mem_free(inode->bytes);
    mem_free(inode->synced);
    mem_free(inode->dirty);
    mem_free(inode);
}

void inode_write(struct sim_inode *inode, const void *data, size_t len, uint64_t offset)
{
    inode_reserve(inode, offset + len);
    memcpy(inode->bytes + offset, data, len);
    for (uint64_t at = offset / SECTOR; len > 0 && at <= (offset + len - 1) / SECTOR; at++) {
        inode->dirty[at] = true;
    }
    inode->size = MAX(inode->size, offset + len);
}

void inode_resize(struct sim_inode *inode, uint64_t size)
{
    inode_reserve(inode, size);
    if (size < inode->size) {
        memset(inode->bytes + size, 0, inode->size - size);
        for (uint64_t at = size / SECTOR; at * SECTOR < inode->size; at++) {
            inode->dirty[at] = true;
        }
    }
    inode->size = size;
}

void inode_sync(struct sim_inode *inode)
{
    memcpy(inode->synced, inode->bytes, inode->capacity);
    memset(inode->dirty, 0, inode->capacity / SECTOR);
    inode->synced_size = inode->size;
}

void inode_fail_sync(struct sim_inode *inode, struct random *random)
{
    for (uint64_t at = 0; at < inode->capacity / SECTOR; at++) {
        if (inode->dirty[at] && sim_below(random, 2) == 0) {
            memcpy(inode->synced + at * SECTOR, inode->bytes + at * SECTOR, SECTOR);
        }
        inode->dirty[at] = false;
    }
    if (sim_below(random, 2) == 0) {
        inode->synced_size = inode->size;
    }
}

struct sim_inode *inode_copy(const struct sim_inode *from)
{
    struct sim_inode *inode = mem_zalloc(sizeof(*inode));
    inode_reserve(inode, from->capacity);
    if (from->capacity > 0) {
        memcpy(inode->bytes, from->bytes, from->capacity);
        memcpy(inode->synced, from->synced, from->capacity);
        memcpy(inode->dirty, from->dirty, from->capacity / SECTOR);
    }
    inode->size = from->size;
    inode->synced_size = from->synced_size;
    return inode;
}

void inode_cut_power(struct sim_inode *inode, struct random *random, uint64_t new_chance,
                     uint64_t garbage_chance)
{
    for (uint64_t at = 0; at < inode->capacity / SECTOR; at++) {
        char *synced = inode->synced + at * SECTOR;
        if (inode->dirty[at] && sim_below(random, 100) < new_chance) {
            memcpy(synced, inode->bytes + at * SECTOR, SECTOR);
        } else if (inode->dirty[at] && sim_below(random, 100) < garbage_chance) {
            for (size_t i = 0; i < SECTOR; i += 8) {
                uint64_t value = random_next(random);
                memcpy(synced + i, &value, 8);
            }
        }
        inode->dirty[at] = false;
    }
    if (inode->synced_size != inode->size && sim_below(random, 2) == 0) {
        inode->synced_size = inode->size;
    }
    inode->size = inode->synced_size;
    if (inode->capacity > inode->size) {
        memset(inode->synced + inode->size, 0, inode->capacity - inode->size);
    }
    if (inode->capacity > 0) {
        memcpy(inode->bytes, inode->synced, inode->capacity);
    }
}

int sim_add_inode(struct sim_files *sim, struct sim_inode *inode)
{
    sim->inodes = mem_realloc(sim->inodes, (sim->inode_count + 1) * sizeof(struct sim_inode *));
    sim->inodes[sim->inode_count] = inode;
    return (int)sim->inode_count++;
}

/* Names -------------------------------------------------------------------------------------- */

int names_find(const struct sim_name *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

void names_apply(struct sim_name **names, size_t *count, const struct sim_change *change)
{
    int from = change->from[0] != '\0' ? names_find(*names, *count, change->from) : -1;
    if (change->from[0] != '\0' && from < 0) {
        return; /* what it depends upon did not happen */
    }
    if (from >= 0) {
        (*names)[from] = (*names)[--*count];
    }
    if (change->to[0] != '\0') {
        int to = names_find(*names, *count, change->to);
        if (to < 0) {
            *names = mem_realloc(*names, (*count + 1) * sizeof(**names));
            to = (int)(*count)++;
            strcpy((*names)[to].name, change->to);
        }
        (*names)[to].inode = change->inode;
    }
}

void sim_change_names(struct sim_files *sim, const char *from, const char *to, int inode)
{
    struct sim_change change = {.inode = inode};
    assert(strlen(from) < NAME_MAX_LEN && strlen(to) < NAME_MAX_LEN);
    strcpy(change.from, from);
    strcpy(change.to, to);
    names_apply(&sim->names, &sim->name_count, &change);
    sim->changes = mem_realloc(sim->changes, (sim->change_count + 1) * sizeof(*sim->changes));
    sim->changes[sim->change_count++] = change;
}

void names_copy(struct sim_name **to, size_t *to_count, const struct sim_name *from, size_t count)
{
    *to = mem_realloc(*to, (count + 1) * sizeof(**to));
    if (count > 0) {
        memcpy(*to, from, count * sizeof(*from));
    }
    *to_count = count;
}
