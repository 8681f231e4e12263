"""Where credentials come from. The calls go to an address that does not tell that it is on this
machine, so that no dummies are used; containers and instances are played by the same server."""

import datetime
import re

from fake import Fake, Reply, error

GOOD = Reply(200, {})


def key_of(asked):
    """The access key that a request was signed with."""
    return re.search(r"Credential=([^/]+)/", asked.headers["authorization"])[1]


def handed_out(key, minutes=60, token="T"):
    expires = datetime.datetime.utcnow() + datetime.timedelta(minutes=minutes)
    return Reply(200, {"AccessKeyId": key, "SecretAccessKey": "s", "Token": token,
                       "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ"), "Code": "Success"})


def calls(fake):
    return [asked for asked in fake.asked if asked.method == "POST"]


def test_none_at_all(probe):
    with Fake(GOOD) as fake:
        outcome = probe(fake.far_url)
        assert (outcome["code"], outcome["retryable"]) == ("NoCredentials", False)
        assert not fake.asked


def test_dummies_for_this_machine(probe):
    with Fake(GOOD) as fake:
        assert probe(fake.url)["code"] == ""
        assert key_of(fake.asked[0]) == "local"
        assert "/us-east-1/dynamodb/" in fake.asked[0].headers["authorization"]


def test_environment(probe):
    with Fake(GOOD) as fake:
        probe(fake.far_url, AWS_ACCESS_KEY_ID="E", AWS_SECRET_ACCESS_KEY="s",
              AWS_SESSION_TOKEN="T", AWS_REGION="eu-north-1")
        asked, = fake.asked
        assert key_of(asked) == "E"
        assert asked.headers["x-amz-security-token"] == "T"
        assert "/eu-north-1/dynamodb/" in asked.headers["authorization"]


def test_files_in_the_home_directory(probe, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = F\naws_secret_access_key = s\n"
        "[work]\naws_access_key_id = W\naws_secret_access_key = s\n")
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = ap-south-1\n[profile work]\nregion = eu-west-2\n")
    with Fake(GOOD) as fake:
        probe(fake.far_url)
        probe(fake.far_url, AWS_PROFILE="work")
        probe(fake.far_url, profile="work")
        first, *others = fake.asked
        assert key_of(first) == "F" and "/ap-south-1/" in first.headers["authorization"]
        for asked in others:
            assert key_of(asked) == "W" and "/eu-west-2/" in asked.headers["authorization"]


def test_container(probe, tmp_path):
    token_file = tmp_path / "token"
    token_file.write_text("from a file\n")

    def play(asked):
        if asked.method == "POST":
            return GOOD
        assert asked.path == "/creds"
        return handed_out("C" + asked.headers.get("authorization", "").replace(" ", "-"))
    with Fake(play) as fake:
        full = f"{fake.url}/creds"
        probe(fake.far_url, AWS_CONTAINER_CREDENTIALS_FULL_URI=full)
        probe(fake.far_url, AWS_CONTAINER_CREDENTIALS_FULL_URI=full,
              AWS_CONTAINER_AUTHORIZATION_TOKEN="word")
        probe(fake.far_url, AWS_CONTAINER_CREDENTIALS_FULL_URI=full,
              AWS_CONTAINER_AUTHORIZATION_TOKEN="word",
              AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token_file)
        probe(fake.far_url, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI="/creds",
              GRAMME_CONTAINER_ENDPOINT=fake.url)
        assert [key_of(asked) for asked in calls(fake)] == ["C", "Cword", "Cfrom-a-file", "C"]
        assert {asked.headers["x-amz-security-token"] for asked in calls(fake)} == {"T"}


def test_container_elsewhere_is_not_trusted(probe):
    with Fake(GOOD) as fake:
        outcome = probe(fake.far_url,
                        AWS_CONTAINER_CREDENTIALS_FULL_URI=f"http://0.0.0.0:{fake.port}/creds")
        assert outcome["code"] == "NoCredentials"
        assert not fake.asked


class Instance:
    """Version 2 of the instance metadata service."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def __call__(self, asked):
        if asked.method == "POST":
            return GOOD
        if asked.method == "PUT":
            assert asked.path == "/latest/api/token"
            assert asked.headers["x-aws-ec2-metadata-token-ttl-seconds"] == "21600"
            return Reply(200, "secret-token")
        assert asked.headers["x-aws-ec2-metadata-token"] == "secret-token"
        if asked.path == "/latest/meta-data/iam/security-credentials/":
            return Reply(200, "my-role\n")
        assert asked.path == "/latest/meta-data/iam/security-credentials/my-role"
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def instance_variables(fake, **more):
    return dict(AWS_EC2_METADATA_SERVICE_ENDPOINT=fake.url + "/", AWS_EC2_METADATA_DISABLED="false",
                **more)


def test_instance(probe):
    with Fake(Instance(handed_out("I"))) as fake:
        assert probe(fake.far_url, repeat=3, **instance_variables(fake))["code"] == ""
        assert [key_of(asked) for asked in calls(fake)] == ["I"] * 3
        assert len(fake.asked) == 3 + 3  # asked once


def test_instance_that_must_not_be_asked(probe):
    with Fake(Instance(handed_out("I"))) as fake:
        outcome = probe(fake.far_url, AWS_EC2_METADATA_SERVICE_ENDPOINT=fake.url,
                        AWS_EC2_METADATA_DISABLED="TRUE")
        assert outcome["code"] == "NoCredentials"
        assert not fake.asked


def test_instance_without_a_role(probe):
    def no_role(asked):
        return Reply(200, "secret-token") if asked.method == "PUT" else Reply(404, "none")
    with Fake(no_role) as fake:
        outcome = probe(fake.far_url, **instance_variables(fake))
        assert outcome["code"] == "NoCredentials"
        assert "404" in outcome["message"]


def test_expired_ones_are_renewed(probe):
    with Fake(Instance(handed_out("old", minutes=-1), handed_out("new"))) as fake:
        probe(fake.far_url, repeat=3, **instance_variables(fake))
        assert [key_of(asked) for asked in calls(fake)] == ["old", "new", "new"]


def test_soon_to_expire_ones_are_used(probe):
    """They are in the last five minutes, but there are no better ones yet: no asking every time."""
    with Fake(Instance(handed_out("soon", minutes=2))) as fake:
        probe(fake.far_url, repeat=3, **instance_variables(fake))
        assert [key_of(asked) for asked in calls(fake)] == ["soon"] * 3
        assert len(fake.asked) == 3 + 3


def test_service_says_expired(probe):
    instance = Instance(handed_out("old"), handed_out("new"))

    def play(asked):
        if asked.method == "POST" and key_of(asked) == "old":
            return error("ExpiredTokenException")
        return instance(asked)
    with Fake(play) as fake:
        assert probe(fake.far_url, **instance_variables(fake))["code"] == ""
        assert [key_of(asked) for asked in calls(fake)] == ["old", "new"]


def test_given_ones_cannot_be_renewed(probe):
    with Fake(error("ExpiredTokenException")) as fake:
        outcome = probe(fake.url, access_key_id="A", secret_access_key="s")
        assert (outcome["code"], len(fake.asked)) == ("ExpiredTokenException", 1)
