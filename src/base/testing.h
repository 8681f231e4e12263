/* base/testing.h: what every x_test.c includes: cmocka with its many prerequisites, and checks
 * that print what differs. */
#ifndef GRAMME_BASE_TESTING_H
#define GRAMME_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"

/* Two texts as struct str; `what` names the row of the table that is being checked. */
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
