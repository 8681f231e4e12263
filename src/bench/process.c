/* CPU time and memory of processes, from /proc: those of the server, when it runs on this machine.
 * Called before and after the measured window, on the main thread. */
#include "bench/process_internal.h"

#include <stdio.h>
#include <unistd.h>

bool process_list_read(struct process_list *list, struct str text, struct err *err)
{
    list->count = 0;
    while (text.len > 0) {
        const char *comma = memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        int64_t pid;
        if (!str_to_int64(str_make(text.data, len), &pid) || pid <= 0 ||
            list->count == PROCESSES_MAX) {
            return err_set(err, ERR_VALIDATION, "--pid is a list of at most %d process numbers",
                           PROCESSES_MAX);
        }
        list->pids[list->count++] = pid;
        text = str_skip(text, MIN(len + 1, text.len));
    }
    return true;
}

/* Reads the 14th and 15th words of /proc/PID/stat; the second is a name in parentheses. */
static double cpu_seconds(int64_t pid)
{
    char path[64];
    char line[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    const char *rest = fgets(line, sizeof(line), file) == NULL ? NULL : strrchr(line, ')');
    fclose(file);
    unsigned long long user = 0;
    unsigned long long system = 0;
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                               &user, &system) != 2) {
        return 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t resident_bytes(int64_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%lld/statm", (long long)pid);
    FILE *file = fopen(path, "r");
    unsigned long long pages = 0;
    if (file != NULL) {
        if (fscanf(file, "%*u %llu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

double process_list_cpu_seconds(const struct process_list *list)
{
    double total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += cpu_seconds(list->pids[i]);
    }
    return total;
}

uint64_t process_list_bytes(const struct process_list *list)
{
    uint64_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += resident_bytes(list->pids[i]);
    }
    return total;
}
