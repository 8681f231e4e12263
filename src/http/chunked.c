/* Decodes chunked bodies: a state machine with one state per place in the grammar:
 *
 *   chunked-body = *chunk last-chunk trailer-section CRLF
 *   chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
 *   last-chunk   = 1*"0" [ chunk-ext ] CRLF
 *
 * Strict where parsers are known to differ: a line ends in CR LF only, a size has at most 15 digits
 * and no spaces around it, an extension begins with ';'. */
#include "http/chunked.h"

enum state {
    STATE_SIZE,
    STATE_EXTENSION,
    STATE_SIZE_LF,
    STATE_DATA,
    STATE_DATA_CR,
    STATE_DATA_LF,
    STATE_TRAILER,       /* at the start of a line */
    STATE_TRAILER_NAME,  /* at least one character of it has come */
    STATE_TRAILER_VALUE, /* after the colon */
    STATE_TRAILER_LF,
    STATE_END_LF,
    STATE_END,
    STATE_BAD,
};

enum { DIGITS_MAX = 15, IGNORED_MAX = 16 * 1024 };

void chunked_init(struct chunked *chunked)
{
    *chunked = (struct chunked){.state = STATE_SIZE};
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

/* chunk-size = 1*HEXDIG */
static enum state step_size(struct chunked *chunked, char c)
{
    int value = hex_value(c);
    if (value >= 0 && chunked->digits < DIGITS_MAX) {
        chunked->digits++;
        chunked->left = chunked->left * 16 + (uint64_t)value;
        return STATE_SIZE;
    }
    if (chunked->digits == 0 || value >= 0) {
        return STATE_BAD;
    }
    return c == '\r' ? STATE_SIZE_LF : c == ';' ? STATE_EXTENSION : STATE_BAD;
}

static enum state step_size_end(struct chunked *chunked, char c)
{
    chunked->digits = 0;
    if (c != '\n') {
        return STATE_BAD;
    }
    return chunked->left > 0 ? STATE_DATA : STATE_TRAILER;
}

/* Skips ignored text up to the CR. */
static enum state step_ignored(struct chunked *chunked, char c, enum state on_cr)
{
    if (c == '\r') {
        return on_cr;
    }
    chunked->ignored++;
    return is_text(c) && chunked->ignored <= IGNORED_MAX ? (enum state)chunked->state : STATE_BAD;
}

static enum state step_trailer_name(struct chunked *chunked, char c)
{
    chunked->ignored++;
    if (c <= 0x20 || c >= 0x7f || chunked->ignored > IGNORED_MAX) {
        return STATE_BAD;
    }
    bool colon = c == ':';
    if (colon && chunked->state == STATE_TRAILER) {
        return STATE_BAD; /* a name has at least one character */
    }
    return colon ? STATE_TRAILER_VALUE : STATE_TRAILER_NAME;
}

static enum state step(struct chunked *chunked, char c)
{
    switch ((enum state)chunked->state) {
    case STATE_SIZE:
        return step_size(chunked, c);
    case STATE_EXTENSION:
        return step_ignored(chunked, c, STATE_SIZE_LF);
    case STATE_SIZE_LF:
        return step_size_end(chunked, c);
    case STATE_DATA_CR:
        return c == '\r' ? STATE_DATA_LF : STATE_BAD;
    case STATE_DATA_LF:
        return c == '\n' ? STATE_SIZE : STATE_BAD;
    case STATE_TRAILER:
        return c == '\r' ? STATE_END_LF : step_trailer_name(chunked, c);
    case STATE_TRAILER_NAME:
        return step_trailer_name(chunked, c);
    case STATE_TRAILER_VALUE:
        return step_ignored(chunked, c, STATE_TRAILER_LF);
    case STATE_TRAILER_LF:
        return c == '\n' ? STATE_TRAILER : STATE_BAD;
    case STATE_END_LF:
        return c == '\n' ? STATE_END : STATE_BAD;
    case STATE_DATA:
    case STATE_END:
    case STATE_BAD:
        break;
    }
    return STATE_BAD;
}

static enum chunked_status take_data(struct chunked *chunked, struct str *input,
                                     struct str *out_data)
{
    *out_data = str_make(input->data, MIN(input->len, chunked->left));
    *input = str_skip(*input, out_data->len);
    chunked->left -= out_data->len;
    if (chunked->left == 0) {
        chunked->state = STATE_DATA_CR;
    }
    return CHUNKED_DATA;
}

enum chunked_status chunked_next(struct chunked *chunked, struct str *input, struct str *out_data)
{
    while (input->len > 0 && chunked->state < STATE_END) {
        if (chunked->state == STATE_DATA) {
            return take_data(chunked, input, out_data);
        }
        chunked->state = step(chunked, input->data[0]);
        *input = str_skip(*input, 1);
    }
    if (chunked->state == STATE_END) {
        return CHUNKED_DONE;
    }
    return chunked->state == STATE_BAD ? CHUNKED_BAD : CHUNKED_MORE;
}
