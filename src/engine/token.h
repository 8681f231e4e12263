/* engine/token.h: idempotency tokens of transactions, stored for ten minutes, across restarts.
 *
 *   tokens | h(token) |
 *       version 1, expiry in ms (i64), digest length (u32), digest, note
 *
 *   token expiry | 0 | expiry, h(token)
 *       empty; the housekeeper finds expired tokens by these rows */
#ifndef GRAMME_ENGINE_TOKEN_H
#define GRAMME_ENGINE_TOKEN_H

#include "engine/background.h"
#include "engine/engine.h"

/* Returns the key of a token's row. */
struct str token_key(const struct engine *engine, struct str token, struct arena *arena);

/* Whether a call with a token is new, a repetition, or another request with the same token. */
enum token_state { TOKEN_FRESH, TOKEN_REPLAY, TOKEN_MISMATCH };
/* Compares a call with the row of its token, which may be STR_NULL. For TOKEN_REPLAY *out_note
 * borrows the row. */
enum token_state token_check(struct str row, struct str digest, int64_t now_ms,
                             struct str *out_note);

/* Adds the token's rows to a batch; `key_index` is that of its declared key. */
void token_remember(struct store_update *update, struct store_batch *batch, size_t key_index,
                    struct str digest, struct str note, int64_t now_ms);

/* Erases tokens that have expired. Blocks. */
void token_sweep(struct background *background, int64_t now_ms);

#endif
