/* server/settings_internal.h: the table of settings (settings.def), for config.c. A new setting
 * needs one entry there; only a setting that is parsed further (IN_CODE) needs a member of struct
 * config and code in config.c. */
#ifndef GRAMME_SERVER_SETTINGS_INTERNAL_H
#define GRAMME_SERVER_SETTINGS_INTERNAL_H

#include "server/config.h"

enum check_kind { CHECK_NUMBER, CHECK_WORD, CHECK_TEXT, CHECK_ADDRESSES, CHECK_FLAG };

enum { SETTING_WORDS_MAX = 5 };

/* Characters that are trimmed from names and values. */
#define SETTING_SPACES " \t\r\n"

/* Which values a setting accepts. */
struct setting_check {
    enum check_kind kind;
    int64_t min; /* of a number, or of the length of a text */
    int64_t max;
    const char *letters; /* CHECK_TEXT: the allowed characters, or NULL */
    /* CHECK_WORD: the values; CHECK_NUMBER: a word that is allowed beside numbers. */
    const char *words[SETTING_WORDS_MAX];
    bool is_list; /* may be given several times on the command line */
};

/* The type and unit of the member of struct config that a setting is stored in. */
enum target_kind {
    TARGET_NONE,  /* config.c stores it */
    TARGET_TEXT,  /* struct str */
    TARGET_INT,   /* int */
    TARGET_INT64, /* int64_t */
    TARGET_BOOL,  /* bool: the value is "on" */
    TARGET_BYTES, /* size_t, in bytes; the setting is in MiB */
    TARGET_MS,    /* int64_t, in milliseconds; the setting is in seconds */
};

struct setting_target {
    enum target_kind kind;
    size_t offset; /* in struct config */
};

/* One setting, with its value while the sources are read. */
struct setting {
    const char *name;
    const char *value_name;
    const char *default_text;
    struct setting_check check;
    struct setting_target target;
    const char *help;
    struct str text; /* the value; STR_NULL: not given yet */
    const char *source;
};

enum {
#define SETTING(member_, name_, value_, default_, check_, target_, help_) SETTING_##member_,
#include "server/settings.def"
#undef SETTING
    SETTING_COUNT
};

/* Fills `out` (SETTING_COUNT entries) from command line, environment, configuration file and
 * defaults; the first of these that has a setting wins. Texts are in `arena`. Returns false with a
 * message for the user in *err. */
MUST_USE bool settings_gather(struct arena *arena, int argc, char **argv, struct setting *out,
                              struct err *err);
/* Checks a value by the table. Returns false with a message for the user in *err. */
MUST_USE bool setting_check(const struct setting *setting, struct err *err);
/* Stores a value that has been checked in its member of *config, unless it is IN_CODE. */
void setting_store(const struct setting *setting, struct config *config);
/* Returns whether the value is "on". */
MUST_USE bool setting_is_on(const struct setting *setting);
/* Sets the error for a wrong value; `expected` says which values are allowed. Returns false. */
bool setting_complain(struct err *err, const struct setting *setting, const char *expected);

#endif
