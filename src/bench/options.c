/* Reads the command line, by the table options.def. Called by bench.c before anything starts. */
#include "bench/options_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum option_kind { OPTION_TEXT, OPTION_NUMBER, OPTION_REAL, OPTION_FLAG };

struct option {
    enum option_kind kind;
    const char *name;
    const char *value_name;
    const char *default_text;
    const char *help;
    size_t offset; /* offset of its member in */
    double min;
    double max;
};

#define MEMBER(member_) .offset = offsetof(struct bench_options, member_)
#define TEXT(member_, name_, value_, default_, help_)                                              \
    {.kind = OPTION_TEXT,                                                                          \
     .name = (name_),                                                                              \
     .value_name = (value_),                                                                       \
     .default_text = (default_),                                                                   \
     .help = (help_),                                                                              \
     MEMBER(member_)},
#define NUMBER(member_, name_, value_, default_, min_, max_, help_)                                \
    {.kind = OPTION_NUMBER,                                                                        \
     .name = (name_),                                                                              \
     .value_name = (value_),                                                                       \
     .default_text = #default_,                                                                    \
     .help = (help_),                                                                              \
     .min = (min_),                                                                                \
     .max = (max_),                                                                                \
     MEMBER(member_)},
#define REAL(member_, name_, value_, default_, min_, max_, help_)                                  \
    {.kind = OPTION_REAL,                                                                          \
     .name = (name_),                                                                              \
     .value_name = (value_),                                                                       \
     .default_text = #default_,                                                                    \
     .help = (help_),                                                                              \
     .min = (min_),                                                                                \
     .max = (max_),                                                                                \
     MEMBER(member_)},
#define FLAG(member_, name_, help_)                                                                \
    {.kind = OPTION_FLAG, .name = (name_), .help = (help_), MEMBER(member_)},
static const struct option options[] = {
#include "bench/options.def"
};
#undef TEXT
#undef NUMBER
#undef REAL
#undef FLAG

static bool complain(const struct option *option, const char *text, struct err *err)
{
    char range[64];
    snprintf(range, sizeof(range), "%.15g to %.15g", option->min, option->max);
    return err_set(err, ERR_VALIDATION,
                   "'%s' is not a valid value for --%s: expected a number from %s", text,
                   option->name, range);
}

static bool read_double(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static bool set(const struct option *option, const char *text, struct bench_options *out,
                struct err *err)
{
    void *member = (char *)out + option->offset;
    if (option->kind == OPTION_TEXT) {
        *(struct str *)member = *text == '\0' ? STR_NULL : str_from_c(text);
        return true;
    }
    if (option->kind == OPTION_FLAG) {
        *(bool *)member = true;
        return true;
    }
    int64_t whole = 0;
    double number = 0;
    bool good = option->kind == OPTION_NUMBER ? str_to_int64(str_from_c(text), &whole)
                                              : read_double(text, &number);
    number = good && option->kind == OPTION_NUMBER ? (double)whole : number;
    if (!good || number < option->min || number > option->max) {
        return complain(option, text, err);
    }
    if (option->kind == OPTION_NUMBER) {
        *(int64_t *)member = whole;
    } else {
        *(double *)member = number;
    }
    return true;
}

static const struct option *find(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (str_eq(name, str_from_c(options[i].name))) {
            return &options[i];
        }
    }
    return NULL;
}

/* Reads the option at argv[*at], with its value in the next argument or after '='. */
static bool read_option(int argc, char **argv, int *at, struct bench_options *out, struct err *err)
{
    const char *argument = argv[*at];
    const char *equals = strchr(argument, '=');
    struct str name = str_from_c(argument + 2);
    if (equals != NULL) {
        name.len = (size_t)(equals - argument) - 2;
    }
    const struct option *option = find(name);
    if (option == NULL) {
        return err_set(err, ERR_VALIDATION, "unknown option --%.*s", STR_ARG(name));
    }
    if (option->kind == OPTION_FLAG) {
        if (equals != NULL) {
            return err_set(err, ERR_VALIDATION, "--%s takes no value", option->name);
        }
        return set(option, "", out, err);
    }
    if (equals == NULL && *at + 1 >= argc) {
        return err_set(err, ERR_VALIDATION, "--%s needs a value", option->name);
    }
    return set(option, equals != NULL ? equals + 1 : argv[++*at], out, err);
}

static bool check_options(const struct bench_options *given, struct err *err)
{
    bool has_work = !str_is_null(given->workload);
    if (has_work == !str_is_null(given->limit)) {
        return err_set(err, ERR_VALIDATION, "%s",
                       has_work ? "--limit goes without a work item"
                                : "name a work item, or a limit with --limit");
    }
    if (!str_eq(given->auth, STR("dummy")) && !str_eq(given->auth, STR("sign")) &&
        !str_eq(given->auth, STR("none"))) {
        return err_set(err, ERR_VALIDATION, "--auth is dummy, sign or none");
    }
    return true;
}

bool options_read(int argc, char **argv, struct bench_options *out, struct err *err)
{
    *out = (struct bench_options){0};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (options[i].kind != OPTION_FLAG &&
            !set(&options[i], options[i].default_text, out, err)) {
            return false;
        }
    }
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (!read_option(argc, argv, &i, out, err)) {
                return false;
            }
        } else if (str_is_null(out->workload)) {
            out->workload = str_from_c(argv[i]);
        } else {
            return err_set(err, ERR_VALIDATION, "unexpected argument '%s'", argv[i]);
        }
    }
    return check_options(out, err);
}

void options_print_help(void)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        char text[64];
        bool has_default = options[i].default_text != NULL && *options[i].default_text != '\0';
        snprintf(text, sizeof(text), "--%s %s", options[i].name,
                 options[i].value_name == NULL ? "" : options[i].value_name);
        printf("  %-20s %s", text, options[i].help);
        printf(has_default ? " (default %s)\n" : "\n", options[i].default_text);
    }
}
