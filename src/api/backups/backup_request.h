/* api/backups/backup_request.h: what operations on backups share: ARNs, and backups as JSON. */
#ifndef GRAMME_API_BACKUPS_BACKUP_REQUEST_H
#define GRAMME_API_BACKUPS_BACKUP_REQUEST_H

#include "api/api_internal.h"
#include "engine/backup.h"

extern const struct shape shape_backup_arn;
extern const struct shape shape_timestamp;

/* The name of the backup's row, from the parameter BackupArn. False: call->err. */
MUST_USE bool backup_request_row(struct api_call *call, struct str arn, struct str *out);

/* Replaces the error of an engine's call on a table by that of operations on backups: the table is
 * not found, or its backups begin later. */
void backup_request_word_error(struct err *err, struct str table_name);
/* Whether there is a table for such an operation; false: call->err. Does not hold its description:
 * recovery begins when no call uses the one before. */
MUST_USE bool backup_request_check_table(struct api_call *call, struct str name);

/* Writes the members of a BackupSummary, or of BackupDetails: then without the table. `status`
 * NULL: that of the backup. */
void backup_request_summary(struct api_call *call, struct str row_name, const struct backup *backup,
                            const char *status, bool with_table);
/* Writes the answer of DescribeBackup and DeleteBackup. */
void backup_request_describe(struct api_call *call, struct str row_name,
                             const struct backup *backup, const char *status);

#endif
