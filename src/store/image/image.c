/* Merges the write-ahead log and the SST files of a closed store: see image.h. Called by `gramme
 * check` and `gramme repair`, on their main thread.
 *
 * Sources are ordered by age, as in RocksDB: the WAL, the SST files of level 0 from the newest to
 * the oldest, then one source for each further level. For each key the newest source counts.
 * Without a manifest levels are not known, and the largest sequence number counts. */
#include "store/image/image.h"

#include "base/mem.h"
#include "store/image/image_internal.h"
#include "store/image/sst_file.h"
#include "store/store.h"

struct source {
    struct image *image;
    size_t rank; /* 0 is the newest */
    bool is_wal;
    size_t at; /* next SST file, or next row of the WAL */
    const struct manifest_sst *ssts;
    size_t count;
    struct sst_file *file;
    struct sst_entry entry; /* the current one */
};

void image_report(struct image *image, enum finding_severity severity, const char *file,
                  const char *text)
{
    struct finding finding = {.severity = severity, .file = file, .offset = -1, .text = text};
    image->options.report(image->options.context, &finding);
}

void image_add_lost(struct image *image, const struct lost_range *range)
{
    if (image->lost_count == image->lost_capacity) {
        image->lost_capacity = MAX(2 * image->lost_capacity, (size_t)16);
        image->lost = mem_realloc(image->lost, image->lost_capacity * sizeof(*image->lost));
    }
    struct lost_range *added = &image->lost[image->lost_count++];
    *added = *range;
    added->first = arena_copy(&image->arena, range->first);
    added->last = str_is_null(range->last) ? STR_NULL : arena_copy(&image->arena, range->last);
}

static void report_of_sst(void *context, const struct finding *finding)
{
    struct source *source = context;
    struct image *image = source->image;
    if (image->is_silent) {
        return;
    }
    if (finding->has_range) {
        image_add_lost(image, &(struct lost_range){.first = finding->first,
                                                   .last = finding->last,
                                                   .rank = source->rank});
    }
    image->options.report(image->options.context, finding);
}

static bool is_in(const struct lost_range *range, struct str key)
{
    return !range->is_corrected && str_cmp(range->first, key) <= 0 &&
           (str_is_null(range->last) || str_cmp(key, range->last) <= 0);
}

bool image_is_lost(const struct image *image, struct str key)
{
    for (size_t i = 0; i < image->lost_count; i++) {
        if (is_in(&image->lost[i], key)) {
            return true;
        }
    }
    return false;
}

/* Whether a version newer than that of `source` may be lost. Without levels any other SST file may
 * have held it. */
static bool is_stale(const struct image *image, const struct source *source, struct str key)
{
    for (size_t i = 0; i < image->lost_count; i++) {
        const struct lost_range *range = &image->lost[i];
        bool is_newer =
            image->summary.has_manifest ? range->rank < source->rank : range->rank != source->rank;
        if ((is_newer || range->is_quarantined) && !source->is_wal && is_in(range, key)) {
            return true;
        }
    }
    return false;
}

static bool next_wal_row(struct source *source)
{
    const struct wal_rows *wal = &source->image->wal_rows;
    if (source->at == wal->count) {
        return false;
    }
    const struct wal_row *row = &wal->rows[source->at++];
    source->entry = (struct sst_entry){.key = row->key,
                                       .value = row->value,
                                       .sequence = UINT64_MAX,
                                       .type = row->is_deletion ? ENTRY_DELETION : ENTRY_VALUE};
    return true;
}

static void close_sst(struct source *source)
{
    source->image->bytes_of_closed_files += sst_file_bytes_read(source->file);
    sst_file_close(source->file);
    source->file = NULL;
}

static void open_next_sst(struct source *source)
{
    const struct manifest_sst *sst = &source->ssts[source->at++];
    struct image *image = source->image;
    struct sst_file_options options = {.files = image->files,
                                       .directory = image->options.directory,
                                       .number = sst->number,
                                       .size_bytes = sst->size_bytes,
                                       .smallest = sst->smallest,
                                       .largest = sst->largest,
                                       .is_for_repair = image->options.is_for_repair,
                                       .report = report_of_sst,
                                       .context = source};
    source->file = sst_file_open(&options);
}

/* Moves to the next entry of the source. */
static bool source_next(struct source *source)
{
    if (source->is_wal) {
        return next_wal_row(source);
    }
    while (true) {
        if (source->file == NULL) {
            if (source->at == source->count) {
                return false;
            }
            open_next_sst(source);
        }
        if (sst_file_next(source->file, &source->entry)) {
            return true;
        }
        close_sst(source);
    }
}

/* Whether the entry of `a` comes before that of `b`: by key, then the newer one. */
static bool is_before(const struct image *image, const struct source *a, const struct source *b)
{
    int order = str_cmp(a->entry.key, b->entry.key);
    if (order != 0) {
        return order < 0;
    }
    if (!image->summary.has_manifest && a->entry.sequence != b->entry.sequence) {
        return a->entry.sequence > b->entry.sequence;
    }
    return a->rank < b->rank;
}

static void sift_down(struct image *image, size_t i)
{
    struct source **heap = image->heap;
    while (true) {
        size_t first = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < image->heap_count; child++) {
            if (is_before(image, heap[child], heap[first])) {
                first = child;
            }
        }
        if (first == i) {
            return;
        }
        struct source *other = heap[i];
        heap[i] = heap[first];
        heap[first] = other;
        i = first;
    }
}

