/* Identities and roles; called by sign-in and by every handler that checks a role. */
#include "apps/common/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/utf8.h"

static const struct {
    unsigned role;
    const char *name;
} role_names[] = {
    {ROLE_ADMIN, "admin"},
    {ROLE_PROVIDER, "provider"},
    {ROLE_AGENT, "agent"},
    {ROLE_OPERATOR, "operator"},
};

bool identity_id_is_valid(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~' || text[i] == '#') {
            return false;
        }
    }
    return len >= 1 && len <= IDENTITY_ID_LEN_MAX && text[0] != ' ' && text[len - 1] != ' ' &&
           strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

void identity_copy_text(char *out, size_t size, const char *text)
{
    struct str fitting = utf8_prefix(str_from_c(text), size - 1);
    snprintf(out, size, "%.*s", STR_ARG(fitting));
}

bool identity_has(const struct identity *identity, unsigned roles)
{
    return (identity->roles & (roles | ROLE_ADMIN)) != 0;
}

bool identity_is(const struct identity *identity, const char *id)
{
    return strcmp(identity->id, id) == 0 || identity_has(identity, ROLE_ADMIN);
}

unsigned role_from_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(role_names); i++) {
        if (strcmp(role_names[i].name, name) == 0) {
            return role_names[i].role;
        }
    }
    return 0;
}

void roles_show(unsigned roles, struct gramme_value *list)
{
    for (size_t i = 0; i < COUNT_OF(role_names); i++) {
        if ((roles & role_names[i].role) != 0) {
            gramme_add_string(list, role_names[i].name);
        }
    }
}

unsigned roles_parse(const char *text)
{
    unsigned roles = 0;
    while (*text != '\0') {
        char name[32];
        size_t len = strcspn(text, ", ");
        snprintf(name, sizeof(name), "%.*s", (int)MIN(len, sizeof(name) - 1), text);
        roles |= role_from_name(name);
        text += len;
        text += strspn(text, ", ");
    }
    return roles;
}

unsigned roles_read(const struct gramme_value *value)
{
    if (gramme_value_string(value) != NULL) {
        return roles_parse(gramme_value_string(value));
    }
    unsigned roles = 0;
    for (size_t i = 0; i < gramme_value_count(value); i++) {
        const char *name = gramme_value_string(gramme_value_at(value, i));
        roles |= name == NULL ? 0 : role_from_name(name);
    }
    return roles;
}
