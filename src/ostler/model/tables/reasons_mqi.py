"""Meaning and remedy of each reason of the MQI. `model.reasons` reads these lines."""

from __future__ import annotations

from typing import Final

SENTENCES: Final = """\
0 MQRC_NONE ok
The call did all that was asked.
Nothing needs to be done.
2001 MQRC_ALIAS_BASE_Q_TYPE_ERROR
The alias queue names a target that an alias may not stand for.
Point the alias at a local, remote or cluster queue, or at a topic.
2002 MQRC_ALREADY_CONNECTED warning
The program is connected to this queue manager already and was given the handle it has.
Use the handle, or disconnect first if a new connection is wanted.
2003 MQRC_BACKED_OUT warning
The unit of work could not be committed and was backed out.
Find what went wrong earlier in the unit of work, then do all of its work again.
2004 MQRC_BUFFER_ERROR
The message buffer is missing or cannot be used.
Pass a buffer that is at least as long as the length given with it.
2005 MQRC_BUFFER_LENGTH_ERROR
The length given for the buffer is negative or otherwise not usable.
Give the true length of the buffer, zero or more.
2006 MQRC_CHAR_ATTR_LENGTH_ERROR
The length given for the character attributes is negative, or too short for a set.
Give the sum of the lengths of the character attributes that the selectors name.
2007 MQRC_CHAR_ATTRS_ERROR
The buffer for character attributes is missing or cannot be used.
Pass a buffer as long as the length given for the character attributes.
2008 MQRC_CHAR_ATTRS_TOO_SHORT warning
The buffer could not hold all the character attributes asked for, and holds only the first of them.
Ask again with a buffer long enough for every character attribute selected.
2009 MQRC_CONNECTION_BROKEN
The connection to the queue manager is lost, and whether the last call took effect is not known.
Connect again, and do the uncommitted work again after a check for duplicates.
2010 MQRC_DATA_LENGTH_ERROR
The place for the data length is missing, or the length is beyond what the channel agreed.
Pass a place for the length, and keep messages within the limits of the channel.
2011 MQRC_DYNAMIC_Q_NAME_ERROR
The name or pattern for the dynamic queue is not a valid queue name.
Give a valid name in DynamicQName, or a prefix that ends in an asterisk.
2012 MQRC_ENVIRONMENT_ERROR
The call is not possible in the place it was made from.
Use another verb, or connect in a way that allows this one.
2013 MQRC_EXPIRY_ERROR
The expiry of the message is neither positive nor unlimited.
Give tenths of a second greater than zero, or MQEI_UNLIMITED.
2014 MQRC_FEEDBACK_ERROR
The feedback code is outside the ranges kept for the system and for programs.
Use MQFB_NONE for anything but a report, or a code from the range for programs.
2016 MQRC_GET_INHIBITED
Gets are inhibited for the queue, or for the queue its alias stands for.
Wait, or allow gets with ALTER QLOCAL GET(ENABLED).
2017 MQRC_HANDLE_NOT_AVAILABLE
The connection has as many open handles as the queue manager allows.
Close handles that are no longer needed, or raise MAXHANDS.
2018 MQRC_HCONN_ERROR
The connection handle is not one that is in use now.
Use the handle that the last successful connect gave, and none after a disconnect.
2019 MQRC_HOBJ_ERROR
The object handle is not open on this connection, or is of the wrong kind for the call.
Use a handle that an open or subscribe gave on the same connection and that is not closed yet.
2020 MQRC_INHIBIT_VALUE_ERROR
The value for inhibiting gets or puts is not one that exists.
Use the allowed or the inhibited value of the attribute.
2021 MQRC_INT_ATTR_COUNT_ERROR
The number given for integer attributes is negative, or too small for a set.
Give as many integers as there are integer selectors.
2022 MQRC_INT_ATTR_COUNT_TOO_SMALL warning
There was not room for all the integer attributes asked for, and only the first were given.
Ask again with room for every integer attribute selected.
2023 MQRC_INT_ATTRS_ARRAY_ERROR
The array for integer attributes is missing or cannot be used.
Pass an array with as many elements as the count says.
2024 MQRC_SYNCPOINT_LIMIT_REACHED
The unit of work holds as many messages as the queue manager allows.
Commit more often, or raise MAXUMSGS.
2025 MQRC_MAX_CONNS_LIMIT_REACHED
The queue manager or the channel has as many connections as it allows.
Disconnect idle programs, or raise the limit on the queue manager or channel.
2026 MQRC_MD_ERROR
The message descriptor is not a valid MQMD.
Check its structure id and version, and start from the default values.
2027 MQRC_MISSING_REPLY_TO_Q
The message is a request, or asks for reports, and names no reply queue.
Give the name of a queue in ReplyToQ.
2029 MQRC_MSG_TYPE_ERROR
The message type is not one that exists and lies outside the range for programs.
Use datagram, request, reply or report, or a type of your own from MQMT_APPL_FIRST on.
2030 MQRC_MSG_TOO_BIG_FOR_Q
The message is longer than the queue accepts.
Send less, allow segmentation, or raise MAXMSGL of the queue.
2031 MQRC_MSG_TOO_BIG_FOR_Q_MGR
The message is longer than the queue manager accepts.
Send less, allow segmentation, or raise MAXMSGL of the queue manager and the queue.
2033 MQRC_NO_MSG_AVAILABLE
There is no message on the queue that fits the request, or none came within the wait.
Try again later or wait longer, and check the identifiers and the selector that were asked for.
2034 MQRC_NO_MSG_UNDER_CURSOR
The browse cursor does not stand on a message that can be got.
Browse to a message first, and expect that another program may have taken it.
2035 MQRC_NOT_AUTHORIZED
The user may not do this.
Check the user id and password that were sent, or have the authority given with SET AUTHREC.
2036 MQRC_NOT_OPEN_FOR_BROWSE
The queue was not opened for browsing.
Open it with MQOO_BROWSE.
2037 MQRC_NOT_OPEN_FOR_INPUT
The queue was not opened for input.
Open it with one of the MQOO_INPUT options.
2038 MQRC_NOT_OPEN_FOR_INQUIRE
The object was not opened for inquiry.
Open it with MQOO_INQUIRE.
2039 MQRC_NOT_OPEN_FOR_OUTPUT
The object was not opened for output.
Open it with MQOO_OUTPUT.
2040 MQRC_NOT_OPEN_FOR_SET
The queue was not opened for setting attributes.
Open it with MQOO_SET.
2041 MQRC_OBJECT_CHANGED
The definition of the object was altered in a way that made this handle stale.
Close the handle and open the object again.
2042 MQRC_OBJECT_IN_USE
Another handle has the object open in a way that excludes this one.
Wait until the other program closes it, or let both open it shared.
2043 MQRC_OBJECT_TYPE_ERROR
The object type in the descriptor is not one that can be used here.
Use a type such as MQOT_Q, MQOT_TOPIC or MQOT_Q_MGR that fits the name and the call.
2044 MQRC_OD_ERROR
The object descriptor is not a valid MQOD.
Check its structure id and version, and start from the default values.
2045 MQRC_OPTION_NOT_VALID_FOR_TYPE
An option was given that this type of object does not have.
Leave out the option, or open an object of another type.
2046 MQRC_OPTIONS_ERROR
The options hold a bit that does not exist, or two that exclude each other.
Check the combination of options in the call.
2047 MQRC_PERSISTENCE_ERROR
The persistence of the message is not a value that exists.
Use persistent, not persistent, or as the queue defines.
2048 MQRC_PERSISTENT_NOT_ALLOWED
A persistent message was put to a queue that keeps none.
Put the message as not persistent, or use a permanent queue.
2049 MQRC_PRIORITY_EXCEEDS_MAXIMUM warning
The priority is above the highest the queue manager knows, and the message was queued at that highest one.
Use a priority from 0 to 9 if the exact value matters.
2050 MQRC_PRIORITY_ERROR
The priority of the message is not a value that can be used.
Use a number from 0 up, or the priority that the queue defines.
2051 MQRC_PUT_INHIBITED
Puts are inhibited for the queue or topic, or for something its name resolves to.
Wait, or allow puts with ALTER ... PUT(ENABLED).
2052 MQRC_Q_DELETED
The queue was deleted after it was opened.
Close the handle, and open the queue again if it has been made anew.
2053 MQRC_Q_FULL
The queue holds as many messages as it may.
Let a program get messages from it, or raise MAXDEPTH.
2055 MQRC_Q_NOT_EMPTY
The queue still has messages, or uncommitted puts or gets, and so was not deleted.
Empty the queue first, or close it with the purge option.
2056 MQRC_Q_SPACE_NOT_AVAILABLE
There is no room on disk for the message.
Make room on the disk of the queue manager, then put the message again.
2057 MQRC_Q_TYPE_ERROR
The queue is not of the type that the call needs.
Name a queue of the right type.
2058 MQRC_Q_MGR_NAME_ERROR
No queue manager of that name is known here.
Check the name, in capitals where it has them, and the address that was dialled.
2059 MQRC_Q_MGR_NOT_AVAILABLE
The queue manager cannot be reached or is not running.
Check that the queue manager and its listener run, and that host and port are right.
2061 MQRC_REPORT_OPTIONS_ERROR
The report field asks for something that is not known and must not be ignored.
Remove the report option that does not exist.
2062 MQRC_SECOND_MARK_NOT_ALLOWED
The unit of work already has a message marked to be kept on backout.
Mark one message per unit of work.
2063 MQRC_SECURITY_ERROR
The check of authority itself failed.
Look in the error log of the queue manager for the cause.
2064 MQRC_TOKEN_TIMESTAMP_NOT_VALID
The time in the authentication token shows that it has expired or is not valid yet.
Get a fresh token, and check the clocks of both machines.
2065 MQRC_SELECTOR_COUNT_ERROR
The number of selectors is negative or otherwise not usable.
Give the number of selectors there are in the array.
2066 MQRC_SELECTOR_LIMIT_EXCEEDED
There are more selectors in one call than are allowed.
Ask in several calls, with no more than 256 selectors each.
2067 MQRC_SELECTOR_ERROR
A selector names no attribute that can be inquired or set.
Use MQIA_ and MQCA_ selectors that belong to the type of object.
2068 MQRC_SELECTOR_NOT_FOR_TYPE warning
A selector names an attribute that this type of object does not have, and a filler was given for it.
Leave out that selector for this type of object.
2069 MQRC_SIGNAL_OUTSTANDING
The handle already waits for a signal.
Wait for that signal before asking for another.
2070 MQRC_SIGNAL_REQUEST_ACCEPTED warning
No message was there, and a signal will be given when one arrives.
Wait for the signal, then get again.
2071 MQRC_STORAGE_NOT_AVAILABLE
There is not enough memory for the call.
Free memory or use smaller messages, then try again.
2072 MQRC_SYNCPOINT_NOT_AVAILABLE
Units of work cannot be used for this connection or resource.
Leave out the syncpoint option, or connect where units of work are possible.
2075 MQRC_TRIGGER_CONTROL_ERROR
The value for trigger control is not one that exists.
Use MQTC_ON or MQTC_OFF.
2076 MQRC_TRIGGER_DEPTH_ERROR
The trigger depth is not greater than zero.
Use a depth of one or more.
2077 MQRC_TRIGGER_MSG_PRIORITY_ERR
The trigger priority is not a valid message priority.
Use a number from zero to the highest priority of the queue manager.
2078 MQRC_TRIGGER_TYPE_ERROR
The trigger type is not one that exists.
Use MQTT_NONE, MQTT_FIRST, MQTT_EVERY or MQTT_DEPTH.
2079 MQRC_TRUNCATED_MSG_ACCEPTED warning
The message was longer than the buffer; the part that fits was given and the message was taken, as asked.
Use a longer buffer if the whole message is wanted.
2080 MQRC_TRUNCATED_MSG_FAILED warning
The message is longer than the buffer; the part that fits was given and the message is still on the queue.
Get again with a buffer of the length that was given back.
2082 MQRC_UNKNOWN_ALIAS_BASE_Q
The target that the alias queue names does not exist.
Define the target, or correct TARGET of the alias.
2085 MQRC_UNKNOWN_OBJECT_NAME
There is no object of that name and type.
Check the name, its case and its type, or define the object.
2086 MQRC_UNKNOWN_OBJECT_Q_MGR
The queue manager in the object descriptor is not known, and no route to it is.
Correct ObjectQMgrName, leave it blank, or define a transmission queue for it.
2087 MQRC_UNKNOWN_REMOTE_Q_MGR
There is no transmission queue that leads to the remote queue manager.
Define a transmission queue of its name, or name one in the remote queue or as default.
2090 MQRC_WAIT_INTERVAL_ERROR
The wait interval is neither zero, positive nor unlimited.
Give milliseconds from zero up, or MQWI_UNLIMITED.
2091 MQRC_XMIT_Q_TYPE_ERROR
The transmission queue that the definition names is not a local queue.
Name a local queue with USAGE(XMITQ).
2092 MQRC_XMIT_Q_USAGE_ERROR
The queue that should carry the message onward is not a transmission queue.
Alter it to USAGE(XMITQ), or name another queue.
2093 MQRC_NOT_OPEN_FOR_PASS_ALL
The queue was not opened to pass all context.
Open it with MQOO_PASS_ALL_CONTEXT.
2094 MQRC_NOT_OPEN_FOR_PASS_IDENT
The queue was not opened to pass identity context.
Open it with MQOO_PASS_IDENTITY_CONTEXT.
2095 MQRC_NOT_OPEN_FOR_SET_ALL
The queue was not opened to set all context.
Open it with MQOO_SET_ALL_CONTEXT.
2096 MQRC_NOT_OPEN_FOR_SET_IDENT
The queue was not opened to set identity context.
Open it with MQOO_SET_IDENTITY_CONTEXT.
2097 MQRC_CONTEXT_HANDLE_ERROR
The handle from which context should be passed is not open to save it.
Open that queue with an input option and MQOO_SAVE_ALL_CONTEXT.
2098 MQRC_CONTEXT_NOT_AVAILABLE
No context is saved for the handle, because nothing was got through it yet.
Get a message through that handle first, not a browse.
2099 MQRC_SIGNAL1_ERROR
The field that says how to signal is not usable.
Pass a valid signal, or wait instead.
2100 MQRC_OBJECT_ALREADY_EXISTS
A dynamic queue was to be made with a name that is taken.
Give another name, or a pattern that ends in an asterisk.
2101 MQRC_OBJECT_DAMAGED
The stored object is damaged and cannot be used.
Recover it from the log, or delete and define it anew.
2102 MQRC_RESOURCE_PROBLEM
The queue manager has run out of some resource of the system.
Look in the error log for what is short, make room and try again.
2103 MQRC_ANOTHER_Q_MGR_CONNECTED
The program is connected to a different queue manager and may have only one connection here.
Disconnect from that one first, or allow shared handles.
2104 MQRC_UNKNOWN_REPORT_OPTION warning
The message was taken with a report option that is not known but may be passed on.
Remove the option if it was not meant.
2105 MQRC_STORAGE_CLASS_ERROR
The storage class of the queue is not defined.
This reason belongs to z/OS and is not given here.
2106 MQRC_COD_NOT_VALID_FOR_XCF_Q
Delivery was to be confirmed for a queue of an IMS bridge.
Do not ask for confirmation of delivery on such a queue.
2107 MQRC_XWAIT_CANCELED
A wait of an exit was cancelled because the queue manager is ending.
End the exit.
2108 MQRC_XWAIT_ERROR
The wait that an exit asked for is not valid.
Correct the wait descriptor in the exit.
2109 MQRC_SUPPRESSED_BY_EXIT
An exit refused the call.
Ask who runs the exit why it does so.
2110 MQRC_FORMAT_ERROR warning
The message was given unconverted because its format is not one that can be converted, or does not fit the data.
Convert it in the program, or have the sender set a format that tells what the data is.
2111 MQRC_SOURCE_CCSID_ERROR warning
The message was given unconverted because its character set is not known here.
Have the sender set CodedCharSetId to a set that is known.
2112 MQRC_SOURCE_INTEGER_ENC_ERROR warning
The message was given unconverted because the integer encoding it claims is not known.
Have the sender set Encoding to a known value.
2113 MQRC_SOURCE_DECIMAL_ENC_ERROR warning
The message was given unconverted because the decimal encoding it claims is not known.
Have the sender set Encoding to a known value.
2114 MQRC_SOURCE_FLOAT_ENC_ERROR warning
The message was given unconverted because the floating-point encoding it claims is not known.
Have the sender set Encoding to a known value.
2115 MQRC_TARGET_CCSID_ERROR warning
The message was given unconverted because the character set asked for is not known here.
Ask for a character set that is known.
2116 MQRC_TARGET_INTEGER_ENC_ERROR warning
The message was given unconverted because the integer encoding asked for is not known.
Ask for a known value in Encoding.
2117 MQRC_TARGET_DECIMAL_ENC_ERROR warning
The message was given unconverted because the decimal encoding asked for is not known.
Ask for a known value in Encoding.
2118 MQRC_TARGET_FLOAT_ENC_ERROR warning
The message was given unconverted because the floating-point encoding asked for is not known.
Ask for a known value in Encoding.
2119 MQRC_NOT_CONVERTED warning
The message was given unconverted because its data could not be converted.
Check that the data is what the format and the character set of the message say.
2120 MQRC_CONVERTED_MSG_TOO_BIG warning
The converted message would not fit the buffer, and the message was given unconverted.
Get with a longer buffer.
2121 MQRC_NO_EXTERNAL_PARTICIPANTS warning
A unit of work was begun, but no other resource manager takes part in it.
Nothing needs to be done if none was expected.
2122 MQRC_PARTICIPANT_NOT_AVAILABLE warning
A unit of work was begun without a resource manager that cannot be reached.
Start the missing resource manager if its work is needed.
2123 MQRC_OUTCOME_MIXED
Some resource managers committed the unit of work and others backed it out.
Compare the resources and put them right by hand.
2124 MQRC_OUTCOME_PENDING warning
The end of the unit of work is decided but not yet carried out everywhere.
Nothing needs to be done; it is finished when the missing resource manager returns.
2125 MQRC_BRIDGE_STARTED warning
An event tells that a bridge has started.
Nothing needs to be done.
2126 MQRC_BRIDGE_STOPPED warning
An event tells that a bridge has stopped.
Find out why if this was not expected.
2127 MQRC_ADAPTER_STORAGE_SHORTAGE
The adapter ran out of memory.
This reason belongs to z/OS and is not given here.
2128 MQRC_UOW_IN_PROGRESS
A unit of work is in progress already.
Commit or back it out before another is begun.
2129 MQRC_ADAPTER_CONN_LOAD_ERROR
The adapter could not load its connection module.
This reason belongs to z/OS and is not given here.
2130 MQRC_ADAPTER_SERV_LOAD_ERROR
The adapter could not load its service module.
This reason belongs to z/OS and is not given here.
2131 MQRC_ADAPTER_DEFS_ERROR
The definition module of the adapter is not valid.
This reason belongs to z/OS and is not given here.
2132 MQRC_ADAPTER_DEFS_LOAD_ERROR
The adapter could not load its definition module.
This reason belongs to z/OS and is not given here.
2133 MQRC_ADAPTER_CONV_LOAD_ERROR
The adapter could not load its conversion module.
This reason belongs to z/OS and is not given here.
2134 MQRC_BO_ERROR
The begin options are not a valid MQBO.
Check the structure id and version.
2135 MQRC_DH_ERROR
The message begins with a distribution header that is not valid.
Correct the MQDH and its records, or the format that announces it.
2136 MQRC_MULTIPLE_REASONS warning
The destinations of a distribution list did not all end the same way.
Look at the response record of each destination.
2137 MQRC_OPEN_FAILED
A destination of the distribution list could not be opened.
Look at the response record of the destination for the reason.
2138 MQRC_ADAPTER_DISC_LOAD_ERROR
The adapter could not load its disconnection module.
This reason belongs to z/OS and is not given here.
2139 MQRC_CNO_ERROR
The connect options are not a valid MQCNO.
Check the structure id, the version and the fields that point elsewhere.
2140 MQRC_CICS_WAIT_FAILED
A wait inside CICS failed.
This reason belongs to z/OS and is not given here.
2141 MQRC_DLH_ERROR
The message begins with a dead-letter header that is not valid.
Correct the MQDLH, or the format that announces it.
2142 MQRC_HEADER_ERROR
A header in the message is not valid.
Check the lengths, encodings and formats of the chain of headers.
2143 MQRC_SOURCE_LENGTH_ERROR warning
The length of the data to be converted is not valid.
Give a length from zero up that the data really has.
2144 MQRC_TARGET_LENGTH_ERROR warning
The length of the place for converted data is not valid.
Give a length from zero up that the place really has.
2145 MQRC_SOURCE_BUFFER_ERROR warning
The data to be converted cannot be used.
Pass a buffer as long as its length says.
2146 MQRC_TARGET_BUFFER_ERROR warning
The place for converted data cannot be used.
Pass a buffer as long as its length says, apart from the source.
2147 MQRC_INCOMPLETE_TRANSACTION
An IMS transaction is not complete.
This reason belongs to z/OS and is not given here.
2148 MQRC_IIH_ERROR
The message begins with an IMS header that is not valid.
Correct the MQIIH, or the format that announces it.
2149 MQRC_PCF_ERROR
The message holds command structures that are not valid.
Check type, length and count of each PCF structure.
2150 MQRC_DBCS_ERROR warning
The message was given unconverted because a string of double-byte characters is broken.
Have the sender correct its shift characters and lengths.
2152 MQRC_OBJECT_NAME_ERROR
The object name must be blank here, and is not.
Leave ObjectName blank when object records are used.
2153 MQRC_OBJECT_Q_MGR_NAME_ERROR
The name of the queue manager must be blank here, and is not.
Leave ObjectQMgrName blank when object records are used.
2154 MQRC_RECS_PRESENT_ERROR
The number of records is negative, or does not fit the handle.
Give as many records as the distribution list has.
2155 MQRC_OBJECT_RECORDS_ERROR
The object records are missing or given twice over.
Give them by offset or by pointer, and only one of the two.
2156 MQRC_RESPONSE_RECORDS_ERROR
The response records are missing or given twice over.
Give them by offset or by pointer, and only one of the two.
2157 MQRC_ASID_MISMATCH
The caller runs in another address space than its own.
This reason belongs to z/OS and is not given here.
2158 MQRC_PMO_RECORD_FLAGS_ERROR
The flags of the put message records are not valid.
Use MQPMRF_ flags only, and MQPMRF_NONE where there are no records.
2159 MQRC_PUT_MSG_RECORDS_ERROR
The put message records are missing or given twice over.
Give them by offset or by pointer, and only one of the two.
2160 MQRC_CONN_ID_IN_USE
The connection identifier is in use already.
This reason belongs to z/OS and is not given here.
2161 MQRC_Q_MGR_QUIESCING
The queue manager is ending and takes no new work.
Finish and disconnect, then connect again when it is back.
2162 MQRC_Q_MGR_STOPPING
The queue manager is ending at once.
Disconnect, and do the uncommitted work again when it is back.
2163 MQRC_DUPLICATE_RECOV_COORD
A recovery coordinator of the same name exists already.
This reason belongs to z/OS and is not given here.
2173 MQRC_PMO_ERROR
The put options are not a valid MQPMO.
Check the structure id and version, and start from the default values.
2182 MQRC_API_EXIT_NOT_FOUND
The entry point of an API exit was not found.
Correct the name of the exit in the configuration.
2183 MQRC_API_EXIT_LOAD_ERROR
An API exit could not be loaded.
Check the name and the place of its module.
2184 MQRC_REMOTE_Q_NAME_ERROR
The remote queue definition has no usable name for the remote queue.
Correct RNAME of the definition.
2185 MQRC_INCONSISTENT_PERSISTENCE warning
The messages of a group or the segments of a message differ in persistence.
Put all parts with the same persistence.
2186 MQRC_GMO_ERROR
The get options are not a valid MQGMO.
Check the structure id and version, and start from the default values.
2187 MQRC_CICS_BRIDGE_RESTRICTION
The call is not allowed under the CICS bridge.
This reason belongs to z/OS and is not given here.
2188 MQRC_STOPPED_BY_CLUSTER_EXIT
The cluster workload exit refused the message.
Ask who runs the exit why it does so.
2189 MQRC_CLUSTER_RESOLUTION_ERROR
The name of the cluster queue could not be resolved because no full repository answered.
Check that the channels to the full repositories run, then try again.
2190 MQRC_CONVERTED_STRING_TOO_BIG warning
The message was given unconverted because a converted string would not fit its field.
Convert in the program, or have the sender use shorter strings.
2191 MQRC_TMC_ERROR
The structure is not a valid MQTMC2.
Check the structure id and version of the trigger message.
2192 MQRC_STORAGE_MEDIUM_FULL
The disk or page set that holds the messages is full.
Make room, or let programs get messages, then try again.
2193 MQRC_PAGESET_ERROR
The page set that holds the messages gave an error.
This reason belongs to z/OS and is not given here.
2194 MQRC_NAME_NOT_VALID_FOR_TYPE
The name is not allowed for this type of object.
Leave the name blank to open the queue manager itself.
2195 MQRC_UNEXPECTED_ERROR
Something went wrong that has no reason of its own.
Look in the error log of the queue manager for what it was.
2196 MQRC_UNKNOWN_XMIT_Q
The transmission queue that the remote queue names does not exist.
Define it, or correct XMITQ of the remote queue.
2197 MQRC_UNKNOWN_DEF_XMIT_Q
The default transmission queue of the queue manager does not exist.
Define it, or correct DEFXMITQ of the queue manager.
2198 MQRC_DEF_XMIT_Q_TYPE_ERROR
The default transmission queue is not a local queue.
Name a local queue with USAGE(XMITQ) in DEFXMITQ.
2199 MQRC_DEF_XMIT_Q_USAGE_ERROR
The default transmission queue is an ordinary queue.
Alter it to USAGE(XMITQ), or name another in DEFXMITQ.
2200 MQRC_MSG_MARKED_BROWSE_CO_OP
The message is marked by a co-operating browser.
Browse for unmarked messages.
2201 MQRC_NAME_IN_USE
The name for the dynamic queue is in use.
Give another name, or a pattern that ends in an asterisk.
2202 MQRC_CONNECTION_QUIESCING
The connection is being wound down and takes no new work.
Finish, disconnect and connect again later.
2203 MQRC_CONNECTION_STOPPING
The connection is being ended at once.
Disconnect and connect again later.
2204 MQRC_ADAPTER_NOT_AVAILABLE
The adapter between the program and the queue manager is not running.
This reason belongs to z/OS and is not given here.
2206 MQRC_MSG_ID_ERROR
The queue is indexed by another identifier and cannot be read by message id.
Match on the identifier that the queue is indexed by.
2207 MQRC_CORREL_ID_ERROR
The correlation identifier is not usable here.
Use an identifier of your own, or leave it as none.
2208 MQRC_FILE_SYSTEM_ERROR
The file system gave an error.
Look in the error log of the queue manager for the file and the error.
2209 MQRC_NO_MSG_LOCKED warning
There is no locked message to unlock.
Nothing needs to be done.
2210 MQRC_SOAP_DOTNET_ERROR
The .NET part of the SOAP transport failed.
Look in the log of that program.
2211 MQRC_SOAP_AXIS_ERROR
The Axis part of the SOAP transport failed.
Look in the log of that program.
2212 MQRC_SOAP_URL_ERROR
The SOAP address is not valid.
Correct the address.
2216 MQRC_FILE_NOT_AUDITED
A file of the queue manager is not under audit.
Set the file up for audit on the platform that needs it.
2217 MQRC_CONNECTION_NOT_AUTHORIZED
The program may not connect in this way.
Have the authority to connect given to it.
2218 MQRC_MSG_TOO_BIG_FOR_CHANNEL
The message is longer than the channel carries.
Send less, or raise MAXMSGL at both ends of the channel.
2219 MQRC_CALL_IN_PROGRESS
Another call is still running on this connection.
Let one thread use a connection at a time, or share handles with blocking.
2220 MQRC_RMH_ERROR
The message begins with a reference header that is not valid.
Correct the MQRMH, or the format that announces it.
2222 MQRC_Q_MGR_ACTIVE warning
An event tells that the queue manager has started.
Nothing needs to be done.
2223 MQRC_Q_MGR_NOT_ACTIVE warning
An event tells that the queue manager was asked to end.
Nothing needs to be done.
2224 MQRC_Q_DEPTH_HIGH warning
An event tells that a queue reached its high depth.
See whether the programs that get from it keep up.
2225 MQRC_Q_DEPTH_LOW warning
An event tells that a queue went down to its low depth.
Nothing needs to be done.
2226 MQRC_Q_SERVICE_INTERVAL_HIGH warning
An event tells that nothing was got from a queue within its service interval.
See whether the programs that get from it run and keep up.
2227 MQRC_Q_SERVICE_INTERVAL_OK warning
An event tells that a queue is served within its interval again.
Nothing needs to be done.
2228 MQRC_RFH_HEADER_FIELD_ERROR
A field of the rules and formatting header holds a value that does not belong there.
Correct the field of the MQRFH or MQRFH2.
2229 MQRC_RAS_PROPERTY_ERROR
A property of the reliability settings is not valid.
Correct the property.
2232 MQRC_UNIT_OF_WORK_NOT_STARTED
Work under syncpoint was asked for, and no unit of work is begun.
Begin a unit of work first.
2233 MQRC_CHANNEL_AUTO_DEF_OK warning
An event tells that a channel was defined by itself.
Nothing needs to be done.
2234 MQRC_CHANNEL_AUTO_DEF_ERROR warning
An event tells that a channel could not be defined by itself.
Look at the rest of the event for the cause.
2235 MQRC_CFH_ERROR
The command header is not a valid MQCFH.
Check its type, length and version.
2236 MQRC_CFIL_ERROR
A list of integers in the command is not a valid MQCFIL.
Check its length and count.
2237 MQRC_CFIN_ERROR
An integer in the command is not a valid MQCFIN.
Check its length.
2238 MQRC_CFSL_ERROR
A list of strings in the command is not a valid MQCFSL.
Check its length, count and string length.
2239 MQRC_CFST_ERROR
A string in the command is not a valid MQCFST.
Check its length and string length.
2241 MQRC_INCOMPLETE_GROUP warning
A group of messages was left before its last message.
Go on to the last message of the group, unless leaving was meant.
2242 MQRC_INCOMPLETE_MSG warning
A message in segments was left before its last segment.
Go on to the last segment of the message, unless leaving was meant.
2243 MQRC_INCONSISTENT_CCSIDS warning
The segments of the message have different character sets, and the message was given unconverted.
Put all segments in the same character set.
2244 MQRC_INCONSISTENT_ENCODINGS warning
The segments of the message have different encodings, and the message was given unconverted.
Put all segments in the same encoding.
2245 MQRC_INCONSISTENT_UOW warning
The parts of a group or message are not all inside, or all outside, a unit of work.
Use the same syncpoint option for every part.
2246 MQRC_INVALID_MSG_UNDER_CURSOR
The message under the cursor cannot be got in this way because it is not the next in logical order.
Get it without asking for the complete message, or in logical order.
2247 MQRC_MATCH_OPTIONS_ERROR
The match options hold a bit that does not exist, or that needs what is not there.
Check MatchOptions and the version of the structures.
2248 MQRC_MDE_ERROR
The message begins with a descriptor extension that is not valid.
Correct the MQMDE, or the format that announces it.
2249 MQRC_MSG_FLAGS_ERROR
The message flags hold a bit that is not known and must not be ignored.
Use flags that exist, in a combination that makes sense.
2250 MQRC_MSG_SEQ_NUMBER_ERROR
The sequence number within the group is not from 1 to 999,999,999.
Give a number within that range.
2251 MQRC_OFFSET_ERROR
The offset of the segment is not valid.
Give an offset from 0 to 999,999,999 that fits the segments before it.
2252 MQRC_ORIGINAL_LENGTH_ERROR
The original length is smaller than the data of the segment.
Give the length that the segment had, or leave it undefined.
2253 MQRC_SEGMENT_LENGTH_ZERO
A segment that is not the last has no data.
Give every segment but the last one byte or more.
2255 MQRC_UOW_NOT_AVAILABLE
The connection cannot take part in this unit of work.
Use the thread or connection that began it.
2256 MQRC_WRONG_GMO_VERSION
The get options are too old a version for what they ask.
Use MQGMO version 2 or later.
2257 MQRC_WRONG_MD_VERSION
The message descriptor is too old a version for what is asked.
Use MQMD version 2.
2258 MQRC_GROUP_ID_ERROR
The group identifier is not usable here.
Use an identifier of your own, or none.
2259 MQRC_INCONSISTENT_BROWSE
The browse options do not go on as the browse began.
Browse a group in logical order, or out of it, from start to end.
2260 MQRC_XQH_ERROR
The message on the transmission queue does not begin with a valid MQXQH.
Let the queue manager build the header, or correct it.
2261 MQRC_SRC_ENV_ERROR
The source environment of the reference message is not valid.
Correct the field of the MQRMH.
2262 MQRC_SRC_NAME_ERROR
The source name of the reference message is not valid.
Correct the field of the MQRMH.
2263 MQRC_DEST_ENV_ERROR
The destination environment of the reference message is not valid.
Correct the field of the MQRMH.
2264 MQRC_DEST_NAME_ERROR
The destination name of the reference message is not valid.
Correct the field of the MQRMH.
2265 MQRC_TM_ERROR
The trigger message is not a valid MQTM.
Check its structure id and version.
2266 MQRC_CLUSTER_EXIT_ERROR
The cluster workload exit failed.
Look in the error log of the queue manager for what it did.
2267 MQRC_CLUSTER_EXIT_LOAD_ERROR warning
The cluster workload exit could not be loaded.
Correct its name, or leave it out.
2268 MQRC_CLUSTER_PUT_INHIBITED
Every queue of the cluster that could take the message has puts inhibited.
Allow puts on one of them, then try again.
2269 MQRC_CLUSTER_RESOURCE_ERROR
The cluster lacked something it needs to place the message.
Look in the error log of the queue manager, then try again.
2270 MQRC_NO_DESTINATIONS_AVAILABLE
No queue manager of the cluster can take the message now.
Check the channels of the cluster, then try again.
2271 MQRC_CONN_TAG_IN_USE
The connection tag is in use by another connection.
Wait until that one ends, or use another tag.
2272 MQRC_PARTIALLY_CONVERTED warning
Some headers of the message were converted and some were not.
Look at the format, character set and encoding of each header before it is read.
2273 MQRC_CONNECTION_ERROR
The connection could not be made, or a call on it could not be carried out.
Look in the error log of the queue manager for the cause.
2274 MQRC_OPTION_ENVIRONMENT_ERROR
The option is not possible in the place the call was made from.
Leave out the option.
2277 MQRC_CD_ERROR
The channel definition is not a valid MQCD.
Check its version, transport, name and connection name.
2278 MQRC_CLIENT_CONN_ERROR
The fields that tell a client how to connect contradict each other.
Give the channel definition by offset or by pointer, and only one of the two.
2279 MQRC_CHANNEL_STOPPED_BY_USER warning
An event tells that a channel was stopped by a command.
Start it again when it is wanted.
2280 MQRC_HCONFIG_ERROR
The configuration handle is not valid.
Use the handle that the queue manager passed in.
2281 MQRC_FUNCTION_ERROR
The function is not one that exists here.
Correct the function identifier.
2282 MQRC_CHANNEL_STARTED warning
An event tells that a channel has started.
Nothing needs to be done.
2283 MQRC_CHANNEL_STOPPED warning
An event tells that a channel has stopped.
Look at the rest of the event for the cause.
2284 MQRC_CHANNEL_CONV_ERROR warning
An event tells that a channel could not convert a message.
Look at the rest of the event for the cause.
2285 MQRC_SERVICE_NOT_AVAILABLE
The installable service that is needed is not there.
Check that the service is configured and running.
2286 MQRC_INITIALIZATION_FAILED
A component could not be started.
Look in the error log of the queue manager for the cause.
2287 MQRC_TERMINATION_FAILED
A component could not be ended in order.
Look in the error log of the queue manager for the cause.
2288 MQRC_UNKNOWN_Q_NAME
The name service does not know the queue.
Define the queue where the service looks.
2289 MQRC_SERVICE_ERROR
The installable service failed.
Look in the error log of the queue manager for the cause.
2290 MQRC_Q_ALREADY_EXISTS
The name service knows the queue already.
Use another name, or remove the old entry.
2291 MQRC_USER_ID_NOT_AVAILABLE
The user id of the caller could not be found out.
Check that the user exists on the machine of the queue manager.
2292 MQRC_UNKNOWN_ENTITY
The user or group is not known.
Check the name, or create the user or group.
2293 MQRC_UNKNOWN_AUTH_ENTITY
The user or group whose authority is meant is not known.
Check the name, or create the user or group.
2294 MQRC_UNKNOWN_REF_OBJECT
The object that should serve as the model does not exist.
Check the name of the model.
2295 MQRC_CHANNEL_ACTIVATED warning
An event tells that a channel that had waited could go on.
Nothing needs to be done.
2296 MQRC_CHANNEL_NOT_ACTIVATED warning
An event tells that a channel has to wait for a free place.
Raise the number of active channels, or end some.
2297 MQRC_UOW_CANCELED
The transaction monitor ended the unit of work.
Back out, and do the work again.
2298 MQRC_FUNCTION_NOT_SUPPORTED
The function is not supported here.
Do it another way, or use a queue manager that supports it.
2299 MQRC_SELECTOR_TYPE_ERROR
The selector is not an integer.
Pass an integer selector.
2300 MQRC_COMMAND_TYPE_ERROR
The type of the command is not one that exists.
Use a type such as MQCFT_COMMAND.
2301 MQRC_MULTIPLE_INSTANCE_ERROR
A selector that may occur once occurs several times.
Give it once.
2302 MQRC_SYSTEM_ITEM_NOT_ALTERABLE
The item belongs to the system and cannot be altered.
Alter items of your own only.
2303 MQRC_BAG_CONVERSION_ERROR
The data could not be turned into a bag, or the bag into data.
Check that the message holds valid command structures.
2304 MQRC_SELECTOR_OUT_OF_RANGE
The selector lies outside the range for its type.
Use a selector that belongs to the type of value.
2305 MQRC_SELECTOR_NOT_UNIQUE
The selector occurs more than once in the bag.
Say by index which one is meant.
2306 MQRC_INDEX_NOT_PRESENT
There is no item with that index.
Use an index below the number of items.
2307 MQRC_STRING_ERROR
The string is missing or cannot be used.
Pass a string as long as its length says.
2308 MQRC_ENCODING_NOT_SUPPORTED
The encoding is not supported here.
Use the encoding of the machine.
2309 MQRC_SELECTOR_NOT_PRESENT
The selector does not occur in the bag.
Use a selector that is there.
2310 MQRC_OUT_SELECTOR_ERROR
The place for the selector is missing or cannot be used.
Pass a place for the selector.
2311 MQRC_STRING_TRUNCATED warning
The string did not fit its place, and only its beginning was given.
Ask again with a longer place.
2312 MQRC_SELECTOR_WRONG_TYPE
The item with that selector is of another type.
Ask for it with the call for its type.
2313 MQRC_INCONSISTENT_ITEM_TYPE
Items with the same selector are not of the same type.
Use one type for all items of a selector.
2314 MQRC_INDEX_ERROR
The index is not valid.
Use an index from zero up, or one of the special values.
2315 MQRC_SYSTEM_BAG_NOT_ALTERABLE
The bag belongs to the system and cannot be altered.
Alter bags of your own only.
2316 MQRC_ITEM_COUNT_ERROR
The number of items is not valid.
Give a number from zero up that the bag has.
2317 MQRC_FORMAT_NOT_SUPPORTED
The format of the message is not one that can be handled here.
Use one of the command formats.
2318 MQRC_SELECTOR_NOT_SUPPORTED
The call does not know that system selector.
Use a selector that the call supports.
2319 MQRC_ITEM_VALUE_ERROR
The value of the item is not valid.
Give a value from the range of the item.
2320 MQRC_HBAG_ERROR
The bag handle is not valid.
Use a handle that was given when the bag was made.
2321 MQRC_PARAMETER_MISSING
A parameter that is needed is missing.
Add the parameter.
2322 MQRC_CMD_SERVER_NOT_AVAILABLE
The command server does not run, so commands are not carried out.
Start the command server, then send the command again.
2323 MQRC_STRING_LENGTH_ERROR
The length of the string is not valid.
Give the true length of the string, zero or more.
2324 MQRC_INQUIRY_COMMAND_ERROR
The command is not an inquiry and cannot be used for one.
Use an inquire command.
2325 MQRC_NESTED_BAG_NOT_SUPPORTED
A bag lies within a bag where none may.
Take the inner bag out.
2326 MQRC_BAG_WRONG_TYPE
The bag is of another type than the call needs.
Make the bag with the type for the call.
2327 MQRC_ITEM_TYPE_ERROR
The type of the item is not valid.
Use a type of item that exists.
2328 MQRC_SYSTEM_BAG_NOT_DELETABLE
The bag belongs to the system and cannot be deleted.
Delete bags of your own only.
2329 MQRC_SYSTEM_ITEM_NOT_DELETABLE
The item belongs to the system and cannot be deleted.
Delete items of your own only.
2330 MQRC_CODED_CHAR_SET_ID_ERROR
The character set is not one that can be used here.
Use a character set that is known.
2331 MQRC_MSG_TOKEN_ERROR
The message token is not usable on this queue or with these options.
Use the token of a message on a queue that can be read by token.
2332 MQRC_MISSING_WIH
The queue needs messages with a work header, and this one has none.
Begin the message with an MQWIH.
2333 MQRC_WIH_ERROR
The message begins with a work header that is not valid.
Correct the MQWIH, or the format that announces it.
2334 MQRC_RFH_ERROR
The rules and formatting header is not valid.
Check structure id, version and length of the MQRFH or MQRFH2.
2335 MQRC_RFH_STRING_ERROR
The name and value string of the header cannot be read.
Pair each name with a value, with quotation marks closed.
2336 MQRC_RFH_COMMAND_ERROR
The command in the header is not known.
Use a command that the broker knows.
2337 MQRC_RFH_PARM_ERROR
A parameter in the header does not belong to the command.
Remove it, or correct its name.
2338 MQRC_RFH_DUPLICATE_PARM
A parameter in the header is given twice.
Give it once.
2339 MQRC_RFH_PARM_MISSING
A parameter that the command needs is missing from the header.
Add it.
2340 MQRC_CHAR_CONVERSION_ERROR
Characters could not be converted between the character sets concerned.
Use character sets that have the characters.
2341 MQRC_UCS2_CONVERSION_ERROR
Characters could not be converted to or from UCS-2.
Check the character set that the data claims.
2342 MQRC_DB2_NOT_AVAILABLE
The database of the queue-sharing group cannot be reached.
This reason belongs to z/OS and is not given here.
2343 MQRC_OBJECT_NOT_UNIQUE
The name is defined more than once in the queue-sharing group.
This reason belongs to z/OS and is not given here.
2344 MQRC_CONN_TAG_NOT_RELEASED warning
The program is disconnected while its connection tag is still held by work not resolved.
Nothing needs to be done; the tag is free when that work is resolved.
2345 MQRC_CF_NOT_AVAILABLE
The coupling facility cannot be reached.
This reason belongs to z/OS and is not given here.
2346 MQRC_CF_STRUC_IN_USE
The structure of the coupling facility is in use.
This reason belongs to z/OS and is not given here.
2347 MQRC_CF_STRUC_LIST_HDR_IN_USE
A list of the coupling facility is in use.
This reason belongs to z/OS and is not given here.
2348 MQRC_CF_STRUC_AUTH_FAILED
The structure of the coupling facility may not be used.
This reason belongs to z/OS and is not given here.
2349 MQRC_CF_STRUC_ERROR
The name of the structure of the coupling facility is not valid.
This reason belongs to z/OS and is not given here.
2350 MQRC_CONN_TAG_NOT_USABLE
The connection tag cannot be used at present.
Use another tag, or try again later.
2351 MQRC_GLOBAL_UOW_CONFLICT
The handle already takes part in a different global unit of work.
End that unit of work first, or use another handle.
2352 MQRC_LOCAL_UOW_CONFLICT
A global unit of work was asked for inside a local one.
End the local unit of work first.
2353 MQRC_HANDLE_IN_USE_FOR_UOW
The handle is in use by another unit of work.
End that unit of work first, or use another handle.
2354 MQRC_UOW_ENLISTMENT_ERROR
The queue manager could not join the global unit of work.
Look in the log of the coordinator for the cause.
2355 MQRC_UOW_MIX_NOT_SUPPORTED
The calls of one unit of work were mixed in a way that is not supported.
Keep to one way of coordinating within a unit of work.
2356 MQRC_WXP_ERROR
The exit parameters of the workload exit are not valid.
Pass on the structure that the exit was given.
2357 MQRC_CURRENT_RECORD_ERROR
The current record address is not valid.
Pass an address that the exit was given.
2358 MQRC_NEXT_OFFSET_ERROR
The offset of the next record is not valid.
Pass an offset that the exit was given.
2359 MQRC_NO_RECORD_AVAILABLE
There is no further record.
Stop walking the chain of records.
2360 MQRC_OBJECT_LEVEL_INCOMPATIBLE
The object was defined by a newer release and cannot be used by this one.
Use a release at least as new as the definition.
2361 MQRC_NEXT_RECORD_ERROR
The address of the next record is not valid.
Pass an address for the next record.
2362 MQRC_BACKOUT_THRESHOLD_REACHED
The message was backed out as often as the queue allows and was set aside.
Look at the backout queue or dead-letter queue, and find why it cannot be processed.
2363 MQRC_MSG_NOT_MATCHED
The message was set aside because no consumer would take it.
Look at the dead-letter queue, and check the selectors of the consumers.
2364 MQRC_JMS_FORMAT_ERROR warning
The message is not one that a JMS consumer can read.
Check the headers of the message.
2365 MQRC_SEGMENTS_NOT_SUPPORTED
The call cannot deal with a message in segments.
Ask for the complete message.
2366 MQRC_WRONG_CF_LEVEL
The structure of the coupling facility is too old a level.
This reason belongs to z/OS and is not given here.
2367 MQRC_CONFIG_CREATE_OBJECT warning
An event tells that an object was defined.
Nothing needs to be done.
2368 MQRC_CONFIG_CHANGE_OBJECT warning
An event tells that an object was altered.
Nothing needs to be done.
2369 MQRC_CONFIG_DELETE_OBJECT warning
An event tells that an object was deleted.
Nothing needs to be done.
2370 MQRC_CONFIG_REFRESH_OBJECT warning
An event tells how an object is defined, as asked.
Nothing needs to be done.
2371 MQRC_CHANNEL_SSL_ERROR warning
An event tells that a channel could not set up TLS.
Look at the rest of the event for the cause.
2372 MQRC_PARTICIPANT_NOT_DEFINED
A resource manager of the unit of work is not defined here.
Define it in the configuration of the queue manager.
2373 MQRC_CF_STRUC_FAILED
The structure of the coupling facility failed.
This reason belongs to z/OS and is not given here.
2374 MQRC_API_EXIT_ERROR
An API exit failed, or answered in a way that is not allowed.
Look in the log of the exit.
2375 MQRC_API_EXIT_INIT_ERROR
An API exit could not be started.
Look in the log of the exit.
2376 MQRC_API_EXIT_TERM_ERROR
An API exit could not be ended in order.
Look in the log of the exit.
2377 MQRC_EXIT_REASON_ERROR
The exit was called for a reason it does not know.
Correct the exit.
2378 MQRC_RESERVED_VALUE_ERROR
A reserved field does not hold its reserved value.
Leave reserved fields as their defaults.
2379 MQRC_NO_DATA_AVAILABLE
There is no data.
Try again when there is some.
2380 MQRC_SCO_ERROR
The TLS options are not a valid MQSCO.
Check the structure id and version.
2381 MQRC_KEY_REPOSITORY_ERROR
The key repository cannot be found, opened or read.
Check its name, its file permissions and its password.
2382 MQRC_CRYPTO_HARDWARE_ERROR
The cryptographic hardware is not set up rightly or failed.
Correct its configuration string, or leave it out.
2383 MQRC_AUTH_INFO_REC_COUNT_ERROR
The number of authentication records is not valid.
Give the number of records there are.
2384 MQRC_AUTH_INFO_REC_ERROR
The authentication records are missing or given twice over.
Give them by offset or by pointer, and only one of the two.
2385 MQRC_AIR_ERROR
An authentication record is not a valid MQAIR.
Check its structure id and version.
2386 MQRC_AUTH_INFO_TYPE_ERROR
The type of the authentication record is not one that exists.
Use one of the MQAIT_ types.
2387 MQRC_AUTH_INFO_CONN_NAME_ERROR
The connection name of the authentication record is not valid.
Give a host, and a port if it is not the usual one.
2388 MQRC_LDAP_USER_NAME_ERROR
The LDAP user name is missing or given twice over.
Give it by offset or by pointer, and only one of the two.
2389 MQRC_LDAP_USER_NAME_LENGTH_ERR
The length of the LDAP user name is not valid.
Give the true length of the name.
2390 MQRC_LDAP_PASSWORD_ERROR
The LDAP password is not valid.
Correct the password.
2391 MQRC_SSL_ALREADY_INITIALIZED warning
TLS is already set up in this process, and the new settings were not used.
Use the same settings for all connections of a process.
2392 MQRC_SSL_CONFIG_ERROR
The TLS settings contradict each other or cannot be used.
Check cipher, key repository and certificates of both ends.
2393 MQRC_SSL_INITIALIZATION_ERROR
The TLS connection could not be set up.
Look in the error logs of both ends for the cause.
2394 MQRC_Q_INDEX_TYPE_ERROR
The queue is not indexed in the way the get needs.
Alter the index type of the queue, or match on another identifier.
2395 MQRC_CFBS_ERROR
A byte string in the command is not a valid MQCFBS.
Check its length and string length.
2396 MQRC_SSL_NOT_ALLOWED
TLS was asked for where it is not possible.
Leave TLS out of this connection.
2397 MQRC_JSSE_ERROR
The TLS layer of a Java client failed.
Look at the exception of that client.
2398 MQRC_SSL_PEER_NAME_MISMATCH
The name in the certificate of the partner is not the one that is demanded.
Correct the name demanded, or find out who answered.
2399 MQRC_SSL_PEER_NAME_ERROR
The name demanded of the partner is not a valid pattern.
Correct the pattern of the peer name.
2400 MQRC_UNSUPPORTED_CIPHER_SUITE
The cipher is not supported here.
Use a cipher that both ends support.
2401 MQRC_SSL_CERTIFICATE_REVOKED
The certificate of the partner has been revoked.
Get a new certificate for the partner.
2402 MQRC_SSL_CERT_STORE_ERROR
No store of revocation lists could be searched.
Check that a server for them can be reached.
2406 MQRC_CLIENT_EXIT_LOAD_ERROR
An exit of the client could not be loaded.
Check the name and the place of its module.
2407 MQRC_CLIENT_EXIT_ERROR
An exit of the client failed.
Look in the log of the exit.
2408 MQRC_UOW_COMMITTED warning
The unit of work was committed, though a backout was asked for.
Look at what was done, and undo it by hand where needed.
2409 MQRC_SSL_KEY_RESET_ERROR
The number of bytes before the TLS key is renewed is not valid.
Give a number within the range of the field.
2410 MQRC_UNKNOWN_COMPONENT_NAME
The component is not known.
Check its name.
2411 MQRC_LOGGER_STATUS warning
An event tells the state of the log.
Archive or remove log extents as it says.
2412 MQRC_COMMAND_MQSC warning
An event tells that an MQSC command was carried out.
Nothing needs to be done.
2413 MQRC_COMMAND_PCF warning
An event tells that a PCF command was carried out.
Nothing needs to be done.
2414 MQRC_CFIF_ERROR
An integer filter in the command is not a valid MQCFIF.
Check its length and operator.
2415 MQRC_CFSF_ERROR
A string filter in the command is not a valid MQCFSF.
Check its lengths and operator.
2416 MQRC_CFGR_ERROR
A group in the command is not a valid MQCFGR.
Check its length and parameter count.
2417 MQRC_MSG_NOT_ALLOWED_IN_GROUP
The message may not be part of a group.
Put it without the group flags.
2418 MQRC_FILTER_OPERATOR_ERROR
The operator of the filter is not one that exists.
Use one of the MQCFOP_ operators that fits the type.
2419 MQRC_NESTED_SELECTOR_ERROR
The selector of a nested item is not valid.
Use a group selector.
2420 MQRC_EPH_ERROR
The message begins with an embedded command header that is not valid.
Correct the MQEPH, or the format that announces it.
2421 MQRC_RFH_FORMAT_ERROR warning
The property folders of an MQRFH2 cannot be read.
Have the sender write well-formed folders.
2422 MQRC_CFBF_ERROR
A byte string filter in the command is not a valid MQCFBF.
Check its lengths and operator.
2423 MQRC_CLIENT_CHANNEL_CONFLICT
The client was told of its channel in two ways at once.
Use the channel table or the channel definition, not both.
2424 MQRC_SD_ERROR
The subscription descriptor is not a valid MQSD.
Check the structure id and version, and start from the default values.
2425 MQRC_TOPIC_STRING_ERROR
The full topic string is not valid, or is too long.
Check the topic object and the topic string that are joined to make it.
2426 MQRC_STS_ERROR
The status structure is not a valid MQSTS.
Check the structure id and version.
2428 MQRC_NO_SUBSCRIPTION
There is no subscription of that name, or it cannot be used here.
Check the name, or make the subscription with MQSO_CREATE.
2429 MQRC_SUBSCRIPTION_IN_USE
Another program has the subscription open.
Wait until it closes it, or use a subscription of your own.
2430 MQRC_STAT_TYPE_ERROR
The type of status asked for is not one that exists.
Use one of the MQSTAT_TYPE_ values.
2431 MQRC_SUB_USER_DATA_ERROR
The user data of the subscription is not a valid variable string.
Check its length and pointer.
2432 MQRC_SUB_ALREADY_EXISTS
A subscription of that name exists already.
Resume or alter it, or use another name.
2434 MQRC_IDENTITY_MISMATCH
The subscription belongs to another user.
Use the user who made it, or make it open to any user.
2435 MQRC_ALTER_SUB_ERROR
The subscription was made in a way that cannot be altered.
Remove it and make it anew.
2436 MQRC_DURABILITY_NOT_ALLOWED
The topic does not allow durable subscriptions, or the destination cannot keep one.
Subscribe without durability, or alter the topic.
2437 MQRC_NO_RETAINED_MSG
No publication is retained for the topic.
Nothing needs to be done; wait for the next publication.
2438 MQRC_SRO_ERROR
The subscription request options are not a valid MQSRO.
Check the structure id and version.
2440 MQRC_SUB_NAME_ERROR
The subscription name is missing, or is not a valid variable string.
Give a name for a durable subscription.
2441 MQRC_OBJECT_STRING_ERROR
The object string is not a valid variable string.
Check its length and pointer.
2442 MQRC_PROPERTY_NAME_ERROR
The property name is not one that may be used.
Use a name of letters, digits and dots that does not begin with a reserved word.
2443 MQRC_SEGMENTATION_NOT_ALLOWED
The message may not be split into segments here.
Put it whole, or on a queue that allows segments.
2444 MQRC_CBD_ERROR
The callback descriptor is not a valid MQCBD.
Check the structure id and version.
2445 MQRC_CTLO_ERROR
The control options are not a valid MQCTLO.
Check the structure id and version.
2446 MQRC_NO_CALLBACKS_ACTIVE
There is no callback left that is not suspended.
Register or resume a callback before starting the connection.
2448 MQRC_CALLBACK_NOT_REGISTERED
No callback is registered for that handle.
Register one first.
2457 MQRC_OPTIONS_CHANGED
An option of the handle cannot change while messages are read ahead.
Use the same options as the first get.
2458 MQRC_READ_AHEAD_MSGS warning
The handle is not closed because messages read ahead are still to be got.
Get them, then close again.
2459 MQRC_SELECTOR_SYNTAX_ERROR
The selection string cannot be understood.
Correct its syntax; it follows the rules of JMS selectors.
2460 MQRC_HMSG_ERROR
The message handle is not valid, or belongs to another connection.
Use a handle that was made on this connection and is not deleted.
2461 MQRC_CMHO_ERROR
The options for making a message handle are not a valid MQCMHO.
Check the structure id and version.
2462 MQRC_DMHO_ERROR
The options for deleting a message handle are not a valid MQDMHO.
Check the structure id and version.
2463 MQRC_SMPO_ERROR
The options for setting a property are not a valid MQSMPO.
Check the structure id and version.
2464 MQRC_IMPO_ERROR
The options for inquiring a property are not a valid MQIMPO.
Check the structure id and version.
2465 MQRC_PROPERTY_NAME_TOO_BIG
The name of the property did not fit its place, and only its beginning was given.
Ask again with a longer place for the name.
2466 MQRC_PROP_VALUE_NOT_CONVERTED warning
The value of the property was given unconverted.
Look at the character set and encoding that came with it.
2467 MQRC_PROP_TYPE_NOT_SUPPORTED warning
The property is of a type that is not known, and was given as a string.
Look at the type string that came with it.
2469 MQRC_PROPERTY_VALUE_TOO_BIG
The value of the property does not fit its place.
Ask again with a place of the length that was given back.
2470 MQRC_PROP_CONV_NOT_SUPPORTED
The value of the property cannot be turned into the type asked for.
Ask for its own type, or for a string.
2471 MQRC_PROPERTY_NOT_AVAILABLE
The message has no such property, or no further one.
Check the name, or stop going through the properties.
2472 MQRC_PROP_NUMBER_FORMAT_ERROR
The value of the property is not a number that fits the type asked for.
Ask for a string, and look at what it holds.
2473 MQRC_PROPERTY_TYPE_ERROR
The type of the property is not one that may be used here.
Use one of the MQTYPE_ types that the property allows.
2478 MQRC_PROPERTIES_TOO_BIG
The properties of the message are longer than the queue manager accepts.
Set fewer or shorter properties, or raise MAXPROPL.
2479 MQRC_PUT_NOT_RETAINED
The publication could not be retained, and was not published.
Check the queue that keeps retained publications, or publish without retaining.
2480 MQRC_ALIAS_TARGTYPE_CHANGED
The alias now stands for another type of target than when the subscription was made.
Remove the subscription and make it anew.
2481 MQRC_DMPO_ERROR
The options for deleting a property are not a valid MQDMPO.
Check the structure id and version.
2482 MQRC_PD_ERROR
The property descriptor is not a valid MQPD.
Check the structure id, the version and the support, context and copy options.
2483 MQRC_CALLBACK_TYPE_ERROR
The type of callback is not one that exists.
Use MQCBT_MESSAGE_CONSUMER or MQCBT_EVENT_HANDLER.
2484 MQRC_CBD_OPTIONS_ERROR
The options of the callback hold a bit that does not exist.
Use MQCBDO_ options only.
2485 MQRC_MAX_MSG_LENGTH_ERROR
The longest message length of the callback is not valid.
Give a length from zero up, or MQCBD_FULL_MSG_LENGTH.
2486 MQRC_CALLBACK_ROUTINE_ERROR
The callback names no function, or names it in two ways.
Give a function or a name, and only one of the two.
2487 MQRC_CALLBACK_LINK_ERROR
The function of the callback could not be called.
Check that it exists and can be loaded.
2488 MQRC_OPERATION_ERROR
The operation is not one that exists.
Use one of the MQOP_ operations.
2489 MQRC_BMHO_ERROR
The options for taking properties from a buffer are not a valid MQBMHO.
Check the structure id and version.
2490 MQRC_UNSUPPORTED_PROPERTY
The message has a property that must be understood and is not.
Remove the property, or send to a queue manager that understands it.
2491 MQRC_MSG_LENGTH_ERROR
The message length does not fit its headers.
Correct the lengths in the headers.
2492 MQRC_PROP_NAME_NOT_CONVERTED warning
The name of the property was given unconverted.
Look at the character set that came with it.
2494 MQRC_GET_ENABLED warning
A callback is told that gets are allowed on its queue again.
Nothing needs to be done.
2495 MQRC_MODULE_NOT_FOUND
The module could not be found.
Check its name and the search path.
2496 MQRC_MODULE_INVALID
The module is not one that can be loaded here.
Use a module built for this machine.
2497 MQRC_MODULE_ENTRY_NOT_FOUND
The module has no such entry point.
Check the name of the function.
2498 MQRC_MIXED_CONTENT_NOT_ALLOWED
A property folder holds both text and elements in one place.
Have the sender write one or the other.
2499 MQRC_MSG_HANDLE_IN_USE
Another call is using the message handle.
Use a handle in one call at a time.
2500 MQRC_HCONN_ASYNC_ACTIVE
The call is not possible while callbacks are started on the connection.
Stop or suspend the connection first, or call from within the callback.
2501 MQRC_MHBO_ERROR
The options for writing properties to a buffer are not a valid MQMHBO.
Check the structure id and version.
2502 MQRC_PUBLICATION_FAILURE
The publication could not be given to every subscription it must reach, and none got it.
Look for full or inhibited queues among the subscriptions.
2503 MQRC_SUB_INHIBITED
Subscriptions to the topic are inhibited.
Wait, or allow them with ALTER TOPIC SUB(ENABLED).
2504 MQRC_SELECTOR_ALWAYS_FALSE
The selection string can never be true.
Correct the string, or leave it out.
2507 MQRC_XEPO_ERROR
The entry point options of an exit are not a valid MQXEPO.
Check the structure id and version.
2509 MQRC_DURABILITY_NOT_ALTERABLE
A subscription cannot be altered between durable and not durable.
Use the durability it was made with.
2510 MQRC_TOPIC_NOT_ALTERABLE
The topic of a subscription cannot be altered.
Use the topic it was made with, or make a new subscription.
2512 MQRC_SUBLEVEL_NOT_ALTERABLE
The level of a subscription cannot be altered.
Use the level it was made with.
2513 MQRC_PROPERTY_NAME_LENGTH_ERR
The length of the property name is not valid.
Give a length from zero to 4,095.
2514 MQRC_DUPLICATE_GROUP_SUB
A grouped subscription to that topic with that destination exists already.
Use the one there is.
2515 MQRC_GROUPING_NOT_ALTERABLE
A subscription cannot be altered between grouped and not grouped.
Use the grouping it was made with.
2516 MQRC_SELECTOR_INVALID_FOR_TYPE
A selection string was given where none can be used.
Leave it out.
2517 MQRC_HOBJ_QUIESCED
The handle was quiesced and still has messages to be got.
Get them, then close the handle.
2518 MQRC_HOBJ_QUIESCED_NO_MSGS
The handle was quiesced and has no further messages.
Close the handle.
2519 MQRC_SELECTION_STRING_ERROR
The selection string is not a valid variable string, or is too long.
Check its length and pointer.
2520 MQRC_RES_OBJECT_STRING_ERROR
The place for the resolved object string is not a valid variable string.
Check its length and pointer.
2521 MQRC_CONNECTION_SUSPENDED warning
Callbacks of the connection are suspended.
Resume the connection.
2522 MQRC_INVALID_DESTINATION
The destination is not one that publications can be sent to.
Use a local or remote queue that is open for output.
2523 MQRC_INVALID_SUBSCRIPTION
The subscription cannot be used for this.
Use a subscription of the right kind, or make one anew.
2524 MQRC_SELECTOR_NOT_ALTERABLE
The selection string of a subscription cannot be altered.
Use the string it was made with, or make a new subscription.
2525 MQRC_RETAINED_MSG_Q_ERROR
The retained publications could not be read from their queue.
Check SYSTEM.RETAINED.PUB.QUEUE, or ask for new publications only.
2526 MQRC_RETAINED_NOT_DELIVERED
The retained publications could not be put to the destination nor to the dead-letter queue.
Make room on the destination, then subscribe again.
2527 MQRC_RFH_RESTRICTED_FORMAT_ERR
A reserved property folder is not in its set form.
Have the sender write it by the rules, or leave it out.
2528 MQRC_CONNECTION_STOPPED
Callbacks of the connection were stopped.
Start the connection again if that was not meant.
2529 MQRC_ASYNC_UOW_CONFLICT
Callbacks on several connections would take part in one unit of work.
Use a connection of its own for each unit of work.
2530 MQRC_ASYNC_XA_CONFLICT
Callbacks cannot be used together with this external coordinator.
Get without callbacks, or without the coordinator.
2531 MQRC_PUBSUB_INHIBITED
Publish and subscribe is switched off.
Switch it on with ALTER QMGR PSMODE(ENABLED).
2532 MQRC_MSG_HANDLE_COPY_FAILURE
The message could not be got through the handle because its properties could not be copied.
Look at the properties, or get without a message handle.
2533 MQRC_DEST_CLASS_NOT_ALTERABLE
A subscription cannot be altered between a managed and a given destination.
Use the kind of destination it was made with.
2534 MQRC_OPERATION_NOT_ALLOWED
The operation is not allowed in the present state of the callback.
Check whether it is registered, suspended or started.
2535 MQRC_ACTION_ERROR
The action is not one that can be carried out on these message handles.
Use one of the MQACTP_ actions that fits the handles given.
2537 MQRC_CHANNEL_NOT_AVAILABLE
The channel was found but cannot be used now.
Check that the channel is not stopped at the queue manager, then try again.
2538 MQRC_HOST_NOT_AVAILABLE
The host did not answer, or refused the connection.
Check host and port, the network, and that the listener runs.
2539 MQRC_CHANNEL_CONFIG_ERROR
The two ends of the channel are set up in ways that do not fit.
Compare the definitions at both ends and correct one of them.
2540 MQRC_UNKNOWN_CHANNEL_NAME
The queue manager has no channel of that name.
Check the name, or define a server-connection channel.
2541 MQRC_LOOPING_PUBLICATION
A publication came back to a queue manager that it had passed already.
Change the routes between the queue managers so that they form no circle.
2542 MQRC_ALREADY_JOINED
The subscriber has joined this subscription already.
Nothing needs to be done.
2543 MQRC_STANDBY_Q_MGR
The queue manager that answered is a standby and takes no connections.
Connect to the active one.
2544 MQRC_RECONNECTING warning
The connection was lost and is being made again.
Wait, or stop the attempt.
2545 MQRC_RECONNECTED ok
The connection was made again, with all its handles.
Set up anew what does not survive a reconnection.
2546 MQRC_RECONNECT_QMID_MISMATCH
The connection was to be made again to the same queue manager, and another one answered.
Connect anew, or allow any queue manager.
2547 MQRC_RECONNECT_INCOMPATIBLE
An option was used that cannot be kept across a reconnection.
Leave out the option, or turn reconnection off.
2548 MQRC_RECONNECT_FAILED
The connection could not be made again.
Connect anew when the queue manager is back.
2549 MQRC_CALL_INTERRUPTED
The connection was made again during the call, and whether the call took effect is not known.
Back out and do the unit of work again, or look for duplicates.
2550 MQRC_NO_SUBS_MATCHED warning
The publication matched no subscription.
Nothing needs to be done if no subscriber was expected.
2551 MQRC_SELECTION_NOT_AVAILABLE
The selection string needs an extended selector, and there is none to evaluate it.
Select on properties and fields, not on the content of the message.
2552 MQRC_CHANNEL_SSL_WARNING warning
An event tells of a TLS problem that did not stop the channel.
Look at the rest of the event for the cause.
2553 MQRC_OCSP_URL_ERROR
The address of the OCSP responder is not valid.
Correct the address.
2554 MQRC_CONTENT_ERROR
The content of the message could not be read for selection.
Check that the format of the message tells what the data is.
2555 MQRC_RECONNECT_Q_MGR_REQD
The option needs a connection that goes back to the same queue manager.
Connect with MQCNO_RECONNECT_Q_MGR, or leave out the option.
2556 MQRC_RECONNECT_TIMED_OUT
The connection could not be made again in the time allowed.
Connect anew, or allow more time.
2557 MQRC_PUBLISH_EXIT_ERROR
The publish exit failed.
Look in the log of the exit.
2558 MQRC_COMMINFO_ERROR
The communication information object for multicast is not valid.
Correct the object that the topic names.
2559 MQRC_DEF_SYNCPOINT_INHIBITED
A call that named no syncpoint option was refused, as the queue manager is set to do.
Say MQPMO_SYNCPOINT or MQPMO_NO_SYNCPOINT, or the same for a get.
2560 MQRC_MULTICAST_ONLY
The topic can be used by multicast only.
Subscribe by multicast.
2561 MQRC_DATA_SET_NOT_AVAILABLE
The data set of a shared message cannot be reached.
This reason belongs to z/OS and is not given here.
2562 MQRC_GROUPING_NOT_ALLOWED
Grouping of messages is not possible here.
Put the messages without a group.
2563 MQRC_GROUP_ADDRESS_ERROR
The multicast group address is not valid.
Correct the address.
2564 MQRC_MULTICAST_CONFIG_ERROR
The multicast settings are not valid.
Correct the settings of topic and communication information.
2565 MQRC_MULTICAST_INTERFACE_ERROR
The network interface for multicast cannot be used.
Check the interface.
2566 MQRC_MULTICAST_SEND_ERROR
A multicast message could not be sent.
Check the network.
2567 MQRC_MULTICAST_INTERNAL_ERROR
Multicast failed inside.
Look in the error log for the cause.
2568 MQRC_CONNECTION_NOT_AVAILABLE
No connection of the pool is free.
Give connections back, or enlarge the pool.
2569 MQRC_SYNCPOINT_NOT_ALLOWED
The call may not be part of a unit of work here.
Leave out the syncpoint option.
2570 MQRC_SSL_ALT_PROVIDER_REQUIRED
The certificate or cipher needs another TLS provider.
Set up the other provider, or use another certificate.
2571 MQRC_MCAST_PUB_STATUS warning
A report tells the state of a multicast publisher.
Look at the rest of the report.
2572 MQRC_MCAST_SUB_STATUS warning
A report tells the state of a multicast subscriber.
Look at the rest of the report.
2573 MQRC_PRECONN_EXIT_LOAD_ERROR
The exit before connecting could not be loaded.
Check the name and the place of its module.
2574 MQRC_PRECONN_EXIT_NOT_FOUND
The entry point of the exit before connecting was not found.
Correct the name of the function.
2575 MQRC_PRECONN_EXIT_ERROR
The exit before connecting failed.
Look in the log of the exit.
2576 MQRC_CD_ARRAY_ERROR
The channel definitions that an exit gave are not valid.
Correct the exit.
2577 MQRC_CHANNEL_BLOCKED warning
An event tells that a channel was blocked by its authentication records.
Look at the rest of the event for who was blocked.
2578 MQRC_CHANNEL_BLOCKED_WARNING warning
An event tells that a channel would have been blocked if warnings were off.
Look at the rest of the event for who would be blocked.
2579 MQRC_SUBSCRIPTION_CREATE warning
A report tells that a subscription was made.
Nothing needs to be done.
2580 MQRC_SUBSCRIPTION_DELETE warning
A report tells that a subscription was deleted.
Nothing needs to be done.
2581 MQRC_SUBSCRIPTION_CHANGE warning
A report tells that a subscription was altered.
Nothing needs to be done.
2582 MQRC_SUBSCRIPTION_REFRESH warning
A report tells of a subscription that exists, as asked.
Nothing needs to be done.
2583 MQRC_INSTALLATION_MISMATCH
The program and the queue manager belong to different installations.
Use the library of the installation that runs the queue manager.
2584 MQRC_NOT_PRIVILEGED
The user lacks the special right that the call needs.
Have a privileged user do it.
2586 MQRC_PROPERTIES_DISABLED
Properties are switched off for the connection.
Switch them on, or leave them out.
2587 MQRC_HMSG_NOT_AVAILABLE
There are as many message handles as may exist.
Delete handles that are no longer needed.
2588 MQRC_EXIT_PROPS_NOT_SUPPORTED
The exit cannot deal with message properties.
Use a newer exit, or leave properties out.
2589 MQRC_INSTALLATION_MISSING
The installation of the queue manager could not be found.
Check the installation.
2590 MQRC_FASTPATH_NOT_AVAILABLE
A fast-path connection is not possible.
Connect in the standard way.
2591 MQRC_CIPHER_SPEC_NOT_SUITE_B
The cipher does not meet Suite B.
Use a cipher that does, or turn the demand off.
2592 MQRC_SUITE_B_ERROR
The Suite B setting is not valid.
Use a combination of strengths that exists.
2593 MQRC_CERT_VAL_POLICY_ERROR
The certificate validation policy is not valid.
Use a policy that exists.
2594 MQRC_PASSWORD_PROTECTION_ERROR
The two ends could not agree how to protect the password.
Use TLS, or set password protection alike at both ends.
2595 MQRC_CSP_ERROR
The security parameters are not a valid MQCSP.
Check the structure id, the version and the lengths of user id and password.
2596 MQRC_CERT_LABEL_NOT_ALLOWED
A certificate label was given where none may be.
Leave it out.
2598 MQRC_ADMIN_TOPIC_STRING_ERROR
The topic string begins with $SYS/MQ/ and does not follow the rules of that tree.
Correct the string; wildcards are limited there.
2599 MQRC_AMQP_NOT_AVAILABLE
The AMQP service is not there.
Install and start it.
2600 MQRC_CCDT_URL_ERROR
The channel table could not be fetched from its address.
Check the address, and that the file can be read.
2601 MQRC_Q_MGR_RECONNECT_REQUESTED warning
The queue manager asked the program to connect again elsewhere.
Nothing needs to be done; reconnection goes by itself.
2602 MQRC_BNO_ERROR
The balancing options are not a valid MQBNO.
Check the structure id and version.
2603 MQRC_OUTBOUND_SNI_NOT_VALID
The setting for the server name sent in TLS is not valid.
Use CHANNEL or HOSTNAME.
2604 MQRC_HTTPS_KEYSTORE_ERROR
The key store for HTTPS cannot be used.
Check its name, its file permissions and its password.
29440 MQRC_SUB_JOIN_NOT_ALTERABLE
A subscription cannot be altered between joined and not joined.
Use the option it was made with.
"""