/* Moves the first source to its next entry, and restores the heap. */
static void advance_first(struct image *image)
{
    if (!source_next(image->heap[0])) {
        image->heap[0] = image->heap[--image->heap_count];
    }
    if (image->heap_count > 0) {
        sift_down(image, 0);
    }
}

static void start_sources(struct image *image)
{
    image->heap_count = 0;
    for (size_t i = 0; i < image->source_count; i++) {
        if (source_next(&image->sources[i])) {
            image->heap[image->heap_count++] = &image->sources[i];
        }
    }
    for (size_t i = image->heap_count; i > 0; i--) {
        sift_down(image, i - 1);
    }
}

static struct source *add_source(struct image *image)
{
    struct source *source = &image->sources[image->source_count];
    *source = (struct source){.image = image, .rank = image->source_count++};
    return source;
}

/* SST files that do not overlap share a source. */
static bool shares_source(const struct image *image, const struct manifest_sst *sst)
{
    return image->summary.has_manifest && sst->level > 0 && sst != image->manifest.ssts &&
           sst[-1].level == sst->level;
}

void image_make_sources(struct image *image)
{
    const struct manifest *manifest = &image->manifest;
    image->sources = mem_zalloc((manifest->count + 1) * sizeof(*image->sources));
    image->heap = mem_zalloc((manifest->count + 1) * sizeof(*image->heap));
    struct source *source = add_source(image);
    source->is_wal = true;
    for (size_t i = 0; i < manifest->count; i++) {
        if (!shares_source(image, &manifest->ssts[i])) {
            source = add_source(image);
            source->ssts = &manifest->ssts[i];
        }
        source->count++;
    }
}

void image_free_sources(struct image *image)
{
    for (size_t i = 0; i < image->source_count; i++) {
        if (image->sources[i].file != NULL) {
            sst_file_close(image->sources[i].file);
        }
    }
    mem_free(image->sources);
    mem_free(image->heap);
}

void image_rewind(struct image *image)
{
    for (size_t i = 0; i < image->source_count; i++) {
        if (image->sources[i].file != NULL) {
            sst_file_close(image->sources[i].file);
            image->sources[i].file = NULL;
        }
        image->sources[i].at = 0;
    }
    image->has_current = false;
    image->bytes_of_closed_files = 0;
    start_sources(image);
}

static bool is_dropped(const struct image *image, struct str key)
{
    return key.len >= STORE_SPACE_LEN && space_set_has(&image->dropped, store_key_space(key));
}

static struct finding quarantine_finding(const struct image *image, const struct lost_range *range)
{
    struct finding finding = {.severity = FINDING_DAMAGE,
                              .offset = (int64_t)range->offset,
                              .text = "a block was damaged and is in quarantine",
                              .has_range = true,
                              .first = range->first,
                              .last = range->last};
    if (range->is_corrected) {
        finding.has_range = false;
        finding.text = "a bit of a block was flipped: the block is in quarantine, and servers do "
                       "not read it; a repair uses it as corrected";
        if (image->options.is_for_repair) {
            finding.severity = FINDING_CORRECTED;
            finding.text = "a flipped bit was corrected when the block was put into quarantine";
        }
    }
    return finding;
}

/* Reports the blocks in quarantine, after the first pass over the rows: by then the caller knows
 * the names of the tables. */
static void report_quarantine(struct image *image)
{
    struct buf name = {0};
    for (size_t i = 0; i < image->lost_count; i++) {
        const struct lost_range *range = &image->lost[i];
        if (range->is_quarantined && !is_dropped(image, range->first)) {
            name.len = 0;
            buf_format(&name, "%06llu.sst", (unsigned long long)range->sst);
            struct finding finding = quarantine_finding(image, range);
            finding.file = name.data;
            image->options.report(image->options.context, &finding);
        }
    }
    buf_finish(&name);
}

bool image_next(struct image *image, struct image_row *out)
{
    while (true) {
        while (image->heap_count > 0 && image->has_current &&
               str_eq(image->heap[0]->entry.key, buf_str(&image->current))) {
            advance_first(image);
        }
        if (image->heap_count == 0) {
            if (!image->is_silent) {
                report_quarantine(image);
            }
            image->is_silent = true; /* everything has been read and reported */
            return false;
        }
        const struct source *source = image->heap[0];
        image->current.len = 0;
        buf_add(&image->current, source->entry.key);
        image->has_current = true;
        if (source->entry.type == ENTRY_VALUE && !is_dropped(image, source->entry.key)) {
            *out = (struct image_row){.key = source->entry.key,
                                      .value = source->entry.value,
                                      .is_stale = is_stale(image, source, source->entry.key)};
            return true;
        }
    }
}

uint64_t image_bytes_read(const struct image *image)
{
    uint64_t bytes = image->bytes_of_closed_files;
    for (size_t i = 0; i < image->source_count; i++) {
        bytes += image->sources[i].file != NULL ? sst_file_bytes_read(image->sources[i].file) : 0;
    }
    return bytes;
}

const struct image_summary *image_summary(const struct image *image)
{
    return &image->summary;
}
