/* Recovers the write-ahead log at the start, and when the database is opened again after a failure:
 * scans it, syncs and adopts what was found, and applies its records. Also the clean end. Called by
 * the thread that opens the store, then by the committing thread. */
#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "store/wal/wal_internal.h"

static void log_finding(void *context, const struct wal_finding *finding)
{
    (void)context;
    if (finding->severity == WAL_DAMAGE) {
        return; /* the caller logs it */
    }
    log_write(finding->severity == WAL_NOTE ? LOG_INFO : LOG_WARN, "store",
              "%s, offset %llu, record %llu: %s", finding->path,
              (unsigned long long)finding->offset, (unsigned long long)finding->record,
              finding->text);
}

static bool io_failed(const struct wal *wal, const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot recover the write-ahead log in %s: %s: %s",
                   wal->directory, path, strerror(errno));
}

static bool sync_file(const struct wal *wal, const char *path)
{
    const struct files *files = wal->options.files;
    int fd = files->open(files, path, O_RDWR);
    if (fd < 0) {
        return false;
    }
    bool good = files_sync(files, fd);
    files_close(files, fd);
    return good;
}

/* Syncs the segments that were read: if the last process was killed before its sync, they may be in
 * the kernel's cache only, and new records depend on them. */
static bool sync_segments(const struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    struct buf path = {0};
    bool good = true;
    for (size_t i = 0; good && i < scan->segment_count; i++) {
        wal_segment_path(wal->directory, scan->segments[i].number, &path);
        good = sync_file(wal, path.data) || io_failed(wal, path.data, err);
    }
    buf_finish(&path);
    return good;
}

/* Writes both copies of the state again: one may be damaged, or in the kernel's cache only. Marks
 * the last record: it is on disk now, and the mark of the last process may not be. */
static bool open_state(struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    const struct wal_options *options = &wal->options;
    wal_state_close(wal->state);
    wal->state = wal_state_open(options->files, wal->directory, options->store_id, &scan->found);
    if (wal->state == NULL) {
        return io_failed(wal, "wal.state", err);
    }
    if (scan->next > 1) {
        wal_state_mark(wal->state, scan->next - 1);
    }
    return wal_state_write(wal->state, &scan->found.state) || io_failed(wal, "wal.state", err);
}

static void delete_others(struct wal *wal, const struct wal_scan *scan)
{
    struct buf path = {0};
    for (size_t i = 0; i < scan->other_count; i++) {
        wal_segment_path(wal->directory, scan->other_segments[i], &path);
        wal->options.files->unlink(wal->options.files, path.data);
    }
    buf_finish(&path);
}

/* Continues the WAL that the scan has found. */
static bool adopt(struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    if (!sync_segments(wal, scan, err) || !open_state(wal, scan, err)) {
        return false;
    }
    const struct wal_options *options = &wal->options;
    wal->next = scan->next;
    wal->previous = scan->previous;
    wal->newest = scan->found.state.segment;
    wal->named = wal->newest;
    wal->old_count = 0;
    for (size_t i = 0; i < scan->segment_count; i++) {
        wal_add_old(wal, scan->segments[i]);
    }
    delete_others(wal, scan);
    if (wal->spares == NULL) {
        wal->spares = spares_create(options->files, wal->directory, options->filled_bytes,
                                    options->has_thread);
    }
    return true;
}

/* A record that could not be made void when it was discarded must be made void before the WAL is
 * read again: the kernel's cache may hold blocks of it that never reached the disk. */
static bool settle_void(struct wal *wal, struct err *err)
{
    if (wal->void_segment == 0) {
        return true;
    }
    struct wal_state state = {.segment = wal->void_segment, .void_from = wal->void_from};
    if (!wal_state_write(wal->state, &state)) {
        return io_failed(wal, "wal.state", err);
    }
    wal->void_segment = 0;
    return true;
}

/* Reads the WAL twice: all of it is checked before a record is applied or a file is changed. */
bool wal_recover(struct wal *wal, uint64_t stored, wal_apply *apply, void *context, struct err *err)
{
    if (wal->directory == NULL) {
        return true;
    }
    if (!settle_void(wal, err)) {
        return false;
    }
    wal_close_current(wal);
    struct wal_scan_input input = {.files = wal->options.files,
                                   .directory = wal->directory,
                                   .store_id = wal->options.store_id,
                                   .stored = stored,
                                   .report = log_finding,
                                   .context = context};
    struct wal_scan scan;
    bool good = wal_scan(&input, &scan, err) && adopt(wal, &scan, err);
    wal_scan_finish(&scan);
    if (!good) {
        return false;
    }
    assert(wal->next > stored); /* SST files hold no record that will be written again */
    assert(wal->pending_bytes == 0);
    input.report = NULL;
    input.apply = apply;
    good = wal_scan(&input, &scan, err);
    if (good && scan.next != wal->next) {
        good = err_set(err, ERR_INTERNAL, "the write-ahead log in %s changed while it was read",
                       wal->directory);
    }
    wal_scan_finish(&scan);
    if (good) {
        wal_release(wal, stored);
    }
    return good;
}

void wal_close_cleanly(struct wal *wal, const struct wal_sst_state *ssts)
{
    if (wal->directory == NULL || wal->state == NULL || wal->pending_bytes > 0) {
        return;
    }
    struct wal_state state = {.segment = wal->newest,
                              .void_from = wal->next,
                              .is_clean = true,
                              .last = wal->next - 1,
                              .last_checksum = wal->previous,
                              .ssts = *ssts};
    if (!wal_state_write(wal->state, &state)) {
        log_write(LOG_WARN, "store", "cannot write %s/wal.state: %s", wal->directory,
                  strerror(errno));
    }
}
