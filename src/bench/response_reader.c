/* Finds the end of HTTP responses. Called by worker.c for every response, so it does little. */
#include "bench/response_reader_internal.h"

void reader_init(struct reader *reader)
{
    reader->keep_back = false;
    reader_reset(reader);
}

void reader_reset(struct reader *reader)
{
    reader->status = 0;
    reader->closes = false;
    reader->body_len = 0;
    reader->front_len = 0;
    reader->back_len = 0;
    reader->in_body = false;
    reader->chunked = false;
    reader->left = 0;
    reader->head_len = 0;
}

/* The head ------------------------------------------------------------------------------------ */

/* Returns the value of a header if the line is that header; else STR_NULL. */
static struct str header_value(struct str line, struct str name)
{
    if (line.len <= name.len || line.data[name.len] != ':' ||
        !str_eq_nocase(str_make(line.data, name.len), name)) {
        return STR_NULL;
    }
    return str_trim(str_skip(line, name.len + 1), " \t\r");
}

/* HTTP/1.1 200 OK */
static bool read_status_line(struct reader *reader, struct str line)
{
    int64_t status;
    if (line.len < 12 || !str_starts_with(line, STR("HTTP/1.")) ||
        !str_to_int64(str_make(line.data + 9, 3), &status)) {
        return false;
    }
    reader->status = (int)status;
    reader->closes = line.data[7] == '0';
    return true;
}

static bool read_header(struct reader *reader, struct str line, bool *has_length)
{
    struct str value = header_value(line, STR("content-length"));
    if (!str_is_null(value)) {
        int64_t length;
        *has_length = true;
        bool good = str_to_int64(value, &length) && length >= 0;
        reader->left = good ? (uint64_t)length : 0;
        return good;
    }
    value = header_value(line, STR("transfer-encoding"));
    if (!str_is_null(value)) {
        reader->chunked = true;
        chunked_init(&reader->chunks);
        return str_eq_nocase(value, STR("chunked"));
    }
    value = header_value(line, STR("connection"));
    if (!str_is_null(value)) {
        reader->closes = str_eq_nocase(value, STR("close"));
    }
    return true;
}

static bool read_head(struct reader *reader, struct str head)
{
    bool has_length = false;
    for (bool first = true; head.len > 0; first = false) {
        const char *end = memchr(head.data, '\n', head.len);
        size_t len = (size_t)(end - head.data); /* a head ends with a line feed */
        struct str line = str_make(head.data, len);
        if (first ? !read_status_line(reader, line) : !read_header(reader, line, &has_length)) {
            return false;
        }
        head = str_skip(head, len + 1);
    }
    return has_length || reader->chunked || reader->status == 204 || reader->status == 304;
}

/* Returns the end of the head in `text`, or 0. */
static size_t head_end(struct str text)
{
    const char *end = memmem(text.data, text.len, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - text.data) + 4;
}

static enum reader_status take_head(struct reader *reader, struct str *input)
{
    struct str text = *input;
    size_t before = reader->head_len;
    if (before > 0) {
        size_t copied = MIN(input->len, sizeof(reader->head) - before);
        memcpy(reader->head + before, input->data, copied);
        text = str_make(reader->head, before + copied);
    }
    size_t end = head_end(text);
    if (end == 0 && text.len >= sizeof(reader->head)) {
        return READER_BAD;
    }
    if (end == 0) {
        if (before == 0 && text.len > 0) {
            memcpy(reader->head, text.data, text.len);
        }
        reader->head_len = text.len;
        *input = str_skip(*input, input->len);
        return READER_MORE;
    }
    *input = str_skip(*input, end - before);
    reader->in_body = true;
    return read_head(reader, str_make(text.data, end)) ? READER_DONE : READER_BAD;
}

/* The body ------------------------------------------------------------------------------------ */

static void keep_back(struct reader *reader, struct str data)
{
    if (data.len >= READER_BACK_MAX) {
        memcpy(reader->back, data.data + data.len - READER_BACK_MAX, READER_BACK_MAX);
        reader->back_len = READER_BACK_MAX;
        return;
    }
    size_t kept = MIN(reader->back_len, READER_BACK_MAX - data.len);
    memmove(reader->back, reader->back + reader->back_len - kept, kept);
    memcpy(reader->back + kept, data.data, data.len);
    reader->back_len = kept + data.len;
}

static void note_body(struct reader *reader, struct str data)
{
    size_t copied = MIN(data.len, READER_FRONT_MAX - reader->front_len);
    memcpy(reader->front + reader->front_len, data.data, copied);
    reader->front_len += copied;
    reader->body_len += data.len;
    if (reader->keep_back && data.len > 0) {
        keep_back(reader, data);
    }
}

static enum reader_status take_chunks(struct reader *reader, struct str *input)
{
    for (;;) {
        struct str data;
        switch (chunked_next(&reader->chunks, input, &data)) {
        case CHUNKED_MORE:
            return READER_MORE;
        case CHUNKED_DATA:
            note_body(reader, data);
            break;
        case CHUNKED_DONE:
            return READER_DONE;
        case CHUNKED_BAD:
            return READER_BAD;
        }
    }
}

enum reader_status reader_take(struct reader *reader, struct str *input)
{
    if (!reader->in_body) {
        enum reader_status status = take_head(reader, input);
        if (status != READER_DONE) {
            return status;
        }
    }
    if (reader->chunked) {
        return take_chunks(reader, input);
    }
    size_t taken = (size_t)MIN(reader->left, (uint64_t)input->len);
    note_body(reader, str_make(input->data, taken));
    *input = str_skip(*input, taken);
    reader->left -= taken;
    return reader->left == 0 ? READER_DONE : READER_MORE;
}

/* "__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException" */
struct str reader_error_type(const struct reader *reader)
{
    static const char name[] = "\"__type\"";
    const char *end = reader->front + reader->front_len;
    const char *at = memmem(reader->front, reader->front_len, name, sizeof(name) - 1);
    if (at == NULL) {
        return STR_NULL;
    }
    at += sizeof(name) - 1;
    at = memchr(at, '"', (size_t)(end - at));
    if (at == NULL) {
        return STR_NULL;
    }
    const char *start = ++at;
    for (; at < end && *at != '"'; at++) {
        if (*at == '#') {
            start = at + 1;
        }
    }
    return str_make(start, (size_t)(at - start));
}
