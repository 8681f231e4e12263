/* auth/policy_testing.h: pieces of policies, callers and contexts, for the rows of unit tests. */
#ifndef GRAMME_AUTH_POLICY_TESTING_H
#define GRAMME_AUTH_POLICY_TESTING_H

#include "auth/policy.h"

#define ACCOUNT      "000000000000"
#define TABLE(name_) "arn:aws:dynamodb:us-east-1:" ACCOUNT ":table/" name_
#define T            TABLE("GameScores")
#define INDEX_G      T "/index/TopScoreDateTimeIndex"
#define INDEX_O      T "/index/O"
#define USER         "arn:aws:iam::" ACCOUNT ":user/u1"
#define ROLE         "arn:aws:iam::" ACCOUNT ":role/R1"
#define SESSION      "arn:aws:sts::" ACCOUNT ":assumed-role/R1/s"
#define V12          "{\"Version\":\"2012-10-17\",\"Statement\":["
#define END          "]}"
#define ALLOW(action_, resource_, condition_)                                                      \
    "{\"Effect\":\"Allow\",\"Action\":" action_ ",\"Resource\":" resource_ condition_ "}"
#define DENY(action_, resource_, condition_)                                                       \
    "{\"Effect\":\"Deny\",\"Action\":" action_ ",\"Resource\":" resource_ condition_ "}"
#define IF(text_) ",\"Condition\":{" text_ "}"
#define ALL       "\"*\""

/* The context of a request, with room for its tags. */
struct testing_context {
    struct auth_context context;
    struct context_tag tags[CONTEXT_TAG_FAMILY_COUNT][4];
};

/* Compiles a document, which must be a valid policy. NULL gives NULL. */
struct policy *testing_policy(struct arena *arena, const char *text, enum policy_kind kind);
/* Returns the caller with this name: "user", "session" or "root". */
const struct policy_caller *testing_caller(const char *name);
/* Fills a context from text: "dynamodb:LeadingKeys=a,b;aws:ResourceTag/env=prod". Borrows `text`.
 */
void testing_context(struct arena *arena, const char *text, const struct policy_caller *caller,
                     struct testing_context *out);

#endif
