// Vitest's globalSetup; what it returns is called at the end.
import { availableParallelism, cpus } from 'node:os';
import workers from './workers.js';

// As many as Vitest starts workers, unless the configuration says so: a worker beyond them starts a server of its own.
function workerCount(project) {
  const wanted = project?.config?.maxWorkers ?? project?.vitest?.config?.maxWorkers;
  return Number.isInteger(wanted) ? wanted : (availableParallelism?.() ?? cpus().length);
}

export default (project) => workers.startForWorkers(workerCount(project));
