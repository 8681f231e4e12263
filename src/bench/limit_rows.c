/* Writes the rows of PutItem to RocksDB without the engine, for comparison. Called by limits.c. */
#include "base/bytes.h"
#include "bench/limit_rows_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "store/rocks/database/baseline.h"

enum {
    SPACE_FIRST = 16,
    SORT_BYTES = 16,
    MADE_BYTES = 18, /* a number of 16 digits, in groups of 8 */
    ITEM_KEY_BYTES = STORE_PREFIX_LEN + SORT_BYTES,
    INDEX_KEY_BYTES = STORE_PREFIX_LEN + MADE_BYTES + STORE_PART_LEN + SORT_BYTES,
    COUNTERS_SPACE = 2,
    TEXT_BYTES = 1 << 20,
    /* Bytes of an item besides its text: version, size, names, lengths. */
    ROW_OVERHEAD = 60,
};

struct limit_rows {
    struct rocks_baseline *baseline;
    char *directory;
    struct random random;
    int gsi_count;
    size_t row_bytes;
    char *text;
};

static void put_random(struct limit_rows *rows, char *out, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t bits = random_next(&rows->random);
        memcpy(out + i, &bits, MIN((size_t)8, count - i));
    }
}

bool limit_rows_open(const struct bench_options *options, struct limit_rows **out, struct err *err)
{
    struct str name =
        arena_format(err->arena, "%.*s/gramme-bench-XXXXXX", STR_ARG(options->directory));
    struct limit_rows *rows = mem_zalloc(sizeof(*rows));
    *out = rows;
    rows->gsi_count = (int)options->gsi;
    rows->row_bytes = (size_t)options->size + ROW_OVERHEAD;
    random_init(&rows->random);
    rows->text = mem_alloc(TEXT_BYTES);
    put_random(rows, rows->text, TEXT_BYTES);
    rows->directory = mem_strdup(name.data);
    if (mkdtemp(rows->directory) == NULL) {
        mem_free(rows->directory);
        rows->directory = NULL;
        return err_set(err, ERR_INTERNAL, "cannot write to %.*s: %s", STR_ARG(options->directory),
                       strerror(errno));
    }
    return rocks_baseline_open(rows->directory, (size_t)64 << 20, &rows->baseline, err);
}

void limit_rows_close(struct limit_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    rocks_baseline_destroy(rows->baseline);
    mem_free(rows->directory);
    mem_free(rows->text);
    mem_free(rows);
}

/* Keys are random, as hashes are: items of one batch rarely share a partition. */
void limit_rows_put(struct limit_rows *rows)
{
    char item_key[ITEM_KEY_BYTES];
    put_u32_be(item_key, SPACE_FIRST);
    put_random(rows, item_key + STORE_SPACE_LEN, sizeof(item_key) - STORE_SPACE_LEN);
    size_t start = random_next(&rows->random) % (TEXT_BYTES - rows->row_bytes);
    struct str row = str_make(rows->text + start, rows->row_bytes);
    rocks_baseline_put(rows->baseline, str_make(item_key, sizeof(item_key)), row);
    for (int i = 0; i < rows->gsi_count; i++) {
        char key[INDEX_KEY_BYTES];
        put_u32_be(key, SPACE_FIRST + 1 + (uint32_t)i);
        put_random(rows, key + STORE_SPACE_LEN, STORE_PART_LEN + MADE_BYTES);
        memcpy(key + STORE_PREFIX_LEN + MADE_BYTES, item_key + STORE_SPACE_LEN,
               STORE_PART_LEN + SORT_BYTES);
        rocks_baseline_put(rows->baseline, str_make(key, sizeof(key)), row);
    }
}

bool limit_rows_commit(struct limit_rows *rows, struct err *err)
{
    for (int i = 0; i < 2 * (1 + rows->gsi_count); i++) {
        char key[STORE_PREFIX_LEN] = {0};
        put_u32_be(key, COUNTERS_SPACE);
        put_u32_be(key + STORE_SPACE_LEN, SPACE_FIRST + (uint32_t)i / 2);
        key[(size_t)2 * STORE_SPACE_LEN] = (char)(i % 2);
        uint64_t value = random_next(&rows->random);
        rocks_baseline_put(rows->baseline, str_make(key, sizeof(key)),
                           str_make(&value, sizeof(value)));
    }
    return rocks_baseline_commit(rows->baseline, err);
}
