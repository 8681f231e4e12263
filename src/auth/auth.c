/* Maps the values of the option `--auth` to modes. Called while settings are read, at start. */
#include "auth/auth.h"

bool auth_mode_from_name(struct str name, enum auth_mode *out)
{
    static const struct {
        const char *name;
        enum auth_mode mode;
    } modes[] = {
        {"off", AUTH_ANY},   {"warn", AUTH_WARN}, {"on", AUTH_ON},
        {"none", AUTH_NONE}, {"any", AUTH_ANY},
    };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (str_eq(name, str_from_c(modes[i].name))) {
            *out = modes[i].mode;
            return true;
        }
    }
    return false;
}
