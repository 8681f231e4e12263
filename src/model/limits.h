/* model/limits.h: DynamoDB's limits on items, keys and requests, each in one place. */
#ifndef GRAMME_MODEL_LIMITS_H
#define GRAMME_MODEL_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define ITEM_BYTES_MAX              409600
#define ATTRIBUTE_NAME_BYTES_MAX    65535
#define HASH_KEY_BYTES_MAX          2048
#define RANGE_KEY_BYTES_MAX         1024
#define PAGE_BYTES_MAX              ((size_t)1024 * 1024)
#define BATCH_BYTES_MAX             ((size_t)16 * 1024 * 1024)
#define BATCH_GET_KEYS_MAX          100
#define BATCH_WRITES_MAX            25
#define TRANSACTION_ITEMS_MAX       100
#define TRANSACTION_BYTES_MAX       ((size_t)4 * 1024 * 1024)
#define TOKEN_LIFETIME_MS           ((int64_t)10 * 60 * 1000)
#define TABLES_MAX                  2500
#define TAGS_MAX                    50
#define NON_KEY_NAMES_PER_TABLE_MAX 100
#define ITEM_COLLECTION_BYTES_MAX   (10LL * 1024 * 1024 * 1024)

#endif
