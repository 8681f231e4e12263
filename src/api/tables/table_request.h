/* api/tables/table_request.h: the parts of CreateTable and UpdateTable requests that are not keys
 * or indexes (those: index_request.h), as decoded, and their checks. A function that returns false
 * has set the service's error. */
#ifndef GRAMME_API_TABLES_TABLE_REQUEST_H
#define GRAMME_API_TABLES_TABLE_REQUEST_H

#include "api/api_internal.h"

struct definition_request {
    struct str name;
    struct wire_enum type; /* B, N, S */
};

struct key_element_request {
    struct str name;
    struct wire_enum type; /* HASH, RANGE */
};

struct projection_request {
    struct wire_enum type; /* ALL, INCLUDE, KEYS_ONLY */
    struct wire_list non_key;
};

struct throughput_request {
    struct wire_int read;
    struct wire_int write;
};

/* OnDemandThroughput or WarmThroughput; only the names of their members differ. */
struct pair_request {
    struct wire_int read;
    struct wire_int write;
};

struct index_request {
    struct str name;
    struct wire_list key_schema; /* elements are struct key_element_request pointers */
    struct projection_request *projection;
    struct throughput_request *throughput;
    struct pair_request *on_demand;
    struct pair_request *warm;
};

struct stream_request {
    struct wire_bool enabled;
    struct wire_enum view;
};

struct sse_request {
    struct wire_bool enabled;
    struct wire_enum type;
    struct str key;
};

extern const struct shape shape_definitions;
extern const struct shape shape_key_schema;
extern const struct shape shape_global_indexes;
extern const struct shape shape_local_indexes;
extern const struct shape shape_index_creation; /* Create of GlobalSecondaryIndexUpdates */
extern const struct shape shape_billing_mode;
extern const struct shape shape_throughput;
extern const struct shape shape_on_demand;
extern const struct shape shape_warm;
extern const struct shape shape_stream;
extern const struct shape shape_sse;
extern const struct shape shape_table_class;

enum { WIRE_BILLING_PROVISIONED, WIRE_BILLING_PAY_PER_REQUEST };

/* Checks that TableName is present and valid; its error is reported alone. `shape` and `request`
 * are those of the operation. */
MUST_USE bool table_request_check_name(struct api_call *call, const struct shape *shape,
                                       const void *request, struct str name);

/* Returns the type of an AttributeDefinition. */
enum value_type table_request_type(const struct definition_request *definition);
/* Returns the view of a StreamSpecification; STREAM_NONE if it is disabled. */
enum stream_view table_request_stream(const struct stream_request *stream);
/* Converts ProvisionedThroughput and checks it. */
MUST_USE bool table_request_throughput(const struct throughput_request *given,
                                       struct throughput *out, struct err *err);
/* Converts OnDemandThroughput and checks it. `of` is "table" or "index", for the error message. */
MUST_USE bool table_request_on_demand(const struct pair_request *given, enum billing_mode billing,
                                      const char *of, struct unit_pair *out, struct err *err);

/* Checks WarmThroughput of a new table, or of a new index if `index` is not NULL, and sets the
 * `warm` of *table or *index. It must be at least what the billing mode and the throughput
 * provide. */
MUST_USE bool table_request_new_warm(const struct pair_request *given, struct table *table,
                                     struct index *index, struct err *err);
/* Checks WarmThroughput of an existing table or index, and sets its `warm`. It cannot decrease. */
MUST_USE bool table_request_raise_warm(const struct pair_request *given, struct table *table,
                                       struct index *index, struct err *err);

/* Converts and checks ProvisionedThroughput, OnDemandThroughput and WarmThroughput of a new global
 * index of *table. The caller has checked that the billing mode allows ProvisionedThroughput. */
MUST_USE bool table_request_new_index(const struct index_request *given, struct table *table,
                                      struct index *out, struct err *err);

/* Returns the TableClass; TABLE_CLASS_STANDARD if it is not given. */
enum table_class table_request_class(const struct wire_enum *given);

/* Checks that the members of SSESpecification are consistent. */
MUST_USE bool table_request_check_sse(const struct sse_request *sse, struct err *err);
/* Sets the encryption of *table from an SSESpecification that has been checked. */
void table_request_set_sse(struct api_call *call, const struct sse_request *sse,
                           struct table *table);

#endif
