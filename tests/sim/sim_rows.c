/* Whether the verifier of `gramme check` notices every row that is missing or changed, and whether
 * the rebuilder of `gramme repair` makes a good store without it. Reads the rows of a good store,
 * and then gives them to a verifier again and again, each time with one of them left out or with
 * one byte changed; and to a rebuilder with one of them left out.
 *
 *     sim_rows DIRECTORY
 *
 * Prints how many faults were planted of each kind; exits with 1 if one was not noticed, or if a
 * rebuilt store is not good. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/inventory.h"
#include "engine/rebuild.h"
#include "engine/verify.h"
#include "store/image/image.h"

enum { CATALOG = 1, SIZES = 2, TOKENS_BY_AGE = 4, FIRST_FREE = 16 };

struct kept_row {
    struct str key;
    struct str value;
};

struct rows {
    struct arena arena;
    struct kept_row *rows;
    size_t count;
    uint64_t seed;
};

static void ignore_file(void *context, const struct finding *finding)
{
    *(bool *)context = *(bool *)context || finding->severity == FINDING_DAMAGE;
}

static void add_row(struct rows *rows, struct str key, struct str value)
{
    rows->rows = mem_realloc(rows->rows, (rows->count + 1) * sizeof(*rows->rows));
    rows->rows[rows->count++] = (struct kept_row){.key = arena_copy(&rows->arena, key),
                                                  .value = arena_copy(&rows->arena, value)};
}

static bool read_rows(const char *directory, struct rows *out)
{
    bool is_damaged = false;
    struct image_options options = {
        .directory = directory, .report = ignore_file, .context = &is_damaged};
    struct err err = ERR_INIT(&out->arena);
    struct image *image;
    if (!image_open(&options, &image, &err)) {
        printf("%.*s\n", STR_ARG(err.message));
        return false;
    }
    out->seed = image_summary(image)->seed;
    struct image_row row;
    while (image_next(image, &row)) {
        add_row(out, row.key, row.value);
    }
    image_close(image);
    return !is_damaged;
}

static void count_damage(void *context, const struct verify_finding *finding)
{
    *(size_t *)context += !finding->is_harmless;
}

/* How many findings of damage there are without row number `left_out`. */
static size_t verify(const struct rows *rows, size_t left_out)
{
    size_t damage = 0;
    struct verifier *verifier = verifier_create(rows->seed, count_damage, &damage);
    bool again = true;
    while (again) {
        for (size_t i = 0; i < rows->count; i++) {
            if (i != left_out) {
                verifier_add(verifier, rows->rows[i].key, rows->rows[i].value);
            }
        }
        again = verifier_end_pass(verifier);
    }
    verifier_destroy(verifier);
    return damage;
}

/* Rebuilding ---------------------------------------------------------------------------------- */

struct rebuilt {
    struct rows rows;
    struct str lost; /* the key that is left out */
};

static bool is_lost(void *context, struct str key)
{
    return str_eq(key, ((struct rebuilt *)context)->lost);
}

static void put_row(void *context, struct str key, struct str value)
{
    add_row(&((struct rebuilt *)context)->rows, key, value);
}

static void ignore_loss(void *context, const struct rebuild_finding *finding)
{
    (void)context;
    (void)finding;
}

static int compare_rows(const void *a, const void *b)
{
    return str_cmp(((const struct kept_row *)a)->key, ((const struct kept_row *)b)->key);
}

static void rebuild(const struct rows *rows, size_t left_out, struct rebuilt *out)
{
    struct rebuild_options options = {.seed = rows->seed,
                                      .is_lost = is_lost,
                                      .put = put_row,
                                      .report = ignore_loss,
                                      .context = out};
    struct rebuilder *rebuilder = rebuilder_create(&options);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < rows->count; i++) {
            if (i != left_out) {
                rebuilder_add(rebuilder, rows->rows[i].key, rows->rows[i].value, false);
            }
        }
        rebuilder_end_pass(rebuilder);
    }
    char key[STORE_PREFIX_LEN] = {[STORE_SPACE_LEN] = 's', 't', 'a', 'm', 'p'};
    char stamp[8];
    put_u64_le(stamp, rebuilder_last_stamp(rebuilder));
    add_row(&out->rows, str_make(key, sizeof(key)), str_make(stamp, sizeof(stamp)));
    rebuilder_destroy(rebuilder);
    qsort(out->rows.rows, out->rows.count, sizeof(*out->rows.rows), compare_rows);
}

