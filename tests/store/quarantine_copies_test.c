/* Tests what reads a store with blocks in quarantine without opening it, and copies of it: images,
 * repairs, checkpoints and backups. They know the range of keys, and a repair finds all rows where
 * only a bit was flipped. */
#include "quarantine_support.h"

#include "store/backup/store_backup.h"
#include "store/formats.h"
#include "store/image/image.h"

struct findings {
    size_t damage_count;
    size_t lost_count;
    struct str first;
    struct str last;
    struct arena arena;
};

static void note_finding(void *context, const struct finding *finding)
{
    struct findings *findings = context;
    findings->damage_count += finding->severity == FINDING_DAMAGE;
    if (finding->has_range) {
        findings->lost_count++;
        findings->first = arena_copy(&findings->arena, finding->first);
        findings->last = arena_copy(&findings->arena, finding->last);
    }
}

/* Checks that an image of the closed store reports one range, and that each row in it is stale. */
static void check_image(const char *directory)
{
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    struct image_options options = {
        .directory = directory, .report = note_finding, .context = &findings};
    struct image *image;
    assert_true(image_open(&options, &image, &err));
    struct image_row row;
    size_t stale_count = 0;
    while (image_next(image, &row)) {
        assert_int_equal(row.is_stale, image_is_lost(image, row.key));
        stale_count += row.is_stale;
    }
    assert_int_equal(findings.damage_count, 1);
    assert_int_equal(findings.lost_count, 1);
    assert_int_equal(store_key_space(findings.first), SPACE);
    assert_int_equal(store_key_space(findings.last), SPACE);
    assert_in_range(stale_count, 1, 20); /* version 0 */
    image_close(image);
    arena_finish(&findings.arena);
}

static void images_report_the_range(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    prepare_quarantine(&fixture, &client);
    for (int i = 0; i < 2; i++) {
        store_close(fixture.store);
        check_image(fixture.directory);
        open_closed(&fixture);
        rocks_compact_all(fixture.inner);
    }
    fixture_close(&fixture);
}

/* Checks that a repair of the closed store would find all rows, in their newest version. */
static void check_repair(const char *directory, struct client *client)
{
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    struct image_options options = {.directory = directory,
                                    .is_for_repair = true,
                                    .report = note_finding,
                                    .context = &findings};
    struct image *image;
    assert_true(image_open(&options, &image, &err));
    struct image_row row;
    uint64_t id = 0;
    while (image_next(image, &row)) {
        if (store_key_space(row.key) == SPACE) {
            client_reset(client);
            assert_false(row.is_stale);
            assert_true(str_eq(row.key, row_key(client, id)));
            assert_true(is_busy(id) || str_eq(row.value, row_value(client, id, 1)));
            id++;
        }
    }
    assert_int_equal(id, ROWS);
    assert_int_equal(findings.damage_count, 0);
    image_close(image);
    arena_finish(&findings.arena);
}

/* A flipped bit: servers do not read the block, but a repair loses nothing, also when compactions
 * have moved its rows to other files. */
static void a_flipped_bit_is_not_lost(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t first;
    uint64_t last;
    uint64_t version = prepare_quarantine_of(&fixture, &client, 0x10);
    for (int i = 0; i < 2; i++) {
        assert_in_range(check_rows(client, version, &first, &last), 1, 20);
        store_close(fixture.store);
        check_repair(fixture.directory, client);
        open_closed(&fixture);
        rocks_compact_all(fixture.inner);
    }
    fixture_close(&fixture);
}

static void backups_keep_the_quarantine(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t version = prepare_quarantine(&fixture, &client);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    char other[64];
    make_directory(other);
    const char *checkpoint = arena_format(&arena, "%s/checkpoint", other).data;
    const char *backup = arena_format(&arena, "%s/backup", other).data;
    const char *restored = arena_format(&arena, "%s/restored", other).data;
    struct findings findings = {0};
    struct backup_options options = {.report = note_finding, .context = &findings};
    struct backup_manifest manifest = {.seed = store_seed(fixture.store)};
    assert_true(rocks_checkpoint(fixture.inner, checkpoint, &manifest.format, &err));
    assert_true(backup_write(&options, checkpoint, backup, &arena, &manifest, &err));
    assert_int_equal(findings.damage_count, 1);
    assert_true(backup_verify(&options, backup, &manifest, &err));
    assert_int_equal(findings.damage_count, 2);
    assert_true(backup_restore(&options, backup, &manifest, restored, &err));
    struct store *store = open_store(restored, 1 << 16);
    assert_int_equal(rocks_quarantine_count(store), 1);
    assert_int_equal(rocks_format(store), STORE_FORMAT_QUARANTINE);
    struct client *reader = client_create_alone(store);
    rocks_compact_all(store);
    uint64_t first;
    uint64_t last;
    assert_in_range(check_rows(reader, version, &first, &last), 1, 20);
    store_close(store);
    client_destroy(reader);
    remove_directory(other);
    arena_finish(&arena);
    fixture_close(&fixture);
}

/* A checkpoint from before the quarantine keeps the bad block: it does not have the list. */
static void older_checkpoints_keep_the_bad_block(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client = fill_two_levels(&fixture);
    open_closed(&fixture);
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    char other[64];
    make_directory(other);
    const char *checkpoint = arena_format(&findings.arena, "%s/checkpoint", other).data;
    const char *backup = arena_format(&findings.arena, "%s/backup", other).data;
    struct backup_manifest manifest = {0};
    assert_true(rocks_checkpoint(fixture.inner, checkpoint, &manifest.format, &err));
    assert_int_equal(manifest.format, STORE_FORMAT);
    store_close(fixture.store);
    damage_newest(checkpoint); /* a link to the file of the store */
    open_closed(&fixture);
    write_until_quarantine(fixture.inner, client, 1);
    struct backup_options options = {.report = note_finding, .context = &findings};
    assert_true(backup_write(&options, checkpoint, backup, &findings.arena, &manifest, &err));
    assert_int_equal(findings.damage_count, 1);
    remove_directory(other);
    arena_finish(&findings.arena);
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_report_the_range),
        cmocka_unit_test(a_flipped_bit_is_not_lost),
        cmocka_unit_test(backups_keep_the_quarantine),
        cmocka_unit_test(older_checkpoints_keep_the_bad_block),
    };
    return cmocka_run_group_tests_name("quarantine copies", tests, NULL, NULL);
}
