// Where a server of a test keeps its data, as on_postgresql() of server.py: in memory, or, if GRAMME_POSTGRESQL names a database,
// in a new database of that PostgreSQL.
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';

/** The URL of a store; one in a directory is the same whenever it is named. */
export function storeUrl(url = 'memory:') {
  const server = process.env.GRAMME_POSTGRESQL;
  if (server === undefined) return url;
  const hash = url === 'memory:' ? randomBytes(8).toString('hex') : createHash('sha256').update(url).digest('hex').slice(0, 16);
  spawnSync('psql', ['-Xq', server, '-c', `CREATE DATABASE t_${hash} TEMPLATE template0`]); // it may be there
  return `${server.slice(0, server.lastIndexOf('/'))}/t_${hash}`;
}
