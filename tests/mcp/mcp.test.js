// `gramme mcp` with the official client, on Gramme, Dynoxide and (after tools/setup oracle) DynamoDB Local.
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { connect, makeTable, program, startDatabase } from './support.js';

const READ = ['list_tables', 'describe_table', 'sample_items', 'item_collections', 'get_item', 'query_items', 'run_statement'];
const GRAMME = ['explain_statement', 'access_patterns', 'cost', 'findings'];
const WRITE = ['put_item', 'delete_item'];

for (const kind of ['gramme', 'dynoxide', 'local']) {
  const database = await startDatabase(kind);
  assert.ok(database !== null || process.env.GRAMME_PEERS !== 'all', `${kind} is not there: tools/setup oracle brings it`);
  describe(kind, { skip: database === null && 'tools/setup oracle brings it' }, () => {
    let mcp;
    let writer;
    before(async () => {
      await makeTable(database, 'Boxes');
      for (let i = 0; i < 30; i += 1) {
        await database.put('Boxes', { pk: `p${i % 3}`, n: i, color: i % 2 ? 'red' : 'blue', tags: ['a', { b: null }] });
      }
      mcp = await connect(database.endpoint);
      writer = await connect(database.endpoint, '--write');
    });
    after(async () => {
      await mcp?.close();
      await writer?.close();
      await database.stop();
    });

    test('tools', async () => {
      const names = (await mcp.client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(names, kind === 'gramme' ? [...READ, ...GRAMME] : READ);
      const all = (await writer.client.listTools()).tools;
      assert.deepEqual(all.map((tool) => tool.name).slice(-2), WRITE);
      for (const tool of all) {
        const writes = [...WRITE, 'run_statement'].includes(tool.name);
        assert.equal(tool.annotations.readOnlyHint, !writes, tool.name);
        assert.equal(tool.inputSchema.type, 'object');
      }
    });

    test('tables', async () => {
      assert.deepEqual(await mcp.call('list_tables'), { tables: ['Boxes'] });
      assert.deepEqual(await mcp.call('list_tables', { prefix: 'X' }), { tables: [] });
      const table = await mcp.call('describe_table', { table: 'Boxes' });
      assert.deepEqual(table.key, [{ attribute: 'pk', role: 'partition', type: 'S' }, { attribute: 'n', role: 'sort', type: 'N' }]);
      assert.equal(table.indexes[0].index, 'by-color');
      assert.equal(table.indexes[0].projection, 'KEYS_ONLY');
      assert.match(await mcp.fails('describe_table', { table: 'Nothing' }), /ResourceNotFoundException/);
    });

    test('reading items', async () => {
      const one = await mcp.call('get_item', { table: 'Boxes', key: { pk: 'p1', n: 4 } });
      assert.deepEqual(one.item, { pk: 'p1', n: 4, color: 'blue', tags: ['a', { b: null }] });
      assert.deepEqual((await mcp.call('get_item', { table: 'Boxes', key: { pk: 'p1', n: '5' } })).item, null);
      const sample = await mcp.call('sample_items', { table: 'Boxes', limit: 3 });
      assert.equal(sample.count, 3);
      const collections = await mcp.call('item_collections', { table: 'Boxes' });
      assert.equal(collections.items_read, 30);
      assert.deepEqual(collections.collections.map((entry) => [entry.partition, entry.items_seen]).sort(), [['p0', 10], ['p1', 10], ['p2', 10]]);
      const red = await mcp.call('query_items', { table: 'Boxes', index: 'by-color', partition: 'red', limit: 100 });
      assert.equal(red.count, 15);
    });

    test('queries and their pages', async () => {
      const numbers = async (args) => (await mcp.call('query_items', { table: 'Boxes', partition: 'p0', ...args })).items.map((item) => item.n);
      assert.deepEqual(await numbers({ condition: '<', value: 7 }), [0, 3, 6]);
      assert.deepEqual(await numbers({ condition: 'between', value: 6, high: 12 }), [6, 9, 12]);
      assert.deepEqual(await numbers({ descending: true, limit: 2 }), [27, 24]);
      const seen = [];
      for (let cursor; ;) {
        const page = await mcp.call('query_items', { table: 'Boxes', partition: 'p0', limit: 4, ...(cursor && { cursor }) });
        seen.push(...page.items.map((item) => item.n));
        cursor = page.next_cursor;
        if (!cursor) break;
      }
      assert.deepEqual(seen, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    });

    test('statements', async () => {
      const page = await mcp.call('run_statement', { statement: "SELECT n FROM \"Boxes\" WHERE pk = 'p0' AND n > 20" });
      assert.deepEqual(page.items, [{ n: 21 }, { n: 24 }, { n: 27 }]);
      const first = await mcp.call('run_statement', { statement: 'SELECT * FROM "Boxes"', limit: 20 });
      const second = await mcp.call('run_statement', { statement: 'SELECT * FROM "Boxes"', limit: 20, next_token: first.next_token });
      assert.deepEqual([first.count, second.count], [20, 10]);
      assert.match(await mcp.fails('run_statement', { statement: 'SELECT' }), /ValidationException/);
    });

    test('read-only without --write', async () => {
      const texts = ["DELETE FROM \"Boxes\" WHERE pk = 'p0' AND n = 0", "INSERT INTO \"Boxes\" VALUE {'pk': 'x', 'n': 1}",
        "update \"Boxes\" SET a = 1 WHERE pk = 'p0' AND n = 0", '/* SELECT */ DELETE FROM "Boxes"', '-- SELECT\nDELETE FROM "Boxes"', 'SELECTED', '/* SELECT',
        '', "EXISTS(SELECT * FROM \"Boxes\" WHERE pk = 'p0')"];
      for (const statement of texts) {
        assert.match(await mcp.fails('run_statement', { statement }), /read-only/, statement);
      }
      for (const name of WRITE) {
        await assert.rejects(mcp.client.callTool({ name, arguments: { table: 'Boxes', item: {}, key: {} } }), /read-only/);
      }
      assert.equal((await mcp.call('item_collections', { table: 'Boxes' })).items_read, 30);
    });

    test('writing', async () => {
      assert.equal((await writer.call('put_item', { table: 'Boxes', item: { pk: 'w', n: 1, v: [1, 'x'] } })).written, true);
      assert.match(await writer.fails('put_item', { table: 'Boxes', item: { pk: 'w', n: 1 } }), /exists/);
      await writer.call('put_item', { table: 'Boxes', item: { pk: 'w', n: 1, v: 2 }, overwrite: true });
      await writer.call('run_statement', { statement: "UPDATE \"Boxes\" SET v = 3 WHERE pk = 'w' AND n = 1" });
      assert.deepEqual(await writer.call('delete_item', { table: 'Boxes', key: { pk: 'w', n: 1 } }).then((done) => [done.deleted, done.item.v]), [true, 3]);
      assert.equal((await writer.call('delete_item', { table: 'Boxes', key: { pk: 'w', n: 1 } })).deleted, false);
    });

    test('bad arguments', async () => {
      const cases = [
        ['describe_table', {}], ['describe_table', { table: 5 }], ['describe_table', { table: 'Boxes', tabel: 'x' }], ['list_tables', { properties: {} }],
        ['sample_items', { table: 'Boxes', limit: 0 }], ['sample_items', { table: 'Boxes', limit: 101 }], ['sample_items', { table: 'Boxes', limit: 'x' }],
        ['sample_items', { table: 'Boxes', cursor: 'nonsense' }], ['sample_items', { table: 'Boxes', index: 'nothing' }],
        ['get_item', { table: 'Boxes' }], ['get_item', { table: 'Boxes', key: { pk: 'a' } }], ['get_item', { table: 'Boxes', key: { pk: 'a', x: 1 } }],
        ['get_item', { table: 'Boxes', key: { pk: 1, n: 1 } }], ['get_item', { table: 'Boxes', key: { pk: 'a', n: 'x' } }],
        ['query_items', { table: 'Boxes' }], ['query_items', { table: 'Boxes', partition: 'p0', condition: 'like', value: 1 }],
        ['query_items', { table: 'Boxes', partition: 'p0', condition: '<' }], ['query_items', { table: 'Boxes', partition: 'p0', condition: 'between', value: 1 }],
        ['query_items', { table: 'Boxes', index: 'by-color', partition: 'red', condition: '<', value: 1 }], ['run_statement', {}]];
      for (const [name, args] of cases) {
        const text = await mcp.fails(name, args);
        assert.ok(text.length > 5 && !text.includes('\n'), JSON.stringify([name, args, text]));
      }
      await assert.rejects(mcp.client.callTool({ name: 'nothing', arguments: {} }), /no such tool/);
    });

    test('what only Gramme has', async () => {
      for (const name of GRAMME) {
        const args = name === 'explain_statement' ? { statement: "SELECT * FROM \"Boxes\" WHERE pk = 'a'" } : {};
        if (kind === 'gramme') {
          const answer = await mcp.call(name, args);
          assert.ok(Object.keys(answer).length > 0);
          if (name === 'explain_statement') assert.match(answer.plan, /^query Boxes/);
          if (name === 'access_patterns') assert.ok(answer.patterns.some((pattern) => pattern.text.startsWith('PutItem Boxes')));
          if (name === 'cost') assert.equal(answer.tables[0].table, 'Boxes');
        } else {
          assert.match(await mcp.fails(name, args), /needs a Gramme server/);
        }
      }
    });

    test('answers are bounded', async () => {
      await makeTable(database, 'Large');
      for (let i = 0; i < 40; i += 1) await database.put('Large', { pk: 'a', n: i, text: 'x'.repeat(10000) });
      await database.put('Large', { pk: 'b', n: 1, text: 'é'.repeat(150000), list: Array.from({ length: 500 }, () => 'y'.repeat(100)) });
      const bound = 80 * 1024;
      for (const [name, args] of [['sample_items', { table: 'Large', limit: 100 }], ['query_items', { table: 'Large', partition: 'a', limit: 100 }],
        ['get_item', { table: 'Large', key: { pk: 'b', n: 1 } }], ['run_statement', { statement: 'SELECT * FROM "Large"', limit: 100 }],
        ['item_collections', { table: 'Large', limit: 100 }]]) {
        assert.ok(await mcp.bytes(name, args) < bound, name);
      }
      const seen = [];
      for (let cursor; ;) { // nothing is lost between the pages that were cut
        const page = await mcp.call('query_items', { table: 'Large', partition: 'a', limit: 100, ...(cursor && { cursor }) });
        seen.push(...page.items.map((item) => item.n));
        cursor = page.next_cursor;
        if (!cursor) break;
      }
      assert.deepEqual(seen, Array.from({ length: 40 }, (_, i) => i));
      const cut = await mcp.call('get_item', { table: 'Large', key: { pk: 'b', n: 1 } });
      assert.match(cut.item.text, /^é+\.\.\. \(\d+ more bytes\)$/);
    });
  });
}

/** Sends lines as they are; gives the answers. */
function raw(lines, ...options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['mcp', ...options, 'memory:'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (data) => { out += data; });
    child.on('error', reject);
    // At 'exit' some of its output may not have been read yet.
    child.on('close', (status) => resolve({ status, answers: out.split('\n').filter(Boolean).map((line) => JSON.parse(line)) }));
    child.stdin.end(lines.join('\n'));
  });
}

