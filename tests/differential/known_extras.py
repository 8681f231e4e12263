"""Known differences in tags and time to live, of both oracles."""

import re

TAGS = {"TagResource", "UntagResource", "ListTagsOfResource"}


def add_time_to_live(rules):
    rules.lacks(
        "one change in half an hour",
        "time to live may be changed once in 31 minutes (captures of October 2026); everybody else lets it change at any time",
        r"Time to live has been modified multiple times within a fixed interval",
        operations={"UpdateTimeToLive"},
    )


def add_dynoxide(rules):
    add_time_to_live(rules)
    rules.lacks(
        "time to live as it is",
        "the service refuses a change that changes nothing, and one that names another attribute (captures of October "
        "2026); Dynoxide takes most of them",
        r"TimeToLive is (already|active)",
        operations={"UpdateTimeToLive"},
    )
    rules.lacks(
        "names of time to live",
        "are of 255 characters at most (model)",
        r"Value '.*' at 'timeToLiveSpecification.attributeName' failed",
        operations={"UpdateTimeToLive"},
    )
    rules.lacks(
        "checks of tags",
        "lengths, letters, the prefix aws:, keys that come twice and the number of tags have words of their own (captures of "
        "October 2026); Dynoxide has others, or takes the tags",
        r"The Tag (Key|Value) provided is invalid",
        r"Tag Key cannot be prefixed with aws:",
        r"Duplicate Tag Keys provided as input",
        r"Number of Tags exceed the current limit",
        operations=TAGS | {"CreateTable"},
    )

    @rules.known("ARNs", "what is no table's ARN has words of its own (captures of October 2026)")
    def _(case):
        return case.operation in TAGS and case.gramme.status == case.oracle.status == 400 and bool(
            re.search(r"ARNs must start with 'arn:'|Provided Arn is not a DynamoDB resource arn|Invalid ResourceArn provided as input", case.gramme.message()))

    @rules.known("ARNs of other services", "Dynoxide looks only at the end of an ARN that it takes for a table's")
    def _(case):
        return case.operation in TAGS and "Provided Arn is not" in case.gramme.message() and case.oracle.is_ok()

    @rules.known("tags of a table that is not there", "the text names the ARN (captures of October 2026)")
    def _(case):
        return case.operation in TAGS and case.gramme.error() in ("ResourceNotFoundException", "AccessDeniedException") and (
            case.oracle.error() in ("ResourceNotFoundException", "AccessDeniedException"))


def add_local(rules):
    add_time_to_live(rules)

    @rules.known("tags", "DynamoDB Local has none")
    def _(case):
        return case.operation in TAGS and case.oracle.error() == "UnknownOperationException"
