/* Finds condition keys by name, and their values in a request. Called while policies are parsed and
 * evaluated, on any thread; keeps no state. */
#include "auth/context.h"

#define CONTEXT_KEY(name_, text_, multivalued_) {.name = (text_), .is_multivalued = (multivalued_)},
static const struct {
    const char *name;
    bool is_multivalued;
} known_keys[] = {
#include "auth/context_keys.def"
};
#undef CONTEXT_KEY

static const char *const tag_families[CONTEXT_TAG_FAMILY_COUNT] = {
    [CONTEXT_PRINCIPAL_TAG - CONTEXT_KEY_COUNT] = "aws:PrincipalTag/",
    [CONTEXT_REQUEST_TAG - CONTEXT_KEY_COUNT] = "aws:RequestTag/",
    [CONTEXT_RESOURCE_TAG - CONTEXT_KEY_COUNT] = "aws:ResourceTag/",
};

static bool starts_with_nocase(struct str text, struct str prefix)
{
    return text.len >= prefix.len && str_eq_nocase(str_make(text.data, prefix.len), prefix);
}

struct context_key context_key_from_name(struct str name)
{
    if (str_eq_nocase(name, STR("dynamodb:FirstPartitionKeyValues"))) {
        return (struct context_key){.id = CONTEXT_DDB_LEADING_KEYS};
    }
    for (int i = 0; i < CONTEXT_KEY_COUNT; i++) {
        if (str_eq_nocase(name, str_from_c(known_keys[i].name))) {
            return (struct context_key){.id = (enum context_key_id)i};
        }
    }
    for (int i = 0; i < CONTEXT_TAG_FAMILY_COUNT; i++) {
        struct str prefix = str_from_c(tag_families[i]);
        if (starts_with_nocase(name, prefix)) {
            return (struct context_key){.id = (enum context_key_id)(CONTEXT_KEY_COUNT + i),
                                        .tag = str_skip(name, prefix.len)};
        }
    }
    return (struct context_key){.id = CONTEXT_UNKNOWN};
}

bool context_key_is_multivalued(enum context_key_id id)
{
    return id < CONTEXT_KEY_COUNT && known_keys[id].is_multivalued;
}

struct context_values context_find(const struct auth_context *context, struct context_key key)
{
    if (key.id < CONTEXT_KEY_COUNT) {
        return context->keys[key.id];
    }
    if (key.id == CONTEXT_UNKNOWN) {
        return (struct context_values){0};
    }
    const struct context_tags *family = &context->tags[key.id - CONTEXT_KEY_COUNT];
    for (size_t i = 0; i < family->count; i++) {
        /* The tag's name is part of the key's name, and key names compare without regard to case.
         */
        if (str_eq_nocase(family->tags[i].name, key.tag)) {
            return (struct context_values){
                .values = &family->tags[i].value, .count = 1, .is_present = true};
        }
    }
    return (struct context_values){0};
}
