/* err/messages.h: the messages of errors that the engine reports, and of those that more than one
 * file reports. They are formats for err_set(); the compiler checks their arguments, which the
 * comment behind each names ("name": STR_ARG() of a str). The words are the service's.
 *
 * A message that only one file reports stands beside the check that reports it;
 * tools/check_texts.py refuses a text that stands in two. */
#ifndef GRAMME_ERR_MESSAGES_H
#define GRAMME_ERR_MESSAGES_H

/* --- starts of many messages, and parts of them --- */

#define MESSAGE_INVALID         "One or more parameter values were invalid: "
#define MESSAGE_INVALID_REQUEST "Invalid Request: "
#define MESSAGE_IN_USE          "Attempt to change a resource which is still in use: "
/* length, twice: a B as Java prints it */
#define MESSAGE_BINARY "java.nio.HeapByteBuffer[pos=0 lim=%zu cap=%zu]"
/* type, text */
#define MESSAGE_VALUE "AttributeValue: {%s:%.*s}"

/* --- authentication and policies --- */

#define MESSAGE_TOKEN_MISSING "Request is missing Authentication Token"
#define MESSAGE_TWO_SIGNATURES                                                                     \
    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
/* of an ARN with another account */
#define MESSAGE_ACCESS_DENIED "Access is denied"

/* --- resources --- */

#define MESSAGE_TRANSACTION_CONFLICT "Transaction is ongoing for the item"
#define MESSAGE_RESOURCE_NOT_FOUND   "Requested resource not found"
/* name */
#define MESSAGE_TABLE_NOT_FOUND "Requested resource not found: Table: %.*s not found"
/* ARN */
#define MESSAGE_STREAM_NOT_FOUND "Requested resource not found: Stream: %.*s not found"
/* ARN */
#define MESSAGE_ARN_NOT_FOUND "Requested resource not found: ResourceArn: %.*s not found"
/* ARN */
#define MESSAGE_INVALID_STREAM_ARN "Invalid StreamArn: %.*s"
/* name */
#define MESSAGE_TABLE_EXISTS "Table already exists: %.*s"
/* name, ARN of a backup */
#define MESSAGE_TABLE_IS_RESTORED "Table: %.*s is already being restored from backup: %.*s"
/* name */
#define MESSAGE_TABLE_IS_USED MESSAGE_IN_USE "Table is being used: %.*s"
/* name */
#define MESSAGE_TABLE_IS_CREATING MESSAGE_IN_USE "Table is being created: %.*s"
#define MESSAGE_INDEXES_ARE_CHANGING                                                               \
    MESSAGE_IN_USE                                                                                 \
    "Cannot delete table while indexes are being created, updated, or deleted."
#define MESSAGE_DELETION_PROTECTED                                                                 \
    "Resource cannot be deleted as it is currently protected against deletion. Disable "           \
    "deletion protection first."
#define MESSAGE_TRIMMED "The operation attempted to read past the oldest stream record in a shard."

/* --- backups --- */

#define MESSAGE_BACKUP_ARN "Invalid Backup ARN"
/* ARN */
#define MESSAGE_BACKUP_NOT_FOUND "Backup not found: %.*s"
/* ARN; of DeleteBackup */
#define MESSAGE_BACKUP_IS_RESTORED "Backup is being used to restore table: %.*s"
/* ARN; of RestoreTableFromBackup */
#define MESSAGE_BACKUP_IS_USED "Backup is being used to restore another table: %.*s"
/* ARN, time */
#define MESSAGE_SYSTEM_BACKUP                                                                      \
    MESSAGE_INVALID_REQUEST                                                                        \
    "User is not allowed to delete the system backup with arn %.*s. It will "                      \
    "automatically expire on %.*s"
/* name, or ARN if the request has one; the other operations say MESSAGE_TABLE_NOT_FOUND */
#define MESSAGE_BACKUP_TABLE_NOT_FOUND "Table not found: %.*s"
/* name */
#define MESSAGE_BACKUPS_BEGIN "Backups are being enabled for the table: %.*s. Please retry later"

