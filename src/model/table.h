/* model/table.h: what a table is: keys, indexes and settings. A description is made once, in an
 * arena of its own, and not changed afterwards: a changed table is a new description. */
#ifndef GRAMME_MODEL_TABLE_H
#define GRAMME_MODEL_TABLE_H

#include "base/arena.h"
#include "model/value.h"

#define KEY_ATTRIBUTES_MAX 4 /* each of hash and range; more than one of each only in a GSI */
#define TABLE_GSI_MAX      20
#define TABLE_LSI_MAX      5
#define INDEX_NON_KEY_MAX  20
/* What a new on-demand table or index can take at once. */
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
/* TTL_ENABLING: items of before are still being added to the space of expiry times. Items expire
 * all the same, and clients see ENABLED. */
enum ttl_status { TTL_DISABLED, TTL_ENABLING, TTL_ENABLED };
enum resource_status { STATUS_CREATING, STATUS_UPDATING, STATUS_DELETING, STATUS_ACTIVE };

/* Provisioned units with their history; zeros on demand. */
struct throughput {
    int64_t read_units;
    int64_t write_units;
    int64_t last_increase_ms; /* 0: never */
    int64_t last_decrease_ms;
    int64_t decreases_today;
};

/* A pair of settings of which either may be missing. */
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
    int64_t changed_ms;           /* when the status last did; 0: it came with the table */
    struct throughput throughput; /* GSI only, like the two below */
    struct unit_pair on_demand;
    struct unit_pair warm;
    uint32_t space;         /* where its rows are */
    uint32_t since_version; /* of the table, with which it came */
    bool backfilling;       /* items that were there before are still being added */
};

struct table {
    struct str name;
    uint32_t version; /* grows with each change of the description; starts at 1 */
    char id[36];      /* UUID */
    int64_t created_ms;
    enum resource_status status;
    struct key_schema key; /* hash_count 1, range_count 0 or 1 */
    const struct attribute_definition *definitions;
    size_t definition_count;
    const struct index *indexes; /* global ones first, each kind in the order of creation */
    size_t index_count;
    size_t local_count; /* how many of them are local */
    /* A global index that is being deleted: just shown, nobody uses it any more. NULL: none */
    const struct index *leaving;

    enum billing_mode billing;
    bool was_on_demand; /* at some time, or is now: BillingModeSummary is shown */
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
    uint32_t stream_shards;  /* how many are open at a time */
    int64_t stream_shard_ms; /* how long one is open */
    enum ttl_status ttl;
    struct str ttl_attribute; /* STR_NULL: TTL_DISABLED */
    int64_t ttl_changed_ms;
    uint32_t ttl_space;         /* items by time of expiry; 0: none */
    uint32_t ttl_since_version; /* of the table, with which that came */
    bool sse_kms;
    struct str sse_key_arn;
    const struct str *tag_names;
    const struct str *tag_values;
    size_t tag_count;

    uint32_t space;            /* where its items are */
    uint32_t collection_space; /* sizes of item collections; only with local indexes */
};

/* The index of that name, or NULL. */
const struct index *table_index(const struct table *table, struct str name);

/* The index that is being created on a table in use, or NULL. */
const struct index *table_coming_index(const struct table *table);

/* WarmThroughput of a global index, or of the table itself if `index` is NULL: as set, but at least
 * what the capacity mode gives. */
struct unit_pair table_warm(const struct table *table, const struct index *index);

/* The type of a definition, VALUE_NONE if there is none. */
enum value_type table_definition(const struct table *table, struct str name);

/* Forgets definitions of attributes that are no key of table or indexes; `arena` gets the rest. */
void table_prune_definitions(struct arena *arena, struct table *table);

/* Whether the attribute is one of the schema's. */
bool key_schema_has(const struct key_schema *key, struct str name);

/* Whether entries of the index hold the attribute of an item. */
bool index_projects(const struct table *table, const struct index *index, struct str name);

#endif
