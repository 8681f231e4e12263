/* Damages files of whole stores, RocksDB's included, that were closed or killed, one file at a
 * time: flips a bit, truncates or deletes it. Then a process of its own opens the store, reads
 * everything, writes, and is killed; and another one does the same. Each must refuse to open, or
 * give each row as it was, or fail to read it (which is reported); it must not lose a row silently,
 * bring a deleted one back, or crash. What the first one has written must be there for the second.
 * If the first one refuses, the files must be as before. If an SST file was damaged, the bad block
 * may be found only when RocksDB is open, which begins a new manifest and deletes what is not
 * needed any more: then all SST files and segments that are left must be as before.
 *
 * Before that, `gramme check` and `gramme repair` read some of the copies. They must not crash or
 * change a file, and agree with what follows: a store of which the check finds no damage opens and
 * has all its rows; the repaired store passes the check, and if the repair reports no loss, it has
 * all rows.
 *
 * The last store also gets back its wal.state of the first kill: that must be refused, and
 * `gramme repair` must save everything.
 *
 * Two stores have rows of this program only, two the tables, indexes and streams of an engine
 * (scenario.h); one of those was killed, opened again, and killed again.
 *
 *     sim_damage [--seed N] [--flips N] [--cuts N] [--check-every N]
 *
 * --check-every: one of N copies of each store is given to the commands, which are those of the
 * program `gramme` of the same build.
 *
 * Prints what came out. Exits with 1 if there was a violation. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../store/child.h"
#include "file_list.h"
#include "scenario.h"

#include "base/log.h"

enum { ROWS = 400, STEPS = 120, STEPS_PER_FLUSH = 40, FILES_MAX = 64 };
static const uint64_t scenario_seed = 7; /* any: the damage is random */
/* NOT_STARTED: the store was opened, but the engine refused it. */
enum { ALL_THERE = 0, REFUSED = 10, NOT_STARTED = 11, REPORTED = 12, WRONG = 20, OUTCOMES = 21 };

/* What a store holds -------------------------------------------------------------------------- */

static bool is_deleted(uint64_t id)
{
    return id % 10 == 3;
}

static struct str value_of(struct client *client, uint64_t id)
{
    size_t len = 50 + id * 37 % 900;
    char *bytes = arena_zalloc(&client->arena, len);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (char)(id * 11 + i * i);
    }
    return str_make(bytes, len);
}

/* Two SST files, some of it in the WAL only; rows are deleted in each. */
static void fill(struct store *store)
{
    struct client *client = client_create_alone(store);
    for (uint64_t id = 0; id < ROWS; id++) {
        client_put(client, key_number(&client->arena, 7, id, 0), value_of(client, id));
        if (id % 10 == 9) {
            client_erase(client, key_number(&client->arena, 7, id - 6, 0));
        }
        if (id == ROWS / 2 || id == ROWS * 3 / 4) {
            assert_true(rocks_flush(store));
        }
        client_reset(client);
    }
    client_destroy(client);
}

static enum store_status read_row(struct client *client, uint64_t id, struct str *out)
{
    struct str key = key_number(&client->arena, 7, id, 0);
    return client_get_many(client, &key, 1, false, out);
}

static struct rows read_space(struct client *client, uint32_t space)
{
    struct str lo = str_make(key_number(&client->arena, space, 0, 0).data, STORE_SPACE_LEN);
    struct str hi = str_make(key_number(&client->arena, space + 1, 0, 0).data, STORE_SPACE_LEN);
    return client_range(client, (struct range_spec){.lo = lo, .hi = hi});
}

