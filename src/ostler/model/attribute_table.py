"""The one table of attributes: every object type, every attribute.

MQSC, PCF, DISPLAY, defaults, ranges and the manual all come from here. The rows stand in the modules named after the
families of objects.
"""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_table_channels import ATTRIBUTES as CHANNELS
from ostler.model.attribute_table_manager import ATTRIBUTES as MANAGER
from ostler.model.attribute_table_others import ATTRIBUTES as OTHERS
from ostler.model.attribute_table_queues import ATTRIBUTES as QUEUES
from ostler.model.attribute_table_security import ATTRIBUTES as SECURITY
from ostler.model.attribute_table_status import ATTRIBUTES as STATUS
from ostler.model.attribute_table_status_channels import ATTRIBUTES as CHANNEL_STATUS
from ostler.model.attribute_table_topics import ATTRIBUTES as TOPICS
from ostler.model.attribute_types import Attribute

ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    MANAGER + QUEUES + CHANNELS + TOPICS + SECURITY + OTHERS + STATUS + CHANNEL_STATUS
)
