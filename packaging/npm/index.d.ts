export interface StartOptions {
  /** Where data is kept: `memory:` (the default), `rocksdb:DIRECTORY`, `postgresql://...`. */
  store?: string;
  /** Further options of `gramme serve`, for example `["--test-clock", "on"]`. */
  args?: string[];
  /** Path of the program; default: the variable GRAMME, or the one in this package. */
  program?: string;
  /** How long the server may take to start, in milliseconds (default 30000). */
  timeoutMs?: number;
}

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface Server {
  /** For example `http://127.0.0.1:41234`. */
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  readonly region: string;
  /** Any will do; these are what SDKs need to sign. */
  readonly credentials: Credentials;
  /** For the constructor of an AWS SDK's client: `new DynamoDBClient(db.config)`. */
  readonly config: { endpoint: string; region: string; credentials: Credentials };
  /** The last lines of the server's log. */
  readonly log: string;
  /** Variables with which AWS SDKs find the server; those for credentials and region only if they are not set. */
  environment(): Record<string, string>;
  /** Deletes all tables. */
  reset(): Promise<void>;
  /** Ends the server. Without it the server ends when this process does. */
  stop(): Promise<void>;
}

/** Starts a server: in memory and on a free port, by default. It is ready when the promise resolves. */
export function start(options?: StartOptions): Promise<Server>;
/** Deletes all tables of the server at `endpoint`. */
export function reset(endpoint: string): Promise<void>;
/** Variables with which AWS SDKs find the server at `endpoint`. */
export function environment(endpoint: string): Record<string, string>;
