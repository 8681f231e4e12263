/* shell/shell.h: `gramme shell`, an interactive shell for any DynamoDB, and the same from scripts;
 * `gramme export`, `gramme import`, and backups and restores of tables. Run on the main thread of
 * the program gramme-client. */
#ifndef GRAMME_SHELL_SHELL_H
#define GRAMME_SHELL_SHELL_H

/* Runs the shell with the arguments after `gramme shell`. Returns the exit status: 0 on success, 1
 * if a statement or command failed, 2 if the command line is wrong. */
int shell_main(int argc, char **argv);

/* Runs `gramme export` with the arguments after it. Returns the exit status: 0 on success, 1 if the
 * export failed, 2 if the command line is wrong. */
int export_main(int argc, char **argv);
/* Runs `gramme import` with the arguments after it: loads files into tables. Returns the exit
 * status: 0 if all was written, 1 if not, 2 if the command line is wrong. */
int import_main(int argc, char **argv);
/* Runs `gramme backup` with the arguments after it, for tables: makes a backup or lists them.
 * Returns the exit status, as export_main(). */
int backup_main(int argc, char **argv);
/* Runs `gramme restore` with the arguments after it, for tables. Returns the exit status, as
 * export_main(). */
int restore_main(int argc, char **argv);

#endif
