/* api/arn.h: parses the ARNs of tables, indexes and streams. */
#ifndef GRAMME_API_ARN_H
#define GRAMME_API_ARN_H

#include "base/str.h"

enum arn_kind {
    ARN_NONE,  /* does not begin with "arn:" */
    ARN_OTHER, /* the ARN of another resource, or a malformed one */
    ARN_TABLE,
    ARN_INDEX,
    ARN_STREAM,
};

/* arn:PARTITION:dynamodb:REGION:ACCOUNT:table/TABLE, optionally followed by /index/PART or
 * /stream/PART. The texts borrow the parsed text; they are set for the last three kinds only. */
struct arn {
    enum arn_kind kind;
    struct str partition;
    struct str region;
    struct str account;
    struct str table;
    struct str part; /* name of an index, label of a stream */
};

/* Parses an ARN. Checks of the names only that they are not empty. Any thread. */
struct arn arn_parse(struct str text);

#endif
