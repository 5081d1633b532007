"""Meaning and remedy of each reason of a refused command. `model.reasons` reads these lines."""

from __future__ import annotations

from typing import Final

SENTENCES: Final = """\
3001 MQRCCF_CFH_TYPE_ERROR
The type in the command header is not one that can be used.
Use MQCFT_COMMAND or MQCFT_COMMAND_XR.
3002 MQRCCF_CFH_LENGTH_ERROR
The length in the command header is not 36.
Set StrucLength to MQCFH_STRUC_LENGTH.
3003 MQRCCF_CFH_VERSION_ERROR
The version of the command header is not supported.
Use version 1, or version 3 with MQCFT_COMMAND_XR.
3004 MQRCCF_CFH_MSG_SEQ_NUMBER_ERR
The message sequence number of the command is not 1.
Send a command in one message with the number 1.
3005 MQRCCF_CFH_CONTROL_ERROR
The control field of the command is not MQCFC_LAST.
Send a command in one message marked as the last.
3006 MQRCCF_CFH_PARM_COUNT_ERROR
The parameter count of the command is not valid.
Set it to the number of structures that follow.
3007 MQRCCF_CFH_COMMAND_ERROR
The command is not known.
Use one of the MQCMD_ commands.
3008 MQRCCF_COMMAND_FAILED
The command failed.
Look at the other replies to the command for the cause.
3009 MQRCCF_CFIN_LENGTH_ERROR
The length of an integer parameter is not 16.
Set StrucLength to MQCFIN_STRUC_LENGTH.
3010 MQRCCF_CFST_LENGTH_ERROR
The length of a string parameter does not fit its string.
Set StrucLength to the fixed part plus the string, rounded up to four.
3011 MQRCCF_CFST_STRING_LENGTH_ERR
The string of a parameter is longer than the parameter allows.
Shorten the string.
3012 MQRCCF_FORCE_VALUE_ERROR
The force option is not a value that exists.
Use MQFC_YES or MQFC_NO.
3013 MQRCCF_STRUCTURE_TYPE_ERROR
A structure of the command is of a type that may not stand there.
Use the type that the parameter has.
3014 MQRCCF_CFIN_PARM_ID_ERROR
An integer parameter does not belong to the command.
Remove it, or correct its identifier.
3015 MQRCCF_CFST_PARM_ID_ERROR
A string parameter does not belong to the command.
Remove it, or correct its identifier.
3016 MQRCCF_MSG_LENGTH_ERROR
The length of the command message does not fit its structures.
Make the message as long as its structures together.
3017 MQRCCF_CFIN_DUPLICATE_PARM
An integer parameter is given twice.
Give it once.
3018 MQRCCF_CFST_DUPLICATE_PARM
A string parameter is given twice.
Give it once.
3019 MQRCCF_PARM_COUNT_TOO_SMALL
The command has fewer parameters than it needs.
Add the required parameters.
3020 MQRCCF_PARM_COUNT_TOO_BIG
The command has more parameters than it can have.
Remove those that do not belong to it.
3021 MQRCCF_Q_ALREADY_IN_CELL
The queue is already known in the cell.
Use another name, or another scope.
3022 MQRCCF_Q_TYPE_ERROR
The queue type is not one that exists, or not that of the queue.
Use the type that the queue has.
3023 MQRCCF_MD_FORMAT_ERROR
The format of the command message is not MQFMT_ADMIN.
Set Format to MQFMT_ADMIN.
3024 MQRCCF_CFSL_LENGTH_ERROR
The length of a string list does not fit its strings.
Set StrucLength to the fixed part plus the strings, rounded up to four.
3025 MQRCCF_REPLACE_VALUE_ERROR
The replace option is not a value that exists.
Use MQRP_YES or MQRP_NO.
3026 MQRCCF_CFIL_DUPLICATE_VALUE
A value occurs twice in an integer list.
Give it once.
3027 MQRCCF_CFIL_COUNT_ERROR
The count of an integer list is not valid.
Set it to the number of integers in the list.
3028 MQRCCF_CFIL_LENGTH_ERROR
The length of an integer list does not fit its count.
Set StrucLength to 16 plus four for each integer.
3029 MQRCCF_MODE_VALUE_ERROR
The mode is not a value that exists.
Use MQMODE_QUIESCE, MQMODE_FORCE or MQMODE_TERMINATE.
3030 MQRCCF_MSG_SEQ_NUMBER_ERROR
The sequence number for the channel is not valid.
Give a number from 1 to 999,999,999.
3031 MQRCCF_PING_DATA_COUNT_ERROR
The number of bytes for the ping is not valid.
Give a number from 16 to 32,768.
3032 MQRCCF_PING_DATA_COMPARE_ERROR
The data that came back from the ping differs from what was sent.
Look for an exit or a network fault that changes data.
3033 MQRCCF_CFSL_PARM_ID_ERROR
A string list does not belong to the command.
Remove it, or correct its identifier.
3034 MQRCCF_CHANNEL_TYPE_ERROR
The channel type is not one that exists, or not that of the channel.
Use the type that the channel has.
3035 MQRCCF_PARM_SEQUENCE_ERROR
The parameters are not in the order that the command needs.
Put the required parameters first.
3036 MQRCCF_XMIT_PROTOCOL_TYPE_ERR
The transport type is not one that can be used.
Use MQXPT_TCP.
3037 MQRCCF_BATCH_SIZE_ERROR
The batch size is out of range.
Give a number from 1 to 9,999.
3038 MQRCCF_DISC_INT_ERROR
The disconnect interval is out of range.
Give seconds from 0 to 999,999.
3039 MQRCCF_SHORT_RETRY_ERROR
The short retry count is out of range.
Give a number from 0 to 999,999,999.
3040 MQRCCF_SHORT_TIMER_ERROR
The short retry interval is out of range.
Give seconds from 0 to 999,999,999.
3041 MQRCCF_LONG_RETRY_ERROR
The long retry count is out of range.
Give a number from 0 to 999,999,999.
3042 MQRCCF_LONG_TIMER_ERROR
The long retry interval is out of range.
Give seconds from 0 to 999,999,999.
3043 MQRCCF_SEQ_NUMBER_WRAP_ERROR
The number at which sequence numbers wrap is out of range.
Give a number from 100 to 999,999,999.
3044 MQRCCF_MAX_MSG_LENGTH_ERROR
The longest message length is out of range.
Give bytes from 0 up to the limit of the queue manager.
3045 MQRCCF_PUT_AUTH_ERROR
The put authority of the channel is not a value that exists.
Use MQPA_DEFAULT or MQPA_CONTEXT.
3046 MQRCCF_PURGE_VALUE_ERROR
The purge option is not a value that exists.
Use MQPO_YES or MQPO_NO.
3047 MQRCCF_CFIL_PARM_ID_ERROR
An integer list does not belong to the command.
Remove it, or correct its identifier.
3048 MQRCCF_MSG_TRUNCATED
The command message was too long to be read whole.
Send a shorter command.
3049 MQRCCF_CCSID_ERROR
The character set of the command message is not known.
Use a character set that is known.
3050 MQRCCF_ENCODING_ERROR
The encoding of the command message is not known.
Use a known encoding.
3051 MQRCCF_QUEUES_VALUE_ERROR
The queues option is not a value that exists.
Use MQQO_YES or MQQO_NO.
3052 MQRCCF_DATA_CONV_VALUE_ERROR
The data conversion option of the channel is not a value that exists.
Use MQCDC_SENDER_CONVERSION or MQCDC_NO_SENDER_CONVERSION.
3053 MQRCCF_INDOUBT_VALUE_ERROR
The in-doubt option is not a value that exists.
Use MQIDO_COMMIT or MQIDO_BACKOUT.
3054 MQRCCF_ESCAPE_TYPE_ERROR
The escape type is not a value that exists.
Use MQET_MQSC.
3055 MQRCCF_REPOS_VALUE_ERROR
The repository option is not a value that exists.
Use one of the MQCFO_REFRESH values.
3062 MQRCCF_CHANNEL_TABLE_ERROR
The channel table is not a value that exists.
Use MQCHTAB_Q_MGR or MQCHTAB_CLNTCONN.
3063 MQRCCF_MCA_TYPE_ERROR
The type of the channel agent is not a value that exists.
Use MQMCAT_PROCESS or MQMCAT_THREAD.
3064 MQRCCF_CHL_INST_TYPE_ERROR
The type of channel instance is not a value that exists.
Use MQOT_CURRENT_CHANNEL, MQOT_SAVED_CHANNEL or MQOT_SHORT_CHANNEL.
3065 MQRCCF_CHL_STATUS_NOT_FOUND
There is no status for the channel.
Start the channel first, or check its name.
3066 MQRCCF_CFSL_DUPLICATE_PARM
A string list is given twice.
Give it once.
3067 MQRCCF_CFSL_TOTAL_LENGTH_ERROR
The strings of a list are too long together.
Give fewer or shorter strings.
3068 MQRCCF_CFSL_COUNT_ERROR
The count of a string list is not valid.
Set it to the number of strings in the list.
3069 MQRCCF_CFSL_STRING_LENGTH_ERR
The string length of a string list is not valid.
Set it to the length of the longest string.
3070 MQRCCF_BROKER_DELETED
The broker has been deleted.
Use another broker.
3071 MQRCCF_STREAM_ERROR
The stream is not valid.
Correct the name of the stream.
3072 MQRCCF_TOPIC_ERROR
The topic is missing or not valid.
Correct the topic.
3073 MQRCCF_NOT_REGISTERED
The sender is not registered.
Register first.
3074 MQRCCF_Q_MGR_NAME_ERROR
The name of the queue manager is not valid.
Correct the name.
3075 MQRCCF_INCORRECT_STREAM
The stream is not the one of the queue the message was put to.
Put to the queue of the stream.
3076 MQRCCF_Q_NAME_ERROR
The queue name is not valid.
Correct the name.
3077 MQRCCF_NO_RETAINED_MSG
No publication is retained for the topic.
Wait for the next publication.
3078 MQRCCF_DUPLICATE_IDENTITY
The identity is in use already.
Use another identity.
3079 MQRCCF_INCORRECT_Q
The command was sent to the wrong queue.
Send it to the queue of the broker.
3080 MQRCCF_CORREL_ID_ERROR
The correlation identifier is needed and missing.
Give one, or leave out the option that needs it.
3081 MQRCCF_NOT_AUTHORIZED
The user may not do this.
Have the authority given to the user.
3082 MQRCCF_UNKNOWN_STREAM
The stream is not known.
Check its name, or make it.
3083 MQRCCF_REG_OPTIONS_ERROR
The registration options are not valid.
Use MQREGO_ options in a combination that makes sense.
3084 MQRCCF_PUB_OPTIONS_ERROR
The publication options are not valid.
Use MQPUBO_ options in a combination that makes sense.
3085 MQRCCF_UNKNOWN_BROKER
The broker is not known.
Check its name.
3086 MQRCCF_Q_MGR_CCSID_ERROR
The character set of the queue manager is not one that can be used.
Alter CCSID of the queue manager.
3087 MQRCCF_DEL_OPTIONS_ERROR
The deletion options are not valid.
Use MQDELO_ options.
3088 MQRCCF_CLUSTER_NAME_CONFLICT
A cluster name and a cluster namelist were given together.
Give one of the two.
3089 MQRCCF_REPOS_NAME_CONFLICT
A repository name and a repository namelist were given together.
Give one of the two.
3090 MQRCCF_CLUSTER_Q_USAGE_ERROR
A cluster queue may not have that usage.
Use another usage, or take the queue out of the cluster.
3091 MQRCCF_ACTION_VALUE_ERROR
The action is not a value that exists.
Use one of the MQACT_ values of the command.
3092 MQRCCF_COMMS_LIBRARY_ERROR
The library for the transport could not be loaded.
Install the library, or use another transport.
3093 MQRCCF_NETBIOS_NAME_ERROR
The NetBIOS name is missing.
Use TCP.
3094 MQRCCF_BROKER_COMMAND_FAILED
The command to the broker failed.
Look at the other replies for the cause.
3095 MQRCCF_CFST_CONFLICTING_PARM
A string parameter contradicts another parameter.
Leave one of the two out.
3096 MQRCCF_PATH_NOT_VALID
The path is not valid.
Correct the path.
3097 MQRCCF_PARM_SYNTAX_ERROR
A parameter cannot be understood.
Correct its syntax.
3098 MQRCCF_PWD_LENGTH_ERROR
The length of the password is not valid.
Shorten the password.
3150 MQRCCF_FILTER_ERROR
The filter is not valid.
Correct its syntax.
3151 MQRCCF_WRONG_USER
The subscription belongs to another user.
Use the user who made it.
3152 MQRCCF_DUPLICATE_SUBSCRIPTION
The subscription exists already.
Use the one there is, or another name.
3153 MQRCCF_SUB_NAME_ERROR
The name of the subscription is missing or not valid.
Correct the name.
3154 MQRCCF_SUB_IDENTITY_ERROR
The identity of the subscription is missing or not valid.
Correct the identity.
3155 MQRCCF_SUBSCRIPTION_IN_USE
The subscription is open in a program.
Close it there first.
3156 MQRCCF_SUBSCRIPTION_LOCKED
The subscription is locked by another identity.
Wait until it is free.
3157 MQRCCF_ALREADY_JOINED
The identity has joined the subscription already.
Nothing needs to be done.
3160 MQRCCF_OBJECT_IN_USE
The object is in use.
Close it in the programs that use it, then try again.
3161 MQRCCF_UNKNOWN_FILE_NAME
The file is not known.
Check its name.
3162 MQRCCF_FILE_NOT_AVAILABLE
The file cannot be reached.
Check that it exists and can be read.
3163 MQRCCF_DISC_RETRY_ERROR
The disconnect retry value is out of range.
Give a value in range.
3164 MQRCCF_ALLOC_RETRY_ERROR
The allocation retry count is out of range.
Give a value in range.
3165 MQRCCF_ALLOC_SLOW_TIMER_ERROR
The slow allocation timer is out of range.
Give a value in range.
3166 MQRCCF_ALLOC_FAST_TIMER_ERROR
The fast allocation timer is out of range.
Give a value in range.
3167 MQRCCF_PORT_NUMBER_ERROR
The port number is out of range.
Give a number from 0 to 65,535.
3168 MQRCCF_CHL_SYSTEM_NOT_ACTIVE
The channel system does not run.
Start it first.
3169 MQRCCF_ENTITY_NAME_MISSING
No user or group was named.
Name one.
3170 MQRCCF_PROFILE_NAME_ERROR
The profile name is not valid.
Correct the name and its wildcards.
3171 MQRCCF_AUTH_VALUE_ERROR
An authority is not one that exists, or not one for this type of object.
Use MQAUTH_ values that fit the type.
3172 MQRCCF_AUTH_VALUE_MISSING
No authority was named.
Name one or more.
3173 MQRCCF_OBJECT_TYPE_MISSING
No object type was given.
Give one.
3174 MQRCCF_CONNECTION_ID_ERROR
The connection identifier is missing or not valid.
Use one that DISPLAY CONN shows.
3175 MQRCCF_LOG_TYPE_ERROR
The command does not fit the type of log.
Use linear logging for it, or leave it out.
3176 MQRCCF_PROGRAM_NOT_AVAILABLE
The program could not be started.
Check its name and place.
3177 MQRCCF_PROGRAM_AUTH_FAILED
The program could not be started for want of authority.
Have the authority given.
3200 MQRCCF_NONE_FOUND
Nothing was found that fits.
Check the name and the filter.
3201 MQRCCF_SECURITY_SWITCH_OFF
The security that the command is about is switched off.
Switch it on first.
3202 MQRCCF_SECURITY_REFRESH_FAILED
The refresh of security failed.
Look in the error log for the cause.
3203 MQRCCF_PARM_CONFLICT
Two parameters contradict each other.
Leave one of them out.
3204 MQRCCF_COMMAND_INHIBITED
Commands are inhibited now.
Wait, then send the command again.
3205 MQRCCF_OBJECT_BEING_DELETED
The object is being deleted.
Wait until it is gone.
3207 MQRCCF_STORAGE_CLASS_IN_USE
The storage class is in use.
This reason belongs to z/OS and is not given here.
3208 MQRCCF_OBJECT_NAME_RESTRICTED
The name is reserved.
Use another name.
3209 MQRCCF_OBJECT_LIMIT_EXCEEDED
There are as many objects as may exist.
Delete some that are not needed.
3210 MQRCCF_OBJECT_OPEN_FORCE
The object is open, and the change needs the force option.
Use FORCE, or wait until it is closed.
3211 MQRCCF_DISPOSITION_CONFLICT
The disposition contradicts another parameter.
This reason belongs to z/OS and is not given here.
3212 MQRCCF_Q_MGR_NOT_IN_QSG
The queue manager is not in a queue-sharing group.
Give the command at a member; QueueSharingGroup in qm.ini makes a queue manager one.
3213 MQRCCF_ATTR_VALUE_FIXED
The attribute has a fixed value.
Leave it out.
3215 MQRCCF_NAMELIST_ERROR
The namelist is empty or of the wrong type.
Correct the namelist.
3217 MQRCCF_NO_CHANNEL_INITIATOR
The channel initiator does not run.
Start it first.
3218 MQRCCF_CHANNEL_INITIATOR_ERROR
The channel initiator cannot be started or stopped in this way.
Look in the error log for the cause.
3222 MQRCCF_COMMAND_LEVEL_CONFLICT
The command needs another command level than this queue manager has.
Use a queue manager of that level.
3223 MQRCCF_Q_ATTR_CONFLICT
Attributes of the queue contradict each other.
Change one of them.
3224 MQRCCF_EVENTS_DISABLED
The events that the command is about are disabled.
Enable them first.
3225 MQRCCF_COMMAND_SCOPE_ERROR
The command scope is not allowed here.
Leave it out.
3226 MQRCCF_COMMAND_REPLY_ERROR
The reply to the command could not be saved.
Look in the error log for the cause.
3227 MQRCCF_FUNCTION_RESTRICTED
The function is restricted here.
Do it another way.
3228 MQRCCF_PARM_MISSING
A parameter that the command needs is missing.
Add the parameter named in the reply.
3229 MQRCCF_PARM_VALUE_ERROR
A parameter has a value it cannot have.
Correct the parameter named in the reply.
3230 MQRCCF_COMMAND_LENGTH_ERROR
The command is too long.
Shorten it.
3231 MQRCCF_COMMAND_ORIGIN_ERROR
The command may not come from where it came from.
Send it another way.
3232 MQRCCF_LISTENER_CONFLICT
Another listener uses that address.
Use another port.
3233 MQRCCF_LISTENER_STARTED
The listener runs already.
Nothing needs to be done.
3234 MQRCCF_LISTENER_STOPPED
The listener is stopped already.
Nothing needs to be done.
3235 MQRCCF_CHANNEL_ERROR
A channel command failed.
Look at the other replies for the cause.
3236 MQRCCF_CF_STRUC_ERROR
A command on a coupling facility structure failed.
This reason belongs to z/OS and is not given here.
3237 MQRCCF_UNKNOWN_USER_ID
The user is not known.
Check the name, or create the user.
3238 MQRCCF_UNEXPECTED_ERROR
Something went wrong that has no reason of its own.
Look in the error log for what it was.
3239 MQRCCF_NO_XCF_PARTNER
The partner of the IMS bridge is not there.
This reason belongs to z/OS and is not given here.
3240 MQRCCF_CFGR_PARM_ID_ERROR
A group does not belong to the command.
Remove it, or correct its identifier.
3241 MQRCCF_CFIF_LENGTH_ERROR
The length of an integer filter is not 20.
Set StrucLength to MQCFIF_STRUC_LENGTH.
3242 MQRCCF_CFIF_OPERATOR_ERROR
The operator of an integer filter does not fit.
Use one of the MQCFOP_ comparisons.
3243 MQRCCF_CFIF_PARM_ID_ERROR
The attribute of an integer filter cannot be filtered on.
Use an attribute of the command.
3244 MQRCCF_CFSF_FILTER_VAL_LEN_ERR
The length of a filter string is not valid.
Shorten the string.
3245 MQRCCF_CFSF_LENGTH_ERROR
The length of a string filter does not fit its string.
Set StrucLength to the fixed part plus the string, rounded up to four.
3246 MQRCCF_CFSF_OPERATOR_ERROR
The operator of a string filter does not fit.
Use one of the MQCFOP_ operators for strings.
3247 MQRCCF_CFSF_PARM_ID_ERROR
The attribute of a string filter cannot be filtered on.
Use an attribute of the command.
3248 MQRCCF_TOO_MANY_FILTERS
The command has more than one filter.
Use one filter.
3249 MQRCCF_LISTENER_RUNNING
The listener runs already.
Nothing needs to be done.
3250 MQRCCF_LSTR_STATUS_NOT_FOUND
There is no status for the listener.
Start the listener first, or check its name.
3251 MQRCCF_SERVICE_RUNNING
The service runs already.
Nothing needs to be done.
3252 MQRCCF_SERV_STATUS_NOT_FOUND
There is no status for the service.
Start the service first, or check its name.
3253 MQRCCF_SERVICE_STOPPED
The service does not run.
Nothing needs to be done.
3254 MQRCCF_CFBS_DUPLICATE_PARM
A byte string parameter is given twice.
Give it once.
3255 MQRCCF_CFBS_LENGTH_ERROR
The length of a byte string parameter does not fit its string.
Set StrucLength to the fixed part plus the string, rounded up to four.
3256 MQRCCF_CFBS_PARM_ID_ERROR
A byte string parameter does not belong to the command.
Remove it, or correct its identifier.
3257 MQRCCF_CFBS_STRING_LENGTH_ERR
The byte string of a parameter is of a length it cannot have.
Correct the length.
3258 MQRCCF_CFGR_LENGTH_ERROR
The length of a group is not 16.
Set StrucLength to MQCFGR_STRUC_LENGTH.
3259 MQRCCF_CFGR_PARM_COUNT_ERROR
The parameter count of a group is not valid.
Set it to the number of structures in the group.
3260 MQRCCF_CONN_NOT_STOPPED
The connection could not be stopped.
Try again, or end the program.
3261 MQRCCF_SERVICE_REQUEST_PENDING
A request to start or stop is still under way.
Wait until it is done.
3262 MQRCCF_NO_START_CMD
The service has no command to start it.
Set STARTCMD of the service.
3263 MQRCCF_NO_STOP_CMD
The service has no command to stop it.
Set STOPCMD of the service.
3264 MQRCCF_CFBF_LENGTH_ERROR
The length of a byte string filter does not fit its string.
Set StrucLength to the fixed part plus the string, rounded up to four.
3265 MQRCCF_CFBF_PARM_ID_ERROR
The attribute of a byte string filter cannot be filtered on.
Use an attribute of the command.
3266 MQRCCF_CFBF_OPERATOR_ERROR
The operator of a byte string filter does not fit.
Use one of the MQCFOP_ comparisons.
3267 MQRCCF_CFBF_FILTER_VAL_LEN_ERR
The length of a filter byte string is not valid.
Shorten the byte string.
3268 MQRCCF_LISTENER_STILL_ACTIVE
The listener still runs.
Stop it first.
3269 MQRCCF_DEF_XMIT_Q_CLUS_ERROR
The cluster transmission queue may not be the default transmission queue.
Name another queue in DEFXMITQ.
3300 MQRCCF_TOPICSTR_ALREADY_EXISTS
Another topic object has that topic string.
Use another string, or alter the object there is.
3301 MQRCCF_SHARING_CONVS_ERROR
The number of shared conversations is out of range.
Give a number from 0 to 999,999,999.
3302 MQRCCF_SHARING_CONVS_TYPE
Shared conversations do not belong to that channel type.
Leave the attribute out.
3303 MQRCCF_SECURITY_CASE_CONFLICT
The case of security profiles contradicts the switch for it.
This reason belongs to z/OS and is not given here.
3305 MQRCCF_TOPIC_TYPE_ERROR
The topic type is not a value that exists, or not that of the topic.
Use the type that the topic has.
3306 MQRCCF_MAX_INSTANCES_ERROR
The number of channel instances is out of range.
Give a number from 0 to 999,999,999.
3307 MQRCCF_MAX_INSTS_PER_CLNT_ERR
The number of channel instances per client is out of range.
Give a number from 0 to 999,999,999.
3308 MQRCCF_TOPIC_STRING_NOT_FOUND
There is no such node in the topic tree.
Check the topic string.
3309 MQRCCF_SUBSCRIPTION_POINT_ERR
The subscription point is not valid.
Use one that exists, or leave it out.
3311 MQRCCF_SUB_ALREADY_EXISTS
A subscription of that name exists already.
Use another name, or alter the one there is.
3312 MQRCCF_UNKNOWN_OBJECT_NAME
An object that the command names does not exist.
Define it first, or correct the name.
3313 MQRCCF_REMOTE_Q_NAME_ERROR
The remote queue name is missing or not valid.
Correct RNAME.
3314 MQRCCF_DURABILITY_NOT_ALLOWED
The topic does not allow durable subscriptions.
Alter the topic, or use another.
3315 MQRCCF_HOBJ_ERROR
The handle of the destination is not valid.
Name the destination instead.
3316 MQRCCF_DEST_NAME_ERROR
The name of the destination is not valid.
Correct the name.
3317 MQRCCF_INVALID_DESTINATION
The destination is not one that publications can be sent to.
Name a queue that exists.
3318 MQRCCF_PUBSUB_INHIBITED
Publish and subscribe is switched off.
Switch it on with ALTER QMGR PSMODE(ENABLED).
3319 MQRCCF_GROUPUR_CHECKS_FAILED
Units of recovery of the group cannot be enabled: the queue manager is not in a queue-sharing group.
Give ALTER QMGR GROUPUR(ENABLED) at a member; `ostler qsg add` makes a queue manager one.
3320 MQRCCF_COMM_INFO_TYPE_ERROR
The type of communication information is not a value that exists.
Use the type for multicast.
3321 MQRCCF_USE_CLIENT_ID_ERROR
The option about the client identifier as user is not valid.
Use yes or no.
3322 MQRCCF_CLIENT_ID_NOT_FOUND
The client identifier is not connected.
Check the identifier.
3323 MQRCCF_CLIENT_ID_ERROR
The client identifier is not valid.
Correct the identifier.
3324 MQRCCF_PORT_IN_USE
The port is in use by another program.
Use another port, or end that program.
3325 MQRCCF_SSL_ALT_PROVIDER_REQD
The certificate or cipher needs another TLS provider.
Set up the other provider, or use another certificate.
3326 MQRCCF_CHLAUTH_TYPE_ERROR
The type of the channel authentication record is not valid.
Use BLOCKUSER, BLOCKADDR, SSLPEERMAP, ADDRESSMAP, USERMAP or QMGRMAP.
3327 MQRCCF_CHLAUTH_ACTION_ERROR
The action of the channel authentication record is not valid.
Use ADD, REPLACE, REMOVE or REMOVEALL.
3328 MQRCCF_POLICY_NOT_FOUND
There is no such security policy.
Check its name.
3329 MQRCCF_ENCRYPTION_ALG_ERROR
The encryption algorithm is not one that exists.
Use one that is supported.
3330 MQRCCF_SIGNATURE_ALG_ERROR
The signature algorithm is not one that exists.
Use one that is supported.
3331 MQRCCF_TOLERATION_POL_ERROR
The toleration value of the policy is not valid.
Use yes or no.
3332 MQRCCF_POLICY_VERSION_ERROR
The version of the policy is not supported.
Make the policy with this release.
3333 MQRCCF_RECIPIENT_DN_MISSING
The policy encrypts and names no recipient.
Name one or more recipients.
3334 MQRCCF_POLICY_NAME_MISSING
The name of the policy is missing.
Give it.
3335 MQRCCF_CHLAUTH_USERSRC_ERROR
The user source of the channel authentication record is not valid.
Use MAP, CHANNEL or NOACCESS.
3336 MQRCCF_WRONG_CHLAUTH_TYPE
A parameter does not belong to that type of channel authentication record.
Leave it out, or use another type.
3337 MQRCCF_CHLAUTH_ALREADY_EXISTS
The channel authentication record exists already.
Use ACTION(REPLACE) to change it.
3338 MQRCCF_CHLAUTH_NOT_FOUND
There is no such channel authentication record.
Check the profile and the match.
3339 MQRCCF_WRONG_CHLAUTH_ACTION
A parameter does not belong to that action.
Leave it out, or use another action.
3340 MQRCCF_WRONG_CHLAUTH_USERSRC
A parameter does not belong to that user source.
Leave it out, or use another user source.
3341 MQRCCF_CHLAUTH_WARN_ERROR
The warning option is not a value that exists.
Use YES or NO.
3342 MQRCCF_WRONG_CHLAUTH_MATCH
The match option does not belong to this kind of display.
Leave it out.
3343 MQRCCF_IPADDR_RANGE_CONFLICT
The range of addresses overlaps another one.
Change one of the ranges.
3344 MQRCCF_CHLAUTH_MAX_EXCEEDED
The record holds as many entries as it may.
Use another profile, or remove entries.
3345 MQRCCF_ADDRESS_ERROR
The address is not valid.
Correct the address.
3346 MQRCCF_IPADDR_RANGE_ERROR
The range of addresses is not valid.
Correct the range.
3347 MQRCCF_PROFILE_NAME_MISSING
The profile name is missing.
Give it.
3348 MQRCCF_CHLAUTH_CLNTUSER_ERROR
The client user is not valid.
Correct the user.
3349 MQRCCF_CHLAUTH_NAME_ERROR
The channel name of the record is not valid for this.
Use a name without a wildcard.
3350 MQRCCF_CHLAUTH_RUNCHECK_ERROR
A run-time check was asked for with values it cannot use.
Give an exact channel and address.
3351 MQRCCF_CF_STRUC_ALREADY_FAILED
The coupling facility structure has failed already.
Recover it with RECOVER CFSTRUCT.
3352 MQRCCF_CFCONLOS_CHECKS_FAILED
The checks for loss of the coupling facility failed.
This reason belongs to z/OS and is not given here.
3353 MQRCCF_SUITE_B_ERROR
The Suite B setting is not valid.
Use a combination of strengths that exists.
3354 MQRCCF_CHANNEL_NOT_STARTED
The channel is not started.
Start it first.
3355 MQRCCF_CUSTOM_ERROR
The custom attribute is not valid.
Use keyword and value pairs in it.
3356 MQRCCF_BACKLOG_OUT_OF_RANGE
The backlog of the listener is out of range.
Give a value in range.
3357 MQRCCF_CHLAUTH_DISABLED
Channel authentication records are disabled.
Enable them with ALTER QMGR CHLAUTH(ENABLED).
3358 MQRCCF_SMDS_REQUIRES_DSGROUP
The shared message data set needs a data set group.
Give DSGROUP, the names of the data sets with an asterisk for the queue manager.
3359 MQRCCF_PSCLUS_DISABLED_TOPDEF
Cluster topics are disabled.
Enable PSCLUS, or leave the topic out of the cluster.
3360 MQRCCF_PSCLUS_TOPIC_EXISTS
Cluster topics exist, so they cannot be disabled.
Remove the cluster topics first.
3361 MQRCCF_SSL_CIPHER_SUITE_ERROR
The cipher suite is not valid.
Use one that is supported.
3362 MQRCCF_SOCKET_ERROR
The network gave an error.
Look in the error log for which.
3363 MQRCCF_CLUS_XMIT_Q_USAGE_ERROR
The queue may not be a cluster transmission queue with these attributes.
Correct the attributes of the queue.
3364 MQRCCF_CERT_VAL_POLICY_ERROR
The certificate validation policy is not valid.
Use a policy that exists.
3365 MQRCCF_INVALID_PROTOCOL
The protocol is not valid for the channel.
Use one that exists.
3366 MQRCCF_REVDNS_DISABLED
Host names cannot be matched because reverse look-up is disabled.
Enable REVDNS, or match on addresses.
3367 MQRCCF_CLROUTE_NOT_ALTERABLE
The cluster route of the topic cannot be altered now.
Take the topic out of the cluster first.
3368 MQRCCF_CLUSTER_TOPIC_CONFLICT
A topic of the cluster with other settings has that string.
Make the settings alike.
3369 MQRCCF_DEFCLXQ_MODEL_Q_ERROR
The model queue for cluster transmission queues is not usable.
Correct SYSTEM.CLUSTER.TRANSMIT.MODEL.QUEUE.
3370 MQRCCF_CHLAUTH_CHKCLI_ERROR
The value for checking the client is not valid.
Use ASQMGR, REQUIRED or REQDADM.
3371 MQRCCF_CERT_LABEL_NOT_ALLOWED
A certificate label is not possible with that cipher.
Leave the label out, or use another cipher.
3372 MQRCCF_Q_MGR_ATTR_CONFLICT
Attributes of the queue manager contradict each other.
Change one of them.
3373 MQRCCF_ENTITY_TYPE_MISSING
Neither user nor group was given.
Give one of the two.
3374 MQRCCF_CLWL_EXIT_NAME_ERROR
The name of the workload exit is not valid.
Correct the name.
3375 MQRCCF_SERVICE_NAME_ERROR
The name of the service is not valid.
Correct the name.
3376 MQRCCF_REMOTE_CHL_TYPE_ERROR
The channel at the other end is of a type that does not fit.
Define a matching pair of channels.
3377 MQRCCF_TOPIC_RESTRICTED
The topic is kept for the system.
Use another topic.
3378 MQRCCF_CURRENT_LOG_EXTENT
The log extent is the current one.
Wait until the log has moved on.
3379 MQRCCF_LOG_EXTENT_NOT_FOUND
There is no such log extent.
Check its name.
3380 MQRCCF_LOG_NOT_REDUCED
The log could not be made smaller.
Nothing needs to be done if it is small enough.
3381 MQRCCF_LOG_EXTENT_ERROR
The log extent is damaged or cannot be used.
Look in the error log for the cause.
3382 MQRCCF_ACCESS_BLOCKED
Access is blocked by a channel authentication record.
Alter the record if access is wanted.
3383 MQRCCF_PS_REQUIRED_MQUC
Publish and subscribe is needed and is off.
Switch it on first.
3384 MQRCCF_STREAMQ_DEST_NOT_SUPP
The streaming queue is of a type that cannot be one.
Name a local, remote or alias queue.
3385 MQRCCF_STREAMQ_DEST_CONFLICT
The streaming queue contradicts another attribute of its target.
Name another queue.
3386 MQRCCF_STREAMQ_NOT_SUPPORTED
This queue cannot have a streaming queue.
Leave STREAMQ out.
3387 MQRCCF_STREAMQ_CONFLICT
STREAMQ contradicts another attribute of the queue.
Change one of them.
3389 MQRCCF_INCOMPATIBLE_QM_IN_QSG
A queue manager of the group is too old.
This reason belongs to z/OS and is not given here.
3390 MQRCCF_ATTR_VALUE_ERROR_QSG_QM
A queue manager of the group cannot take the value.
This reason belongs to z/OS and is not given here.
3391 MQRCCF_AUTHORIZED
The user has the authority that was asked about.
Nothing needs to be done.
3392 MQRCCF_QUANTUM_ATTR_CONFLICT
The attributes for quantum-safe algorithms contradict each other.
Change one of them.
3393 MQRCCF_SSL_QS_ALG_DISABLED
The quantum-safe algorithm is disabled.
Enable it, or use another.
4001 MQRCCF_OBJECT_ALREADY_EXISTS
An object of that name exists already.
Use REPLACE, or another name.
4002 MQRCCF_OBJECT_WRONG_TYPE
The object exists with another type.
Use its type, or another name.
4003 MQRCCF_LIKE_OBJECT_WRONG_TYPE
The model object is of another type.
Name a model of the same type.
4004 MQRCCF_OBJECT_OPEN
The object is open in a program.
Close it there first, or use FORCE.
4005 MQRCCF_ATTR_VALUE_ERROR
An attribute has a value it cannot have.
Correct the value.
4006 MQRCCF_UNKNOWN_Q_MGR
The queue manager is not known.
Check its name.
4007 MQRCCF_Q_WRONG_TYPE
The queue is of a type that the command cannot be used for.
Name a queue of the right type.
4008 MQRCCF_OBJECT_NAME_ERROR
The object name is not valid.
Use up to 48 letters, digits, dots, slashes, underscores and percent signs.
4009 MQRCCF_ALLOCATE_FAILED
The conversation with the other end could not be set up.
Check that the other end runs and listens.
4010 MQRCCF_HOST_NOT_AVAILABLE
The other host did not answer.
Check host, port and network.
4011 MQRCCF_CONFIGURATION_ERROR
The configuration of the transport is not right.
Correct the connection name and the transport.
4012 MQRCCF_CONNECTION_REFUSED
The other host refused the connection.
Check that its listener runs.
4013 MQRCCF_ENTRY_ERROR
The connection name could not be resolved.
Correct CONNAME.
4014 MQRCCF_SEND_FAILED
Data could not be sent.
Check the network and the other end.
4015 MQRCCF_RECEIVED_DATA_ERROR
Data came that is not valid.
Look in the error logs of both ends.
4016 MQRCCF_RECEIVE_FAILED
Data could not be received.
Check the network and the other end.
4017 MQRCCF_CONNECTION_CLOSED
The other end closed the connection.
Look in its error log for the cause.
4018 MQRCCF_NO_STORAGE
There is not enough memory.
Free memory and try again.
4019 MQRCCF_NO_COMMS_MANAGER
The transport does not run.
Start it.
4020 MQRCCF_LISTENER_NOT_STARTED
The listener could not be started.
Look in the error log for the cause.
4024 MQRCCF_BIND_FAILED
The two ends could not agree on the channel.
Look in the error logs of both ends.
4025 MQRCCF_CHANNEL_INDOUBT
The channel is in doubt about a batch.
Start it so that it can settle, or use RESOLVE CHANNEL.
4026 MQRCCF_MQCONN_FAILED
The connection to the queue manager failed.
Look in the error log for the reason.
4027 MQRCCF_MQOPEN_FAILED
An object could not be opened.
Look in the error log for which and why.
4028 MQRCCF_MQGET_FAILED
A message could not be got.
Look in the error log for the reason.
4029 MQRCCF_MQPUT_FAILED
A message could not be put.
Look in the error log for the reason.
4030 MQRCCF_PING_ERROR
The channel is of a type that cannot be pinged.
Ping a sender, server or cluster-sender channel.
4031 MQRCCF_CHANNEL_IN_USE
The channel runs already.
Stop it first, or leave it running.
4032 MQRCCF_CHANNEL_NOT_FOUND
There is no channel of that name.
Check the name, or define the channel.
4033 MQRCCF_UNKNOWN_REMOTE_CHANNEL
The other end has no channel of that name.
Define it there with a matching type.
4034 MQRCCF_REMOTE_QM_UNAVAILABLE
The queue manager at the other end cannot be used.
Start it, then start the channel.
4035 MQRCCF_REMOTE_QM_TERMINATING
The queue manager at the other end is ending.
Start the channel again when it is back.
4036 MQRCCF_MQINQ_FAILED
The queue manager could not be inquired.
Look in the error log for the reason.
4037 MQRCCF_NOT_XMIT_Q
The queue that the channel names is not a transmission queue.
Alter it to USAGE(XMITQ), or name another.
4038 MQRCCF_CHANNEL_DISABLED
The channel is stopped.
Start it with START CHANNEL.
4039 MQRCCF_USER_EXIT_NOT_AVAILABLE
An exit of the channel could not be loaded.
Correct its name, or leave it out.
4040 MQRCCF_COMMIT_FAILED
A commit failed.
Look in the error log for the reason.
4041 MQRCCF_WRONG_CHANNEL_TYPE
A parameter does not belong to that channel type.
Leave it out.
4042 MQRCCF_CHANNEL_ALREADY_EXISTS
A channel of that name exists already.
Use REPLACE, or another name.
4043 MQRCCF_DATA_TOO_LARGE
The data is longer than the channel carries.
Send less, or raise the limit of the channel.
4044 MQRCCF_CHANNEL_NAME_ERROR
The channel name is not valid.
Use up to 20 letters, digits, dots, slashes, underscores and percent signs.
4045 MQRCCF_XMIT_Q_NAME_ERROR
The name of the transmission queue is missing or not valid.
Give XMITQ for a sender or server channel.
4047 MQRCCF_MCA_NAME_ERROR
The name of the channel agent is not valid.
Correct MCANAME.
4048 MQRCCF_SEND_EXIT_NAME_ERROR
The name of the send exit is not valid.
Correct SENDEXIT.
4049 MQRCCF_SEC_EXIT_NAME_ERROR
The name of the security exit is not valid.
Correct SCYEXIT.
4050 MQRCCF_MSG_EXIT_NAME_ERROR
The name of the message exit is not valid.
Correct MSGEXIT.
4051 MQRCCF_RCV_EXIT_NAME_ERROR
The name of the receive exit is not valid.
Correct RCVEXIT.
4052 MQRCCF_XMIT_Q_NAME_WRONG_TYPE
XMITQ does not belong to that channel type.
Leave it out.
4053 MQRCCF_MCA_NAME_WRONG_TYPE
MCANAME does not belong to that channel type.
Leave it out.
4054 MQRCCF_DISC_INT_WRONG_TYPE
DISCINT does not belong to that channel type.
Leave it out.
4055 MQRCCF_SHORT_RETRY_WRONG_TYPE
SHORTRTY does not belong to that channel type.
Leave it out.
4056 MQRCCF_SHORT_TIMER_WRONG_TYPE
SHORTTMR does not belong to that channel type.
Leave it out.
4057 MQRCCF_LONG_RETRY_WRONG_TYPE
LONGRTY does not belong to that channel type.
Leave it out.
4058 MQRCCF_LONG_TIMER_WRONG_TYPE
LONGTMR does not belong to that channel type.
Leave it out.
4059 MQRCCF_PUT_AUTH_WRONG_TYPE
PUTAUT does not belong to that channel type.
Leave it out.
4060 MQRCCF_KEEP_ALIVE_INT_ERROR
The keep-alive interval is out of range.
Give seconds in range, or AUTO.
4061 MQRCCF_MISSING_CONN_NAME
The connection name is missing.
Give CONNAME.
4062 MQRCCF_CONN_NAME_ERROR
The connection name is not valid.
Give a host, and a port in brackets if it is not the usual one.
4063 MQRCCF_MQSET_FAILED
An attribute could not be set.
Look in the error log for the reason.
4064 MQRCCF_CHANNEL_NOT_ACTIVE
The channel does not run.
Nothing needs to be done to stop it.
4065 MQRCCF_TERMINATED_BY_SEC_EXIT
The security exit ended the channel.
Look in the log of the exit.
4067 MQRCCF_DYNAMIC_Q_SCOPE_ERROR
A dynamic queue may not have that scope.
Use SCOPE(QMGR).
4068 MQRCCF_CELL_DIR_NOT_AVAILABLE
There is no cell directory.
Use SCOPE(QMGR).
4069 MQRCCF_MR_COUNT_ERROR
The message retry count is out of range.
Give a number from 0 to 999,999,999.
4070 MQRCCF_MR_COUNT_WRONG_TYPE
MRRTY does not belong to that channel type.
Leave it out.
4071 MQRCCF_MR_EXIT_NAME_ERROR
The name of the message retry exit is not valid.
Correct MREXIT.
4072 MQRCCF_MR_EXIT_NAME_WRONG_TYPE
MREXIT does not belong to that channel type.
Leave it out.
4073 MQRCCF_MR_INTERVAL_ERROR
The message retry interval is out of range.
Give milliseconds from 0 to 999,999,999.
4074 MQRCCF_MR_INTERVAL_WRONG_TYPE
MRTMR does not belong to that channel type.
Leave it out.
4075 MQRCCF_NPM_SPEED_ERROR
The speed of messages that are not persistent is not a value that exists.
Use NORMAL or FAST.
4076 MQRCCF_NPM_SPEED_WRONG_TYPE
NPMSPEED does not belong to that channel type.
Leave it out.
4077 MQRCCF_HB_INTERVAL_ERROR
The heartbeat interval is out of range.
Give seconds from 0 to 999,999.
4078 MQRCCF_HB_INTERVAL_WRONG_TYPE
HBINT does not belong to that channel type.
Leave it out.
4079 MQRCCF_CHAD_ERROR
The automatic definition of channels is not a value that exists.
Use ENABLED or DISABLED.
4080 MQRCCF_CHAD_WRONG_TYPE
Automatic definition does not belong to that channel type.
Leave it out.
4081 MQRCCF_CHAD_EVENT_ERROR
The event for automatic definition is not a value that exists.
Use ENABLED or DISABLED.
4082 MQRCCF_CHAD_EVENT_WRONG_TYPE
The event for automatic definition does not belong to that channel type.
Leave it out.
4083 MQRCCF_CHAD_EXIT_ERROR
The name of the exit for automatic definition is not valid.
Correct CHADEXIT.
4084 MQRCCF_CHAD_EXIT_WRONG_TYPE
The exit for automatic definition does not belong to that channel type.
Leave it out.
4085 MQRCCF_SUPPRESSED_BY_EXIT
An exit refused the automatic definition.
Ask who runs the exit why it does so.
4086 MQRCCF_BATCH_INT_ERROR
The batch interval is out of range.
Give milliseconds from 0 to 999,999,999.
4087 MQRCCF_BATCH_INT_WRONG_TYPE
BATCHINT does not belong to that channel type.
Leave it out.
4088 MQRCCF_NET_PRIORITY_ERROR
The network priority is out of range.
Give a number from 0 to 9.
4089 MQRCCF_NET_PRIORITY_WRONG_TYPE
NETPRTY does not belong to that channel type.
Leave it out.
4090 MQRCCF_CHANNEL_CLOSED
The channel was closed.
Look in the error log for the cause.
4091 MQRCCF_Q_STATUS_NOT_FOUND
There is no status for the queue.
Check the name; only local queues have a status.
4092 MQRCCF_SSL_CIPHER_SPEC_ERROR
The cipher is not valid, or TLS is not set up.
Use a cipher that both ends support, and check the key repository.
4093 MQRCCF_SSL_PEER_NAME_ERROR
The peer name is not a valid pattern.
Correct SSLPEER.
4094 MQRCCF_SSL_CLIENT_AUTH_ERROR
The demand for a client certificate is not a value that exists.
Use REQUIRED or OPTIONAL.
4095 MQRCCF_RETAINED_NOT_SUPPORTED
Retained publications are not possible here.
Publish without retaining.
4096 MQRCCF_KWD_VALUE_WRONG_TYPE
A value does not belong to that channel type.
Leave it out, or use another value.
4097 MQRCCF_APPL_STATUS_NOT_FOUND
There is no status for the application.
Check the name of the application.
4098 MQRCCF_NHA_NOT_AVAILABLE
The queue manager has no native replicas.
Use the command on a replicated queue manager.
4099 MQRCCF_Q_MGR_STATUS_NOT_FOUND
There is no status for the queue manager.
Check that it runs.
"""
