/* The FailureCode of exports, imports and bulk puts. Called on their threads; keeps no state. */
#include "transfer/failure_code.h"

struct str failure_code(struct arena *arena, const struct object_error *error)
{
    static const char kms[] = "KMS.";
    if (strncmp(error->code, kms, sizeof(kms) - 1) == 0) {
        return arena_format(arena, "Kms%s", error->code + sizeof(kms) - 1);
    }
    return arena_format(arena, "S3%s", error->code);
}
