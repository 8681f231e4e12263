/* The fingerprint and the text of a pattern. On the thread of the call; the text is made only when
 * a pattern is recorded in a block for the first time. */
#include "meter/block_internal.h"

#include "base/hash.h"
#include "expr/describe.h"

enum { PART_BYTES_MAX = 1024 };

static uint64_t mix(uint64_t hash, uint64_t with)
{
    hash = (hash ^ with) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static void describe_columns(struct describer *to, const struct meter_access *access)
{
    for (size_t i = 0; i < access->column_count; i++) {
        describe_text(to, i > 0 ? STR(", ") : STR(""));
        describe_path(to, &access->columns[i].path);
    }
}

static const struct key_schema *schema_of(const struct meter_access *access)
{
    return access->index != NULL ? &access->index->key : &access->table->key;
}

/* The parts in which expressions are, each begun with a number of its own. */
static uint64_t hash_expressions(const struct meter_access *access)
{
    struct describer hash = {0};
    if (access->key != NULL) {
        describe_key(&hash, access->key, schema_of(access));
    }
    if (access->filter != NULL) {
        hash.hash = mix(hash.hash, 1);
        describe_condition(&hash, access->filter);
    }
    if (access->condition != NULL) {
        hash.hash = mix(hash.hash, 2);
        describe_condition(&hash, access->condition);
    }
    if (access->update != NULL) {
        hash.hash = mix(hash.hash, 3);
        describe_update(&hash, access->update);
    }
    if (access->projection != NULL) {
        hash.hash = mix(hash.hash, 4);
        describe_projection(&hash, access->projection);
    }
    if (access->column_count > 0) {
        hash.hash = mix(hash.hash, 5);
        describe_columns(&hash, access);
    }
    return hash.hash;
}

uint64_t pattern_fingerprint(const struct meter_call *call, const struct meter_access *access)
{
    uint64_t hash = access->operation != NULL ? (uint64_t)(uintptr_t)access->operation
                                              : hash_64(call->operation);
    if (access->table != NULL) {
        uint64_t index = access->index == NULL ? 0 : access->index->space;
        hash = mix(hash, (uint64_t)access->table->space << 32 | access->table->version);
        hash = mix(hash, index << 32 | access->flags);
        hash = mix(hash, hash_expressions(access));
    }
    return hash == 0 ? 1 : hash;
}

/* --- text --- */

struct writer {
    struct arena *arena;
    struct buf all;  /* the whole text */
    struct buf part; /* the part that is being written */
};

/* Ends a part: adds it to the whole behind `word`, and keeps a copy, cut if it is very long. */
static struct str end_part(struct writer *writer, struct str word)
{
    struct str part = buf_str(&writer->part);
    buf_add(&writer->all, word);
    buf_add(&writer->all, part);
    size_t len = part.len;
    if (len > PART_BYTES_MAX) {
        len = PART_BYTES_MAX;
        while (len > 0 && ((unsigned char)part.data[len] & 0xC0) == 0x80) {
            len--; /* not inside a character */
        }
        part = arena_format(writer->arena, "%.*s...", (int)len, part.data);
    } else {
        part = arena_copy(writer->arena, part);
    }
    writer->part.len = 0;
    return part;
}

/* "pk = ? AND sk = ?", of a call that names its item by key. */
static void write_whole_key(struct describer *to, const struct table *table)
{
    describe_name(to, table->key.hash[0].name);
    describe_text(to, STR(" = ?"));
    if (table->key.range_count > 0) {
        describe_text(to, STR(" AND "));
        describe_name(to, table->key.range[0].name);
        describe_text(to, STR(" = ?"));
    }
}

static void write_parts(struct writer *writer, const struct meter_access *access,
                        struct pattern_text *text)
{
    struct describer to = {.out = &writer->part};
    if (access->key != NULL) {
        describe_key(&to, access->key, schema_of(access));
        text->key = end_part(writer, STR(" "));
    } else if (access->flags & METER_BY_KEY) {
        write_whole_key(&to, access->table);
        text->key = end_part(writer, STR(" "));
    }
    if (access->update != NULL) {
        describe_update(&to, access->update);
        text->update = end_part(writer, STR(" "));
    }
    if (access->filter != NULL) {
        describe_condition(&to, access->filter);
        text->filter = end_part(writer, STR(" FILTER "));
    }
    if (access->condition != NULL) {
        describe_condition(&to, access->condition);
        text->condition = end_part(writer, STR(" IF "));
    }
    if (access->projection != NULL || access->column_count > 0) {
        if (access->projection != NULL) {
            describe_projection(&to, access->projection);
        } else {
            describe_columns(&to, access);
        }
        text->projection = end_part(writer, STR(" RETURN "));
    }
}

static void write_flags(struct writer *writer, const struct meter_access *access)
{
    static const struct {
        unsigned flag;
        const char *word;
    } words[] = {{METER_CONSISTENT, " CONSISTENT"},
                 {METER_BACKWARD, " BACKWARD"},
                 {METER_COUNT, " COUNT"},
                 {METER_HAS_LIMIT, " LIMIT"}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (access->flags & words[i].flag) {
            buf_add(&writer->all, str_from_c(words[i].word));
        }
    }
}

static void write_table(struct writer *writer, const struct meter_access *access,
                        struct pattern_text *text)
{
    const struct table *table = access->table;
    struct arena *arena = writer->arena;
    text->table = arena_copy(arena, table->name);
    text->table_space = table->space;
    buf_add_char(&writer->all, ' ');
    buf_add(&writer->all, table->name);
    if (access->index != NULL) {
        text->index = arena_copy(arena, access->index->name);
        buf_add_char(&writer->all, '.');
        buf_add(&writer->all, access->index->name);
    }
    struct str *names = ARENA_ARRAY(arena, struct str, table->index_count);
    uint32_t *spaces = ARENA_ARRAY(arena, uint32_t, table->index_count);
    for (size_t i = 0; i < table->index_count; i++) {
        names[i] = arena_copy(arena, table->indexes[i].name);
        spaces[i] = table->indexes[i].space;
    }
    text->index_count = table->index_count;
    text->index_names = names;
    text->index_spaces = spaces;
}

const struct pattern_text *pattern_describe(struct arena *arena, const struct meter_call *call,
                                            const struct meter_access *access)
{
    struct pattern_text *text = ARENA_NEW(arena, struct pattern_text);
    struct writer writer = {.arena = arena};
    text->operation = arena_copy(arena, access->operation != NULL ? str_from_c(access->operation)
                                                                  : call->operation);
    text->flags = access->flags;
    buf_add(&writer.all, text->operation);
    if (access->table != NULL) {
        write_table(&writer, access, text);
        write_parts(&writer, access, text);
        write_flags(&writer, access);
    }
    text->id = hash_64(buf_str(&writer.all));
    writer.part.len = 0;
    buf_add(&writer.part, buf_str(&writer.all));
    text->text = end_part(&writer, STR(""));
    buf_finish(&writer.all);
    buf_finish(&writer.part);
    return text;
}
