/* The reader of records: what the formats have in common. Called by imports, on their thread. */
#include "archive/record_internal.h"

#include "base/mem.h"

struct record_reader *record_reader_create(const struct record_options *options,
                                           struct byte_source *source)
{
    struct record_reader *reader = mem_zalloc(sizeof(*reader));
    reader->options = options;
    reader->headers = options->headers;
    reader->header_count = options->header_count;
    arena_init(&reader->arena);
    window_init(&reader->window, source, RECORD_BYTES_MAX);
    return reader;
}

void record_reader_destroy(struct record_reader *reader)
{
    if (reader != NULL) {
        window_finish(&reader->window);
        arena_finish(&reader->arena);
        mem_free(reader);
    }
}

enum record_result record_end_failed(struct record *out, const struct err *err)
{
    if (err->code != ERR_VALIDATION) {
        return RECORD_FAILED;
    }
    out->error = err->message;
    return RECORD_BROKEN;
}

enum record_result record_bad(struct arena *arena, struct record *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->error = arena_vformat(arena, format, args);
    va_end(args);
    return RECORD_BAD;
}

/* Skips a byte order mark, and reads the first row of CSV if that has the names of columns. */
static enum record_result begin(struct record_reader *reader, struct arena *arena,
                                struct record *out, struct err *err)
{
    static const struct str mark = {.data = "\xef\xbb\xbf", .len = 3};
    struct window *window = &reader->window;
    reader->has_begun = true;
    while (window_text(window).len < mark.len && !window->is_end) {
        if (!window_fill(window, err)) {
            return record_end_failed(out, err);
        }
    }
    if (str_starts_with(window_text(window), mark)) {
        window_take(window, mark.len);
    }
    bool needs_header = reader->options->format == RECORD_CSV && reader->headers == NULL;
    return needs_header ? read_csv_header(reader, arena, out, err) : RECORD_ITEM;
}

enum record_result record_reader_next(struct record_reader *reader, struct arena *arena,
                                      struct record *out, struct err *err)
{
    *out = (struct record){0};
    if (reader->is_over) {
        return RECORD_END;
    }
    enum record_result result = RECORD_ITEM;
    if (!reader->has_begun) {
        result = begin(reader, arena, out, err);
    }
    if (result == RECORD_ITEM) {
        switch (reader->options->format) {
        case RECORD_DYNAMODB_JSON:
            result = read_json_record(reader, arena, out, err);
            break;
        case RECORD_ION:
            result = read_ion_record(reader, arena, out, err);
            break;
        case RECORD_CSV:
            result = read_csv_record(reader, arena, out, err);
            break;
        }
    }
    reader->is_over = result == RECORD_BROKEN || result == RECORD_END || result == RECORD_FAILED;
    return result;
}

/* A position is a number of bytes; this bit of it says that an Ion list is open. */
static const int64_t in_list_bit = (int64_t)1 << 62;

int64_t record_reader_position(const struct record_reader *reader)
{
    return (int64_t)reader->window.position | (reader->is_in_list ? in_list_bit : 0);
}

bool record_reader_skip_to(struct record_reader *reader, int64_t position, struct err *err)
{
    if (position == 0) {
        return true;
    }
    struct record ignored = {0};
    enum record_result result = begin(reader, &reader->arena, &ignored, err);
    if (result != RECORD_ITEM) {
        return err_set(err, ERR_VALIDATION, "The object has changed");
    }
    reader->is_in_list = (position & in_list_bit) != 0;
    return window_skip_to(&reader->window, (uint64_t)(position & ~in_list_bit), err);
}
