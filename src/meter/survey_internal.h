/* meter/survey_internal.h: samples the items of a table: the largest item collections, the largest
 * item, the form of sort keys. Reads a bounded part of the table, spread over it; the result is
 * kept for a minute. Samples of a large table read other parts of it each time and take over the
 * collections that those before them found, so a number of samples covers it. The collections of
 * the keys that are written most are measured each time. */
#ifndef GRAMME_METER_SURVEY_INTERNAL_H
#define GRAMME_METER_SURVEY_INTERNAL_H

#include "meter/insight_internal.h"

enum {
    SURVEY_COLLECTIONS = 20,
    SURVEY_SEGMENTS = 8,
    SURVEY_EXAMPLE = 48,
    SURVEY_ORDERS = 4, /* of table and indexes with sort keys in a wrong order */
    SURVEY_ATTRIBUTES = 32,
    SURVEY_PARTITIONS = 64, /* parts of an index in which partition keys are looked for */
};

struct survey_collection {
    char key[HEAT_KEY_MAX]; /* of the value's encoding */
    uint8_t key_len;
    bool is_cut;
    bool is_exact;   /* all of it was read */
    uint32_t sample; /* that measured it: struct survey's `number` */
    uint64_t items;
    uint64_t bytes;
};

/* Counts of sort keys that are strings, by what their text contains. */
struct survey_sort_keys {
    int index; /* place of the index; -1: of the table */
    uint32_t texts;
    uint32_t misplaced_numbers; /* neighbours that differ in a number first, in an order that is
                                   not that of the numbers */
    uint32_t misplaced_dates;   /* texts with a date that does not begin with the year */
    char example[2][SURVEY_EXAMPLE]; /* two neighbours, or one date; ends with NUL */
};

struct survey {
    bool has_table;
    bool is_whole;   /* every item was read */
    uint32_t number; /* of this sample of the table, from 0 */
    int64_t at_ms;
    uint32_t version;     /* of the table's description */
    uint32_t space;       /* of the table: one that is created again has another */
    uint64_t items;       /* that were read */
    uint64_t items_total; /* that the table had */
    uint64_t item_bytes_max;
    char largest_key[HEAT_KEY_MAX]; /* partition key of the largest item */
    uint8_t largest_key_len;
    bool largest_key_cut;
    struct survey_collection collections[SURVEY_COLLECTIONS]; /* largest first */
    size_t collection_count;
    uint64_t attributes[SURVEY_ATTRIBUTES]; /* hash_64() of names of attributes; not all */
    size_t attribute_count;
    struct survey_sort_keys orders[SURVEY_ORDERS]; /* those that are wrong */
    size_t order_count;
    /* By the place of the index: how many partition keys it has at least; at most two are counted
     * in each of SURVEY_PARTITIONS equal parts of the hash space. 0: it was not examined. */
    uint8_t index_partitions[CAPACITY_INDEX_MAX];
};

/* Samples the table, or returns a sample that is less than a minute old. Waits for the store; not
 * while the mutex is held. has_table false: there is no such table. */
void survey_table(struct insight *insight, struct str name, struct survey *out);
/* Samples up to 200 of the tables, those with the oldest samples first, so that an answer does not
 * take minutes. As survey_table(). */
void survey_tables(struct insight *insight, const struct insight_tables *tables);
/* Returns the sample of a table that is kept, however old; one without has_table if there is none.
 * Valid while the mutex is held. */
const struct survey *survey_kept(const struct meter *meter, const struct table *table);
/* Writes ,"collections":[...],"collectionsAt":... */
void survey_write_collections(struct buf *out, const struct survey *survey);
/* Forgets all samples. The mutex is held, or no other thread uses the meter. */
void survey_forget(struct meter *meter);

/* Writes the key of a survey or counter as JSON. */
void heat_write_key(struct buf *out, const char *key, size_t len, bool is_cut);

#endif
