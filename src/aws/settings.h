/* aws/settings.h: settings that all AWS tools share: the environment, and the files
 * ~/.aws/credentials and ~/.aws/config. */
#ifndef GRAMME_AWS_SETTINGS_H
#define GRAMME_AWS_SETTINGS_H

#include "base/arena.h"

/* Returns the value of an environment variable that is set and not empty; else NULL. */
MUST_USE const char *settings_variable(const char *name);

/* Returns a setting ("region") of a profile, in `arena`, NUL-terminated; STR_NULL: there is none.
 * `profile` may be NULL: AWS_PROFILE, or "default". The credentials file has precedence over the
 * config file. */
MUST_USE struct str settings_profile(struct arena *arena, const char *profile, const char *name);

/* Finds a setting in the text of a file. `sections_are_profiles`: "[name]" as in the credentials
 * file, not "[profile name]". */
MUST_USE struct str settings_find(struct str text, struct str profile, struct str name,
                                  bool sections_are_profiles);

#endif
