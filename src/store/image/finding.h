/* store/image/finding.h: what a check of the files of a store reports. */
#ifndef GRAMME_STORE_IMAGE_FINDING_H
#define GRAMME_STORE_IMAGE_FINDING_H

#include "base/str.h"

enum finding_severity {
    FINDING_NOTE,      /* nothing is lost or wrong */
    FINDING_CORRECTED, /* a flipped bit, or one of two copies: nothing is lost */
    FINDING_DAMAGE
};

/* One finding. Pointers are valid until the callback returns. */
struct finding {
    enum finding_severity severity;
    const char *file; /* name in the directory */
    int64_t offset;   /* in the file; negative: the whole file */
    const char *text; /* a sentence, without file and offset */
    bool has_range;   /* versions of rows of first <= key <= last are lost */
    struct str first;
    struct str last;       /* STR_NULL: no upper bound */
    uint64_t record;       /* first record of the WAL that is affected; 0: none */
    uint64_t record_count; /* number of records that are lost; 0: not known */
};
typedef void finding_report(void *context, const struct finding *finding);

#endif
