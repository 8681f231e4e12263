/* auth/pattern.h: texts in policies that stand for many: `*` for any run of characters, `?` for one
 * character, and policy variables such as `${aws:username}`. */
#ifndef GRAMME_AUTH_PATTERN_H
#define GRAMME_AUTH_PATTERN_H

#include "auth/context.h"
#include "err/err.h"

enum pattern_syntax {
    PATTERN_PLAIN = 0,
    PATTERN_WILDCARDS = 1,
    PATTERN_VARIABLES = 2,
};

struct pattern_part;

struct pattern {
    struct str literal;         /* the whole text, if there is neither wildcard nor variable */
    struct pattern_part *parts; /* otherwise */
    size_t part_count;
    bool has_variables;
};

/* Compiles `text`; the pattern and what it borrows of `text` live as long as `arena` and `text`.
 * False: a variable is not well formed (ERR_VALIDATION). */
MUST_USE bool pattern_compile(struct arena *arena, struct str text, unsigned syntax,
                              struct pattern *out, struct err *err);

/* What a match needs besides the two texts. */
struct pattern_input {
    const struct auth_context *context;
    struct arena *arena; /* for the text of variables; the caller rewinds or resets it */
};

/* Whether the pattern stands for the whole of `text`. The text that a variable inserts is literal:
 * its `*` is no wildcard. A variable without a value and without a default matches nothing. */
MUST_USE bool pattern_matches(const struct pattern *pattern, struct str text,
                              const struct pattern_input *input);
/* The same without regard to the case of ASCII letters. */
MUST_USE bool pattern_matches_nocase(const struct pattern *pattern, struct str text,
                                     const struct pattern_input *input);

/* Adds the CONTEXT_BIT of each variable to *set. */
void pattern_add_keys(const struct pattern *pattern, uint64_t *set);

/* An ARN is six texts joined by colons; the sixth may contain colons. Each is matched alone. */
enum { ARN_PARTS = 6 };

struct arn_pattern {
    struct pattern parts[ARN_PARTS];
    int part_count; /* 0: the pattern `*`, which matches every text */
};

/* Compiles an ARN with wildcards in all parts, and variables in the parts from `variables_from` on
 * (ARN_PARTS: nowhere). A pattern with fewer parts must end in `*`, which stands for the rest.
 * False: it is not an ARN (ERR_VALIDATION). */
MUST_USE bool arn_pattern_compile(struct arena *arena, struct str text, int variables_from,
                                  struct arn_pattern *out, struct err *err);
/* Whether the pattern stands for `arn`. */
MUST_USE bool arn_pattern_matches(const struct arn_pattern *pattern, struct str arn,
                                  const struct pattern_input *input);
/* Adds the CONTEXT_BIT of each variable to *set. */
void arn_pattern_add_keys(const struct arn_pattern *pattern, uint64_t *set);

#endif
