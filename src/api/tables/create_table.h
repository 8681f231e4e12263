/* api/tables/create_table.h: what CreateTable and ImportTable share: making the description of a
 * new table from a request. */
#ifndef GRAMME_API_TABLES_CREATE_TABLE_H
#define GRAMME_API_TABLES_CREATE_TABLE_H

#include "api/tables/table_request.h"

struct create_table_request {
    struct str table_name;
    struct wire_list definitions;
    struct wire_list key_schema;
    struct wire_list local_indexes;
    struct wire_list global_indexes;
    struct wire_enum billing_mode;
    struct throughput_request *throughput;
    struct stream_request *stream;
    struct sse_request *sse;
    struct wire_list tags;
    struct str policy;
    struct wire_enum table_class;
    struct wire_bool deletion_protection;
    struct pair_request *warm;
    struct pair_request *on_demand;
};

/* Makes the description of a new table, with an id, ACTIVE, from a request whose members satisfy
 * the model. Makes all other checks of CreateTable, in its order. False: call->err. */
MUST_USE bool create_table_define(struct api_call *call, const struct create_table_request *request,
                                  struct table *out);

#endif
