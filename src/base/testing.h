/* base/testing.h: included by every x_test.c: cmocka with the headers that it needs, and checks
 * that print the difference, and one for secrets in freed memory. */
#ifndef GRAMME_BASE_TESTING_H
#define GRAMME_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/str.h"

/* Fails unless both strs are equal; `what` names the row of the test's table. */
#define CHECK_STR_EQ(what, got_, expected_)                                                        \
    do {                                                                                           \
        struct str got__ = (got_);                                                                 \
        struct str expected__ = (expected_);                                                       \
        if (!str_eq(got__, expected__)) {                                                          \
            fail_msg("%s: got \"%.*s\", expected \"%.*s\"", (what), STR_ARG(got__),                \
                     STR_ARG(expected__));                                                         \
        }                                                                                          \
    } while (0)

/* Whether the heap, including what was freed, contains the text of which `mirrored` is the reverse:
 * a test that held the text itself would find its own copy. False also under a sanitizer, whose
 * heap is elsewhere. */
static inline bool heap_contains(const char *mirrored)
{
    char line[512];
    unsigned long start = 0;
    unsigned long end = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "[heap]") != NULL) {
            assert_int_equal(sscanf(line, "%lx-%lx", &start, &end), 2);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    size_t len = strlen(mirrored);
    for (; start + len <= end; start++) {
        const char *at = (const char *)start;
        size_t same = 0;
        while (same < len && at[same] == mirrored[len - 1 - same]) {
            same++;
        }
        if (same == len) {
            return true;
        }
    }
    return false;
}

/* Writes the reverse of `text`, with a NUL, to `out`. */
static inline void reverse_text(const char *text, char *out)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        out[i] = text[len - 1 - i];
    }
    out[len] = '\0';
}

#endif
