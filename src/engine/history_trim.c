#include "engine/backup_internal.h"
void history_trim(struct service *service)
{
    (void)service;
}
