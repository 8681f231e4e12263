/* Ports of the loopback address. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/* A port that is free now, for a program that is told its port, or that is stopped and started again at the same one. It is below
 * those that the kernel gives to programs that ask for any (from 32768 on), so no such program takes it meanwhile. */
export async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (isFree) {
      await new Promise((resolve) => probe.close(resolve));
      return port;
    }
  }
}
