/* The options of the log; called once, before threads start. */
#include "apps/common/log_options.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

bool log_options_apply(const char *format, const char *level_name)
{
    enum log_level level;
    bool is_json = strcmp(format, "json") == 0;
    if (!is_json && strcmp(format, "text") != 0) {
        fprintf(stderr, "gramme-apps: --log-format wants text or json, not %s\n", format);
        return false;
    }
    if (!log_level_from_name(str_from_c(level_name), &level)) {
        fprintf(stderr, "gramme-apps: --log-level wants error, warn, info or debug, not %s\n",
                level_name);
        return false;
    }
    log_setup(level, is_json ? LOG_JSON : LOG_TEXT);
    return true;
}
