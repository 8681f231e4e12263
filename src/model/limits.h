/* model/limits.h: DynamoDB's limits on items, keys and requests, each in one place. */
#ifndef GRAMME_MODEL_LIMITS_H
#define GRAMME_MODEL_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define ITEM_BYTES_MAX              409600                      /* an item, with names */
#define ATTRIBUTE_NAME_BYTES_MAX    65535                       /* name of an attribute */
#define HASH_KEY_BYTES_MAX          2048                        /* partition key */
#define RANGE_KEY_BYTES_MAX         1024                        /* sort key */
#define PAGE_BYTES_MAX              ((size_t)1024 * 1024)       /* read by a Query or Scan */
#define BATCH_BYTES_MAX             ((size_t)16 * 1024 * 1024)  /* answer of a BatchGetItem */
#define BATCH_GET_KEYS_MAX          100                         /* keys of a BatchGetItem */
#define BATCH_WRITES_MAX            25                          /* writes of a BatchWriteItem */
#define TRANSACTION_ITEMS_MAX       100                         /* items of a transaction */
#define TRANSACTION_BYTES_MAX       ((size_t)4 * 1024 * 1024)   /* size of a transaction */
#define TOKEN_LIFETIME_MS           ((int64_t)10 * 60 * 1000)   /* life of a ClientRequestToken */
#define TAGS_MAX                    50                          /* tags of a table */
#define NON_KEY_NAMES_PER_TABLE_MAX 100                         /* projected names of a table */
#define ITEM_COLLECTION_BYTES_MAX   (10LL * 1024 * 1024 * 1024) /* collection with local indexes */

#endif
