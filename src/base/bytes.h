/* base/bytes.h: integers in stored and transmitted bytes. The byte order is part of each name: _le
 * is little-endian, _be is big-endian (integers sort as their bytes do). The result is the same on
 * every machine. Every stored format and token is read and written with these functions.
 *
 * `at` needs no alignment. The caller makes sure that there are enough bytes. */
#ifndef GRAMME_BASE_BYTES_H
#define GRAMME_BASE_BYTES_H

#include "base/base.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
              "mixed byte orders are not supported");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_LE(bits_, number_) (number_)
#define BYTES_BE(bits_, number_) __builtin_bswap##bits_(number_)
#else
#define BYTES_LE(bits_, number_) __builtin_bswap##bits_(number_)
#define BYTES_BE(bits_, number_) (number_)
#endif

/* Defines get_uN_ORDER(at), which reads an integer, and put_uN_ORDER(at, number), which writes it
 * to the N / 8 bytes at `at`. */
#define BYTES_DEFINE(bits_, order_, convert_)                                                      \
    static_assert(sizeof(uint##bits_##_t) * 8 == (bits_), "an integer without padding");           \
    static inline uint##bits_##_t get_u##bits_##_##order_(const void *at)                          \
    {                                                                                              \
        uint##bits_##_t number;                                                                    \
        memcpy(&number, at, sizeof(number));                                                       \
        return convert_(bits_, number);                                                            \
    }                                                                                              \
    static inline void put_u##bits_##_##order_(void *at, uint##bits_##_t number)                   \
    {                                                                                              \
        number = convert_(bits_, number);                                                          \
        memcpy(at, &number, sizeof(number));                                                       \
    }

BYTES_DEFINE(16, le, BYTES_LE)
BYTES_DEFINE(32, le, BYTES_LE)
BYTES_DEFINE(64, le, BYTES_LE)
BYTES_DEFINE(16, be, BYTES_BE)
BYTES_DEFINE(32, be, BYTES_BE)
BYTES_DEFINE(64, be, BYTES_BE)

#undef BYTES_DEFINE

#endif
