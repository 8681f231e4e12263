/* meter/prices_internal.h: prices of capacity, storage and stream reads, from a JSON file; the
 * built-in ones are such a text too (prices.c). */
#ifndef GRAMME_METER_PRICES_INTERNAL_H
#define GRAMME_METER_PRICES_INTERNAL_H

#include "base/buf.h"
#include "err/err.h"

/* Of one table class. */
struct class_prices {
    double read_request_million; /* on demand */
    double write_request_million;
    double read_unit_hour; /* provisioned */
    double write_unit_hour;
    double storage_gb_month;
};

struct prices {
    struct str name;
    struct str date;
    struct str currency;
    struct str note;
    struct class_prices standard;
    struct class_prices infrequent_access;
    double stream_read_million;
};

enum { PRICES_MAX = 32 };

struct prices_list {
    struct arena arena;
    struct str default_name;
    struct prices prices[PRICES_MAX];
    size_t count;
};

/* Reads the file, or the built-in prices if `path` is STR_NULL. Fails with ERR_VALIDATION; the
 * message describes the mistake. */
MUST_USE bool prices_load(struct prices_list *list, struct str path, struct err *err);
/* Frees what prices_load() has read. */
void prices_finish(struct prices_list *list);
/* The prices of that name; of the default if it is empty. NULL: there are none. */
const struct prices *prices_find(const struct prices_list *list, struct str name);
/* Writes all prices as JSON, for GET prices. */
void prices_write(struct buf *out, const struct prices_list *list);

#endif
