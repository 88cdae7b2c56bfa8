from pathaudit.check.answer import Answer
from pathaudit.ruleset import GathersRule
from pathaudit.work import Work


def check_gathers(work: Work, rule: GathersRule, entry: str | None) -> Answer:
    return Answer((), (), (), 0)
