// A Kinesis for tests: node kinesalite.cjs PORT DIRECTORY [FAIL_EVERY [CREATE_MS]]. Listens on loopback; prints its port. Streams are in DIRECTORY, so that a
// restart keeps them. FAIL_EVERY: of every so many PutRecords one fails with status 500 or, in turn, is carried out and not answered; and of every
// so many records one is refused. CREATE_MS: how long a new stream is CREATING.
const http = require('node:http');
const { createRequire } = require('node:module');

const load = createRequire(`${__dirname}/../package.json`);
const [port, path, failEvery = '0', createMs = '20'] = process.argv.slice(2);
const kinesalite = load('kinesalite')({ path, createStreamMs: Number(createMs), deleteStreamMs: 20, updateStreamMs: 20, shardLimit: 100 });
const every = Number(failEvery);
let requests = 0;
let records = 0;

// Answers of PutRecords in which some records are refused, as if a shard had no more throughput.
function refuseSome(request, response, isAnswered) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks));
    const refused = body.Records.map(() => ++records % every === 0);
    const kept = body.Records.filter((_, i) => !refused[i]);
    const forwarded = JSON.stringify({ ...body, Records: kept });
    const inner = http.request({
      host: '127.0.0.1', port: innerPort, method: 'POST', path: '/',
      headers: { ...request.headers, 'content-length': Buffer.byteLength(forwarded) },
    }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        if (!isAnswered) {
          response.destroy();
          return;
        }
        const text = Buffer.concat(parts).toString();
        if (answer.statusCode !== 200) {
          response.writeHead(answer.statusCode, { 'content-type': 'application/x-amz-json-1.1' });
          response.end(text);
          return;
        }
        const results = JSON.parse(text).Records;
        const all = refused.map((no) => (no
          ? { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded for shard' } : results.shift()));
        response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
        response.end(JSON.stringify({ FailedRecordCount: refused.filter(Boolean).length, Records: all }));
      });
    });
    inner.on('error', () => response.destroy());
    inner.end(forwarded);
  });
}

let innerPort = 0;
function listen(server, where) {
  return new Promise((resolve) => { server.listen(where, '127.0.0.1', () => resolve(server.address().port)); });
}

async function main() {
  if (every === 0) {
    console.log(await listen(kinesalite, Number(port)));
    return;
  }
  innerPort = await listen(kinesalite, 0);
  const proxy = http.createServer((request, response) => {
    const isPut = (request.headers['x-amz-target'] ?? '').endsWith('.PutRecords');
    const fault = isPut && ++requests % every === 0 ? requests / every : 0;
    if (fault % 2 === 1) {
      request.resume();
      response.writeHead(500, { 'content-type': 'application/x-amz-json-1.1' });
      response.end('{"__type":"InternalFailure","message":"a fault of the test"}');
    } else if (isPut) {
      refuseSome(request, response, fault === 0);
    } else {
      request.pipe(http.request({
        host: '127.0.0.1', port: innerPort, method: request.method, path: request.url, headers: request.headers,
      }, (answer) => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response); }));
    }
  });
  console.log(await listen(proxy, Number(port)));
}
main();
