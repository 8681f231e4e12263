/* cli/build_commit.h: from which sources the program was built. */
#ifndef GRAMME_CLI_BUILD_COMMIT_H
#define GRAMME_CLI_BUILD_COMMIT_H

/* The commit, "0b7db1e2a3b4", with "-dirty" if files were changed; "unknown" if the sources had no
 * repository and the build no option -Dcommit. */
extern const char build_commit[];

#endif
