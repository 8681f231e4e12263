/* Items as an aligned table that fits the terminal. Main thread. */
#include "base/mem.h"
#include "base/terminal.h"
#include "shell/results_internal.h"

enum {
    COLUMN_WIDTH_MIN = 6,     /* columns are not cut below this; rather some are left out */
    CELL_BYTES_MAX = 4096,    /* of a cell's text are looked at */
    CELL_WIDTH_MAX = 1000000, /* without a limit of the terminal */
};

struct cell {
    size_t start; /* in the table's text */
    size_t len;
    bool is_number;
};

struct grid {
    struct buf text; /* of all cells, safe */
    struct cell *cells;
    size_t *widths;
    size_t row_count; /* the first is the header */
    size_t column_count;
    size_t hidden_count; /* columns that did not fit */
};

static struct str cell_text(const struct grid *grid, const struct cell *cell)
{
    return str_make(grid->text.data == NULL ? "" : grid->text.data + cell->start, cell->len);
}

static void set_cell(struct grid *grid, size_t row, size_t column, struct str text, bool is_number)
{
    struct cell *cell = &grid->cells[row * grid->column_count + column];
    cell->start = grid->text.len;
    terminal_add_text(&grid->text, text);
    cell->len = grid->text.len - cell->start;
    cell->is_number = is_number;
    grid->widths[column] = MAX(grid->widths[column], terminal_width(cell_text(grid, cell)));
}

static void fill(struct grid *grid, const struct items *items, const struct columns *columns,
                 bool is_cut)
{
    struct buf text = {0};
    for (size_t c = 0; c < columns->count; c++) {
        set_cell(grid, 0, c, str_from_c(columns->names[c]), false);
    }
    for (size_t i = 0; i < items->count; i++) {
        for (size_t c = 0; c < columns->count; c++) {
            const struct gramme_value *value = gramme_get(items->list[i], columns->names[c]);
            text.len = 0;
            results_add_plain(&text, value);
            struct str shown = buf_str(&text);
            if (is_cut && shown.len > CELL_BYTES_MAX) {
                shown.len = CELL_BYTES_MAX;
            }
            set_cell(grid, i + 1, c, shown, gramme_value_type(value) == GRAMME_NUMBER);
        }
    }
    buf_finish(&text);
}

/* Makes the table fit: leaves out the last columns if there are too many, then narrows the widest
 * ones. */
static void fit(struct grid *grid, size_t width)
{
    size_t shown_max = MAX((width + 3) / (COLUMN_WIDTH_MIN + 3), (size_t)1);
    if (grid->column_count > shown_max) {
        grid->hidden_count = grid->column_count - shown_max;
    }
    size_t shown = grid->column_count - grid->hidden_count;
    size_t room = width > (shown - 1) * 3 ? width - (shown - 1) * 3 : shown;
    for (;;) {
        size_t total = 0;
        size_t widest = 0;
        size_t second = 1;
        for (size_t c = 0; c < shown; c++) {
            total += grid->widths[c];
            if (grid->widths[c] > grid->widths[widest]) {
                widest = c;
            }
        }
        if (total <= room || grid->widths[widest] <= 1) {
            return;
        }
        for (size_t c = 0; c < shown; c++) {
            second = c != widest ? MAX(second, grid->widths[c]) : second;
        }
        size_t excess = total - room;
        size_t most = grid->widths[widest] - MIN(second, grid->widths[widest] - 1);
        grid->widths[widest] -= MIN(excess, most);
    }
}

static void print_grid(struct buf *out, const struct grid *grid)
{
    size_t shown = grid->column_count - grid->hidden_count;
    for (size_t r = 0; r < grid->row_count; r++) {
        for (size_t c = 0; c < shown; c++) {
            const struct cell *cell = &grid->cells[r * grid->column_count + c];
            buf_add(out, c == 0 ? STR("") : STR(" | "));
            terminal_add_cell(out, cell_text(grid, cell), grid->widths[c], cell->is_number);
        }
        while (out->len > 0 && out->data[out->len - 1] == ' ') {
            out->len--; /* no blanks at the end of lines */
        }
        buf_add_char(out, '\n');
        for (size_t c = 0; r == 0 && c < shown; c++) {
            buf_add(out, c == 0 ? STR("") : STR("-+-"));
            for (size_t i = 0; i < grid->widths[c]; i++) {
                buf_add_char(out, '-');
            }
        }
        if (r == 0) {
            buf_add_char(out, '\n');
        }
    }
    if (grid->hidden_count > 0) {
        buf_format(out, "%zu more column%s not shown; \\set format list shows all\n",
                   grid->hidden_count, PLURAL(grid->hidden_count));
    }
}

/* The width that the table may have. */
static size_t allowed_width(const struct session *session)
{
    int rows;
    int columns = 0;
    if (session->width > 0) {
        return (size_t)session->width;
    }
    if (!session->is_terminal) {
        return CELL_WIDTH_MAX;
    }
    terminal_size(&rows, &columns);
    return (size_t)columns;
}

void results_print_table(struct session *session, const struct items *items)
{
    struct columns columns;
    columns_collect(items, &columns);
    if (columns.count > 0) {
        struct grid grid = {.row_count = items->count + 1, .column_count = columns.count};
        size_t width = allowed_width(session);
        grid.cells = mem_zalloc(grid.row_count * grid.column_count * sizeof(*grid.cells));
        grid.widths = mem_zalloc(grid.column_count * sizeof(*grid.widths));
        fill(&grid, items, &columns, width < CELL_WIDTH_MAX);
        fit(&grid, width);
        print_grid(&session->out, &grid);
        buf_finish(&grid.text);
        mem_free(grid.cells);
        mem_free(grid.widths);
    }
    mem_free(columns.names);
}
