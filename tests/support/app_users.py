"""Users of a server with --auth on, for the five applications: each has a key and the policy that it is deployed with."""

import json

from server import ROOT

NAMES = ["calendar", "calls", "reconciliation", "tasks", "tickets"]
PREFIX = "apps-"  # of the profiles, for gramme-apps --profiles
ROOT_KEY = ("AKIAROOTROOTROOTROOT", "root-secret-for-tests")


def app_key(name):
    return f"AKIA{name.upper():X<16.16}", f"{name}-secret-for-tests"


def user_record(name, policies, key):
    return {"name": name, "policies": policies, "keys": [{"id": key[0], "secret": key[1]}]}


def policy_documents():
    return {name: json.loads((ROOT / "apps" / name / "policy.json").read_text()) for name in NAMES}


def users_file(directory, documents=None, insight=True):
    """A user per application with its policy, and the one about what the server has measured; root makes the tables. `documents`:
    policies in place of those in the folders."""
    path = directory / "users.json"
    documents = {**(documents or policy_documents()), "insight": json.loads((ROOT / "apps/insight-policy.json").read_text())}
    more = ["insight"] if insight else []
    path.write_text(json.dumps({
        "users": [user_record("root", [], ROOT_KEY), *(user_record(name, [name, *more], app_key(name)) for name in NAMES)],
        "policies": [{"name": name, "document": document} for name, document in documents.items()]}))
    path.chmod(0o600)
    return path


def credentials_file(directory):
    """The applications' keys, as profiles."""
    path = directory / "credentials"
    path.write_text("".join(f"[{PREFIX}{name}]\naws_access_key_id={app_key(name)[0]}\naws_secret_access_key={app_key(name)[1]}\n"
                            for name in NAMES))
    return path


def use_key(patch, key):
    """What is started from now on, until `patch` (a pytest.MonkeyPatch) is undone, signs with the key."""
    patch.setenv("AWS_ACCESS_KEY_ID", key[0])
    patch.setenv("AWS_SECRET_ACCESS_KEY", key[1])
    patch.setenv("AWS_REGION", "us-east-1")


def use_profiles(patch, credentials, name="reconciliation"):
    """gramme-apps started with --profiles from now on signs with the applications' keys; other programs with that of one of them."""
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.delenv(variable, raising=False)
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    patch.setenv("AWS_PROFILE", PREFIX + name)
    patch.setenv("AWS_REGION", "us-east-1")
