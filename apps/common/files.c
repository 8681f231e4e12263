/* The JSON files of the applications, by name. The texts are C files that the build makes of
 * apps/NAME/schema.json, patterns.json and workload.json (tools/embed). */
#include "apps/common/files.h"

#define APP_FILES(name_)                                                                           \
    extern const char name_##_schema[];                                                            \
    extern const char name_##_patterns[];                                                          \
    extern const char name_##_workload[];                                                          \
    const struct app_files name_##_files = {name_##_schema, name_##_patterns, name_##_workload};

APP_FILES(calendar)
APP_FILES(calls)
APP_FILES(reconciliation)
APP_FILES(tasks)
APP_FILES(tickets)