/* In a process of its own. `written`: how many rows earlier ones have added after the damage. */
static int verify_rows(const char *directory, uint64_t written)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    if (!store_open(arena_format(&arena, "rocksdb:%s", directory), &options, &store, &err)) {
        return REFUSED;
    }
    struct client *client = client_create_alone(store);
    int outcome = ALL_THERE;
    size_t live = 0;
    for (uint64_t id = 0; id < ROWS; id++) {
        struct str row;
        enum store_status status = read_row(client, id, &row);
        bool right = is_deleted(id) ? str_is_null(row) : str_eq(row, value_of(client, id));
        live += !is_deleted(id);
        if (status == STORE_OK && !right) {
            return WRONG;
        }
        outcome = status == STORE_OK ? outcome : REPORTED;
    }
    struct rows rows = read_space(client, 7);
    struct rows added = read_space(client, 9);
    if ((rows.status == STORE_OK && rows.count != live) ||
        (added.status == STORE_OK && added.count < written)) {
        return WRONG;
    }
    bool is_read = rows.status == STORE_OK && added.status == STORE_OK;
    enum store_status status =
        client_try_put(client, key_number(&client->arena, 9, written, 0), STR("v"));
    child_report(written + (status == STORE_OK), status);
    return status == STORE_OK && is_read ? outcome : REPORTED;
}

/* An engine's store --------------------------------------------------------------------------- */

static void run_steps(struct scenario *scenario, struct database *database, uint64_t until)
{
    while (scenario->step_count < until) {
        enum scenario_answer answer = scenario_send(scenario, database);
        assert_int_equal(answer, SCENARIO_DONE);
        scenario_advance(scenario);
        if (scenario->step_count % STEPS_PER_FLUSH == 0) {
            assert_true(rocks_flush(database->store));
        }
    }
}

/* ALL_THERE, REFUSED or NOT_STARTED. */
static int open_engine(struct database *database, const char *directory)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    int outcome = REFUSED;
    if (store_open(arena_format(&arena, "rocksdb:%s", directory), &options, &store, &err)) {
        outcome = database_open(database, store, &err) ? ALL_THERE : NOT_STARTED;
    }
    arena_finish(&arena);
    return outcome;
}

/* Brings a store, perhaps a new one, to so many steps. The database stays open. */
static void fill_engine(struct database *database, const char *directory, uint64_t from,
                        uint64_t until)
{
    struct scenario scenario;
    scenario_init(&scenario, scenario_seed);
    bool is_ready = open_engine(database, directory) == ALL_THERE &&
                    (from > 0 || scenario_create_tables(database));
    assert_true(is_ready);
    while (scenario.step_count < from) {
        scenario_advance(&scenario);
    }
    run_steps(&scenario, database, until);
    scenario_finish(&scenario);
}

/* In a process of its own: after so many steps, and perhaps one more. */
static int verify_engine(const char *directory, uint64_t steps)
{
    struct database database;
    struct scenario scenario;
    char why[200];
    scenario_init(&scenario, scenario_seed);
    while (scenario.step_count < steps) {
        scenario_advance(&scenario);
    }
    int opened = open_engine(&database, directory);
    if (opened != ALL_THERE) {
        return opened;
    }
    enum scenario_state state = scenario_settle(&scenario, &database, why);
    if (state == SCENARIO_DIFFERENT) {
        printf("%s\n", why);
        fflush(stdout);
        return WRONG;
    }
    enum scenario_answer answer = scenario_send(&scenario, &database);
    child_report(scenario.step_count + (answer == SCENARIO_DONE), STORE_OK);
    return state == SCENARIO_SAME && answer == SCENARIO_DONE ? ALL_THERE
           : answer == SCENARIO_WRONG                        ? WRONG
                                                             : REPORTED;
}

/* Files --------------------------------------------------------------------------------------- */

struct listing {
    char names[FILES_MAX][64];
    size_t count;
};

static void list_files(const char *directory, struct listing *out)
{
    out->count = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && out->count < FILES_MAX) {
            snprintf(out->names[out->count++], 64, "%.60s", entry->d_name);
        }
    }
    closedir(dir);
}

static void run(const char *format, const char *a, const char *b)
{
    char command[400];
    snprintf(command, sizeof(command), format, a, b);
    assert_int_equal(system(command), 0);
}

enum damage { FLIP, TRUNCATE, DELETE };

/* A flip of a hole in a sparse segment would not be detectable: half of the flips are in its
 * records. */
