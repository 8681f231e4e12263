/* server/config.h: the settings of `gramme serve`, from arguments, environment and a file. */
#ifndef GRAMME_SERVER_CONFIG_H
#define GRAMME_SERVER_CONFIG_H

#include "auth/auth.h"
#include "err/err.h"
#include "base/log.h"
#include "http/http.h"
#include "server/cors.h"
#include "server/hosts.h"

struct config {
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    int listener_count;
    struct http_tls_options tls; /* used if a listener is secure */
    struct str store;
    struct str region;
    struct str account;
    int threads;
    size_t cache_bytes; /* 0: by the machine's memory */
    size_t scrub_bytes_per_second;
    size_t reserve_bytes; /* of disk */
    size_t memory_bytes;  /* for requests; 0: by the machine's memory */
    int rate_bytes_min;   /* per second */
    int connections;
    enum auth_mode auth;
    int64_t auth_skew_ms;       /* how far clocks of clients may differ */
    struct str users_file;      /* "": none */
    struct str master_key_file; /* "": none */
    struct str audit_file;      /* "": none */
    bool audit_all;             /* also requests on items */
    int key_requests;           /* of one access key at once; 0: any number */
    size_t key_bytes;           /* of their bodies; 0: any number */
    struct hosts hosts;
    struct cors cors;
    bool console; /* serve it */
    int64_t drain_ms;
    bool until_eof; /* stop when standard input ends */
    int64_t table_delay_ms;
    int64_t ttl_delay_ms;
    int64_t recovery_lag_ms;
    struct str s3_directory;     /* "": beside the data */
    struct str s3_endpoint;      /* "": folders */
    struct str s3_region;        /* "": region */
    struct str s3_style;         /* "path" or "virtual" */
    struct str kinesis_endpoint; /* "": the Region's own */
    size_t kinesis_backlog_bytes;
    int64_t clock_confirm_ms;
    int64_t stream_shards; /* 0: by the capacity of the table */
    int64_t stream_shard_ms;
    int64_t stream_retention_ms;
    bool test_clock;   /* clients may set the clock */
    bool insight;      /* calls are counted by pattern */
    struct str prices; /* file; empty: the built-in ones */
    enum log_level log_level;
    enum log_format log_format;
    struct str log_file; /* "-": standard error */
    int argc;            /* the command line, to read the settings again */
    char **argv;
};

/* Reads the settings from the arguments after `gramme serve`, the environment and the file. Strings
 * live in `arena`. Error messages are written for the user. */
MUST_USE bool config_read(struct arena *arena, int argc, char **argv, struct config *out,
                          struct err *err);
/* Whether a listener is secure. */
MUST_USE bool config_uses_tls(const struct config *config);
/* Prints the list of settings for --help. */
void config_print_help(void);

#endif
