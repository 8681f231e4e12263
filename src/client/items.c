/* Iterates over the items of all pages of a Query or Scan, and requests the next page when one is
 * used up. An iterator belongs to one thread. */
#include "base/mem.h"
#include "client/client_internal.h"

struct gramme_items {
    struct gramme_db *db;
    struct gramme_request *request;
    struct gramme_answer *page;
    size_t next;  /* item of the page */
    bool is_last; /* no page comes after this one */
};

static struct gramme_request *copy_request(const struct gramme_request *request)
{
    struct gramme_request *copy = gramme_request_create(request->operation, NULL);
    copy->root = value_create_copy(copy->tree, request->root);
    return copy;
}

struct gramme_items *gramme_items_open(struct gramme_db *db, const struct gramme_request *request)
{
    struct gramme_items *items = mem_zalloc(sizeof(*items));
    items->db = db;
    items->request = copy_request(request);
    return items;
}

void gramme_items_close(struct gramme_items *items)
{
    if (items != NULL) {
        gramme_answer_destroy(items->page);
        gramme_request_destroy(items->request);
        mem_free(items);
    }
}

const struct gramme_answer *gramme_items_page(const struct gramme_items *items)
{
    return items->page;
}

/* Reads the page after this one. On failure nothing changes, so that the call can be repeated. */
static bool read_next_page(struct gramme_items *items, struct gramme_error **error)
{
    if (!request_is(items->request, "Query") && !request_is(items->request, "Scan")) {
        return error_set(error, GRAMME_BAD_REQUEST, "%s has no pages", items->request->operation);
    }
    struct gramme_answer *page = gramme_send(items->db, items->request, error);
    if (page == NULL) {
        return false;
    }
    const struct gramme_value *last = gramme_get(gramme_answer_root(page), "LastEvaluatedKey");
    items->is_last = gramme_value_count(last) == 0;
    /* A fresh copy, so that the keys of all pages do not pile up in one tree. */
    struct gramme_request *next = copy_request(items->request);
    gramme_request_start(next, last);
    gramme_request_destroy(items->request);
    items->request = next;
    gramme_answer_destroy(items->page);
    items->page = page;
    items->next = 0;
    return true;
}

const struct gramme_value *gramme_items_next(struct gramme_items *items,
                                             struct gramme_error **error)
{
    error_clear(error);
    for (;;) {
        const struct gramme_value *item =
            gramme_value_at(gramme_answer_items(items->page), items->next);
        if (item != NULL) {
            items->next++;
            return item;
        }
        if (items->is_last || !read_next_page(items, error)) {
            return NULL;
        }
    }
}
