/* Answers the updates of a committed group: posts them to their homes, those of one home together,
 * so that its thread is woken once. With the turn to commit; done() runs at home. */
#include "store/rocks/commit/commit_group.h"

static void answer_on_owner_thread(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    update->done(update);
}

/* Posts all updates of one home as one list, so that its thread is woken once. */
static void post_to_home(struct rocks_group *group, size_t first)
{
    struct mailbox *home = group->members[first]->home;
    struct task *newest = NULL;
    struct task *oldest = &group->members[first]->task;
    for (size_t i = first; i < group->member_count; i++) {
        struct store_update *update = group->members[i];
        if (update != NULL && update->home == home) {
            update->task.run = answer_on_owner_thread;
            update->task.next = newest;
            newest = &update->task;
            group->members[i] = NULL;
        }
    }
    assert(group->members[first] == NULL); /* answered, and not again */
    assert(newest != NULL);
    mailbox_post_list(home, newest, oldest);
}

void rocks_group_answer(struct rocks_group *group)
{
    assert(!group->stamped); /* what it has written is on disk, or will never be */
    for (size_t i = 0; i < group->member_count; i++) {
        if (group->members[i] != NULL) {
            post_to_home(group, i);
        }
    }
    group->member_count = 0;
}
