/* Runs a fuzz target on each file of a directory, without a fuzzer, so that corpora and past
 * crashes are plain tests. Usage: run_corpus DIRECTORY */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    static uint8_t data[1 << 20];
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    uint8_t *exact = malloc(
        size + 1); /* allocated with its exact size, so that a sanitizer detects reads beyond it */
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (directory == NULL) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    int count = 0;
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.') {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
            failed += run_file(path);
            count++;
        }
    }
    closedir(directory);
    printf("%d inputs\n", count);
    return failed > 0 || count == 0;
}
