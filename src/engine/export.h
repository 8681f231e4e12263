/* engine/export.h: exports of tables: their rows in the catalog, and what a thread that carries
 * them out needs of the engine. The files are written by src/transfer.
 *
 *   catalog | "export"       | ID/TABLE             an export (codec/stored_export.h)
 *   catalog | "export-file"  | ID, number (u32_be)  the line of a finished data file
 *   catalog | "export-token" | hash of ClientToken  hash of the request (u64_le), time in ms
 *                                                   (i64_le), ID/TABLE
 *
 * An export holds the items of its instant by an internal backup ("pin", engine/backup.h), an
 * incremental one those of both instants. All rows are made by one update, so that there is either
 * an export with its pins or nothing. */
#ifndef GRAMME_ENGINE_EXPORT_H
#define GRAMME_ENGINE_EXPORT_H

#include "base/buf.h"
#include "codec/stored_export.h"
#include "engine/background.h"
#include "engine/backup.h"
#include "engine/history.h"

/* The ARN of an export, from the name of its row: ID/TABLE. */
struct str export_arn(const struct engine *engine, struct arena *arena, struct str row_name);

/* --- ExportTableToPointInTime --- */

/* Fill in change.call, change.name and the inputs. Fails with ERR_RECOVERY_UNAVAILABLE,
 * ERR_INVALID_EXPORT_TIME, or ERR_EXPORT_CONFLICT if the token is in use: then look at it with
 * engine_find_export(). */
struct export_create {
    struct table_change change;
    struct export export;  /* what is wanted; time_ms 0: now; to_ms of an incremental one 0: now */
    uint64_t request_hash; /* of the parameters, to compare requests with the same token */

    struct str row_name; /* set by the engine, like the next */
    struct export made;
    void (*done)(struct engine_call *call); /* the engine's own */
};
/* Creates an export; the exporter thread carries it out. */
void engine_create_export(struct export_create *create);

/* Finds the export of a client token that is not older than eight hours. */
struct export_find {
    struct engine_call call;
    struct str token;
    bool of_any_age;     /* engine_create_export() has refused it, by the clock of the store */
    struct str row_name; /* STR_NULL: the token is free */
    uint64_t request_hash;
    struct store_get get; /* the engine's own, like the next */
    struct str key;
};
/* Starts the search. */
void engine_find_export(struct export_find *find);

/* --- DescribeExport, ListExports --- */

struct export_get {
    struct engine_call call; /* ERR_EXPORT_NOT_FOUND */
    struct str row_name;
    struct export export; /* in call.arena */
    struct store_get get; /* the engine's own, like the next */
    struct str key;
};
/* Reads an export. */
void engine_get_export(struct export_get *get);

struct export_entry {
    struct str row_name;
    struct export export;
};

/* Exports, the newest first. */
struct export_list {
    struct engine_call call;
    struct str before;     /* a row's name, which need not exist; STR_NULL: from the newest */
    struct str table_name; /* STR_NULL: of all tables */
    const char *table_id;  /* of that table, UUID_TEXT_LEN bytes; NULL: any of that name */
    bool only_in_progress;
    size_t limit;

    struct export_entry *entries;
    size_t count;
    bool more;
    struct catalog_list rows; /* the engine's own */
};
/* Lists exports. */
void engine_list_exports(struct export_list *list);

/* --- for the thread that carries them out --- */

/* That thread is woken whenever there is a new export; NULL: exports are not possible. Set before
 * calls are served and reset after the last one. */
void engine_set_exporter(struct engine *engine, struct background *exporter);

/* Lists exports on the background thread, as engine_list_exports(). False: the store cannot be
 * read. `list->call.arena` is filled in by the caller. */
MUST_USE bool export_list_waiting(struct background *background, struct export_list *list);

enum export_result {
    EXPORT_RESULT_OK,
    EXPORT_RESULT_TAKEN,  /* another server carries it out, or it has ended */
    EXPORT_RESULT_FAILED, /* the store failed: the call can be repeated */
};
/* Begins or resumes an export: increments `attempt`, so that a server that carried it out before
 * cannot change it any more. */
MUST_USE enum export_result export_begin(struct background *background, struct arena *arena,
                                         struct str row_name, struct export *out);
/* Replaces the export's row, if `attempt` is still the same. `file`, not STR_NULL: the line of data
 * file number file_count - 1, which is stored with it. */
MUST_USE enum export_result export_update(struct background *background, struct arena *arena,
                                          struct str row_name, const struct export *export,
                                          struct str file);
/* Appends the lines of all finished data files. */
MUST_USE bool export_read_files(struct background *background, struct arena *arena,
                                struct str row_name, struct buf *out);

/* What is to be read, once all changes up to its instants are decided. */
struct export_source {
    struct table table; /* as it was */
    struct history_source history;
};
enum export_readiness {
    EXPORT_SOURCE_READY,
    EXPORT_SOURCE_LATER,  /* not decided yet: ask again soon */
    EXPORT_SOURCE_GONE,   /* the pin is missing */
    EXPORT_SOURCE_FAILED, /* the store cannot be read */
};
/* Finds the source of an export, and checks whether it can be read now. Blocks. */
MUST_USE enum export_readiness export_find_source(struct background *background,
                                                  struct arena *arena, const struct export *export,
                                                  struct export_source *out);

/* Deletes the pins of the export and the lines of its data files. May be repeated. */
MUST_USE bool export_release(struct background *background, struct arena *arena,
                             struct str row_name, const struct export *export);
/* Deletes the row of an export that ended long ago, and its token. */
MUST_USE bool export_forget(struct background *background, struct arena *arena, struct str row_name,
                            const struct export *export);

#endif
