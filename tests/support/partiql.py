"""PartiQL with few words: run(db, 'SELECT * FROM "t" WHERE pk = ?', "a") gives the rows in Python."""

from values import av, plains


def request(statement, *parameters, **more):
    """A statement as the three operations take it; parameters are Python values."""
    made = {"Statement": statement, **more}
    if parameters:
        made["Parameters"] = [av(value) for value in parameters]
    return made


def execute(db, statement, *parameters, **more):
    return db.ExecuteStatement(**request(statement, *parameters, **more))


def run(db, statement, *parameters, **more):
    return plains(execute(db, statement, *parameters, **more)["Items"])


def pages(db, statement, *parameters, **more):
    """The rows of every page, by NextToken."""
    while True:
        answer = execute(db, statement, *parameters, **more)
        yield plains(answer["Items"])
        if "NextToken" not in answer:
            return
        more["NextToken"] = answer["NextToken"]


def batch(db, *statements, **more):
    return db.BatchExecuteStatement(Statements=_members(statements), **more)


def transact(db, *statements, **more):
    return db.ExecuteTransaction(TransactStatements=_members(statements), **more)


def _members(statements):
    return [member if isinstance(member, dict) else request(member) for member in statements]