static off_t place_in(const char *name, off_t size, struct random *random)
{
    bool is_segment = strstr(name, ".wal") != NULL;
    uint64_t limit = is_segment && random_next(random) % 2 == 0 ? 1 << 19 : (uint64_t)size;
    return (off_t)(random_next(random) % MIN(limit, (uint64_t)size));
}

/* Empty files and the lock are left out; returns false then. */
static bool do_damage(const char *directory, const char *name, enum damage damage,
                      struct random *random)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    struct stat found;
    if (stat(path, &found) != 0 || found.st_size == 0) {
        return false;
    }
    off_t place = place_in(name, found.st_size, random);
    if (damage == TRUNCATE) {
        assert_int_equal(truncate(path, place), 0);
    } else if (damage == DELETE) {
        assert_int_equal(unlink(path), 0);
    } else {
        int fd = open(path, O_RDWR);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, place), 1);
        byte ^= (uint8_t)(1U << random_next(random) % 8);
        assert_int_equal(pwrite(fd, &byte, 1, place), 1);
        close(fd);
    }
    return true;
}

/* Runs ---------------------------------------------------------------------------------------- */

enum { TOOL_GOOD, TOOL_DAMAGED, TOOL_REFUSED, TOOL_STATUSES }; /* exit statuses of both commands */

struct tally {
    uint64_t tried;
    uint64_t outcomes[OUTCOMES + 1]; /* the last one: crashes */
    uint64_t checks[TOOL_STATUSES];
    uint64_t repairs[TOOL_STATUSES];
};

/* A store to be damaged, and the processes that verify it. */
struct original {
    const char *name;
    const char *verifier;
    uint64_t number; /* for the verifier */
    char directory[64];
};

/* Opens a copy in a process of its own; *number is what that has written in all. */
static int verify_copy(const struct original *original, const char *copy, uint64_t *number)
{
    struct child child;
    struct report report;
    child_start(&child, original->verifier, copy, *number);
    if (child_read(&child, &report)) {
        *number = report.id;
    }
    int status = child_wait(&child);
    return status >= 0 && status < OUTCOMES ? status : OUTCOMES;
}

/* Whether each line of the one list is in the other, too. */
static bool is_part_of(struct str lines, const struct buf *list)
{
    while (lines.len > 0) {
        size_t len = (size_t)((const char *)memchr(lines.data, '\n', lines.len) - lines.data) + 1;
        if (memmem(list->data, list->len, lines.data, len) == NULL) {
            return false;
        }
        lines = str_skip(lines, len);
    }
    return true;
}

static bool is_as_before(const char *copy, const struct buf *before, bool only_data,
                         const char *what)
{
    struct buf after = {0};
    file_list(copy, only_data, &after);
    bool is_same = str_eq(buf_str(before), buf_str(&after)) ||
                   (only_data && is_part_of(buf_str(&after), before));
    if (!is_same) {
        printf("%s changed files; before:\n%.*safter:\n%.*s", what, STR_ARG(buf_str(before)),
               STR_ARG(buf_str(&after)));
    }
    buf_finish(&after);
    return is_same;
}

static bool is_allowed(int outcome)
{
    return outcome >= ALL_THERE && outcome <= REPORTED;
}

/* What the second process finds counts if it is worse. A store that was good must stay so. */
static int verify_twice(const struct original *original, const char *copy, const char *damaged)
{
    uint64_t number = original->number;
    bool only_data = strstr(damaged, ".sst") != NULL;
    struct buf before = {0};
    file_list(copy, only_data, &before);
    int first = verify_copy(original, copy, &number);
    bool is_over = first == REFUSED || first == NOT_STARTED || !is_allowed(first);
    if (first == REFUSED && !is_as_before(copy, &before, only_data, "the refused open")) {
        first = WRONG;
    }
    buf_finish(&before);
    if (is_over) {
        return first;
    }
    int second = verify_copy(original, copy, &number);
    bool is_refused = second == REFUSED || second == NOT_STARTED;
    return first == ALL_THERE && is_refused ? WRONG : MAX(first, second);
}

