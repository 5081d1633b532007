"""Message properties: MQCRTMH, MQDLTMH, MQSETMP, MQINQMP, MQDLTMP, MQBUFMH and MQMHBUF.

A property name is an MQCHARV or a Python string. Values are the bytes of C's buffer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostler.client.mqi import message_handles
from ostler.client.mqi.connect import has_connection
from ostler.client.mqi.connection_state import usable_connection
from ostler.client.mqi.message_handles import UNASSOCIATED_MAX, Handles
from ostler.client.mqi.put_get import Result, completion, error_result, put_descriptor
from ostler.client.mqi.remote.connections import FIRST_REMOTE, all_remotes, usable_remote
from ostler.client.mqi.variable_strings import (
    UTF_8,
    VariableString,
    application_ccsid,
    decode_text,
    read_string,
    write_string,
)
from ostler.engine.conversion import code_pages
from ostler.engine.conversion.code_pages import UnknownCodePageError
from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR, field_named
from ostler.engine.properties.properties import PropertyInquiry, PropertySet
from ostler.engine.properties.property_buffers import buffer_to_properties, properties_to_buffer
from ostler.engine.properties.property_names import DESCRIPTOR_PREFIX
from ostler.engine.properties.property_values import check_type, pack_value, unpack_value
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.layout import CHARV_BYTES, Layout
from ostler.model.structures.md import MD_ENCODING, MD_PRIORITY
from ostler.model.structures.properties import MQBMHO, MQCMHO, MQDMHO, MQDMPO, MQIMPO, MQMHBO, MQPD, MQSMPO

Name = str | bytes | bytearray
"""A property name: a string, or an MQCHARV with the string that it refers to."""

_RETURNED_NAME_AT: Final = 32
_BYTES_PER_CHARACTER_MAX: Final = 4
_TYPE_TEXT_BYTES: Final = 8


class _Owner(NamedTuple):
    """The owner of message handles: its handles (None: those of no connection), its object handles and the limit."""

    handles: Handles | None
    object_handles: int
    handles_max: int


def _owner(hconn: int, reason: int) -> _Owner:
    """Return the owner of the handles of a connection, or of no connection, which needs any connection at all."""
    if hconn == mq.MQHC_UNASSOCIATED_HCONN:
        if not has_connection() and not all_remotes():
            raise MQError(reason, "This process has no connection to a queue manager.")
        return _Owner(None, 0, UNASSOCIATED_MAX)
    if hconn >= FIRST_REMOTE:
        remote = usable_remote(hconn)
        return _Owner(remote.message_handles, len(remote.handles), remote.handles_max)
    bound = usable_connection(hconn)
    connection = bound.connection
    return _Owner(connection.message_handles, len(connection.handles), bound.engine.handles_max)


def _properties(hconn: int, hmsg: int) -> PropertySet:
    return message_handles.find_owned(_owner(hconn, mq.MQRC_CONNECTION_BROKEN).handles, hmsg)


def _options(layout: Layout, structure: bytearray | None) -> int:
    if structure is None:
        return layout.read_int(layout.default(), "Options")
    layout.validate_header(structure)
    return layout.read_int(structure, "Options")


def property_name(name: Name) -> str:
    """Return the text of a name. Only its length is checked here."""
    if isinstance(name, str):
        return name
    if len(name) < CHARV_BYTES:
        raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, "The name is neither a string nor an MQCHARV.")
    length_max = mq.MQ_MAX_PROPERTY_NAME_LENGTH * _BYTES_PER_CHARACTER_MAX
    return read_string(name, 0, length_max, mq.MQRC_PROPERTY_NAME_ERROR, mq.MQRC_PROPERTY_NAME_LENGTH_ERR)


def _is_big_endian(encoding: int, reason: int) -> bool:
    order = encoding & mq.MQENC_INTEGER_MASK
    if order not in (mq.MQENC_INTEGER_NORMAL, mq.MQENC_INTEGER_REVERSED):
        raise MQError(reason, f"The encoding {encoding} has no byte order for integers.")
    return order == mq.MQENC_INTEGER_NORMAL


def MQCRTMH(hconn: int, cmho: bytearray | None) -> tuple[int, int, int]:
    """Create a message handle, for one connection or (MQHC_UNASSOCIATED_HCONN) for all of them."""
    try:
        owner = _owner(hconn, mq.MQRC_HCONN_ERROR)
        options = _options(MQCMHO, cmho)
        if (
            options & ~(mq.MQCMHO_NO_VALIDATION | mq.MQCMHO_VALIDATE)
            or options == mq.MQCMHO_NO_VALIDATION | mq.MQCMHO_VALIDATE
        ):
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCMHO has options that do not exist or exclude one another.")
        validate = options != mq.MQCMHO_NO_VALIDATION
        hmsg = message_handles.create(owner.handles, owner.object_handles, owner.handles_max, validate)
    except MQError as error:
        return mq.MQHM_UNUSABLE_HMSG, *error_result(error)
    return hmsg, mq.MQCC_OK, mq.MQRC_NONE


def MQDLTMH(hconn: int, hmsg: int, dmho: bytearray | None) -> tuple[int, int, int]:
    """Delete a message handle. Returns the unusable handle."""
    try:
        own = _owner(hconn, mq.MQRC_CONNECTION_BROKEN).handles
        message_handles.find_owned(own, hmsg)
        if _options(MQDMHO, dmho):
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQDMHO has no options.")
        message_handles.delete(own, hmsg)
    except MQError as error:
        return hmsg, *error_result(error)
    return mq.MQHM_UNUSABLE_HMSG, mq.MQCC_OK, mq.MQRC_NONE


def MQSETMP(
    hconn: int, hmsg: int, smpo: bytearray | None, name: Name, pd: bytearray | None, type: int, value: bytes
) -> Result:
    """Set a property of a message handle."""
    try:
        properties = _properties(hconn, hmsg)
        options = smpo if smpo is not None else MQSMPO.default()
        MQSMPO.validate_header(options)
        text = property_name(name)
        support, context, copy_options = _descriptor(pd)
        check_type(type)
        encoding = MQSMPO.read_int(options, "ValueEncoding")
        if type == mq.MQTYPE_STRING:
            ccsid = MQSMPO.read_int(options, "ValueCCSID")
            value = decode_text(bytes(value), ccsid, encoding, mq.MQRC_BUFFER_ERROR).encode("utf-8", "surrogatepass")
        given = unpack_value(type, bytes(value), _is_big_endian(encoding, mq.MQRC_SMPO_ERROR))
        properties.set(text, type, given, MQSMPO.read_int(options, "Options"), support, context, copy_options)
    except MQError as error:
        return error_result(error)
    return mq.MQCC_OK, mq.MQRC_NONE


def _descriptor(pd: bytearray | None) -> tuple[int, int, int]:
    if pd is None:
        return mq.MQPD_SUPPORT_OPTIONAL, mq.MQPD_NO_CONTEXT, mq.MQCOPY_DEFAULT
    MQPD.validate_header(pd)
    if MQPD.read_int(pd, "Options"):
        raise MQError(mq.MQRC_PD_ERROR, "MQPD has no options.")
    return MQPD.read_int(pd, "Support"), MQPD.read_int(pd, "Context"), MQPD.read_int(pd, "CopyOptions")


def MQINQMP(
    hconn: int, hmsg: int, impo: bytearray | None, name: Name, pd: bytearray | None, type: int, length: int
) -> tuple[int, bytes, int, int, int]:
    """Return type, value (at most `length` bytes) and full length of a property, completion and reason.

    ReturnedName of `impo` returns the name of the property, `pd` its descriptor.
    """
    try:
        properties = _properties(hconn, hmsg)
        structure = impo if impo is not None else MQIMPO.default()
        MQIMPO.validate_header(structure)
        text = property_name(name)
        _descriptor(pd)
        options = MQIMPO.read_int(structure, "Options")
        if length < 0:
            raise MQError(mq.MQRC_BUFFER_LENGTH_ERROR, f"A length of {length} bytes is not possible.")
        _is_big_endian(MQIMPO.read_int(structure, "RequestedEncoding"), mq.MQRC_IMPO_ERROR)
        if message_handles.changes_name(hmsg, text):
            options &= ~mq.MQIMPO_INQ_NEXT
        inquiry = properties.inquire(text, options, type)
        value, reason = _answer(structure, inquiry, options)
        if pd is not None:
            MQPD.patch(pd, "Support", inquiry.support)
            MQPD.patch(pd, "Context", inquiry.context)
            MQPD.patch(pd, "CopyOptions", inquiry.copy_options)
        reason = _return_name(structure, inquiry.name) or reason
    except MQError as error:
        return mq.MQTYPE_AS_SET, b"", 0, *error_result(error)
    if options & mq.MQIMPO_QUERY_LENGTH:
        return inquiry.type, b"", len(value), mq.MQCC_OK, mq.MQRC_NONE
    if len(value) > length:
        return inquiry.type, value[:length], len(value), mq.MQCC_WARNING, mq.MQRC_PROPERTY_VALUE_TOO_BIG
    return inquiry.type, value, len(value), completion(reason), reason


def _answer(impo: bytearray, inquiry: PropertyInquiry, options: int) -> tuple[bytes, int]:
    """Return the value as bytes, converted if asked for, and the reason of the warning if it could not be."""
    encoding, ccsid = mq.MQENC_NATIVE, UTF_8
    wanted_ccsid = application_ccsid(MQIMPO.read_int(impo, "RequestedCCSID"))
    reason = inquiry.reason
    if options & mq.MQIMPO_CONVERT_VALUE:
        encoding = MQIMPO.read_int(impo, "RequestedEncoding")
    value = pack_value(inquiry.type, inquiry.value, _is_big_endian(encoding, mq.MQRC_IMPO_ERROR))
    if options & mq.MQIMPO_CONVERT_VALUE and isinstance(inquiry.value, str) and wanted_ccsid != UTF_8:
        try:
            value = code_pages.encode(inquiry.value, wanted_ccsid, encoding)
            ccsid = wanted_ccsid
        except UnknownCodePageError:
            reason = mq.MQRC_PROP_VALUE_NOT_CONVERTED
    MQIMPO.patch(impo, "ReturnedEncoding", encoding)
    MQIMPO.patch(impo, "ReturnedCCSID", ccsid)
    MQIMPO.patch(impo, "TypeString", inquiry.type_text.encode()[:_TYPE_TEXT_BYTES])
    return value, reason


def _return_name(impo: bytearray, name: str) -> int:
    """Return the name in ReturnedName. Returns the reason of the warning if it could not be converted."""
    ccsid = application_ccsid(VariableString(impo, _RETURNED_NAME_AT).ccsid)
    reason = mq.MQRC_NONE
    try:
        data = code_pages.encode(name, ccsid, mq.MQENC_NATIVE)
    except UnknownCodePageError:
        data, ccsid, reason = name.encode(), UTF_8, mq.MQRC_PROP_NAME_NOT_CONVERTED
    if not write_string(impo, _RETURNED_NAME_AT, data, ccsid):
        raise MQError(mq.MQRC_PROPERTY_NAME_TOO_BIG, f"The name of the property takes {len(data)} bytes.")
    return reason


def MQDLTMP(hconn: int, hmsg: int, dmpo: bytearray | None, name: Name) -> Result:
    """Delete a property. A field of the message descriptor is reset to its default."""
    try:
        properties = _properties(hconn, hmsg)
        options = _options(MQDMPO, dmpo)
        text = property_name(name)
        if text.startswith(DESCRIPTOR_PREFIX) and not options:
            _reset_field(properties, text)
        else:
            properties.delete(text, options)
    except MQError as error:
        return error_result(error)
    return mq.MQCC_OK, mq.MQRC_NONE


def _reset_field(properties: PropertySet, name: str) -> None:
    field = field_named(name)
    end = field.at + field.length
    md = properties.descriptor
    properties.descriptor = md[: field.at] + DEFAULT_DESCRIPTOR[field.at : end] + md[end:]
    short = name[len(DESCRIPTOR_PREFIX) :]
    properties.descriptor_set = [each for each in properties.descriptor_set if each != short]


def MQBUFMH(hconn: int, hmsg: int, bmho: bytearray | None, md: bytearray, buffer: bytearray) -> tuple[int, int, int]:
    """Move the properties of the MQRFH2 headers of a buffer into a handle. Returns the length of the remaining data.

    The remaining data is at the start of `buffer`, and `md` describes it.
    """
    try:
        properties = _properties(hconn, hmsg)
        options = _options(MQBMHO, bmho)
        if not isinstance(buffer, bytearray):
            raise MQError(mq.MQRC_BUFFER_ERROR, "The buffer must be a bytearray: it is changed.")
        view = buffer_to_properties(properties, put_descriptor(bytes(md)), bytes(buffer), options)
    except MQError as error:
        return 0, *error_result(error)
    buffer[: len(view.body)] = view.body
    md[MD_ENCODING:MD_PRIORITY] = view.md[MD_ENCODING:MD_PRIORITY]
    return len(view.body), mq.MQCC_OK, mq.MQRC_NONE


def MQMHBUF(
    hconn: int, hmsg: int, mhbo: bytearray | None, name: Name, md: bytearray, length: int
) -> tuple[bytes, int, int, int]:
    """Return the properties of a name as an MQRFH2 of at most `length` bytes, and its length. `md` describes it."""
    try:
        properties = _properties(hconn, hmsg)
        options = _options(MQMHBO, mhbo)
        text = property_name(name)
        if length < 0:
            raise MQError(mq.MQRC_BUFFER_LENGTH_ERROR, f"A length of {length} bytes is not possible.")
        view = properties_to_buffer(properties, text, put_descriptor(bytes(md)), options & ~mq.MQMHBO_DELETE_PROPERTIES)
        if len(view.body) > length:
            # Nothing has been deleted yet, so the call can be made again with a larger buffer.
            return b"", len(view.body), mq.MQCC_FAILED, mq.MQRC_PROPERTY_VALUE_TOO_BIG
        if options & mq.MQMHBO_DELETE_PROPERTIES:
            for each in properties.matching(text):
                properties.remove(each)
    except MQError as error:
        return b"", 0, *error_result(error)
    md[MD_ENCODING:MD_PRIORITY] = view.md[MD_ENCODING:MD_PRIORITY]
    return view.body, len(view.body), mq.MQCC_OK, mq.MQRC_NONE
