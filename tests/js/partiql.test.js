// The PartiQL examples of the DynamoDB developer guide, as the SDK sends them.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  BatchExecuteStatementCommand, ConditionalCheckFailedException, DuplicateItemException, ExecuteStatementCommand,
  ExecuteTransactionCommand, IdempotentParameterMismatchException, TransactionCanceledException, CreateTableCommand,
} from '@aws-sdk/client-dynamodb';
import {
  BatchExecuteStatementCommand as BatchDocuments, ExecuteStatementCommand as ExecuteDocuments,
  ExecuteTransactionCommand as TransactDocuments,
} from '@aws-sdk/lib-dynamodb';
import { useServer } from './support.js';

const db = useServer();
const key = "WHERE Artist='Acme Band' AND SongTitle='PartiQL Rocks'";

async function makeMusic(name) {
  await db.client.send(new CreateTableCommand({
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'Artist', AttributeType: 'S' }, { AttributeName: 'SongTitle', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'Artist', KeyType: 'HASH' }, { AttributeName: 'SongTitle', KeyType: 'RANGE' }],
  }));
}

const run = (Statement, Parameters) => db.documents.send(new ExecuteDocuments({ Statement, Parameters }));

async function fails(promise, kind) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof kind, `${error}`);
    return error;
  }
  return assert.fail('did not fail');
}

test('select, insert, update, delete', async () => {
  await makeMusic('Music');
  await run("INSERT INTO Music VALUE {'Artist':'Acme Band','SongTitle':'PartiQL Rocks'}");
  await fails(run("INSERT INTO Music VALUE {'Artist':'Acme Band','SongTitle':'PartiQL Rocks'}"), DuplicateItemException);
  await run(`UPDATE Music SET AwardsWon=1 SET AwardDetail={'Grammys':[2020, 2018]} ${key}`);
  await run(`UPDATE Music SET AwardDetail.Grammys =list_append(AwardDetail.Grammys,[2016]) ${key}`);
  await run(`UPDATE Music REMOVE AwardDetail.Grammys[1] ${key}`);
  const { Items } = await run(`UPDATE Music SET BandMembers =<<'member1', 'member2'>> ${key} RETURNING ALL NEW *`);
  assert.deepEqual(Items, [{
    Artist: 'Acme Band', SongTitle: 'PartiQL Rocks', AwardsWon: 1, AwardDetail: { Grammys: [2020, 2016] },
    BandMembers: new Set(['member1', 'member2']),
  }]);
  await fails(run(`UPDATE Music SET AwardsWon=2 ${key} AND AwardsWon = 7`), ConditionalCheckFailedException);
  assert.deepEqual((await run('SELECT AwardsWon, AwardDetail.Grammys[0] FROM Music WHERE Artist = ?', ['Acme Band'])).Items,
    [{ AwardsWon: 1, 'Grammys[0]': 2020 }]);
  assert.equal((await run(`DELETE FROM "Music" ${key} RETURNING ALL OLD *`)).Items.length, 1);
  assert.deepEqual((await run(`SELECT * FROM Music ${key}`)).Items, []);
});

test('a condition that fails carries the item', async () => {
  await makeMusic('Failing');
  await run("INSERT INTO Failing VALUE {'Artist':'Acme Band','SongTitle':'PartiQL Rocks'}");
  const error = await fails(db.client.send(new ExecuteStatementCommand({
    Statement: `DELETE FROM Failing ${key} AND AwardsWon = 7`, ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  })), ConditionalCheckFailedException);
  assert.deepEqual(error.Item, { Artist: { S: 'Acme Band' }, SongTitle: { S: 'PartiQL Rocks' } });
});

test('pages', async () => {
  await makeMusic('Paged');
  for (let i = 0; i < 5; i++) {
    await run("INSERT INTO Paged VALUE {'Artist': ?, 'SongTitle': ?}", ['Acme Band', `Song ${i}`]);
  }
  const seen = [];
  let NextToken;
  do {
    const page = await db.client.send(new ExecuteStatementCommand({
      Statement: 'SELECT SongTitle FROM Paged WHERE Artist = ? ORDER BY SongTitle DESC', Parameters: [{ S: 'Acme Band' }], Limit: 2,
      NextToken,
    }));
    seen.push(...page.Items.map((row) => row.SongTitle.S));
    NextToken = page.NextToken;
  } while (NextToken);
  assert.deepEqual(seen, ['Song 4', 'Song 3', 'Song 2', 'Song 1', 'Song 0']);
});

test('batch', async () => {
  await makeMusic('Batched');
  const answer = await db.documents.send(new BatchDocuments({
    Statements: [
      { Statement: "INSERT INTO Batched value {'Artist':?,'SongTitle':?}", Parameters: ['Acme Band', 'Best Song'] },
      { Statement: `UPDATE Batched SET AwardsWon=1 ${key}` },
    ],
  }));
  assert.deepEqual(answer.Responses[0], { TableName: 'Batched' });
  assert.equal(answer.Responses[1].Error.Code, 'ConditionalCheckFailed');
  const read = await db.client.send(new BatchExecuteStatementCommand({
    Statements: [{ Statement: "SELECT * FROM Batched WHERE Artist='Acme Band' AND SongTitle='Best Song'" }],
    ReturnConsumedCapacity: 'TOTAL',
  }));
  assert.equal(read.Responses[0].Item.SongTitle.S, 'Best Song');
  assert.equal(read.ConsumedCapacity[0].CapacityUnits, 0.5);
});

test('transaction', async () => {
  await makeMusic('Transacted');
  await run("INSERT INTO Transacted VALUE {'Artist':'No One You Know','SongTitle':'Call Me Today'}");
  const TransactStatements = [
    {
      Statement: "EXISTS(SELECT * FROM \"Transacted\" where Artist='No One You Know' and SongTitle='Call Me Today' and Awards is MISSING)",
    },
    { Statement: "INSERT INTO Transacted value {'Artist':?,'SongTitle':?}", Parameters: ['Acme Band', 'PartiQL Rocks'] },
  ];
  const ClientRequestToken = 'js-transaction';
  await db.documents.send(new TransactDocuments({ TransactStatements, ClientRequestToken }));
  await db.documents.send(new TransactDocuments({ TransactStatements, ClientRequestToken })); // a replay
  const error = await fails(db.documents.send(new TransactDocuments({ TransactStatements })), TransactionCanceledException);
  assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ['None', 'DuplicateItem']);
  await fails(db.documents.send(new TransactDocuments({
    TransactStatements: TransactStatements.slice(1), ClientRequestToken,
  })), IdempotentParameterMismatchException);
  const read = await db.client.send(new ExecuteTransactionCommand({
    TransactStatements: [{ Statement: `SELECT * FROM "Transacted" ${key}` }],
  }));
  assert.deepEqual(read.Responses, [{ Item: { Artist: { S: 'Acme Band' }, SongTitle: { S: 'PartiQL Rocks' } } }]);
});