/* The commands -------------------------------------------------------------------------------- */

/* What `gramme check` and `gramme repair` said of a copy: exit statuses. */
struct tools {
    bool has_engine; /* the rows of other stores mean nothing to them */
    int check;
    int repair;
};

/* The program of this build: this one is in its folder tests/sim. */
static const char *gramme_path(void)
{
    static char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 20);
    assert_true(len > 0);
    path[len] = '\0';
    strcpy(strrchr(path, '/'), "/../../gramme");
    return path;
}

/* Runs a command with one or two directories. Returns its exit status; negative: it crashed. */
static int run_gramme(const char *command, const char *directory, const char *target)
{
    fflush(stdout); /* or the child writes it, too */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool is_quiet =
            freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL;
        if (is_quiet) {
            execl(gramme_path(), "gramme", command, directory, target, (char *)NULL);
        }
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool is_known = WIFEXITED(status) && WEXITSTATUS(status) < TOOL_STATUSES;
    if (!is_known) {
        printf("gramme %s %s: wait status %d\n", command, directory, status);
    }
    return is_known ? WEXITSTATUS(status) : -1;
}

/* A repaired store is a good one, and has everything if the repair reports no loss. */
static bool verify_repaired(const struct original *original, const char *repaired, int status)
{
    uint64_t number = original->number;
    int check = run_gramme("check", repaired, NULL);
    int outcome = verify_copy(original, repaired, &number);
    bool is_good =
        check == TOOL_GOOD &&
        (status == TOOL_GOOD ? outcome == ALL_THERE : is_allowed(outcome) || outcome == WRONG);
    if (!is_good) {
        printf("repaired with status %d: check %d, outcome %d\n", status, check, outcome);
    }
    return is_good;
}

/* Returns whether the commands did what they must, as far as that is known before the store is
 * opened. */
static bool run_tools(const struct original *original, const char *copy, struct tools *out)
{
    char repaired[120];
    struct buf before = {0};
    snprintf(repaired, sizeof(repaired), "%s-repaired", copy);
    file_list(copy, false, &before);
    out->has_engine = strcmp(original->verifier, "verify-engine") == 0;
    out->check = run_gramme("check", copy, NULL);
    out->repair = run_gramme("repair", copy, repaired);
    bool good =
        out->check >= 0 && out->repair >= 0 && is_as_before(copy, &before, false, "the commands");
    if (good && out->has_engine && out->repair != TOOL_REFUSED) {
        good = verify_repaired(original, repaired, out->repair);
    }
    run("rm -rf %s%s", repaired, "");
    buf_finish(&before);
    return good;
}

/* A store that the check calls good opens, is complete, and is repaired without losses. */
static bool tools_foresaw(const struct tools *tools, int outcome)
{
    bool good = !tools->has_engine || tools->check != TOOL_GOOD ||
                (outcome == ALL_THERE && tools->repair == TOOL_GOOD);
    if (!good) {
        printf("no damage found by the check: outcome %d, repair %d\n", outcome, tools->repair);
    }
    return good;
}

/* A start that was refused has taken nothing away from the repair. */
static bool is_repaired_again(const struct original *original, const char *copy,
                              const struct tools *before)
{
    struct tools after = {0};
    bool good = run_tools(original, copy, &after) && after.repair == before->repair;
    if (!good) {
        printf("repaired with status %d, after the refused open with %d\n", before->repair,
               after.repair);
    }
    return good;
}

static void count_tools(struct tally *tally, const struct tools *tools)
{
    if (tools->check >= 0 && tools->repair >= 0) {
        tally->checks[tools->check]++;
        tally->repairs[tools->repair]++;
    }
}

