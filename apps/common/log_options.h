/* apps/common/log_options.h: --log-format and --log-level, of all programs here. */
#ifndef GRAMME_APPS_LOG_OPTIONS_H
#define GRAMME_APPS_LOG_OPTIONS_H

#include <stdbool.h>

/* Sets up the log. `format`: "text" or "json"; `level`: "error", "warn", "info" or "debug". False:
 * one of them is another text; a message is on standard error. */
bool log_options_apply(const char *format, const char *level);

#endif
