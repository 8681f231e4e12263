/* Functions that libpq and libcurl of Debian name and the portable programs do not hold: Kerberos,
 * LDAP, SSH, RTMP, international names. Those that are called report that the feature is not there;
 * the others (absent.def) are never reached and abort. Linked into portable programs only. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the libraries' headers are not there */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

static void end_with(const char *function)
{
    fprintf(stderr, "gramme: %s() is not part of the portable program\n", function);
    abort();
}

#define ABSENT(function)                                                                           \
    void function(void)                                                                            \
    {                                                                                              \
        end_with(#function);                                                                       \
    }
#include "absent.def"
#undef ABSENT

/* --- Kerberos, as in RFC 2744 --- */

enum { GSS_COMPLETE = 0, GSS_UNAVAILABLE = 16 << 16 };

struct gss_buffer {
    size_t length;
    void *value;
};

void *GSS_C_NT_HOSTBASED_SERVICE = NULL;

/* No credentials: libpq goes on without Kerberos, unless gssencmode=require. */
uint32_t gss_acquire_cred(uint32_t *minor)
{
    *minor = 0;
    return GSS_UNAVAILABLE;
}

/* The first call when a server demands Kerberos. */
uint32_t gss_import_name(uint32_t *minor)
{
    *minor = 0;
    return GSS_UNAVAILABLE;
}

/* The text of an error, for the message that the caller makes. */
uint32_t gss_display_status(uint32_t *minor, uint32_t status, int kind, const void *mechanism,
                            uint32_t *more, struct gss_buffer *out)
{
    static char text[] = "Kerberos is not part of the portable program";
    (void)status;
    (void)kind;
    (void)mechanism;
    *minor = 0;
    *more = 0;
    *out = (struct gss_buffer){.length = sizeof(text) - 1, .value = text};
    return GSS_COMPLETE;
}

uint32_t gss_release_buffer(uint32_t *minor, struct gss_buffer *buffer)
{
    *minor = 0;
    *buffer = (struct gss_buffer){0};
    return GSS_COMPLETE;
}

/* There are no names, credentials or contexts. */
uint32_t gss_release_name(uint32_t *minor)
{
    *minor = 0;
    return GSS_COMPLETE;
}

uint32_t gss_release_cred(uint32_t *minor)
{
    *minor = 0;
    return GSS_COMPLETE;
}

uint32_t gss_delete_sec_context(uint32_t *minor)
{
    *minor = 0;
    return GSS_COMPLETE;
}

/* --- others --- */

/* libpq: the LDAP server of a service file cannot be reached. */
void *ldap_init(void)
{
    return NULL;
}

/* libcurl calls these when it starts and ends. */
int libssh2_init(int flags)
{
    return flags == 0 ? 0 : -1;
}

void libssh2_exit(void)
{
}

/* libcurl: host names are used as they are. */
const char *idn2_check_version(void)
{
    return NULL;
}
