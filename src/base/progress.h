/* base/progress.h: a line of progress on a terminal: a bar and a text. Main threads of commands. */
#ifndef GRAMME_BASE_PROGRESS_H
#define GRAMME_BASE_PROGRESS_H

#include "base/base.h"

#define PROGRESS_UNKNOWN (-1.0)

/* {0} shows progress. */
struct progress {
    bool is_hidden;    /* nothing is shown */
    bool is_on_screen; /* private, like the next */
    int64_t shown_us;
    size_t turn;
};

/* Shows a bar and a text on standard error, a few times a second, if that is a terminal. `share` is
 * 0 to 1; PROGRESS_UNKNOWN: a part of the bar moves. */
void progress_show(struct progress *progress, double share, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Removes the line, if it is there. Called before other output to the terminal, and at the end. */
void progress_end(struct progress *progress);

#endif