static void try_one(const struct original *original, enum damage damage, struct random *random,
                    struct tally *tally, bool uses_tools)
{
    static const char *const names[] = {"a flipped bit", "a truncation", "a deletion"};
    struct tools tools = {0};
    char copy[100];
    snprintf(copy, sizeof(copy), "%s-copy", original->directory);
    struct listing files;
    list_files(original->directory, &files);
    const char *name = files.names[random_next(random) % files.count];
    run("cp -r --sparse=always %s %s", original->directory, copy);
    struct random before = *random;
    if (do_damage(copy, name, damage, random)) {
        bool tools_agree = !uses_tools || run_tools(original, copy, &tools);
        int outcome = verify_twice(original, copy, name);
        if (is_allowed(outcome) && uses_tools) {
            tools_agree = tools_agree && tools_foresaw(&tools, outcome) &&
                          (outcome != REFUSED || is_repaired_again(original, copy, &tools));
            outcome = tools_agree ? outcome : WRONG;
            count_tools(tally, &tools);
        }
        tally->tried++;
        tally->outcomes[outcome]++;
        if (!is_allowed(outcome)) {
            printf("violation: %s of %s (%s): status %d, random state %016" PRIx64 "\n",
                   names[damage], name, original->name, outcome, before.state[0]);
        }
    }
    run("rm -rf %s%s", copy, "");
}

static void old_state_path(const struct original *original, char out[100])
{
    snprintf(out, 100, "%s-old.state", original->directory);
}

/* Returns whether an older wal.state is refused, and the repair loses nothing. */
static bool try_old_state(const struct original *original)
{
    char copy[100];
    char repaired[120];
    char old[100];
    uint64_t number = original->number;
    snprintf(copy, sizeof(copy), "%s-copy", original->directory);
    snprintf(repaired, sizeof(repaired), "%s-repaired", copy);
    old_state_path(original, old);
    run("cp -r --sparse=always %s %s", original->directory, copy);
    run("mv %s %s/wal.state", old, copy);
    int check = run_gramme("check", copy, NULL);
    int opened = verify_copy(original, copy, &number);
    int repair = run_gramme("repair", copy, repaired);
    int outcome = verify_copy(original, repaired, &number);
    run("rm -rf %s %s", copy, repaired);
    printf("an older wal.state: check %d, opened %d, repair %d, repaired store %d\n", check, opened,
           repair, outcome);
    return check == TOOL_DAMAGED && opened == REFUSED && repair == TOOL_GOOD &&
           outcome == ALL_THERE;
}

static bool print_tally(const char *what, const struct tally *tally)
{
    uint64_t wrong = tally->outcomes[WRONG];
    uint64_t crashed = tally->outcomes[OUTCOMES];
    for (int i = 1; i < OUTCOMES; i++) {
        crashed += !is_allowed(i) && i != WRONG ? tally->outcomes[i] : 0;
    }
    printf("%" PRIu64 " %s: %" PRIu64 " harmless, %" PRIu64 " refused, %" PRIu64
           " reported, %" PRIu64 " wrong, %" PRIu64 " crashed\n",
           tally->tried, what, tally->outcomes[ALL_THERE],
           tally->outcomes[REFUSED] + tally->outcomes[NOT_STARTED], tally->outcomes[REPORTED],
           wrong, crashed);
    printf("  gramme check: %" PRIu64 " good, %" PRIu64 " damaged, %" PRIu64
           " refused; gramme repair: %" PRIu64 " whole, %" PRIu64 " with losses, %" PRIu64
           " refused\n",
           tally->checks[TOOL_GOOD], tally->checks[TOOL_DAMAGED], tally->checks[TOOL_REFUSED],
           tally->repairs[TOOL_GOOD], tally->repairs[TOOL_DAMAGED], tally->repairs[TOOL_REFUSED]);
    return wrong + crashed == 0;
}

/* In memory if possible: what is tested here does not depend on a disk. */
static void make_quick_directory(char out[64])
{
    strcpy(out, "/dev/shm/gramme-store-XXXXXX");
    if (mkdtemp(out) == NULL) {
        make_directory(out);
    }
}

/* Lets a process of its own fill the store, and kills it. */
static void fill_and_kill(const char *task, const char *directory, uint64_t number)
{
    struct child child;
    struct report report;
    child_start(&child, task, directory, number);
    assert_true(child_read(&child, &report));
    child_kill(&child);
    child_wait(&child);
}

