/* api/files/export_request.h: what operations on exports share: ARNs, and exports as JSON. */
#ifndef GRAMME_API_FILES_EXPORT_REQUEST_H
#define GRAMME_API_FILES_EXPORT_REQUEST_H

#include "api/api_internal.h"
#include "engine/export.h"

/* Checks that TableArn is the ARN of a table, and returns its parts. False: call->err. */
MUST_USE bool export_request_table(struct api_call *call, struct str text, struct arn *out);
/* The name of the export's row, from the parameter ExportArn. False: call->err. */
MUST_USE bool export_request_row(struct api_call *call, struct str text, struct str *out);
/* Writes {"ExportDescription": ...}. */
void export_request_describe(struct api_call *call, struct str row_name,
                             const struct export *export);
/* Writes an ExportSummary. */
void export_request_summary(struct api_call *call, struct str row_name,
                            const struct export *export);

#endif
