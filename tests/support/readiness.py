"""GET /_gramme/ready: whether a server can serve requests."""

from wire import Connection


def ask_ready(server):
    """The status and the object of the answer."""
    connection = Connection(server.endpoint)
    connection.send(b"GET /_gramme/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = connection.read_answer()
    connection.close()
    return answer.status, answer.json()
