/* Calls of the API. */
import { createApi } from "@common/api.js";

export const api = createApi("reconciliation");

export const callPath = ({ tenantId, callId }) => `/calls/${encodeURIComponent(tenantId)}/${encodeURIComponent(callId)}`;
