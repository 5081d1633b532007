"""The one table of attributes: every object type, every attribute.

MQSC, PCF, DISPLAY, defaults, ranges and the manual are derived from it. The rows are in the modules beside it, one for
each family of objects.
"""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.channel_status import ATTRIBUTES as CHANNEL_STATUS
from ostler.model.tables.channels import ATTRIBUTES as CHANNELS
from ostler.model.tables.manager import ATTRIBUTES as MANAGER
from ostler.model.tables.others import ATTRIBUTES as OTHERS
from ostler.model.tables.queues import ATTRIBUTES as QUEUES
from ostler.model.tables.security import ATTRIBUTES as SECURITY
from ostler.model.tables.sharing_status import ATTRIBUTES as SHARING_STATUS
from ostler.model.tables.status import ATTRIBUTES as STATUS
from ostler.model.tables.topics import ATTRIBUTES as TOPICS

ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    MANAGER + QUEUES + CHANNELS + TOPICS + SECURITY + OTHERS + STATUS + CHANNEL_STATUS + SHARING_STATUS
)
