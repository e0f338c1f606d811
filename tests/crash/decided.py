"""Whether somebody decided before a step, or an effect of it, was done once more.

It reads the records of one step one after the other, without the product's own rules.
"""


class Decided:
    """The doubt about one step, as far as its records tell it."""

    def __init__(self, step: str, reached: set[str]) -> None:
        self._step = step
        self._reached = reached
        """Attempts that were seen in time, without having declared anything."""
        self._in_doubt = False
        self._open: dict[str, bool] = {}
        """Key → whether another call does no harm."""
        self._allowed: set[str] = set()
        """Open effects that the next attempt may call again."""
        self._repeats: set[str] = set()
        """Those that this attempt may call again."""

    def objections(self, record: dict) -> list[str]:
        """Read the next record; return what nobody had allowed."""
        told = record["payload"]
        match record["kind"].removeprefix("nbresume."):
            case "intent":
                return self._intent(told)
            case "effect_opened":
                return self._opened(told)
            case "effect_done":
                self._open.pop(told["key"])
            case "resolution":
                self._in_doubt, self._allowed = False, set(self._open)
                return [] if told.get("actor") else [f"nobody settled {self._step}"]
            case "committed" | "failed":
                self._in_doubt = False
        return []

    def _intent(self, told: dict) -> list[str]:
        harmful = {key for key, is_harmless in self._open.items() if not is_harmless}
        refused = self._in_doubt or harmful - self._allowed
        declared = told.get("options", {}).get("effects", False)
        self._in_doubt = declared or told["attempt"] in self._reached
        self._repeats, self._allowed = self._allowed, set()
        return [f"{self._step} began before anybody decided"] if refused else []

    def _opened(self, told: dict) -> list[str]:
        key = told["key"]
        refused = not self._open.get(key, True) and key not in self._repeats
        self._open[key] = told.get("idempotent", False)
        self._repeats.discard(key)
        return [f"{self._step}.{key} again before anybody decided"] if refused else []
