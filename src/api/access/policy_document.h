/* api/access/policy_document.h: the JSON of a resource policy: its mistakes in the words of the
 * service, and its canonical form. auth/policy.h compiles and evaluates policies. */
#ifndef GRAMME_API_ACCESS_POLICY_DOCUMENT_H
#define GRAMME_API_ACCESS_POLICY_DOCUMENT_H

#include "err/err.h"

#define POLICY_DOCUMENT_INVALID                                                                    \
    "One or more parameter values were invalid: Invalid policy document: "

/* Checks what the service has texts for: JSON, required elements, Sids, principals, ARNs. The
 * caller checks the rest with policy_parse(). Allocates from `arena`. False: *err is
 * ERR_VALIDATION. */
MUST_USE bool policy_document_check(struct arena *arena, struct str document, struct err *err);

/* Returns the canonical form of a valid document, in `arena`: without white space, elements in a
 * fixed order, lists of one value as the value, account numbers as ARNs. Documents that differ in
 * nothing else have the same canonical form. */
MUST_USE struct str policy_document_canonical(struct arena *arena, struct str document);

#endif
