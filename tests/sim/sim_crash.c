/* Copies of the simulator's file system as a crash may leave it: see sim_files.h. Called on the
 * thread that uses the file system. */
#include "sim_files_internal.h"

#include "base/mem.h"

/* Inodes without a name are not copied. */
static void copy_named_inodes(struct sim_files *to, const struct sim_files *from,
                              const struct sim_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int inode = names[i].inode;
        if (to->inodes[inode] == NULL) {
            to->inodes[inode] = inode_copy(from->inodes[inode]);
        }
    }
}

static struct sim_files *copy_of(const struct sim_files *from, uint64_t seed)
{
    struct sim_files *sim = sim_create(seed, from->bug);
    sim->inode_count = from->inode_count;
    sim->inodes = mem_zalloc((from->inode_count + 1) * sizeof(struct sim_inode *));
    copy_named_inodes(sim, from, from->names, from->name_count);
    copy_named_inodes(sim, from, from->synced_names, from->synced_name_count);
    for (size_t i = 0; i < from->change_count; i++) {
        int inode = from->changes[i].inode;
        if (inode >= 0 && sim->inodes[inode] == NULL) {
            sim->inodes[inode] = inode_copy(from->inodes[inode]);
        }
    }
    names_copy(&sim->names, &sim->name_count, from->names, from->name_count);
    names_copy(&sim->synced_names, &sim->synced_name_count, from->synced_names,
               from->synced_name_count);
    sim->changes = mem_alloc((from->change_count + 1) * sizeof(*sim->changes));
    if (from->change_count > 0) {
        memcpy(sim->changes, from->changes, from->change_count * sizeof(*sim->changes));
    }
    sim->change_count = from->change_count;
    return sim;
}

/* Half of the time, or always if names are ordered, a prefix of the changes happened; else any of
 * them may have. */
static void cut_names(struct sim_files *sim, struct random *random)
{
    bool in_order = sim_below(random, 2) == 0 || sim->has_ordered_names;
    uint64_t prefix = sim_below(random, sim->change_count + 1);
    for (size_t i = 0; i < sim->change_count; i++) {
        if (in_order ? i < prefix : sim_below(random, 2) == 0) {
            names_apply(&sim->synced_names, &sim->synced_name_count, &sim->changes[i]);
        }
    }
    sim->change_count = 0;
    names_copy(&sim->names, &sim->name_count, sim->synced_names, sim->synced_name_count);
}

struct sim_files *sim_crashed(const struct sim_files *from, enum sim_crash kind,
                              struct random *random)
{
    static const uint64_t new_chances[] = {0, 10, 50, 90, 100};
    struct sim_files *sim = copy_of(from, random_next(random));
    if (kind == SIM_KILL) {
        return sim;
    }
    uint64_t new_chance = new_chances[sim_below(random, COUNT_OF(new_chances))];
    uint64_t garbage_chance = sim_below(random, 3) == 0 && !from->has_no_garbage ? 50 : 0;
    for (size_t i = 0; i < sim->inode_count; i++) {
        if (sim->inodes[i] != NULL) {
            inode_cut_power(sim->inodes[i], random, new_chance, garbage_chance);
        }
    }
    sim->has_ordered_names = from->has_ordered_names;
    cut_names(sim, random);
    return sim;
}
