/* tests/client/operations.h: what the cases of the program `operations` share: a table on the
 * DynamoDB that is tested, and calls that must succeed. A failure fails the test. */
#ifndef GRAMME_TESTS_CLIENT_OPERATIONS_H
#define GRAMME_TESTS_CLIENT_OPERATIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gramme/gramme.h>

extern struct gramme_db *db;
extern char table[64]; /* its name: pk (S), sk (N), and an index on owner (S), sk */
extern bool is_local;  /* the other side is DynamoDB Local */

/* Fails the test if the error of a call is not NULL. */
void require_ok(const struct gramme_error *error);
/* Sends a request without an answer, and destroys it. */
void run(struct gramme_request *request);
/* Sends a request and destroys it. The caller destroys the answer. */
struct gramme_answer *ask(struct gramme_request *request);
/* Sends a request that must fail with this code, and destroys it. The caller destroys the error. */
struct gramme_error *refuse(struct gramme_request *request, const char *code);
/* Adds the key of an item. */
void set_key(struct gramme_value *map, const char *pk, int sk);
/* Writes an item. */
void put(const char *pk, int sk, const char *owner);
/* Reads an item, consistently. The caller destroys the answer. */
struct gramme_answer *get(const char *pk, int sk);
/* Returns whether there is an item. */
bool exists(const char *pk, int sk);

/* Runs the tests of table_cases.c; as the functions below, returns how many failed. */
int table_tests(void);
/* Runs the tests of item_cases.c. */
int item_tests(void);
/* Runs the tests of error_cases.c. */
int error_tests(void);
/* Runs the tests of page_cases.c. */
int page_tests(void);
/* Runs the tests of batch_cases.c. */
int batch_tests(void);

#endif
