"""Totals by group of cases, and the share of the loss that the outputs explain."""

import statistics

import score

LOSS_OF_INTEREST = 0.005           # a smaller loss is noise, so its shares are meaningless


def explained_share(answer, truth):
    """`loss.explained` / `loss.total` of a run with a fault that should be found; None if there is no such share."""
    loss = answer.get("loss")
    if truth["observable"] not in ("yes", "ambiguous") or not loss or loss["total"] < LOSS_OF_INTEREST:
        return None
    return loss["explained"] / loss["total"]


class Group:
    def __init__(self, name):
        self.name, self.totals, self.shares = name, score.Totals(), []

    def add_share(self, share):
        if share is not None:
            self.shares.append(share)

    def explained(self):
        """Median, lower quartile and number of runs."""
        if not self.shares:
            return "- (0)"
        quartile = statistics.quantiles(self.shares, n=4, method="inclusive")[0] if len(self.shares) > 1 else self.shares[0]
        return f"{statistics.median(self.shares):.2f}, quartile {quartile:.2f} ({len(self.shares)})"

    def line(self):
        totals = self.totals
        return (f"  {self.name:20.20} right {totals.right}/{totals.cases}; precision {totals.share(totals.found, totals.found + totals.wrong)}, "
                f"recall {totals.share(totals.found, totals.found + totals.missed)}, cause {totals.share(totals.named, totals.found)}; "
                f"false positives {totals.false_positives}/{totals.healthy}; share of the loss explained: median {self.explained()}")


class Groups:
    """Groups by name, in order of their first case."""

    def __init__(self):
        self.by_name = {}

    def group(self, name):
        return self.by_name.setdefault(name, Group(name))

    def lines(self):
        return ["by group:"] + [group.line() for group in self.by_name.values()]
