/* archive/record_testing.h: for tests and fuzz targets: bytes in memory as a source that returns a
 * few at a time, and what a reader makes of them, as text. */
#ifndef GRAMME_ARCHIVE_RECORD_TESTING_H
#define GRAMME_ARCHIVE_RECORD_TESTING_H

#include "archive/record.h"
#include "base/buf.h"
#include "wire/value_json.h"

struct memory_source {
    struct byte_source source;
    struct str text;
    size_t at;
    size_t step; /* bytes at a time */
};

/* Returns the next bytes: the function `read` of the source. */
static inline bool memory_source_read(struct byte_source *source, char *room, size_t room_len,
                                      size_t *out_len, struct err *err)
{
    struct memory_source *memory = CONTAINER_OF(source, struct memory_source, source);
    (void)err;
    *out_len = MIN(MIN(memory->step, room_len), memory->text.len - memory->at);
    if (*out_len > 0) {
        memcpy(room, memory->text.data + memory->at, *out_len);
    }
    memory->at += *out_len;
    return true;
}

/* Makes a source of `text`, `step` bytes at a time. */
static inline struct memory_source memory_source(struct str text, size_t step)
{
    return (struct memory_source){.source.read = memory_source_read, .text = text, .step = step};
}

/* Appends a line for one record. */
static inline void transcribe_one(struct buf *out, enum record_result result,
                                  const struct record *record)
{
    if (result == RECORD_ITEM) {
        value_json_write_item(out, record->item);
        if (!str_is_null(record->condition)) {
            buf_format(out, " if %.*s", STR_ARG(record->condition));
        }
        if (!value_is_absent(record->names)) {
            buf_add(out, STR(" names "));
            value_json_write_item(out, record->names);
        }
        if (!value_is_absent(record->attributes)) {
            buf_add(out, STR(" values "));
            value_json_write_item(out, record->attributes);
        }
    } else {
        buf_add(out, result == RECORD_BAD ? STR("bad: ") : STR("broken: "));
        buf_add(out, record->error);
    }
    buf_add_char(out, '\n');
}

/* Appends a line for each record of the source. If `resume` is not 0, a new reader continues after
 * every `resume` records, so that resuming is tested. */
static inline void transcribe(const struct record_options *options, struct str text, size_t step,
                              size_t resume, struct buf *out)
{
    struct memory_source source = memory_source(text, step);
    struct record_reader *reader = record_reader_create(options, &source.source);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct record record;
    enum record_result result;
    size_t count = 0;
    while ((result = record_reader_next(reader, &arena, &record, &err)) != RECORD_END) {
        assert(result != RECORD_FAILED);
        transcribe_one(out, result, &record);
        arena_reset(&arena);
        err = ERR_INIT(&arena);
        if (resume != 0 && result != RECORD_BROKEN && ++count % resume == 0) {
            int64_t position = record_reader_position(reader);
            record_reader_destroy(reader);
            source = memory_source(text, step);
            reader = record_reader_create(options, &source.source);
            bool ok = record_reader_skip_to(reader, position, &err);
            assert(ok);
        }
    }
    record_reader_destroy(reader);
    arena_finish(&arena);
}

/* For fuzz targets: asserts that the records are the same whether the bytes arrive at once or a few
 * at a time, and whether one reader reads them or each reader continues where another stopped. */
static inline void check_record_reader(enum record_format format, struct str text)
{
    static const struct attribute_definition definitions[] = {
        {STR("n"), VALUE_N},
        {STR("b"), VALUE_B},
    };
    static const struct table table = {.definitions = definitions, .definition_count = 2};
    const struct record_options options = {.format = format, .table = &table};
    struct buf whole = {0};
    struct buf steps = {0};
    struct buf resumed = {0};
    transcribe(&options, text, 1 << 20, 0, &whole);
    transcribe(&options, text, 3, 0, &steps);
    transcribe(&options, text, 50, 2, &resumed);
    assert(str_eq(buf_str(&whole), buf_str(&steps)));
    assert(str_eq(buf_str(&whole), buf_str(&resumed)));
    buf_finish(&whole);
    buf_finish(&steps);
    buf_finish(&resumed);
}

#endif
