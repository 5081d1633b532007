"""Reads statistics and accounting messages into plain records with the field names of MQ's documentation."""

from __future__ import annotations

from typing import Final, TypeAlias

from ostler.model import constants as mq
from ostler.model.pcf import (
    ByteString,
    Group,
    Integer,
    Integer64,
    Integer64List,
    IntegerList,
    Parameter,
    PcfError,
    String,
    decode,
)
from ostler.observe.own_parameters import OWN_NAMES

Field: TypeAlias = "int | str | list[int] | list[Record]"
Record: TypeAlias = "dict[str, Field]"

_KINDS: Final[dict[int, str]] = {
    mq.MQCMD_STATISTICS_MQI: "MQIStatistics",
    mq.MQCMD_STATISTICS_Q: "QueueStatistics",
    mq.MQCMD_STATISTICS_CHANNEL: "ChannelStatistics",
    mq.MQCMD_ACCOUNTING_MQI: "MQIAccounting",
    mq.MQCMD_ACCOUNTING_Q: "QueueAccounting",
}
_NAMES: Final[dict[int, str]] = {
    mq.MQCA_Q_MGR_NAME: "QueueManager",
    mq.MQCAMO_START_DATE: "IntervalStartDate",
    mq.MQCAMO_START_TIME: "IntervalStartTime",
    mq.MQCAMO_END_DATE: "IntervalEndDate",
    mq.MQCAMO_END_TIME: "IntervalEndTime",
    mq.MQIA_COMMAND_LEVEL: "CommandLevel",
    mq.MQIAMO_OBJECT_COUNT: "ObjectCount",
    mq.MQBACF_CONNECTION_ID: "ConnectionId",
    mq.MQIACF_SEQUENCE_NUMBER: "SeqNumber",
    mq.MQCACF_APPL_NAME: "ApplicationName",
    mq.MQIACF_PROCESS_ID: "ApplicationPid",
    mq.MQIACF_THREAD_ID: "ApplicationTid",
    mq.MQCACF_USER_IDENTIFIER: "UserId",
    mq.MQCAMO_CONN_DATE: "ConnDate",
    mq.MQCAMO_CONN_TIME: "ConnTime",
    mq.MQCACH_CONNECTION_NAME: "ConnName",
    mq.MQCACH_CHANNEL_NAME: "ChannelName",
    mq.MQIACH_CHANNEL_TYPE: "ChannelType",
    mq.MQCA_REMOTE_Q_MGR_NAME: "RemoteQmgr",
    mq.MQCAMO_DISC_DATE: "DiscDate",
    mq.MQCAMO_DISC_TIME: "DiscTime",
    mq.MQIAMO_DISC_TYPE: "DiscType",
    mq.MQIAMO_CONNS: "ConnCount",
    mq.MQIAMO_CONNS_FAILED: "ConnFailCount",
    mq.MQIAMO_CONNS_MAX: "ConnsMax",
    mq.MQIAMO_DISCS: "DiscCount",
    mq.MQIAMO_OPENS: "OpenCount",
    mq.MQIAMO_OPENS_FAILED: "OpenFailCount",
    mq.MQCAMO_OPEN_DATE: "OpenDate",
    mq.MQCAMO_OPEN_TIME: "OpenTime",
    mq.MQIAMO_CLOSES: "CloseCount",
    mq.MQIAMO_CLOSES_FAILED: "CloseFailCount",
    mq.MQCAMO_CLOSE_DATE: "CloseDate",
    mq.MQCAMO_CLOSE_TIME: "CloseTime",
    mq.MQIAMO_INQS: "InqCount",
    mq.MQIAMO_INQS_FAILED: "InqFailCount",
    mq.MQIAMO_SETS: "SetCount",
    mq.MQIAMO_SETS_FAILED: "SetFailCount",
    mq.MQIAMO_PUTS: "PutCount",
    mq.MQIAMO_PUTS_FAILED: "PutFailCount",
    mq.MQIAMO_PUT1S: "Put1Count",
    mq.MQIAMO_PUT1S_FAILED: "Put1FailCount",
    mq.MQIAMO64_PUT_BYTES: "PutBytes",
    mq.MQIAMO_PUT_MIN_BYTES: "PutMinBytes",
    mq.MQIAMO_PUT_MAX_BYTES: "PutMaxBytes",
    mq.MQIAMO_GENERATED_MSGS: "GeneratedMsgCount",
    mq.MQIAMO_GETS: "GetCount",
    mq.MQIAMO_GETS_FAILED: "GetFailCount",
    mq.MQIAMO64_GET_BYTES: "GetBytes",
    mq.MQIAMO_GET_MIN_BYTES: "GetMinBytes",
    mq.MQIAMO_GET_MAX_BYTES: "GetMaxBytes",
    mq.MQIAMO_BROWSES: "BrowseCount",
    mq.MQIAMO_BROWSES_FAILED: "BrowseFailCount",
    mq.MQIAMO64_BROWSE_BYTES: "BrowseBytes",
    mq.MQIAMO_BROWSE_MIN_BYTES: "BrowseMinBytes",
    mq.MQIAMO_BROWSE_MAX_BYTES: "BrowseMaxBytes",
    mq.MQIAMO64_Q_TIME_MIN: "TimeOnQMin",
    mq.MQIAMO64_Q_TIME_AVG: "TimeOnQAvg",
    mq.MQIAMO64_Q_TIME_MAX: "TimeOnQMax",
    mq.MQIAMO_COMMITS: "CommitCount",
    mq.MQIAMO_COMMITS_FAILED: "CommitFailCount",
    mq.MQIAMO_BACKOUTS: "BackCount",
    mq.MQIAMO_MSGS_EXPIRED: "ExpiredMsgCount",
    mq.MQIAMO_MSGS_PURGED: "PurgeCount",
    mq.MQIAMO_MSGS_NOT_QUEUED: "NonQueuedMsgCount",
    mq.MQIAMO_SUBS_DUR: "SubCountDur",
    mq.MQIAMO_SUBS_NDUR: "SubCountNDur",
    mq.MQIAMO_SUBS_FAILED: "SubFailCount",
    mq.MQIAMO_UNSUBS_DUR: "UnsubCountDur",
    mq.MQIAMO_UNSUBS_NDUR: "UnsubCountNDur",
    mq.MQIAMO_UNSUBS_FAILED: "UnsubFailCount",
    mq.MQIAMO_SUBRQS: "SubRqCount",
    mq.MQIAMO_SUBRQS_FAILED: "SubRqFailCount",
    mq.MQIAMO_CBS: "CBCount",
    mq.MQIAMO_CBS_FAILED: "CBFailCount",
    mq.MQIAMO_CTLS: "CtlCount",
    mq.MQIAMO_CTLS_FAILED: "CtlFailCount",
    mq.MQIAMO_STATS: "StatCount",
    mq.MQIAMO_STATS_FAILED: "StatFailCount",
    mq.MQIAMO_SUB_DUR_HIGHWATER: "SubCountDurHighWater",
    mq.MQIAMO_SUB_DUR_LOWWATER: "SubCountDurLowWater",
    mq.MQIAMO_SUB_NDUR_HIGHWATER: "SubCountNDurHighWater",
    mq.MQIAMO_SUB_NDUR_LOWWATER: "SubCountNDurLowWater",
    mq.MQIAMO_TOPIC_PUTS: "PutTopicCount",
    mq.MQIAMO_TOPIC_PUTS_FAILED: "PutTopicFailCount",
    mq.MQIAMO_TOPIC_PUT1S: "Put1TopicCount",
    mq.MQIAMO_TOPIC_PUT1S_FAILED: "Put1TopicFailCount",
    mq.MQIAMO64_TOPIC_PUT_BYTES: "PutTopicBytes",
    mq.MQIAMO_PUBLISH_MSG_COUNT: "PublishMsgCount",
    mq.MQIAMO64_PUBLISH_MSG_BYTES: "PublishMsgBytes",
    mq.MQIAMO64_QMGR_OP_DURATION: "QMgrOpDuration",
    mq.MQCA_Q_NAME: "QName",
    mq.MQCA_CREATION_DATE: "CreateDate",
    mq.MQCA_CREATION_TIME: "CreateTime",
    mq.MQIA_Q_TYPE: "QType",
    mq.MQIA_DEFINITION_TYPE: "QDefinitionType",
    mq.MQIAMO_Q_MIN_DEPTH: "QMinDepth",
    mq.MQIAMO_Q_MAX_DEPTH: "QMaxDepth",
    mq.MQIAMO64_AVG_Q_TIME: "AvgTimeOnQ",
    mq.MQIAMO_MSGS: "MsgCount",
    mq.MQIAMO64_BYTES: "TotalBytes",
    mq.MQIAMO_NET_TIME_MIN: "NetTimeMin",
    mq.MQIAMO_NET_TIME_AVG: "NetTimeAvg",
    mq.MQIAMO_NET_TIME_MAX: "NetTimeMax",
    mq.MQIAMO_EXIT_TIME_MIN: "ExitTimeMin",
    mq.MQIAMO_EXIT_TIME_AVG: "ExitTimeAvg",
    mq.MQIAMO_EXIT_TIME_MAX: "ExitTimeMax",
    mq.MQIAMO_FULL_BATCHES: "FullBatchCount",
    mq.MQIAMO_INCOMPLETE_BATCHES: "IncmplBatchCount",
    mq.MQIAMO_AVG_BATCH_SIZE: "AverageBatchSize",
    mq.MQIAMO_PUT_RETRIES: "PutRetryCount",
    mq.MQGACF_Q_STATISTICS_DATA: "QStatisticsData",
    mq.MQGACF_Q_ACCOUNTING_DATA: "QAccountingData",
    mq.MQGACF_CHL_STATISTICS_DATA: "ChlStatisticsData",
    **OWN_NAMES,
}


