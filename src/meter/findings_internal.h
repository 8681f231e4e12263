/* meter/findings_internal.h: the search for findings: each rule examines patterns, tables or heat,
 * and adds findings with evidence and remedy. */
#ifndef GRAMME_METER_FINDINGS_INTERNAL_H
#define GRAMME_METER_FINDINGS_INTERNAL_H

#include "meter/survey_internal.h"

#define FINDING(name_, id_, severity_, title_) FINDING_##name_,
enum finding_kind {
#include "meter/findings.def"
    FINDING_COUNT
};
#undef FINDING

/* The subject of a finding, and its numbers. */
struct finding {
    enum finding_kind kind;
    const char *severity; /* NULL: that of the kind */
    const char *title;    /* likewise */
    struct str table;
    struct str index;
    const struct pattern *pattern; /* or NULL */
    struct str evidence;
    struct str remedy;
    struct str numbers; /* the members of a JSON object */
};

/* A search under way. */
struct search {
    struct insight *insight;
    struct insight_tables tables;
    const struct survey **surveys; /* survey_kept() of each table */
    size_t surveyed_count;         /* tables that have one */
    struct finding *findings;
    size_t count;
    size_t max;
};

enum { FINDINGS_MAX = 1000 };

/* The remedy for large items. */
#define FINDING_SPLIT_ITEM                                                                         \
    "Split the item: what grows (lists, texts) into items of its own in the same item "            \
    "collection, large binaries to object storage."

/* Adds a finding; texts are in the arena of the request. */
void finding_add(struct search *search, const struct finding *finding);

/* Runs the rules that look at one pattern each, on all patterns. The mutex is held. */
void findings_of_patterns(struct search *search);
/* Runs the rules about a table, its indexes and keys; `number` is its place in search->tables. The
 * mutex is held. */
void findings_of_table(struct search *search, size_t number);

#endif
