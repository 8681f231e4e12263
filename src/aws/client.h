/* aws/client.h: signed requests over HTTP to AWS or to a service with the same protocol. libgramme,
 * exports and imports (src/objects) and the Kinesis destination call it. All functions block; any
 * number of threads may use one client, and each keeps its connection for the next request. */
#ifndef GRAMME_AWS_CLIENT_H
#define GRAMME_AWS_CLIENT_H

#include <stdatomic.h>

#include "auth/sigv4.h"
#include "aws/options.h"
#include "base/buf.h"

struct aws_client;

/* Opens a client; sends nothing yet. Copies what it needs of the options. False: AWS_BAD_ADDRESS or
 * AWS_NO_REGION. */
MUST_USE bool aws_client_open(const struct aws_options *options, struct aws_client **out,
                              struct aws_problem *problem);
/* Frees it. No request may be in progress. Accepts NULL. */
void aws_client_close(struct aws_client *client);
/* Returns the largest number of attempts that the options allow. */
int aws_client_attempts_max(const struct aws_client *client);
/* Returns the address, for messages; ends with NUL. */
struct str aws_client_url(const struct aws_client *client);

enum { AWS_REQUEST_HEADERS_MAX = SIGV4_HEADERS_MAX - 4 };

/* A request. Host, X-Amz-Date, X-Amz-Security-Token and Authorization are added. */
struct aws_request {
    struct str method;      /* "POST" */
    struct str host_prefix; /* before the host's name: "bucket."; STR_NULL: nothing */
    struct str path;        /* in canonical form: "/" */
    struct str query;       /* in canonical form: encoded, and sorted by name; may be STR_NULL */
    const struct sigv4_header *headers;
    size_t header_count; /* at most AWS_REQUEST_HEADERS_MAX */
    struct str body;
    size_t response_bytes_max; /* 0: 256 MiB */
    /* Gets each header of the response, on the calling thread; NULL: they are ignored. */
    void (*take_header)(void *context, struct str name, struct str value);
    void *context;
    const atomic_bool *stop; /* set by another thread: ends the request soon; NULL: never */
    int64_t patience_ms;     /* instead of the client's; 0: the client's */
};

/* The result of a request; {0} at first. The caller frees it. */
struct aws_response {
    int status;             /* HTTP status; 0: no response */
    struct buf body;        /* its capacity is kept from one request to the next */
    const char *failure;    /* no response: a code of aws/options.h; else NULL */
    char detail[256];       /* details of the failure */
    char request_id[128];   /* ends with NUL; "": none */
    int64_t retry_after_ms; /* X-Amz-Retry-After; -1: none */
    bool renewed; /* the credentials had expired and were renewed: worth another attempt */
    int attempts; /* of aws_client_call() */
};

/* Makes one attempt. */
void aws_client_attempt(struct aws_client *client, const struct aws_request *request,
                        struct aws_response *response);
/* Makes attempts until one succeeds, the failure is permanent, or attempts (or patience_ms) are
 * used up. True: the status is 2xx. False: aws_response_error(). */
MUST_USE bool aws_client_call(struct aws_client *client, const struct aws_request *request,
                              struct aws_response *response);
/* Frees the memory of a response. */
void aws_response_finish(struct aws_response *response);

/* A failure in words. Texts end with NUL. */
struct aws_error {
    int status;        /* 0: no response */
    char code[128];    /* "NoSuchBucket", "ResourceNotFoundException", "ConnectionFailed" */
    char message[512]; /* the service's, or ours */
};
/* Reads the error of a failed request: the service's, in JSON or XML, or the failure. */
void aws_response_error(const struct aws_response *response, struct aws_error *out);

#endif
