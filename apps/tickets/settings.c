/* Settings of the tickets: which statuses there are, and whether callers are stored as hashes. */
#include <stdio.h>
#include <string.h>

#include "apps/common/signed.h"
#include "apps/tickets/tickets.h"
#include "base/hex.h"

static char statuses[TICKETS_STATUSES_MAX][TICKETS_STATUS_LEN_MAX + 1] = {"open", "in_progress",
                                                                          "resolved", "closed"};
static bool callers_are_hashed;
static struct signing_key caller_key;

/* "open,in_progress,closed": 1 to 16 names of small letters, digits, _ and -. */
static bool take_statuses(const char *value)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t count = 0;
    memset(statuses, 0, sizeof(statuses));
    while (value != NULL && count < TICKETS_STATUSES_MAX) {
        size_t len = strcspn(value, ",");
        if (len < 1 || len > TICKETS_STATUS_LEN_MAX || strspn(value, allowed) < len) {
            break;
        }
        memcpy(statuses[count++], value, len);
        if (value[len] == '\0') {
            return true;
        }
        value += len + 1;
    }
    fprintf(stderr, "gramme-apps: --ticket-statuses wants 1 to %d names between commas\n",
            TICKETS_STATUSES_MAX);
    return false;
}

bool tickets_take_option(const char *name, const char *value)
{
    if (strcmp(name, "--ticket-statuses") == 0) {
        return take_statuses(value);
    }
    if (strcmp(name, "--hash-caller-ids") == 0 && value != NULL) {
        callers_are_hashed = true;
        return signing_key_load(&caller_key, value);
    }
    return false;
}

void tickets_print_options(void)
{
    printf("  %-28s %s\n  %-28s %s\n", "--ticket-statuses LIST",
           "statuses of a ticket; new tickets get the first [open,in_progress,resolved,closed]",
           "--hash-caller-ids FILE",
           "store callers as keyed hashes; FILE is the key, made if it is missing");
}

const char *tickets_status(size_t index)
{
    return index < TICKETS_STATUSES_MAX && statuses[index][0] != '\0' ? statuses[index] : NULL;
}

bool tickets_status_is_valid(const char *text)
{
    for (size_t i = 0; tickets_status(i) != NULL; i++) {
        if (strcmp(tickets_status(i), text) == 0) {
            return true;
        }
    }
    return false;
}

bool tickets_callers_are_hashed(void)
{
    return callers_are_hashed;
}

enum { HASH_DIGITS = 32 };

static bool is_hash(const char *text)
{
    return strncmp(text, "h-", 2) == 0 && strlen(text) == 2 + HASH_DIGITS &&
           strspn(text + 2, "0123456789abcdef") == HASH_DIGITS;
}

void tickets_caller_key(const char *caller, char out[TICKETS_CALLER_SIZE])
{
    if (callers_are_hashed && is_hash(caller)) {
        snprintf(out, TICKETS_CALLER_SIZE, "%s", caller);
    } else {
        tickets_user_key(caller, out);
    }
}

void tickets_user_key(const char *user_id, char out[TICKETS_CALLER_SIZE])
{
    if (!callers_are_hashed) {
        snprintf(out, TICKETS_CALLER_SIZE, "%s", user_id);
        return;
    }
    unsigned char mac[SIGNED_HASH_LEN];
    signed_hmac(caller_key.bytes, sizeof(caller_key.bytes), str_from_c(user_id), mac);
    memcpy(out, "h-", 2);
    hex_encode_c(str_make(mac, HASH_DIGITS / 2), out + 2);
}
