/* Fuzzes the decoder of compressed bodies. Input: a byte that chooses the coding, and the body.
 * Properties: the decoded text never exceeds the limit by more than one byte; encoding and decoding
 * it again gives the same text. */
#include "http/coding_internal.h"

#include <stdlib.h>

enum { PLAIN_MAX = 10000 };

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct coder coder;
    if (size == 0) {
        return 0;
    }
    enum coding coding = data[0] % 2 == 0 ? CODING_GZIP : CODING_DEFLATE;
    struct str input = str_make(data + 1, size - 1);
    struct buf plain = {0};
    struct buf coded = {0};
    struct buf again = {0};
    enum coder_status status = coder_decode(&coder, coding, input, PLAIN_MAX, &plain);
    require(plain.len <= PLAIN_MAX + (status == CODER_TOO_LARGE ? 1 : 0));
    if (status == CODER_OK) {
        coder_encode(&coder, coding, buf_str(&plain), &coded);
        require(coder_decode(&coder, coding, buf_str(&coded), PLAIN_MAX, &again) == CODER_OK);
        require(str_eq(buf_str(&plain), buf_str(&again)));
    }
    buf_finish(&plain);
    buf_finish(&coded);
    buf_finish(&again);
    return 0;
}
