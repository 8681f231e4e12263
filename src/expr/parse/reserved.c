/* Looks up reserved words by binary search. Called by check.c for each name of an expression. */
#include "expr/parse/reserved_internal.h"

#define RESERVED(word_) {.data = #word_, .len = sizeof(#word_) - 1},
static const struct str words[] = {
#include "expr/parse/reserved.def"
};
#undef RESERVED

enum { WORD_MAX = 20 };

bool reserved_has(struct str word)
{
    char upper[WORD_MAX];
    if (word.len > sizeof(upper)) {
        return false;
    }
    for (size_t i = 0; i < word.len; i++) {
        char c = word.data[i];
        upper[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    size_t low = 0;
    size_t high = COUNT_OF(words);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(str_make(upper, word.len), words[middle]);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return false;
}
