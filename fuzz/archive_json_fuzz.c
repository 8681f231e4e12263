/* Fuzzes the reader of records in DynamoDB's JSON. Input: a file. Properties: those of
 * check_record_reader(). */
#include "archive/record_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_record_reader(RECORD_DYNAMODB_JSON, str_make(data, size));
    return 0;
}
