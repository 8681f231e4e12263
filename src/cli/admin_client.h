/* cli/admin_client.h: what `gramme user`, `gramme key`, `gramme policy` and `gramme role` share:
 * options, and administration operations on a running server or on a store that is not in use. */
#ifndef GRAMME_CLI_ADMIN_CLIENT_H
#define GRAMME_CLI_ADMIN_CLIENT_H

#include "base/buf.h"
#include "err/err.h"
#include "json/reader.h"

enum { ADMIN_WORDS_MAX = 3, ADMIN_CONTEXT_MAX = 32 };

struct admin_store;

struct admin_arguments {
    struct str words[ADMIN_WORDS_MAX]; /* after the verb; STR_NULL: not given */
    size_t word_count;
    struct str endpoint;
    struct str ca_file; /* STR_NULL: not given; else it ends with NUL */
    struct str store;   /* STR_NULL: use a running server */
    struct str master_key_file;
    struct str region;
    struct str account;
    struct str user;
    struct str role;
    struct str action;
    struct str resource;
    struct str id;
    struct str seconds;
    bool as_boundary;
    struct str context[ADMIN_CONTEXT_MAX]; /* "key=value" */
    size_t context_count;
    struct arena *arena;
    struct admin_store *opened; /* the store, once it was needed */
};

/* One verb of a command: `gramme user add NAME`. */
struct admin_verb {
    const char *name;
    const char *arguments; /* as help shows them */
    const char *summary;
    size_t word_count; /* how many words it needs */
    /* Runs the verb and prints its result. False: *err says why. */
    bool (*run)(const struct admin_arguments *arguments, struct err *err);
};

/* Reads the command line, runs the verb (`verbs` ends with a NULL name) and returns the exit
 * status. */
int admin_main(const char *command, const struct admin_verb *verbs, int argc, char **argv);

/* Runs an operation of docs/admin-api.md with a JSON body. The answer is in arguments->arena. */
MUST_USE bool admin_request(const struct admin_arguments *arguments, const char *operation,
                            struct str body, struct str *out_answer, struct err *err);

/* Appends a member ,"name":"text" to a body, without the comma after an opening brace; appends
 * nothing if the text is STR_NULL. */
void admin_add(struct buf *body, const char *name, struct str text);
/* Returns the text of a member of a JSON object, or STR_NULL. */
MUST_USE struct str admin_member(struct arena *arena, struct str object, const char *name);
/* Calls `visit` with each object of the array that is this member of the answer. */
void admin_each(struct arena *arena, struct str answer, const char *member,
                void (*visit)(struct arena *arena, struct str object));
/* Reads a file; "-": standard input. False: *err says why. */
MUST_USE bool admin_read_file(struct arena *arena, struct str path, struct str *out,
                              struct err *err);

/* Sends the document in the file of the second word under the name of the first: PutPolicy or
 * PutRole. `name_member` is the member for the name. */
MUST_USE bool admin_put_document(const struct admin_arguments *arguments, const char *operation,
                                 const char *name_member, struct err *err);

#endif
