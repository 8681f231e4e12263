/* shell/shell.h: `gramme shell`, an interactive shell for any DynamoDB, and the same from scripts.
 * Runs on the main thread of the program gramme-client. */
#ifndef GRAMME_SHELL_SHELL_H
#define GRAMME_SHELL_SHELL_H

/* Runs the shell with the arguments after `gramme shell`. Returns the exit status: 0 on success, 1
 * if a statement or command failed, 2 if the command line is wrong. */
int shell_main(int argc, char **argv);

#endif