/* The last store is killed half-way, and again at the end. */
static void make_originals(struct original originals[4])
{
    originals[0] = (struct original){"rows, closed", "verify-rows", 0, ""};
    originals[1] = (struct original){"rows, killed", "verify-rows", 0, ""};
    originals[2] = (struct original){"an engine, closed", "verify-engine", STEPS, ""};
    originals[3] = (struct original){"an engine, killed twice", "verify-engine", STEPS, ""};
    for (int i = 0; i < 4; i++) {
        make_quick_directory(originals[i].directory);
    }
    struct store *store = open_store(originals[0].directory, 1 << 20);
    fill(store);
    store_close(store);
    fill_and_kill("fill-rows", originals[1].directory, 0);
    struct database database;
    fill_engine(&database, originals[2].directory, 0, STEPS);
    database_close(&database);
    fill_and_kill("fill-engine", originals[3].directory, 0);
    char old[100];
    old_state_path(&originals[3], old);
    run("cp %s/wal.state %s", originals[3].directory, old);
    fill_and_kill("fill-engine", originals[3].directory, STEPS / 2);
}

/* The tasks of child processes. The one that fills a store waits until it is killed. */
static void run_child(const char *name, const char *directory, uint64_t number)
{
    struct database database;
    bool is_quiet = freopen("/dev/null", "w", stderr) != NULL;
    assert(is_quiet);
    if (strcmp(name, "verify-rows") == 0) {
        _exit(verify_rows(directory, number));
    }
    if (strcmp(name, "verify-engine") == 0) {
        _exit(verify_engine(directory, number));
    }
    if (strcmp(name, "fill-rows") == 0) {
        fill(open_store(directory, 1 << 20));
    } else {
        fill_engine(&database, directory, number, number + STEPS / 2);
    }
    child_report(0, STORE_OK);
    for (;;) {
        pause();
    }
}

/* Sanitizers end a process with status 1, as `gramme check` does when it finds damage. */
static void tell_crashes_from_damage(void)
{
    static const char *const names[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
                                        "TSAN_OPTIONS"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char options[400];
        const char *old = getenv(names[i]);
        snprintf(options, sizeof(options), "%s%sexitcode=99", old != NULL ? old : "",
                 old != NULL ? ":" : "");
        setenv(names[i], options, 1);
    }
}

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    log_setup(LOG_ERROR, LOG_TEXT);
    if (child != NULL) {
        run_child(child, argv[3], strtoull(argv[4], NULL, 10));
    }
    uint64_t seed = (uint64_t)time(NULL);
    uint64_t counts[] = {40, 10}; /* flips; truncations and deletions */
    uint64_t check_every = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        *(strcmp(argv[i], "--seed") == 0          ? &seed
          : strcmp(argv[i], "--check-every") == 0 ? &check_every
          : strcmp(argv[i], "--flips") == 0       ? &counts[0]
                                                  : &counts[1]) = number;
    }
    tell_crashes_from_damage();
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    struct random random;
    random_init_seed(&random, seed);
    struct original originals[4];
    make_originals(originals);
    struct tally flips = {0};
    struct tally cuts = {0};
    for (uint64_t i = 0; flips.tried < counts[0]; i++) {
        try_one(&originals[i % 4], FLIP, &random, &flips, i / 4 % check_every == 0);
    }
    for (uint64_t i = 0; cuts.tried < counts[1]; i++) {
        try_one(&originals[i % 4], i / 4 % 2 == 0 ? TRUNCATE : DELETE, &random, &cuts,
                i / 8 % check_every == 0);
    }
    bool good = print_tally("flipped bits", &flips);
    good = print_tally("truncations and deletions", &cuts) && good;
    good = try_old_state(&originals[3]) && good;
    for (int i = 0; i < 4; i++) {
        remove_directory(originals[i].directory);
    }
    return good ? 0 : 1;
}
