/* Calls of the API. */
import { createApi } from "@common/api.js";

export const api = createApi("reconciliation");

/* "failed"; a row of another program, or an index with few attributes, may not have it. */
export const statusText = ({ processingStatus }) => processingStatus?.toLowerCase() ?? "not known";

export const callPath = ({ tenantId, callId }) => `/calls/${encodeURIComponent(tenantId)}/${encodeURIComponent(callId)}`;
