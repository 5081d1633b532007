"""A long day of a queue manager from one number: the same seed, the same day.

RandomWorkload(7).run(500)
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.world.model_checked_verbs import APPLICATIONS
from tests.world.model_checked_world import ModelCheckedWorld
from tests.world.naive_model import ANY_ID
from tests.world.world import World
from tests.world.world_lives import SMALL_LOG

from ostler.log import LogSettings, LogType, WriteIntegrity
from ostler.model.constants import MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQGMO_SYNCPOINT_IF_PERSISTENT

QUEUES = ["ORDERED", "ORDERED", "FIFO", "FIFO", "SMALL", "MADE.LATER"]
_LENGTHS = [20, 20, 20, 3_000, 30_000, 100_000]
_LONG = [700_000, 1_200_000]
_IDENTITIES = [ANY_ID, ANY_ID, b"one".ljust(24), b"two".ljust(24)]
_SYNCPOINTS = [MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQGMO_SYNCPOINT_IF_PERSISTENT]
_CRASHES = ["kill", "power", "garbage", "lost", "kept"]

Verb = tuple[str, dict[str, object]]


class RandomWorkload:
    """Verbs, commands, checkpoints and troubles in a random order, compared with the model after each."""

    def __init__(
        self, seed: int, settings: LogSettings = SMALL_LOG, prepare: Callable[[World], None] | None = None
    ) -> None:
        """`prepare` gets the world before anything happens in it. A prepared world has no troubles."""
        self._random = Random(seed)
        world = World.create(seed, settings, buffer_bytes=self._random.choice([0, 4096, 200_000]))
        if prepare is not None:
            prepare(world)
        self.compared = ModelCheckedWorld(world)
        self.compared.define("ORDERED", False, False, 5000, True)
        self.compared.define("FIFO", True, True, 5000, True)
        self.compared.define("SMALL", False, False, 3, True)
        # How often something goes wrong is different from day to day.
        self._trouble_percent = self._random.choice([0, 1, 4, 15]) if prepare is None else 0
        self._survives_spoiled_pages = settings.write_integrity is not WriteIntegrity.SINGLE_WRITE
        self._is_linear = settings.log_type is LogType.LINEAR
        self._told_percent = self._random.choice([30, 80, 100])
        self.done: list[Verb] = []
        """What happened so far, for those who look into a bad day."""

    def run(self, steps: int) -> None:
        for _ in range(steps):
            verb = self._next()
            self.done.append(verb)
            name, arguments = verb
            getattr(self.compared, name)(**arguments)
            self.compared.check()
        self.compared.look()

    def _next(self) -> Verb:
        if self._chance(self._trouble_percent):
            return self._fault()
        maker = self._random.choices(
            [self._put, self._get, self._unit, self._other_verb, self._background_work, self._command],
            [34, 28, 16, 8, 12, 2],
        )[0]
        return maker()

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _application_number(self) -> int:
        return self._random.randrange(APPLICATIONS)

    def _is_acknowledged(self) -> bool:
        return self._chance(self._told_percent)

    def _put(self) -> Verb:
        choice = self._random.choice
        is_persistent = self._chance(75)
        arguments: dict[str, object] = {
            "number": self._application_number(),
            "name": choice(QUEUES),
            "count": choice([1, 1, 1, 2, 10]),
            "is_persistent": is_persistent,
            "length": choice(_LENGTHS) if is_persistent or self._chance(80) else choice(_LONG),
            "priority": choice([0, 0, 4, 9]),
            "expiry_tenths": choice([-1, -1, -1, -1, 5, 50]),
            "correlation_id": choice(_IDENTITIES),
            "syncpoint": self._chance(40),
            "is_acknowledged": self._is_acknowledged(),
        }
        return "put", arguments

    def _get(self) -> Verb:
        choice = self._random.choice
        arguments: dict[str, object] = {
            "number": self._application_number(),
            "name": choice(QUEUES),
            "count": choice([1, 1, 1, 2, 10]),
            "by_message": choice([-1, -1, -1, -1, 0, 1, 7]),
            "correlation_id": choice(_IDENTITIES),
            "options": choice(_SYNCPOINTS),
            "wait": self._chance(30),
            "is_acknowledged": self._is_acknowledged(),
        }
        return "get", arguments

    def _unit(self) -> Verb:
        if self._chance(15):
            arguments: dict[str, object] = {
                "choice": self._random.randrange(6),
                "is_committed": self._chance(50),
                "is_acknowledged": self._is_acknowledged(),
            }
            return "resolve", arguments
        verb = self._random.choices(["commit", "back_out", "prepare"], [50, 35, 10])[0]
        if verb == "back_out":
            return verb, {"number": self._application_number()}
        return verb, {"number": self._application_number(), "is_acknowledged": self._is_acknowledged()}

    def _other_verb(self) -> Verb:
        if self._chance(60):
            name = self._random.choice(QUEUES)
            return "browse", {"number": self._application_number(), "name": name, "is_first": self._chance(30)}
        return self._random.choice(["give_up_waiting", "give_up_waiting", "disconnect"]), {
            "number": self._application_number()
        }

    def _background_work(self) -> Verb:
        verb = self._random.choices(
            [
                "step_checkpoint",
                "checkpoint",
                "force",
                "write_without_acknowledging",
                "keep_extents",
                "tick",
                "expire",
            ],
            [8, 1, 2, 2, 1, 2, 1],
        )[0]
        if verb == "step_checkpoint":
            return verb, {"steps": self._random.randint(1, 9)}
        if verb == "tick":
            return verb, {"milliseconds": self._random.choice([1, 400, 600, 6_000])}
        return verb, {}

    def _command(self) -> Verb:
        name = self._random.choice(QUEUES)
        if self._is_linear and self._chance(50):
            return "record_image", {"name": name}
        verb = self._random.choice(["define", "define", "delete", "clear"])
        arguments: dict[str, object] = {"name": name, "is_acknowledged": self._is_acknowledged()}
        if verb == "define":
            arguments["is_fifo"] = self._chance(50)
            arguments["keeps"] = self._chance(50)
            arguments["depth"] = self._random.choice([2, 10, 5000, 5000])
        elif verb == "delete":
            arguments["purge"] = self._chance(50)
        return verb, arguments

    def _fault(self) -> Verb:
        verb = self._random.choice(["crash", "crash", "power_fails_during", "end", "fill_disk", "empty_disk"])
        arguments: dict[str, object] = {}
        if self._is_linear and self._chance(30):
            return "lose_a_file", {"name": self._random.choice(QUEUES), "file": "slots"}
        if verb in ("crash", "power_fails_during"):
            kind = self._random.choice(_CRASHES)
            if kind == "garbage" and not self._survives_spoiled_pages:
                kind = "power"  # a packed log needs a device that does not spoil what it is writing
            arguments = {"kind": kind, "seed": self._random.randrange(1 << 30)}
        if verb == "power_fails_during":
            arguments["changes"] = self._random.randrange(30)
            arguments["during"] = self._random.choice(["force", "checkpoint", "checkpoint", "restart", "end"])
        elif verb == "fill_disk":
            arguments["bytes_left"] = self._random.choice([0, 100, 50_000, 400_000])
        return verb, arguments