def read_record(message: bytes) -> Record:
    """Decode a message into a record; groups become lists of records. Raises PcfError for other messages."""
    found = decode(message)
    kind = _KINDS.get(found.header.command)
    if kind is None or found.header.type not in (mq.MQCFT_STATISTICS, mq.MQCFT_ACCOUNTING):
        raise PcfError(mq.MQRCCF_COMMAND_FAILED, f"command {found.header.command} is no statistics or accounting")
    record: Record = {"RecordType": kind}
    if found.header.sequence_number != 1 or found.header.control != mq.MQCFC_LAST:
        record["MsgSeqNumber"] = found.header.sequence_number
        record["Control"] = found.header.control
    record.update(_fields(found.parameters))
    return record


def _fields(parameters: tuple[Parameter, ...]) -> Record:
    fields: Record = {}
    groups: dict[str, list[Record]] = {}
    for item in parameters:
        name = _NAMES.get(item.parameter, str(item.parameter))
        if isinstance(item, Group):
            if name not in groups:
                groups[name] = []
                fields[name] = groups[name]
            groups[name].append(_fields(item.members))
        elif isinstance(item, (Integer, Integer64, String)):
            fields[name] = item.value
        elif isinstance(item, (IntegerList, Integer64List)):
            fields[name] = list(item.values)
        elif isinstance(item, ByteString):
            fields[name] = item.value.hex()
    return fields
