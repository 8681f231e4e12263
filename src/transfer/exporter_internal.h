/* transfer/exporter_internal.h: the thread that carries out exports, and the data files it writes.
 */
#ifndef GRAMME_TRANSFER_EXPORTER_INTERNAL_H
#define GRAMME_TRANSFER_EXPORTER_INTERNAL_H

#include "archive/gzip.h"
#include "archive/manifest.h"
#include "archive/write_records.h"
#include "engine/export.h"
#include "objects/objects.h"

/* The thread. */
struct exporter {
    struct background background;
    struct objects *objects;
    int64_t swept_ms; /* when old exports were last searched and erased */
    bool has_failed;  /* the store failed in this round */
};

/* Starts the thread, and lets the engine wake it. */
MUST_USE bool exporter_start(struct exporter *exporter, struct engine *engine,
                             struct objects *objects, struct err *err);
/* Stops it; after objects_stop(). Does nothing to one that was not started. */
void exporter_stop(struct exporter *exporter);

/* The result of one step. */
enum step {
    STEP_DONE,
    STEP_SOON,   /* not all changes up to its instants are decided: it has not begun */
    STEP_LATER,  /* the store failed, or the server stops: the export is resumed */
    STEP_FAILED, /* the export fails: see job->export.failure_code, or else job->error */
};

/* An export that is being carried out. */
struct export_job {
    struct exporter *exporter;
    struct str row_name;
    struct str folder;      /* of its objects: "PREFIX/AWSDynamoDB/ID/" */
    struct str data_folder; /* of its data files */
    struct export export;
    struct export_source source;
    struct arena arena;   /* lives as long as the job */
    struct arena scratch; /* of one piece of work */
    struct object_error error;
};

/* export_data.c: writes the items, or changes, to data files. */
MUST_USE enum step export_write_data(struct export_job *job);
/* Returns the attributes of the objects of the export. */
struct object_attributes export_attributes(const struct export_job *job, struct str content_type);

#endif
