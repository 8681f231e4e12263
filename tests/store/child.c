/* Child processes of store tests: starts them, and passes reports to the parent through a pipe.
 * Called by the main thread of durable_test, failed_writes_test, full_disk_test and
 * quarantine_kill_test. */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORT_FD = 3 };

void child_start(struct child *child, const char *name, const char *directory, uint64_t number)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        if (ends[1] == REPORT_FD) {
            fcntl(REPORT_FD, F_SETFD, 0);
        } else {
            dup2(ends[1], REPORT_FD);
        }
        execl("/proc/self/exe", "store-child", "child", name, directory, text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    child->pipe = ends[0];
}

bool child_read(struct child *child, struct report *out)
{
    return read(child->pipe, out, sizeof(*out)) == (ssize_t)sizeof(*out);
}

void child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
}

int child_wait(struct child *child)
{
    int status;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void child_report(uint64_t id, enum store_status status)
{
    struct report report = {.id = id, .status = (uint64_t)status};
    if (write(REPORT_FD, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
        _exit(1); /* the parent has ended */
    }
}

const char *child_name(int argc, char **argv)
{
    return argc == 5 && strcmp(argv[1], "child") == 0 ? argv[2] : NULL;
}