/* --- exports and imports --- */

#define MESSAGE_TABLE_ARN MESSAGE_INVALID "tableArn is not a valid ARN"
/* token of ListExports, ListImports and ListBulkOperations */
#define MESSAGE_LIST_TOKEN MESSAGE_INVALID_REQUEST "Provided nextToken is invalid: %.*s"
/* the start of what is wrong with a record of a file */
#define MESSAGE_BAD_RECORD "Unable to parse the record: "
/* name */
#define MESSAGE_EXPORT_NOT_FOUND "Export not found: Export not found: %.*s"
/* Ours: the service always has S3. */
#define MESSAGE_NO_OBJECTS                                                                         \
    "This server has no place for objects: start it with --s3-directory or --s3-endpoint"
#define MESSAGE_EXPORT_CONFLICT                                                                    \
    "Export conflict: Duplicate request detected with conflicting parameters"
#define MESSAGE_EXPORT_TIME "Export Time is invalid"
#define MESSAGE_EXPORT_TIME_UNAVAILABLE                                                            \
    "Point in Time Recovery is not available for specified export time"
#define MESSAGE_EXPORT_BEFORE_TABLE                                                                \
    "Incremental export period from time cannot be less than the table creation time : %.*s"
#define MESSAGE_EXPORT_IN_FUTURE                                                                   \
    "Incremental export period to time cannot be greater than the current time : %.*s"
#define MESSAGE_EXPORT_TOO_SHORT                                                                   \
    "Difference between export period from time and export period to time is less than 15 minutes"
#define MESSAGE_EXPORT_TOO_LONG                                                                    \
    "Difference between export period from time and export period to time is more than 24 hours"

/* --- recovery --- */

/* name */
#define MESSAGE_RECOVERY_IS_OFF "Point in time recovery is not enabled for table '%.*s'"
/* Ours: the service's clocks are right. A time */
#define MESSAGE_TIMES_ARE_AHEAD                                                                    \
    "The clock was ahead and was set back: until %.*s the times of writes are not known, and a "   \
    "restore to a time would leave out writes. Use CreateBackup and RestoreTableFromBackup"
/* times: wanted, earliest, latest */
#define MESSAGE_RESTORE_TIME                                                                       \
    "RestoreDateTime '%.*s' must be within EarliestRestorableDateTime '%.*s' and "                 \
    "LatestRestorableDateTime '%.*s'"

/* --- keys --- */

#define MESSAGE_KEY_MISMATCH "The provided key element does not match the schema"
/* name */
#define MESSAGE_KEY_MISSING MESSAGE_INVALID "Missing the key %.*s in the item"
/* name, types */
#define MESSAGE_KEY_TYPE                                                                           \
    MESSAGE_INVALID "Type mismatch for key %.*s expected: %s "                                     \
                    "actual: %s"
/* string or binary, name */
#define MESSAGE_KEY_EMPTY                                                                          \
    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "   \
    "contain an empty %s value. Key: %.*s"
#define MESSAGE_HASH_KEY_SIZE                                                                      \
    MESSAGE_INVALID "Size of hashkey has exceeded the maximum size "                               \
                    "limit of2048 bytes"
#define MESSAGE_RANGE_KEY_SIZE                                                                     \
    MESSAGE_INVALID "Aggregated size of all range keys has exceeded "                              \
                    "the size limit of 1024 bytes"
/* name, types, index */
#define MESSAGE_INDEX_KEY_TYPE                                                                     \
    MESSAGE_INVALID "Type mismatch for Index Key %.*s Expected: %s "                               \
                    "Actual: %s IndexName: %.*s"
/* string or binary, index, name */
#define MESSAGE_INDEX_KEY_EMPTY                                                                    \
    "One or more parameter values are not valid. A value specified for a secondary index key "     \
    "is not supported. The AttributeValue for a key attribute cannot contain an empty %s "         \
    "value. IndexName: %.*s, IndexKey: %.*s"
