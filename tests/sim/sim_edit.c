/* Changes the files of the simulator from outside, and copies them from and to a real directory:
 * see sim_files.h. Called on the thread that uses the file system. */
#include "sim_files_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"

/* Damage ------------------------------------------------------------------------------------- */

size_t sim_file_count(const struct sim_files *sim)
{
    return sim->name_count;
}

const char *sim_file_name(const struct sim_files *sim, size_t index)
{
    return sim->names[index].name;
}

static struct sim_inode *inode_at(const struct sim_files *sim, size_t index)
{
    assert(index < sim->name_count);
    return sim->inodes[sim->names[index].inode];
}

uint64_t sim_file_bytes(const struct sim_files *sim, size_t index)
{
    return inode_at(sim, index)->size;
}

void sim_flip_bit(struct sim_files *sim, size_t index, uint64_t bit)
{
    struct sim_inode *inode = inode_at(sim, index);
    assert(bit / 8 < inode->size);
    inode->bytes[bit / 8] = (char)(inode->bytes[bit / 8] ^ 1 << bit % 8);
    inode->synced[bit / 8] = (char)(inode->synced[bit / 8] ^ 1 << bit % 8);
}

void sim_scramble_sector(struct sim_files *sim, size_t index, uint64_t sector)
{
    struct sim_inode *inode = inode_at(sim, index);
    for (uint64_t i = sector * SECTOR; i < MIN(inode->size, (sector + 1) * SECTOR); i++) {
        inode->bytes[i] = inode->synced[i] = (char)random_next(&sim->random);
    }
}

void sim_truncate(struct sim_files *sim, size_t index, uint64_t bytes)
{
    struct sim_inode *inode = inode_at(sim, index);
    inode_resize(inode, bytes);
    inode_sync(inode);
}

void sim_delete(struct sim_files *sim, size_t index)
{
    struct sim_name name = sim->names[index];
    sim_change_names(sim, name.name, "", -1);
    names_copy(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
    sim->change_count = 0;
}

/* A directory -------------------------------------------------------------------------------- */

static void load_file(struct sim_files *sim, const char *directory, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    struct stat found;
    int failed = stat(path, &found);
    assert(failed == 0);
    if (!S_ISREG(found.st_mode)) {
        return; /* a socket or a directory */
    }
    FILE *file = fopen(path, "rb");
    assert(file != NULL);
    struct sim_inode *inode = mem_zalloc(sizeof(*inode));
    inode_resize(inode, (uint64_t)found.st_size);
    size_t count = inode->size > 0 ? fread(inode->bytes, 1, inode->size, file) : 0;
    assert(count == inode->size);
    fclose(file);
    inode_sync(inode);
    sim_change_names(sim, "", name, sim_add_inode(sim, inode));
}

void sim_load(struct sim_files *sim, const char *directory)
{
    DIR *dir = opendir(directory);
    assert(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            load_file(sim, directory, entry->d_name);
        }
    }
    closedir(dir);
    names_copy(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
    sim->change_count = 0;
}

void sim_save(const struct sim_files *sim, const char *directory)
{
    for (size_t i = 0; i < sim->name_count; i++) {
        const struct sim_inode *inode = inode_at(sim, i);
        char path[200];
        snprintf(path, sizeof(path), "%s/%s", directory, sim->names[i].name);
        FILE *file = fopen(path, "wb");
        assert(file != NULL);
        size_t written = inode->size > 0 ? fwrite(inode->bytes, 1, inode->size, file) : 0;
        assert(written == inode->size);
        fclose(file);
    }
}
