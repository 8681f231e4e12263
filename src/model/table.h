/* model/table.h: the description of a table: keys, indexes and settings. A description is made
 * once, in an arena of its own, and is then immutable: a change of the table makes a new one. Any
 * thread may read it. */
#ifndef GRAMME_MODEL_TABLE_H
#define GRAMME_MODEL_TABLE_H

#include "base/arena.h"
#include "model/value.h"

#define KEY_ATTRIBUTES_MAX 4 /* per hash and per range key; only a GSI has more than one */
#define TABLE_GSI_MAX      20
#define TABLE_LSI_MAX      5
#define INDEX_NON_KEY_MAX  20
/* The initial warm throughput of an on-demand table or index. */
#define WARM_ON_DEMAND_READ  12000
#define WARM_ON_DEMAND_WRITE 4000

struct key_attribute {
    struct str name;
    enum value_type type; /* VALUE_S, VALUE_N or VALUE_B */
};

struct key_schema {
    struct key_attribute hash[KEY_ATTRIBUTES_MAX];
    size_t hash_count;
    struct key_attribute range[KEY_ATTRIBUTES_MAX];
    size_t range_count;
};

/* One entry of AttributeDefinitions. */
struct attribute_definition {
    struct str name;
    enum value_type type;
};

enum projection_type { PROJECTION_ALL, PROJECTION_KEYS_ONLY, PROJECTION_INCLUDE };
enum index_kind { INDEX_GLOBAL, INDEX_LOCAL };
enum billing_mode { BILLING_PROVISIONED, BILLING_PAY_PER_REQUEST };
enum table_class { TABLE_CLASS_STANDARD, TABLE_CLASS_INFREQUENT_ACCESS };
enum stream_view {
    STREAM_NONE,
    STREAM_NEW_IMAGE,
    STREAM_OLD_IMAGE,
    STREAM_NEW_AND_OLD_IMAGES,
    STREAM_KEYS_ONLY
};
/* TTL_ENABLING: the backfill of expiry times of existing items is running. Items expire
 * nevertheless, and clients see ENABLED. */
enum ttl_status { TTL_DISABLED, TTL_ENABLING, TTL_ENABLED };
enum resource_status { STATUS_CREATING, STATUS_UPDATING, STATUS_DELETING, STATUS_ACTIVE };

/* Which keys Contributor Insights reports: all that are used much, or only throttled ones. */
enum insights_mode { INSIGHTS_ACCESSED_KEYS, INSIGHTS_THROTTLED_KEYS };

/* Contributor Insights of a table or a global index. */
struct insights {
    bool enabled;
    enum insights_mode mode;
    int64_t changed_ms; /* when it was last enabled, disabled or given another mode; 0: never */
    int64_t rules_ms;   /* when it was last enabled: part of the names of its rules */
};

/* States of a Kinesis destination. Stored: append only. */
enum destination_state {
    DESTINATION_ENABLING, /* changes are recorded; the stream has not been checked yet */
    DESTINATION_ACTIVE,
    DESTINATION_DISABLING, /* changes are not recorded any more; recorded ones are delivered */
    DESTINATION_DISABLED,
    DESTINATION_ENABLE_FAILED,
};
/* ApproximateCreationDateTimePrecision. Stored: append only. */
enum time_precision { PRECISION_NOT_SET, PRECISION_MILLISECOND, PRECISION_MICROSECOND };

/* A Kinesis stream that gets, or got, the changes of a table. */
struct kinesis_destination {
    struct str stream_arn;
    enum destination_state state;
    enum time_precision precision;
    int64_t changed_ms; /* when the state last changed */
    int64_t updated_ms; /* when the precision was last changed; 0: never */
    struct str problem; /* DESTINATION_ENABLE_FAILED: why; else STR_NULL */
};

/* Provisioned units and when they changed; zeros if on demand. */
struct throughput {
    int64_t read_units;
    int64_t write_units;
    int64_t last_increase_ms; /* 0: never */
    int64_t last_decrease_ms;
    int64_t decreases_today;
};

/* A pair of settings; each may be missing. */
struct unit_pair {
    int64_t read;  /* 0: not set */
    int64_t write; /* 0: not set */
};

struct index {
    struct str name;
    enum index_kind kind;
    struct key_schema key;
    enum projection_type projection;
    const struct str *non_key_names; /* PROJECTION_INCLUDE: as given */
    size_t non_key_count;
    enum resource_status status;
    int64_t changed_ms;           /* when the status last changed; 0: created with the table */
    struct throughput throughput; /* GSI only, like the two below */
    struct unit_pair on_demand;
    struct unit_pair warm;
    struct insights insights;
    uint32_t space;         /* the space of its entries */
    uint32_t since_version; /* the version of the table that added it */
    bool backfilling;       /* the backfill of existing items is running */
};

