/* Two binary heaps of entries, ordered by their start: see slow_queue_internal.h. The slow threads
 * and the loops call it with the mutex of slow.c. */
#include "http/slow_queue_internal.h"

#include "base/mem.h"

static bool is_before(const struct slow_entry *a, const struct slow_entry *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->number < b->number;
}

static void swap(struct slow_heap *heap, size_t i, size_t k)
{
    struct slow_entry *entry = heap->entries[i];
    heap->entries[i] = heap->entries[k];
    heap->entries[k] = entry;
}

static void move_up(struct slow_heap *heap, size_t i)
{
    while (i > 0 && is_before(heap->entries[i], heap->entries[(i - 1) / 2])) {
        swap(heap, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static void move_down(struct slow_heap *heap, size_t i)
{
    while (true) {
        size_t first = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++) {
            first = is_before(heap->entries[child], heap->entries[first]) ? child : first;
        }
        if (first == i) {
            return;
        }
        swap(heap, i, first);
        i = first;
    }
}

void slow_queue_push(struct slow_queue *queue, struct slow_entry *entry, int64_t end_ns)
{
    struct slow_heap *heap = entry->is_heavy ? &queue->heavy : &queue->light;
    entry->start_ns = MAX(end_ns, queue->now_ns);
    entry->number = queue->pushed_count++;
    if (heap->count == heap->capacity) {
        heap->capacity = MAX(2 * heap->capacity, (size_t)16);
        heap->entries = mem_realloc(heap->entries, heap->capacity * sizeof(struct slow_entry *));
    }
    heap->entries[heap->count++] = entry;
    move_up(heap, heap->count - 1);
}

static struct slow_entry *first_of(const struct slow_heap *heap)
{
    return heap->count > 0 ? heap->entries[0] : NULL;
}

struct slow_entry *slow_queue_take(struct slow_queue *queue, bool heavy_too)
{
    struct slow_entry *light = first_of(&queue->light);
    struct slow_entry *heavy = heavy_too ? first_of(&queue->heavy) : NULL;
    bool takes_heavy = heavy != NULL && (light == NULL || is_before(heavy, light));
    struct slow_heap *heap = takes_heavy ? &queue->heavy : &queue->light;
    struct slow_entry *entry = takes_heavy ? heavy : light;
    if (entry != NULL) {
        heap->entries[0] = heap->entries[--heap->count];
        move_down(heap, 0);
        queue->now_ns = MAX(queue->now_ns, entry->start_ns);
    }
    return entry;
}

bool slow_queue_is_empty(const struct slow_queue *queue)
{
    return queue->light.count == 0 && queue->heavy.count == 0;
}

void slow_queue_finish(struct slow_queue *queue)
{
    mem_free(queue->light.entries);
    mem_free(queue->heavy.entries);
    *queue = (struct slow_queue){0};
}
