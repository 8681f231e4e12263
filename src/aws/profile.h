/* aws/profile.h: settings that all AWS tools share: the environment, and the files
 * ~/.aws/credentials and ~/.aws/config. */
#ifndef GRAMME_AWS_PROFILE_H
#define GRAMME_AWS_PROFILE_H

#include "base/arena.h"

/* Returns the value of an environment variable that is set and not empty; else NULL. */
MUST_USE const char *profile_variable(const char *name);

/* Returns a setting ("region") of a profile, in `arena`, NUL-terminated; STR_NULL: there is none.
 * `profile` may be NULL: AWS_PROFILE, or "default". The credentials file has precedence over the
 * config file. */
MUST_USE struct str profile_setting(struct arena *arena, const char *profile, const char *name);

/* Finds a setting in the text of a file. `sections_are_profiles`: "[name]" as in the credentials
 * file, not "[profile name]". */
MUST_USE struct str profile_find(struct str text, struct str profile, struct str name,
                                 bool sections_are_profiles);

#endif
