/* Compares two sets of rows by sums of hashes. Called by verify.c, on the thread of a check. */
#include "engine/match.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { BUCKET_BITS = 12, BUCKETS = 1 << BUCKET_BITS };

struct kept_row {
    struct str key;
    struct str value;
    enum match_side side;
};

struct match {
    uint64_t sums[2][BUCKETS];
    bool is_second_pass;
    size_t bytes_left;
    bool is_incomplete;
    struct arena arena;
    struct kept_row *rows;
    size_t count;
    size_t capacity;
};

struct match *match_create(void)
{
    struct match *match = mem_zalloc(sizeof(*match));
    arena_init(&match->arena);
    return match;
}

void match_destroy(struct match *match)
{
    if (match != NULL) {
        arena_finish(&match->arena);
        mem_free(match->rows);
        mem_free(match);
    }
}

static void keep(struct match *match, enum match_side side, struct str key, struct str value)
{
    size_t bytes = key.len + value.len + sizeof(struct kept_row);
    if (match->bytes_left < bytes) {
        match->is_incomplete = true;
        return;
    }
    match->bytes_left -= bytes;
    if (match->count == match->capacity) {
        match->capacity = MAX(2 * match->capacity, (size_t)64);
        match->rows = mem_realloc(match->rows, match->capacity * sizeof(*match->rows));
    }
    match->rows[match->count++] = (struct kept_row){.key = arena_copy(&match->arena, key),
                                                    .value = arena_copy(&match->arena, value),
                                                    .side = side};
}

void match_add(struct match *match, enum match_side side, struct str key, struct str value)
{
    uint64_t hash = hash_64(key);
    size_t bucket = hash >> (64 - BUCKET_BITS);
    if (!match->is_second_pass) {
        match->sums[side][bucket] += hash_64_seeded(value, hash);
    } else if (match->sums[MATCH_EXPECTED][bucket] != match->sums[MATCH_FOUND][bucket]) {
        keep(match, side, key, value);
    }
}

bool match_is_equal(const struct match *match)
{
    return memcmp(match->sums[0], match->sums[1], sizeof(match->sums[0])) == 0;
}

void match_start_second_pass(struct match *match, size_t bytes_max)
{
    match->is_second_pass = true;
    match->bytes_left = bytes_max;
}

static int compare_rows(const void *a, const void *b)
{
    const struct kept_row *left = a;
    const struct kept_row *right = b;
    int order = str_cmp(left->key, right->key);
    order = order != 0 ? order : (int)left->side - (int)right->side;
    return order != 0 ? order : str_cmp(left->value, right->value);
}

/* The rows of one key: those that are expected come first. */
static void compare_key(const struct kept_row *rows, size_t count, match_report *report,
                        void *context)
{
    size_t expected = 0;
    while (expected < count && rows[expected].side == MATCH_EXPECTED) {
        expected++;
    }
    size_t found = count - expected;
    for (size_t i = 0; i < MAX(expected, found); i++) {
        struct match_difference difference = {
            .key = rows[0].key,
            .expected = i < expected ? rows[i].value : STR_NULL,
            .found = i < found ? rows[expected + i].value : STR_NULL,
        };
        bool is_same = i < expected && i < found && str_eq(difference.expected, difference.found);
        if (!is_same) {
            report(context, &difference);
        }
    }
}

void match_compare(struct match *match, match_report *report, void *context)
{
    if (match->count > 0) {
        qsort(match->rows, match->count, sizeof(*match->rows), compare_rows);
    }
    size_t start = 0;
    while (start < match->count) {
        size_t end = start + 1;
        while (end < match->count && str_eq(match->rows[end].key, match->rows[start].key)) {
            end++;
        }
        compare_key(match->rows + start, end - start, report, context);
        start = end;
    }
}

bool match_is_incomplete(const struct match *match)
{
    return match->is_incomplete;
}
