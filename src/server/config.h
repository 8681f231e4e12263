/* server/config.h: the settings of `gramme serve`, from arguments, environment and a file. */
#ifndef GRAMME_SERVER_CONFIG_H
#define GRAMME_SERVER_CONFIG_H

#include "auth/auth.h"
#include "base/log.h"
#include "err/err.h"
#include "http/http.h"
#include "server/cors.h"
#include "server/hosts.h"

/* The value of each setting with a TARGET in settings.def, which also says what it means. */
#define TO_TEXT(member_)       struct str member_;
#define TO_INT(member_)        int member_;
#define TO_INT64(member_)      int64_t member_;
#define ON_TO_BOOL(member_)    bool member_;
#define MIB_TO_BYTES(member_)  size_t member_;
#define SECONDS_TO_MS(member_) int64_t member_;
#define IN_CODE

#define SETTING(member_, name_, value_, default_, check_, target_, help_) target_
struct config {
#include "server/settings.def"

    /* Settings that config.c parses: IN_CODE. */
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    int listener_count;
    struct http_tls_options tls; /* used if a listener is secure */
    enum auth_mode auth;
    struct hosts hosts;
    struct cors cors;
    enum log_level log_level;
    enum log_format log_format;

    int argc; /* the command line, to read the settings again */
    char **argv;
};
#undef SETTING
#undef TO_TEXT
#undef TO_INT
#undef TO_INT64
#undef ON_TO_BOOL
#undef MIB_TO_BYTES
#undef SECONDS_TO_MS
#undef IN_CODE

/* Reads the settings from the arguments after `gramme serve`, the environment and the file. Strings
 * live in `arena`. Error messages are written for the user. */
MUST_USE bool config_read(struct arena *arena, int argc, char **argv, struct config *out,
                          struct err *err);
/* Whether a listener is secure. */
MUST_USE bool config_uses_tls(const struct config *config);
/* Prints the list of settings for --help. */
void config_print_help(void);

#endif
