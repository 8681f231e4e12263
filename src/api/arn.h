/* api/arn.h: the names of tables, and of what belongs to a table, as ARNs. */
#ifndef GRAMME_API_ARN_H
#define GRAMME_API_ARN_H

#include "base/str.h"

enum arn_kind {
    ARN_NONE,  /* does not begin with "arn:" */
    ARN_OTHER, /* of something else, or malformed */
    ARN_TABLE,
    ARN_INDEX,
    ARN_STREAM,
};

/* arn:PARTITION:dynamodb:REGION:ACCOUNT:table/TABLE, and behind it /index/PART or /stream/PART. The
 * texts borrow what was parsed, and are there for the last three kinds only. */
struct arn {
    enum arn_kind kind;
    struct str partition;
    struct str region;
    struct str account;
    struct str table;
    struct str part; /* name of an index, label of a stream */
};

/* Of the names only that they are not empty is checked. */
struct arn arn_parse(struct str text);

#endif
