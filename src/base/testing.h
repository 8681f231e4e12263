/* base/testing.h: included by every x_test.c: cmocka with the headers that it needs, and checks
 * that print the difference. */
#ifndef GRAMME_BASE_TESTING_H
#define GRAMME_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

#endif
