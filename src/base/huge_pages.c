#include "base/huge_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static const size_t page_bytes = (size_t)2 << 20;
static const size_t call_bytes = (size_t)16 << 20; /* some milliseconds */
static const size_t growth_bytes = (size_t)64 << 20;
static const size_t extent_bytes_max = (size_t)64 << 30; /* larger ones are mostly empty */
static const int64_t turn_ns = 250000000;

struct extent {
    uintptr_t lo;
    uintptr_t hi;
};

/* Not getrusage(): its peak may be that of the program that started this one. */
static size_t resident_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*s %zu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Reads a line of /proc/self/maps. Memory that is no file's is wanted, from `from` on, as far as it
 * is whole huge pages. */
static bool read_extent(const char *line, uintptr_t from, struct extent *out)
{
    char access[5];
    char name[8] = "";
    unsigned long inode;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu %7s", &out->lo, &out->hi, access,
               &inode, name) < 4) {
        return false;
    }
    bool wanted = strcmp(access, "rw-p") == 0 && inode == 0 &&
                  (name[0] == '\0' || strcmp(name, "[heap]") == 0) &&
                  out->hi - out->lo <= extent_bytes_max;
    out->lo = (MAX(out->lo, from) + page_bytes - 1) & ~(page_bytes - 1);
    out->hi &= ~(page_bytes - 1);
    return wanted && out->lo < out->hi;
}

/* What cannot be made huge (it is gone, was never touched, is being read from a disk) stays as it
 * is. */
static void gather_extent(struct huge_pages *pages, struct extent extent, int64_t until_ns)
{
    pages->next = extent.lo;
    while (pages->next < extent.hi && clock_monotonic_ns() < until_ns) {
        size_t len = MIN(call_bytes, extent.hi - pages->next);
        madvise((void *)pages->next, len, MADV_COLLAPSE);
        pages->next += len;
    }
}

void huge_pages_gather(struct huge_pages *pages)
{
    if (pages->next == 0) {
        size_t resident = resident_bytes();
        pages->resident = MIN(pages->resident, resident);
        if (resident - pages->resident < growth_bytes) {
            return;
        }
        pages->resident = resident;
    }
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return;
    }
    int64_t until_ns = clock_monotonic_ns() + turn_ns;
    char line[512];
    struct extent extent;
    while (fgets(line, sizeof(line), maps) != NULL && clock_monotonic_ns() < until_ns) {
        if (read_extent(line, pages->next, &extent)) {
            gather_extent(pages, extent, until_ns);
        }
    }
    if (feof(maps)) {
        pages->next = 0;
    }
    fclose(maps);
}
