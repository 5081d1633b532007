"""Publishers of a queue manager in a process of its own, durable subscriptions, and kill -9 in the middle of it.

A publication comes to all subscriptions or to none, once to each, and to all when its publisher was told that it is
there. What one unit of work published is there as a whole. The retained publication of a topic is the last one that
was told of, or one behind it that nobody was told of any more.
"""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from tests.server.kill_rounds import Life

import ostler
from ostler.model.errors import MQError

PUBLISHERS = 3
SUBSCRIPTIONS = {"all": "goods/#", "one": "goods/+/x", "first": "goods/0/x", "again": "#", "chosen": "goods/#"}
EVERYTHING = ("all", "one", "again")
_CHANCE = 0.5


class PublishRounds:
    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._chance = random.Random(seed)
        self._turn = threading.Lock()
        self._round = 0
        self._units: list[tuple[list[str], bool]] = []  # what was published together, and whether that was told
        self._retained: dict[int, int] = {}  # the last number of each publisher that was told
        self.told = 0

    def run(self, seconds_max: float = 0.6) -> None:
        """One life under load, its end, and a look at what is left in the next one."""
        self._round += 1
        life = Life(self._root, self._round % 2 == 0)
        self._subscribe()
        threads = [threading.Thread(target=self._publish_all, args=(number,)) for number in range(PUBLISHERS)]
        for thread in threads:
            thread.start()
        time.sleep(self._chance.uniform(seconds_max / 3, seconds_max))
        life.kill()
        for thread in threads:
            thread.join()
        life = Life(self._root, False)
        self._look()
        life.end()

    def _connect(self) -> ostler.Connection:
        return ostler.connect("KILLED", data=self._root, binding="local")

    def _subscribe(self) -> None:
        with self._connect() as connection:
            for name, topic in SUBSCRIPTIONS.items():
                selector = "publisher = 1" if name == "chosen" else None
                connection.subscribe(topic, durable=True, name=name, selector=selector, new_only=True).close()

    def _publish_all(self, publisher: int) -> None:
        chance = random.Random(self._chance.random())
        number = 0
        try:
            with self._connect() as connection:
                while True:
                    number += 1
                    self._publish(connection, publisher, number, chance)
        except MQError:
            return  # the link is gone, as it has to be

    def _publish(self, connection: ostler.Connection, publisher: int, number: int, chance: random.Random) -> None:
        is_unit = chance.random() < _CHANCE
        names = [f"{self._round}.{publisher}.{number}.{each}" for each in range(chance.randint(1, 3) if is_unit else 1)]
        with self._turn:
            self._units.append((names, False))
            at = len(self._units) - 1
        for name in names:
            connection.publish(
                f"goods/{publisher}/x",
                name,
                persistent=True,
                retain=True,
                syncpoint=is_unit,
                properties={"publisher": publisher},
            )
        if is_unit:
            connection.commit()
        with self._turn:
            self._units[at] = (names, True)
            self._retained[publisher] = number
            self.told += 1

    def _look(self) -> None:
        with self._connect() as connection:
            found = {name: self._taken(connection, name) for name in SUBSCRIPTIONS}
            retained = self._retained_now(connection)
        for name in EVERYTHING:
            assert found[name] == found["all"], f"{name} has got something else"
        assert found["first"] == [each for each in found["all"] if each.split(".")[1] == "0"]
        assert found["chosen"] == [each for each in found["all"] if each.split(".")[1] == "1"]
        assert len(set(found["all"])) == len(found["all"]), "twice"
        there = set(found["all"])
        assert there <= {name for names, _ in self._units for name in names}
        for names, is_acknowledged in self._units:
            count = len(there.intersection(names))
            assert count in ((len(names),) if is_acknowledged else (0, len(names))), f"a part of {names}"
        for publisher, number in self._retained.items():
            kept_round, _, kept, _ = retained[publisher].split(".")
            assert (int(kept_round), int(kept)) >= (self._round, number)
            assert retained[publisher] == [each for each in found["all"] if each.split(".")[1] == str(publisher)][-1]
        self._units.clear()
        self._retained.clear()

    def _taken(self, connection: ostler.Connection, name: str) -> list[str]:
        """What a subscription has got, in the order of publishers and as each of them published."""
        with connection.subscribe(
            SUBSCRIPTIONS[name], durable=True, name=name, selector="publisher = 1" if name == "chosen" else None
        ) as subscription:
            texts = [message.text for message in subscription.messages()]
        return sorted(texts, key=lambda text: text.split(".")[1])

    def _retained_now(self, connection: ostler.Connection) -> dict[int, str]:
        with connection.subscribe("goods/#") as subscription:
            messages = list(subscription.messages(wait=0))
        assert all(message.is_retained for message in messages)
        return {int(message.topic.split("/")[1]): message.text for message in messages}
