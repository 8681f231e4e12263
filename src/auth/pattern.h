/* auth/pattern.h: patterns in policies: `*` matches any run of characters, `?` one character, and a
 * policy variable such as `${aws:username}` the value that the request has for it. Any thread may
 * use a compiled pattern. */
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
    struct str literal;         /* the whole text, if it has neither wildcards nor variables */
    struct pattern_part *parts; /* otherwise */
    size_t part_count;
    bool has_variables;
};

/* Compiles `text`; `syntax` is a set of enum pattern_syntax bits. *out borrows `arena` and `text`.
 * Returns false with ERR_VALIDATION if a variable is not well formed. */
MUST_USE bool pattern_compile(struct arena *arena, struct str text, unsigned syntax,
                              struct pattern *out, struct err *err);

/* What a match needs besides the pattern and the text. */
struct pattern_input {
    const struct auth_context *context;
    struct arena *arena; /* scratch memory for expanded variables; the caller resets it */
};

/* Returns whether the pattern matches the whole of `text`. The value of a variable is compared
 * literally: a `*` in it is not a wildcard. A variable that has neither a value nor a default
 * matches nothing. */
MUST_USE bool pattern_matches(const struct pattern *pattern, struct str text,
                              const struct pattern_input *input);
/* As pattern_matches(), without regard to the case of ASCII letters. */
MUST_USE bool pattern_matches_nocase(const struct pattern *pattern, struct str text,
                                     const struct pattern_input *input);

/* Adds the CONTEXT_BIT of each variable to *set. */
void pattern_add_keys(const struct pattern *pattern, uint64_t *set);

/* An ARN consists of six parts joined by colons; the sixth may contain colons. Each part is matched
 * separately. */
enum { ARN_PARTS = 6 };

struct arn_pattern {
    struct pattern parts[ARN_PARTS];
    int part_count; /* 0: the pattern `*`, which matches every text */
};

/* Compiles an ARN that may have wildcards in every part, and variables in the parts from number
 * `variables_from` on (ARN_PARTS: in none). A pattern with fewer parts must end in `*`, which
 * matches the remaining parts. *out borrows `arena` and `text`. Returns false with ERR_VALIDATION
 * if the text is not an ARN. */
MUST_USE bool arn_pattern_compile(struct arena *arena, struct str text, int variables_from,
                                  struct arn_pattern *out, struct err *err);
/* Returns whether the pattern matches `arn`. */
MUST_USE bool arn_pattern_matches(const struct arn_pattern *pattern, struct str arn,
                                  const struct pattern_input *input);
/* Returns whether the pattern matches every ARN that starts with `prefix`, which has six parts.
 * False also for patterns that do so and do not end in `*`. */
MUST_USE bool arn_pattern_covers(const struct arn_pattern *pattern, struct str prefix,
                                 const struct pattern_input *input);
/* Returns whether the pattern matches any ARN that starts with `prefix`, which has six parts. */
MUST_USE bool arn_pattern_overlaps(const struct arn_pattern *pattern, struct str prefix,
                                   const struct pattern_input *input);
/* Adds the CONTEXT_BIT of each variable to *set. */
void arn_pattern_add_keys(const struct arn_pattern *pattern, uint64_t *set);

#endif