describe('messages', () => {
  test('that are wrong', async () => {
    const { status, answers } = await raw(['garbage', '{}', '[]', '5', '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      '', '{"jsonrpc":"2.0","id":1,"method":"nothing"}', '{"jsonrpc":"2.0","id":2,"method":"tools/call"}', '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}',
      '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_tables","arguments":[]}}', '{"jsonrpc":"2.0","method":"notifications/whatever"}',
      '{"jsonrpc":"2.0","id":9,"result":{}}', `{"jsonrpc":"2.0","id":5,"method":"${'x'.repeat(2000000)}"}`, '{"jsonrpc":"2.0","id":"last","method":"ping"}']);
    assert.equal(status, 0);
    assert.deepEqual(answers.map((answer) => [answer.id, answer.error?.code ?? answer.result.isError ?? 'ok']), [
      [null, -32700], [null, -32600], [null, -32600], [null, -32600], [null, -32600], [null, -32600], [1, -32601], [2, -32602], [3, -32602], [4, true],
      [null, -32700], ['last', 'ok']]);
  });

  test('versions', async () => {
    for (const [wanted, given] of [['2024-11-05', '2024-11-05'], ['2025-06-18', '2025-06-18'], ['1999-01-01', '2025-11-25']]) {
      const { answers } = await raw([JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: wanted } })]);
      assert.equal(answers[0].result.protocolVersion, given);
    }
  });
});
