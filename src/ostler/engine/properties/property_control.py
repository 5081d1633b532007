"""Message properties on MQPUT and MQGET: storage with a message, MQGMO options and PROPCTL.

A stored message has the body as the application put it, MQRFH2 headers included, and a separate block with the
properties set on a message handle. Property folders in headers at the start of the body are message properties
too. The result of a get depends on its options, on PROPCTL of the queue, and on its message handle:

    MQGMO option      handle   PROPCTL   properties                      MQRFH2 in the data
    IN_HANDLE         yes      any       all in the handle               other folders
    IN_HANDLE         no       any       MQRC_HMSG_ERROR
    NO_PROPERTIES     ignored  any       none                            other folders
    FORCE_MQRFH2      ignored  any       none                            everything
    COMPATIBILITY     ignored  any       none                            as COMPAT without handle
    AS_Q_DEF          any      FORCE     none                            everything
    AS_Q_DEF          yes      V6COMPAT  those of the block, in the handle   as put
    AS_Q_DEF          no       V6COMPAT  none                            as put
    AS_Q_DEF          yes      others    all in the handle               other folders
    AS_Q_DEF          no       ALL       none                            everything
    AS_Q_DEF          no       NONE      none                            other folders
    AS_Q_DEF          no       COMPAT    none                            everything, if any property is in mcd, jms,
                                                                         usr or mqext; else other folders

"Other folders" are those that hold no message properties. A message with neither a block nor the format MQHRF2 is
returned unchanged.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i64_le

from ostler.engine.message.descriptor_fields import (
    DEFAULT_DESCRIPTOR,
    FIELDS,
    FORMAT_AT,
    field_value,
    number_at,
    with_field,
)
from ostler.engine.properties.message_properties import MessageProperties, collect_properties, read_sent_properties
from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_block import PUBLICATION_LAYOUT, decode_block, encode_block
from ostler.engine.properties.property_names import COMPATIBILITY_FOLDERS, folder_of
from ostler.engine.properties.property_values import PropertySource, Value
from ostler.engine.properties.rfh2 import (
    UTF_8,
    UTF_16,
    Chain,
    Content,
    Rfh2,
    content_of,
    folder_properties,
    is_big_endian,
    read_chain,
    replace_headers,
)
from ostler.engine.properties.rfh2_folders import write_folders
from ostler.model import constants as mq
from ostler.model.errors import MQError

# Treatments of the properties of a message: the outcomes of the table above.
IN_HANDLE: Final = 0
IN_HEADERS: Final = 1
REMOVED: Final = 2
COMPATIBLE: Final = 3
AS_SENT: Final = 4

_OPTIONS: Final = (
    mq.MQGMO_PROPERTIES_IN_HANDLE
    | mq.MQGMO_NO_PROPERTIES
    | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    | mq.MQGMO_PROPERTIES_COMPATIBILITY
)
# The format MQHRF2 as a little-endian integer, so that one comparison suffices.
_RFH2_WORD: Final = int.from_bytes(mq.MQFMT_RF_HEADER_2, "little")
_COPY_OPTIONS: Final[dict[int, int]] = {
    mq.MQACTP_FORWARD: mq.MQCOPY_FORWARD,
    mq.MQACTP_REPLY: mq.MQCOPY_REPLY,
    mq.MQACTP_REPORT: mq.MQCOPY_REPORT,
}


@final
class GetView:
    """The result of a get. `property_set` goes into the message handle; None leaves the handle alone."""

    def __init__(self, md: bytes, body: bytes, property_set: PropertySet | None) -> None:
        self.md = md
        self.body = body
        self.property_set = property_set


def starts_with_rfh2(md: bytes) -> bool:
    return int(read_i64_le(md, FORMAT_AT)) == _RFH2_WORD


def has_no_visible_properties(block: bytes, has_handle: bool, options: int, control: int) -> bool:
    """Return whether a block has only properties of the queue manager, which a get without a handle does not show."""
    return (
        block[0] == PUBLICATION_LAYOUT
        and not has_handle
        and options & (mq.MQGMO_PROPERTIES_FORCE_MQRFH2 | mq.MQGMO_PROPERTIES_IN_HANDLE) == 0
        and control not in (mq.MQPROP_ALL, mq.MQPROP_FORCE_MQRFH2)
    )


def defers_to_propctl(options: int) -> bool:
    """Return whether a get has no option for message properties, so that PROPCTL of the queue decides."""
    return options & _OPTIONS == 0


def needs_property_view(md: bytes, has_handle: bool) -> bool:
    """Return whether `properties_on_get` can change the result for a message without a property block."""
    return has_handle or starts_with_rfh2(md)


def selector_source(md: bytes, body: bytes, block: bytes) -> PropertySource:
    """Return the properties of a stored message as the source of a selector."""
    return MessageProperties(md, body, block)


def choose_treatment(property_control: int, options: int, has_handle: bool) -> int:
    """Return the treatment of properties for one get, by the table of this module."""
    chosen = options & _OPTIONS
    if chosen & (chosen - 1):
        raise MQError(mq.MQRC_OPTIONS_ERROR, "Only one of the options for message properties can be given.")
    if chosen == mq.MQGMO_PROPERTIES_IN_HANDLE:
        if not has_handle:
            raise MQError(mq.MQRC_HMSG_ERROR, "MQGMO_PROPERTIES_IN_HANDLE needs a message handle; create one first.")
        return IN_HANDLE
    if chosen == mq.MQGMO_NO_PROPERTIES:
        return REMOVED
    if chosen == mq.MQGMO_PROPERTIES_FORCE_MQRFH2 or (not chosen and property_control == mq.MQPROP_FORCE_MQRFH2):
        return IN_HEADERS
    if chosen == mq.MQGMO_PROPERTIES_COMPATIBILITY:
        return COMPATIBLE
    if property_control == mq.MQPROP_V6COMPAT:
        return AS_SENT
    if has_handle:
        return IN_HANDLE
    if property_control == mq.MQPROP_ALL:
        return IN_HEADERS
    return REMOVED if property_control == mq.MQPROP_NONE else COMPATIBLE


def properties_on_get(
    md: bytes, body: bytes, block: bytes, property_control: int, options: int, has_handle: bool
) -> GetView:
    """Return the descriptor, the data and the properties for one get."""
    treatment = choose_treatment(property_control, options, has_handle)
    if not block and not starts_with_rfh2(md):
        filled = treatment == IN_HANDLE or (treatment == AS_SENT and has_handle)
        return GetView(md, body, PropertySet(True, md) if filled else None)
    if treatment == AS_SENT:
        return GetView(md, body, collect_properties(md, block, Chain(content_of(md))) if has_handle else None)
    chain = read_chain(md, body)
    if treatment == COMPATIBLE:
        treatment = IN_HEADERS if _is_compatible(collect_properties(md, block, chain)) else REMOVED
    if treatment == IN_HEADERS:
        return _with_headers(md, body, block, chain) if block else GetView(md, body, None)
    properties = collect_properties(md, block, chain) if treatment == IN_HANDLE else None
    view = without_properties(md, body, chain)
    if properties is not None:
        properties.descriptor = view.md
    return GetView(view.md, view.body, properties)


def _is_compatible(properties: PropertySet) -> bool:
    return any(folder_of(each.name) in COMPATIBILITY_FOLDERS for each in properties.properties)


def without_properties(md: bytes, body: bytes, chain: Chain) -> GetView:
    """Return the message without its folders of properties. A header left without folders is removed."""
    kept: list[Rfh2] = []
    changed = False
    for header in chain.headers:
        folders = [folder for folder in header.folders if read_sent_properties(header, folder) is None]
        if len(folders) == len(header.folders):
            kept.append(header)
            continue
        changed = True
        header.folders = folders
        if folders:
            kept.append(header)
    if not changed:
        return GetView(md, body, None)
    md, body = replace_headers(md, body, chain, kept)
    return GetView(md, body, None)


def _with_headers(md: bytes, body: bytes, block: bytes, chain: Chain) -> GetView:
    """Return the message with the properties of its block in its first MQRFH2, or in a new one in front."""
    properties = decode_block(block)
    headers = chain.headers
    if headers and (headers[0].name_value_ccsid == UTF_8 or headers[0].name_value_ccsid in UTF_16):
        _merge(headers[0], properties)
    else:
        headers = [new_header(md, properties), *headers]
    md, body = replace_headers(md, body, chain, headers)
    return GetView(md, body, None)


def new_header(md: bytes, properties: list[Property]) -> Rfh2:
    """Return a header for these properties, to be placed in front of the data that the descriptor describes."""
    follows = content_of(md)
    encoding = follows.encoding
    if encoding & mq.MQENC_INTEGER_MASK not in (mq.MQENC_INTEGER_NORMAL, mq.MQENC_INTEGER_REVERSED):
        encoding = mq.MQENC_NATIVE
    header = Rfh2(Content(encoding, UTF_8, mq.MQFMT_RF_HEADER_2), follows, is_big_endian(encoding))
    header.folders = [header.data(text) for text in write_folders(properties)]
    return header


def _merge(header: Rfh2, properties: list[Property]) -> None:
    """Merge properties into a header. A folder that both have becomes one, with the new properties first."""
    names = {each.name for each in properties}
    wanted = {folder_of(each.name) for each in properties}
    kept: list[bytes] = []
    merged = list(properties)
    for folder in header.folders:
        sent = read_sent_properties(header, folder)
        if sent and folder_of(sent[0].name) in wanted:
            merged.extend([each for each in sent if each.name not in names])
        else:
            kept.append(folder)
    header.folders = [header.data(text) for text in write_folders(merged)] + kept


# MQPUT.


def properties_on_put(
    md: bytes, body: bytes, original: PropertySet | None, new: PropertySet | None, action: int
) -> bytes:
    """Return the property block of a message being put, from the two message handles and the action of MQPMO.

    The body is not changed. MQRFH2 headers in it are checked only if a handle is given, as in MQ, so that programs
    without message handles may put any data.
    """
    if action not in _COPY_OPTIONS and action != mq.MQACTP_NEW:
        raise MQError(mq.MQRC_ACTION_ERROR, f"{action} is not one of the MQACTP values.")
    if original is None and new is None:
        return b""
    _check_headers(md, body)
    properties = merged_properties(original, new, action)
    for each in properties:
        if each.support != mq.MQPD_SUPPORT_OPTIONAL and folder_of(each.name) == "mq":
            raise MQError(
                mq.MQRC_UNSUPPORTED_PROPERTY,
                f"{each.name} requires support (MQPD_SUPPORT) that this queue manager does not have.",
            )
    return encode_block(properties)


def merged_properties(original: PropertySet | None, new: PropertySet | None, action: int) -> list[Property]:
    """Return the properties of a message being put: those of the original that its copy options allow, then the new.

    A property of the new handle replaces those of the same name in the original. When a message is forwarded, replied
    to or reported on, a null property in the new handle removes the property.
    """
    copy_option = _COPY_OPTIONS.get(action, 0)
    added = new.properties if new is not None else []
    if original is None:
        return list(added)
    replaced = {each.name for each in added}
    properties = [
        each
        for each in original.properties
        if each.name not in replaced and (action == mq.MQACTP_NEW or each.is_copied_to(copy_option))
    ]
    for each in added:
        is_removed = each.type == mq.MQTYPE_NULL and action != mq.MQACTP_NEW and original.find(each.name) is not None
        if not is_removed:
            properties.append(each)
    return properties


def _check_headers(md: bytes, body: bytes) -> None:
    if not starts_with_rfh2(md):
        return
    chain = read_chain(md, body)
    if chain.fault is not None:
        raise chain.fault
    for header in chain.headers:
        for folder in header.folders:
            folder_properties(header, folder)


def descriptor_for_put(original: PropertySet | None, new: PropertySet | None, action: int) -> bytes:
    """Return the descriptor of a message put without one, or with MQPMO_MD_FOR_OUTPUT_ONLY.

    It starts as that of the original message. A reply or report gets the type, identifiers and expiry that the report
    options of the original request. Fields set on the new handle by name override the others.
    """
    md = DEFAULT_DESCRIPTOR
    if original is not None:
        md = original.descriptor
    elif new is not None:
        return new.descriptor
    if action in (mq.MQACTP_REPLY, mq.MQACTP_REPORT):
        md = _reply_descriptor(md, mq.MQMT_REPLY if action == mq.MQACTP_REPLY else mq.MQMT_REPORT)
    if new is not None:
        for name in new.descriptor_set:
            field = FIELDS[name]
            end = field.at + field.length
            md = md[: field.at] + new.descriptor[field.at : end] + md[end:]
    return md


def _reply_descriptor(md: bytes, message_type: int) -> bytes:
    report = number_at(md, FIELDS["Report"].at)
    passes_expiry = report & mq.MQRO_PASS_DISCARD_AND_EXPIRY != 0
    correlation = field_value(md, FIELDS["CorrelId" if report & mq.MQRO_PASS_CORREL_ID else "MsgId"])
    changes: dict[str, Value] = {
        "Report": report & mq.MQRO_DISCARD_MSG if passes_expiry else mq.MQRO_NONE,
        "MsgType": message_type,
        "Feedback": mq.MQFB_NONE,
        "CorrelId": correlation,
        "BackoutCount": 0,
        "ReplyToQ": "",
        "ReplyToQMgr": "",
    }
    if not passes_expiry:
        changes["Expiry"] = mq.MQEI_UNLIMITED
    if report & mq.MQRO_PASS_MSG_ID == 0:
        changes["MsgId"] = mq.MQMI_NONE
    for name, value in changes.items():
        field = FIELDS[name]
        md = with_field(md, field, field.type, value)
    return md
