/* \set: shows and changes settings of the session. Main thread. */
#include "shell/commands_internal.h"

static const char *const formats[] = {"table", "list", "json", "typed", "csv"};

static const struct {
    const char *name;
    const char *values;
    const char *summary;
} settings[] = {
#define SETTING(member, name, values, summary) {name, values, summary},
#include "shell/settings.def"
#undef SETTING
};

enum setting {
#define SETTING(member, name, values, summary) SETTING_##member,
#include "shell/settings.def"
#undef SETTING
};

void commands_each_setting(void (*visit)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        visit(context, settings[i].name);
    }
}

void commands_each_value(struct str setting, void (*visit)(void *context, struct str value),
                         void *context)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct str rest = str_from_c(settings[i].values);
        if (!str_eq(setting, str_from_c(settings[i].name)) || str_eq(rest, STR("N"))) {
            continue;
        }
        while (rest.len > 0) {
            const char *bar = memchr(rest.data, '|', rest.len);
            size_t len = bar == NULL ? rest.len : (size_t)(bar - rest.data);
            visit(context, str_make(rest.data, len));
            rest = str_skip(rest, MIN(len + 1, rest.len));
        }
    }
}

static bool set_format(struct session *session, struct str value)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (str_eq(value, str_from_c(formats[i]))) {
            session->format = (enum format)i;
            return true;
        }
    }
    return fail(session, "format is one of table, list, json, typed, csv");
}

static bool set_number(struct session *session, struct str value, int min, int *out)
{
    int64_t number;
    if (!str_to_int64(value, &number) || number < min || number > 100000) {
        return fail(session, "the value must be a number from %d to 100000", min);
    }
    *out = (int)number;
    return true;
}

static bool set_flag(struct session *session, struct str value, bool *out)
{
    *out = str_eq(value, STR("on")) || (*out && !str_eq(value, STR("off")));
    return str_eq(value, STR("on")) || str_eq(value, STR("off")) ||
           fail(session, "the value must be on or off");
}

bool settings_set(struct session *session, struct str name, struct str value)
{
    size_t i = 0;
    while (i < COUNT_OF(settings) && !str_eq(name, str_from_c(settings[i].name))) {
        i++;
    }
    switch ((enum setting)i) {
    case SETTING_format:
        return set_format(session, value);
    case SETTING_rows:
        return set_number(session, value, 1, &session->rows);
    case SETTING_width:
        return set_number(session, value, 0, &session->width);
    case SETTING_pager:
        return set_flag(session, value, &session->pager);
    case SETTING_timing:
        return set_flag(session, value, &session->timing);
    default:
        return fail(session, "there is no setting %.*s; \\set lists them", STR_ARG(name));
    }
}

static void print_setting(struct session *session, size_t i)
{
    buf_format(&session->out, "  %-7s ", settings[i].name);
    switch ((enum setting)i) {
    case SETTING_format:
        buf_format(&session->out, "%-6s", formats[session->format]);
        break;
    case SETTING_rows:
        buf_format(&session->out, "%-6d", session->rows);
        break;
    case SETTING_width:
        buf_format(&session->out, "%-6d", session->width);
        break;
    case SETTING_pager:
        buf_format(&session->out, "%-6s", session->pager ? "on" : "off");
        break;
    case SETTING_timing:
        buf_format(&session->out, "%-6s", session->timing ? "on" : "off");
        break;
    }
    buf_format(&session->out, "  %s (%s)\n", settings[i].summary, settings[i].values);
}

bool run_set(struct session *session, const struct invocation *invocation)
{
    struct str name = word_at(invocation, 1);
    if (invocation->words.count == 3) {
        return settings_set(session, name, word_at(invocation, 2));
    }
    if (invocation->words.count > 3) {
        return fail_usage(session, invocation);
    }
    bool found = str_is_null(name);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (str_is_null(name) || str_eq(name, str_from_c(settings[i].name))) {
            print_setting(session, i);
            found = true;
        }
    }
    return found || fail(session, "there is no setting %.*s; \\set lists them", STR_ARG(name));
}
