/* Shows progress on a terminal: see progress.h. Called by commands on the thread that prints. */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR_WIDTH = 30, MOVING_WIDTH = 3, PERIOD_US = 200 * 1000 };

static void draw_bar(struct progress *progress, double share, char out[BAR_WIDTH + 1])
{
    memset(out, ' ', BAR_WIDTH);
    out[BAR_WIDTH] = '\0';
    if (share >= 0) {
        memset(out, '#', (size_t)(MIN(share, 1.0) * BAR_WIDTH));
    } else {
        memset(out + progress->turn++ % (BAR_WIDTH - MOVING_WIDTH + 1), '#', MOVING_WIDTH);
    }
}

void progress_show(struct progress *progress, double share, const char *format, ...)
{
    int64_t now_us = clock_monotonic_us();
    if (progress->is_hidden || now_us < progress->shown_us + PERIOD_US ||
        isatty(STDERR_FILENO) != 1) {
        return;
    }
    char bar[BAR_WIDTH + 1];
    va_list args;
    progress->shown_us = now_us;
    progress->is_on_screen = true;
    draw_bar(progress, share, bar);
    fprintf(stderr, "\r\033[K[%s]  ", bar);
    if (share >= 0) {
        fprintf(stderr, "%.0f %%  ", 100 * MIN(share, 1.0));
    }
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->is_on_screen) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->is_on_screen = false;
    }
}
