/* api/table_request.h: the parts that CreateTable and UpdateTable requests are made of. */
#ifndef GRAMME_API_TABLE_REQUEST_H
#define GRAMME_API_TABLE_REQUEST_H

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

/* OnDemandThroughput and WarmThroughput; the names of their members differ. */
struct pair_request {
    struct wire_int read;
    struct wire_int write;
};

struct index_request {
    struct str name;
    struct wire_list key_schema; /* of struct key_element_request pointers */
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
extern const struct shape shape_index_creation; /* of a global index, in UpdateTable */
extern const struct shape shape_billing_mode;
extern const struct shape shape_throughput;
extern const struct shape shape_on_demand;
extern const struct shape shape_warm;
extern const struct shape shape_stream;
extern const struct shape shape_sse;
extern const struct shape shape_table_class;

enum { WIRE_BILLING_PROVISIONED, WIRE_BILLING_PAY_PER_REQUEST };

/* TableName is there and fits; reported alone. `shape` and `request` are the operation's. */
MUST_USE bool table_request_check_name(struct api_call *call, const struct shape *shape,
                                       const void *request, struct str name);

/* Returns the type of an AttributeDefinition. Like the functions below it turns a part of the
 * request into the form of the model and reports the service's errors. */
enum value_type table_request_type(const struct definition_request *definition);
/* Returns the view of a StreamSpecification; STREAM_NONE if it is disabled. */
enum stream_view table_request_stream(const struct stream_request *stream);
/* Reads ProvisionedThroughput. */
MUST_USE bool table_request_throughput(const struct throughput_request *given,
                                       struct throughput *out, struct err *err);
/* `of`: "table" or "index", for the text. */
MUST_USE bool table_request_on_demand(const struct pair_request *given, enum billing_mode billing,
                                      const char *of, struct unit_pair *out, struct err *err);

/* WarmThroughput of a new table, or of a new index if `index` is not NULL: at least what the mode
 * and throughput of *table (or *index) give. Sets its `warm`. */
MUST_USE bool table_request_new_warm(const struct pair_request *given, struct table *table,
                                     struct index *index, struct err *err);
/* WarmThroughput of an existing table or index: it never decreases. */
MUST_USE bool table_request_raise_warm(const struct pair_request *given, struct table *table,
                                       struct index *index, struct err *err);

/* Checks that the members of SSESpecification go together. */
MUST_USE bool table_request_check_sse(const struct sse_request *sse, struct err *err);
/* Sets the encryption of *table; `sse` has been checked. */
void table_request_set_sse(struct api_call *call, const struct sse_request *sse,
                           struct table *table);

#endif
