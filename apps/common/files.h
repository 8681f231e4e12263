/* apps/common/files.h: the JSON files of the five applications as texts. apps/meson.build generates
 * a C file of each. */
#ifndef GRAMME_APPS_FILES_H
#define GRAMME_APPS_FILES_H

#include "apps/common/app.h"

extern const struct app_files calendar_files;
extern const struct app_files calls_files;
extern const struct app_files reconciliation_files;
extern const struct app_files tasks_files;
extern const struct app_files tickets_files;

#endif