/* Whether the store that is rebuilt without the row is good. */
static bool is_rebuilt(const struct rows *rows, size_t left_out)
{
    struct rebuilt rebuilt = {.rows = {.seed = rows->seed}, .lost = rows->rows[left_out].key};
    arena_init(&rebuilt.rows.arena);
    rebuild(rows, left_out, &rebuilt);
    bool good = verify(&rebuilt.rows, SIZE_MAX) == 0;
    for (size_t i = 1; i < rebuilt.rows.count; i++) {
        good = good && str_cmp(rebuilt.rows.rows[i - 1].key, rebuilt.rows.rows[i].key) < 0;
    }
    arena_finish(&rebuilt.rows.arena);
    mem_free(rebuilt.rows.rows);
    return good;
}

/* Faults -------------------------------------------------------------------------------------- */

static void ignore_text(void *context, struct str table_name, const char *text)
{
    (void)context;
    (void)table_name;
    (void)text;
}

/* Rows of which each byte follows from others, or others from it. NULL: not of those. */
static const char *kind_of(struct inventory *inventory, struct str key)
{
    uint32_t space = store_key_space(key);
    if (space == SIZES) {
        return "sizes";
    }
    if (space == TOKENS_BY_AGE) {
        return "tokens by age";
    }
    if (space == CATALOG) {
        bool is_needed =
            memcmp(key.data + 4, "table", 5) == 0 || memcmp(key.data + 4, "next", 4) == 0 ||
            memcmp(key.data + 4, "stream", 6) == 0 || memcmp(key.data + 4, "backup", 6) == 0 ||
            memcmp(key.data + 4, "kept", 4) == 0 || memcmp(key.data + 4, "feed", 4) == 0;
        return is_needed ? "catalog" : NULL;
    }
    static const char *const names[] = {[SPACE_ITEMS] = "items",
                                        [SPACE_INDEX] = "index entries",
                                        [SPACE_COLLECTIONS] = "collections",
                                        [SPACE_EXPIRY] = "expiry",
                                        [SPACE_STREAM] = NULL,
                                        [SPACE_FEED] = "items",
                                        [SPACE_KEPT] = "items",
                                        [SPACE_HISTORY] = "items",
                                        [SPACE_DROPPING] = NULL};
    return space >= FIRST_FREE ? names[inventory_find(inventory, space)->role] : NULL;
}

/* Whether a changed byte must be noticed, too. Items and descriptions have fields on which nothing
 * else depends: the checksums of blocks protect those. */
static bool is_derived(const char *kind, struct str value)
{
    return value.len > 0 && strcmp(kind, "catalog") != 0 && strcmp(kind, "items") != 0;
}

static size_t plant(struct rows *rows, size_t i, const char *kind)
{
    size_t missed = verify(rows, i) == 0;
    if (missed > 0) {
        printf("not noticed: row %zu (%s) is missing\n", i, kind);
    }
    if (is_derived(kind, rows->rows[i].value)) {
        struct str *value = &rows->rows[i].value;
        char *byte = (char *)value->data + value->len * 2 / 3;
        *byte ^= 1;
        bool is_noticed = verify(rows, SIZE_MAX) > 0;
        *byte ^= 1;
        if (!is_noticed) {
            printf("not noticed: row %zu (%s) is changed\n", i, kind);
        }
        missed += !is_noticed;
    }
    return missed;
}

int main(int argc, char **argv)
{
    struct rows rows = {0};
    arena_init(&rows.arena);
    if (argc != 2 || !read_rows(argv[1], &rows) || verify(&rows, SIZE_MAX) > 0) {
        printf("a good store is needed\n");
        return 2;
    }
    struct inventory inventory;
    inventory_init(&inventory, rows.seed);
    for (size_t i = 0; i < rows.count; i++) {
        if (store_key_space(rows.rows[i].key) < FIRST_FREE) {
            inventory_add(&inventory, rows.rows[i].key, rows.rows[i].value, ignore_text, NULL);
        }
    }
    size_t planted = 0;
    size_t missed = 0;
    size_t failed = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const char *kind = kind_of(&inventory, rows.rows[i].key);
        if (kind != NULL) {
            printf("%s\n", kind);
            planted++;
            missed += plant(&rows, i, kind);
        }
        if (!is_rebuilt(&rows, i)) {
            struct str key = rows.rows[i].key;
            printf("not good when rebuilt without row %zu: space %u, \"%.16s\"\n", i,
                   store_key_space(key), key.data + STORE_SPACE_LEN);
            failed++;
        }
    }
    printf("%zu rows with faults, %zu not noticed; %zu rebuilt, %zu not good\n", planted, missed,
           rows.count, failed);
    inventory_finish(&inventory);
    arena_finish(&rows.arena);
    mem_free(rows.rows);
    return missed + failed > 0;
}