/* Where the items of a table that is being restored come from: the items of `space` as of an
 * instant, by the versions in `history_space` (engine/history.h). */
struct restore_source {
    struct str backup_row; /* the name of the backup's row: codec/stored_backup.h */
    struct str backup_arn; /* STR_NULL: a restore to a point in time */
    struct str table_arn;
    int64_t time_ms; /* RestoreDateTime */
    int64_t instant_ns;
    uint32_t space; /* 0: the table is not being restored */
    uint32_t history_space;
};

struct table {
    struct str name;
    uint32_t version; /* incremented by each change of the description; starts at 1 */
    char id[36];      /* UUID */
    int64_t created_ms;
    enum resource_status status;
    struct key_schema key; /* hash_count 1, range_count 0 or 1 */
    const struct attribute_definition *definitions;
    size_t definition_count;
    const struct index *indexes; /* global ones first, each kind in the order of creation */
    size_t index_count;
    size_t local_count; /* how many are local */
    /* A global index that is being deleted: shown in descriptions, not used. NULL: none */
    const struct index *deleting_index;

    enum billing_mode billing;
    bool was_on_demand; /* is or was on demand: BillingModeSummary is shown */
    int64_t on_demand_since_ms;
    struct throughput throughput;
    struct unit_pair on_demand;
    struct unit_pair warm;
    enum table_class class;
    bool class_given;
    int64_t class_changed_ms;
    bool deletion_protection;
    enum stream_view stream;
    int64_t stream_since_ms; /* names the stream; 0: never had one */
    uint32_t stream_space;   /* where its records are; 0: it has none now, like the next two */
    uint32_t stream_shards;  /* open shards at a time */
    int64_t stream_shard_ms; /* how long a shard is open */
    enum ttl_status ttl;
    struct str ttl_attribute; /* STR_NULL: TTL_DISABLED */
    int64_t ttl_changed_ms;
    uint32_t ttl_space;         /* the space with items by time of expiry; 0: none */
    uint32_t ttl_since_version; /* the version of the table that enabled it */
    bool sse_kms;
    struct str sse_key_arn;
    struct str policy; /* resource policy, a JSON document; STR_NULL: none, like the next */
    struct str policy_revision;
    struct str stream_policy; /* the same of the stream that began at stream_policy_since_ms */
    struct str stream_policy_revision;
    int64_t stream_policy_since_ms;
    const struct str *tag_names;
    const struct str *tag_values;
    size_t tag_count;
    struct insights insights;
    /* Kinesis destinations in the order in which they were first enabled. At most one of them is
     * ENABLING, ACTIVE or DISABLING. */
    const struct kinesis_destination *destinations;
    size_t destination_count;
    uint32_t feed_space;   /* where changes are recorded for it (engine/feed.h); 0: they are not */
    uint32_t feed_slots;   /* 0 if not, like the next */
    uint64_t feed_version; /* the catalog's version with which that began or ended */

    /* Earlier versions of items, for backups and point-in-time recovery: engine/history.h. */
    uint32_t history_space; /* 0: none are kept */
    uint64_t history_since; /* the catalog's version with which keeping them began */
    uint32_t history_holds; /* how many backups need them */
    bool recovery;          /* point-in-time recovery is on; zeros if not: */
    int64_t recovery_enabled_ms;
    int64_t recovery_since_ns; /* from when on it can be restored; 0: not known yet */
    uint32_t recovery_days;
    struct restore_source restore;

    uint32_t space;            /* the space of its items */
    uint32_t collection_space; /* the space of sizes of item collections; 0 without local indexes */
};

/* Returns the index of that name, or NULL. */
const struct index *table_index(const struct table *table, struct str name);

/* Returns the index that is being created on the existing table, or NULL. */
const struct index *table_creating_index(const struct table *table);

/* Returns WarmThroughput of a global index, or of the table if `index` is NULL: the values that
 * were set, but at least those that the capacity mode implies. */
struct unit_pair table_warm(const struct table *table, const struct index *index);

/* Returns the type of an attribute of AttributeDefinitions, VALUE_NONE if it is not defined. */
enum value_type table_definition(const struct table *table, struct str name);

/* Removes definitions of attributes that are no key of the table or an index. The new list is
 * allocated from `arena`. */
void table_prune_definitions(struct arena *arena, struct table *table);

/* Whether the attribute is part of the key. */
bool key_schema_has(const struct key_schema *key, struct str name);
/* Whether the item has every attribute of the key, of whatever type. */
bool key_schema_is_in(const struct key_schema *key, struct value item);

/* Whether the index projects the attribute: its entries contain it. */
bool index_projects(const struct table *table, const struct index *index, struct str name);

#endif