/* string or binary */
#define MESSAGE_INDEX_KEY_SET_EMPTY                                                                \
    "One or more parameter values are not valid. The update expression attempted to update a "     \
    "secondary index key to a value that is not supported. The AttributeValue for a key "          \
    "attribute cannot contain an empty %s value."
/* index, bytes; our own: DynamoDB's limit is that of each attribute */
#define MESSAGE_INDEX_ENTRY_KEY_SIZE                                                               \
    MESSAGE_INVALID "The keys of the item in index %.*s are larger "                               \
                    "than the %zu bytes that this server's store accepts"
#define MESSAGE_DUPLICATE_KEYS "Provided list of item keys contains duplicates"

/* --- items --- */

#define MESSAGE_ITEM_SIZE         "Item size has exceeded the maximum allowed size"
#define MESSAGE_UPDATED_ITEM_SIZE "Item size to update has exceeded the maximum allowed size"
#define MESSAGE_NESTING                                                                            \
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "    \
    "beyond supported limit"
#define MESSAGE_EMPTY_NAME       "Empty attribute name"
#define MESSAGE_CONDITION_FAILED "The conditional request failed"
#define MESSAGE_COLLECTION_SIZE  "Collection size exceeded."
#define MESSAGE_TWO_TYPES                                                                          \
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "    \
    "supported datatypes"

/* --- reads of an index --- */

/* index */
#define MESSAGE_INDEX_NOT_FOUND "The table does not have the specified index: %.*s"
/* index, names */
#define MESSAGE_INDEX_LACKS_ATTRIBUTES                                                             \
    MESSAGE_INVALID "Global secondary index %.*s does not project "                                \
                    "[%.*s]"
/* index, names */
#define MESSAGE_INDEX_LACKS_FILTER_ATTRIBUTES                                                      \
    MESSAGE_INVALID "Secondary index %.*s does not project one or "                                \
                    "more filter attributes: [%.*s]"

/* --- table requests --- */

#define MESSAGE_TABLE_NAME_MISSING                                                                 \
    "The parameter 'TableName' is required but was not present in the request"
#define MESSAGE_KEY_DEFINITIONS                                                                    \
    "Number of attributes in KeySchema does not exactly match number of attributes defined in "    \
    "AttributeDefinitions"
/* index */
#define MESSAGE_THROUGHPUT_MISSING "ProvisionedThroughput must be specified for index: %.*s"
/* index */
#define MESSAGE_THROUGHPUT_NOT_ALLOWED                                                             \
    "ProvisionedThroughput should not be specified for index: %.*s when BillingMode is "           \
    "PAY_PER_REQUEST"
#define MESSAGE_UNITS_NOT_ALLOWED                                                                  \
    MESSAGE_INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "      \
                    "BillingMode is PAY_PER_REQUEST"
#define MESSAGE_NEXT_TOKEN "Invalid NextToken"

/* --- PartiQL --- */

#define MESSAGE_NO_STATEMENT "Expected data manipulation"
/* name */
#define MESSAGE_UNKNOWN_FUNCTION "Unrecognized function: %.*s"
/* kind of an expression */
#define MESSAGE_UNSUPPORTED_OPERATION "Unsupported operation: %s"
#define MESSAGE_EMPTY_PATH            "Path component cannot be an empty string"
#define MESSAGE_EXISTS_OUTSIDE        "EXISTS can only be used in ExecuteTransaction write requests."
#define MESSAGE_NEXT_TOKEN_MISMATCH   "NextToken does not match request"
#define MESSAGE_NOT_ON_INDEX          "This operation is not supported on an index"

/* --- the server itself --- */

#define MESSAGE_INTERNAL             "Internal server error"
#define MESSAGE_TABLE_CHANGED        "The table has changed"
#define MESSAGE_ITEMS_TOO_LARGE_HERE "The items are too large"
#define MESSAGE_BODY_TOO_LARGE       "request body too large"
/* of a server that starts, to its operator */
#define MESSAGE_NO_THREAD "cannot start a thread"
/* memory is short */
#define MESSAGE_OVERLOADED "The server is out of memory for requests. Try again later."

#endif
