/* client/profile_internal.h: the files ~/.aws/credentials and ~/.aws/config, which the AWS tools
 * share. */
#ifndef GRAMME_CLIENT_PROFILE_INTERNAL_H
#define GRAMME_CLIENT_PROFILE_INTERNAL_H

#include "base/arena.h"

/* A setting ("region") of a profile, in `arena` with a NUL; STR_NULL: there is none. `profile` may
 * be NULL: AWS_PROFILE, or "default". The credentials file goes before the config file. */
MUST_USE struct str profile_setting(struct arena *arena, const char *profile, const char *name);

/* The same in the text of a file. `sections_are_profiles`: "[name]" as in the credentials file, not
 * "[profile name]". */
MUST_USE struct str profile_find(struct str text, struct str profile, struct str name,
                                 bool sections_are_profiles);

#endif
