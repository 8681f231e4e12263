#include "store/rocks/rocks_internal.h"

void work_queue_init(struct work_queue *queue)
{
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->came, NULL);
    queue->oldest = NULL;
    queue->newest_link = &queue->oldest;
    queue->closing = false;
}

void work_queue_finish(struct work_queue *queue)
{
    pthread_cond_destroy(&queue->came);
    pthread_mutex_destroy(&queue->mutex);
}

void work_queue_push(struct work_queue *queue, struct task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    *queue->newest_link = task;
    queue->newest_link = &task->next;
    pthread_cond_signal(&queue->came);
    pthread_mutex_unlock(&queue->mutex);
}

struct task *work_queue_pop(struct work_queue *queue, bool all)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->oldest == NULL && !queue->closing) {
        pthread_cond_wait(&queue->came, &queue->mutex);
    }
    struct task *task = queue->oldest;
    if (task != NULL) {
        queue->oldest = all ? NULL : task->next;
        if (queue->oldest == NULL) {
            queue->newest_link = &queue->oldest;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return task;
}

void work_queue_close(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->closing = true;
    pthread_cond_broadcast(&queue->came);
    pthread_mutex_unlock(&queue->mutex);
}
