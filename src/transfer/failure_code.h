/* transfer/failure_code.h: the FailureCode of an export, import or bulk put that a service has
 * refused. */
#ifndef GRAMME_TRANSFER_FAILURE_CODE_H
#define GRAMME_TRANSFER_FAILURE_CODE_H

#include "base/arena.h"
#include "objects/objects.h"

/* Returns S3's code after "S3", as in S3NoSuchBucket; of a failure of KMS, which S3 passes on as
 * "KMS.NotFoundException", KmsNotFoundException. Allocated from `arena`, with a NUL at its end. Any
 * thread. */
struct str failure_code(struct arena *arena, const struct object_error *error);

#endif
