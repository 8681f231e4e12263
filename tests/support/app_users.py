"""Users of a server with --auth on, for the five applications: each has the policy that it is deployed with."""

import json

from server import ROOT

NAMES = ["calendar", "calls", "reconciliation", "tasks", "tickets"]
ROOT_KEY = ("AKIAROOTROOTROOTROOT", "root-secret-for-tests")
APPS_KEY = ("AKIAAPPSAPPSAPPSAPPS", "apps-secret-for-tests")
WITHOUT_INSIGHT_KEY = ("AKIAWITHOUTINSIGHT00", "without-secret-for-tests")


def user_record(name, policies, key):
    return {"name": name, "policies": policies, "keys": [{"id": key[0], "secret": key[1]}]}


def users_file(directory):
    """The user of the applications has the five policies, and the one about what the server has measured; root makes the tables."""
    path = directory / "users.json"
    files = {**{name: ROOT / "apps" / name / "policy.json" for name in NAMES}, "insight": ROOT / "apps/insight-policy.json"}
    path.write_text(json.dumps({
        "users": [user_record("root", [], ROOT_KEY), user_record("apps", list(files), APPS_KEY),
                  user_record("without", NAMES, WITHOUT_INSIGHT_KEY)],
        "policies": [{"name": name, "document": json.loads(file.read_text())} for name, file in files.items()]}))
    path.chmod(0o600)
    return path


def use_key(patch, key):
    """What is started from now on, until `patch` (a pytest.MonkeyPatch) is undone, signs with the key."""
    patch.setenv("AWS_ACCESS_KEY_ID", key[0])
    patch.setenv("AWS_SECRET_ACCESS_KEY", key[1])
    patch.setenv("AWS_REGION", "us-east-1")
