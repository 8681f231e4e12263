"""A program in a terminal of its own: tmux, on a server of its own."""

import itertools
import os
import subprocess

from waiting import poll

counter = itertools.count()


class Terminal:
    """`with Terminal(program, "shell", width=80) as terminal:` types with send() and press(), reads with screen()."""

    def __init__(self, *command, width=100, height=30, environment=None):
        self.tmux = ["tmux", "-L", f"gramme-test-{os.getpid()}-{next(counter)}", "-f", "/dev/null"]
        variables = [word for name, value in (environment or {}).items() for word in ("-e", f"{name}={value}")]
        subprocess.run([*self.tmux, "-u", "new-session", "-d", "-x", str(width), "-y", str(height), *variables, *command],
                       check=True, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"})
        subprocess.run([*self.tmux, "set-option", "-g", "remain-on-exit", "on"], check=True)

    def screen(self):
        return subprocess.run([*self.tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def has_ended(self):
        return subprocess.run([*self.tmux, "display-message", "-p", "#{pane_dead}"], capture_output=True, text=True,
                              check=True).stdout.strip() == "1"

    def press(self, *keys):
        """Keys by their names in tmux: Enter, Tab, C-c."""
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def send(self, text):
        """Types a text as it is."""
        escaped = text[:-1] + "\\;" if text.endswith(";") else text  # a last semicolon would be tmux's own
        subprocess.run([*self.tmux, "send-keys", "-l", escaped], check=True)

    def wait_for(self, what, seconds=30):
        """Waits until a text is on the screen, or what a function finds in it is true."""
        found = what if callable(what) else lambda screen: what in screen
        try:
            poll(lambda: found(self.screen()), seconds, f"the screen shows {what!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows:\n{self.screen()}") from None
        return self.screen()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, check=False)
