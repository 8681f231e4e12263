/* cli/store_report.h: what `gramme check` and `gramme repair` print: findings as text or as one
 * JSON object per line, and progress on a terminal. */
#ifndef GRAMME_CLI_STORE_REPORT_H
#define GRAMME_CLI_STORE_REPORT_H

#include <stdio.h>

#include "base/progress.h"
#include "engine/verify.h"
#include "err/err.h"
#include "store/image/finding.h"

/* Fails if the argument is the URL of a store, which may have a password: `gramme check`, `repair`,
 * `backup` and `restore` work on directories. */
MUST_USE bool store_report_is_directory(const char *argument, struct err *err);

struct store_report {
    bool is_json;
    uint64_t damage_count;
    uint64_t corrected_count;
    uint64_t lost_range_count; /* findings by which rows or records are lost */
    /* Names the space of a lost row; may be NULL. The text lives in `arena`. */
    struct str (*describe_space)(void *context, uint32_t space, struct arena *arena);
    void *context;
    struct progress progress;
};

/* A finding about files; for image_options, with the report as context. */
void store_report_file(void *report, const struct finding *finding);
/* A finding about rows; for verifier_create(), with the report as context. */
void store_report_rows(void *report, const struct verify_finding *finding);
/* Something that a repair changed; `kind` is the word that the line begins with. */
void store_report_change(struct store_report *report, const char *kind, struct str table,
                         const char *text);
/* A line of text; left out in JSON. */
void store_report_line(struct store_report *report, const char *format, ...) PRINTF_LIKE(2, 3);
/* "checked 12 of 100 MiB" with a bar on standard error, if that is a terminal. */
void store_report_progress(struct store_report *report, const char *verb, uint64_t done_bytes,
                           uint64_t total_bytes);
/* Removes the line of progress. */
void store_report_end_progress(struct store_report *report);

#endif
