"""The attributes of the objects that say who may do what, and of message protection."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* AUTHINFO
AUTHINFO MQCA_AUTH_INFO_NAME name=48
    The name of the authentication information object.
AUTHTYPE MQIA_AUTH_INFO_TYPE word ignored=CRLLDAP,OCSP,IDPWLDAP given lasting CRLLDAP=MQAIT_CRL_LDAP OCSP=MQAIT_OCSP \
IDPWOS=MQAIT_IDPW_OS \
IDPWLDAP=MQAIT_IDPW_LDAP
    What the object describes: revoked certificates, or how users and passwords are checked.
DESCR MQCA_AUTH_INFO_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
CONNAME MQCA_AUTH_INFO_CONN_NAME text=264 default= for=CRLLDAP,IDPWLDAP
    The address of the LDAP server.
LDAPUSER MQCA_LDAP_USER_NAME text=1024 default= for=CRLLDAP,IDPWLDAP
    The user with which the LDAP server is asked.
LDAPPWD MQCA_LDAP_PASSWORD text=256 default= masked for=CRLLDAP,IDPWLDAP
    The password with which the LDAP server is asked.
OCSPURL MQCA_AUTH_INFO_OCSP_URL text=256 default= for=OCSP
    Where certificates are asked after.
ADOPTCTX MQIA_ADOPT_CONTEXT word default=YES for=IDPWOS,IDPWLDAP NO=MQADPCTX_NO YES=MQADPCTX_YES
    Whether the connection goes on as the user whose password was checked.
AUTHENMD MQIA_AUTHENTICATION_METHOD word default=OS for=IDPWOS OS=MQAUTHENTICATE_OS PAM=MQAUTHENTICATE_PAM
    How the operating system checks the password.
CHCKCLNT MQIA_CHECK_CLIENT_BINDING word default=REQDADM IDPWLDAP.default=REQUIRED for=IDPWOS,IDPWLDAP NONE=MQCHK_NONE \
OPTIONAL=MQCHK_OPTIONAL REQUIRED=MQCHK_REQUIRED REQDADM=MQCHK_REQUIRED_ADMIN
    Which clients must give a user and a password.
CHCKLOCL MQIA_CHECK_LOCAL_BINDING word default=OPTIONAL for=IDPWOS,IDPWLDAP NONE=MQCHK_NONE OPTIONAL=MQCHK_OPTIONAL \
REQUIRED=MQCHK_REQUIRED REQDADM=MQCHK_REQUIRED_ADMIN
    Which local applications must give a user and a password.
FAILDLAY MQIA_AUTHENTICATION_FAIL_DELAY integer=0..60 default=1 for=IDPWOS,IDPWLDAP
    For how many seconds the answer to a wrong password is held back.
AUTHORMD MQIA_LDAP_AUTHORMD word default=OS for=IDPWLDAP OS=MQLDAP_AUTHORMD_OS SEARCHGRP=MQLDAP_AUTHORMD_SEARCHGRP \
SEARCHUSR=MQLDAP_AUTHORMD_SEARCHUSR SRCHGRPSN=MQLDAP_AUTHORMD_SRCHGRPSN
    How the groups of a user are found.
BASEDNG MQCA_LDAP_BASE_DN_GROUPS text=1024 default= for=IDPWLDAP
    Where groups are found in the directory.
BASEDNU MQCA_LDAP_BASE_DN_USERS text=1024 default= for=IDPWLDAP
    Where users are found in the directory.
CLASSGRP MQCA_LDAP_GROUP_OBJECT_CLASS text=128 default= for=IDPWLDAP
    The object class of groups.
CLASSUSR MQCA_LDAP_USER_OBJECT_CLASS text=128 default= for=IDPWLDAP
    The object class of users.
FINDGRP MQCA_LDAP_FIND_GROUP_FIELD text=128 default= for=IDPWLDAP
    The field that ties users and groups together.
GRPFIELD MQCA_LDAP_GROUP_ATTR_FIELD text=128 default= for=IDPWLDAP
    The field with the short name of a group.
NESTGRP MQIA_LDAP_NESTGRP word default=NO for=IDPWLDAP NO=MQLDAP_NESTGRP_NO YES=MQLDAP_NESTGRP_YES
    Whether groups of groups are followed.
SECCOMM MQIA_LDAP_SECURE_COMM word default=NO for=IDPWLDAP NO=MQSECCOMM_NO YES=MQSECCOMM_YES ANON=MQSECCOMM_ANON
    Whether the LDAP server is asked over a secure connection.
SHORTUSR MQCA_LDAP_SHORT_USER_FIELD text=128 default= for=IDPWLDAP
    The field with the short name of a user.
USRFIELD MQCA_LDAP_USER_ATTR_FIELD text=128 default= for=IDPWLDAP
    The field that a user without qualification is looked up in.
QSGDISP MQIA_QSG_DISP word default=QMGR zos QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
* CHLAUTH
CHLAUTH MQCACH_CHANNEL_NAME text=20 given lasting
    The channels that the rule is for; an asterisk stands for any characters.
TYPE MQIACF_CHLAUTH_TYPE word given lasting error=MQRCCF_CHLAUTH_TYPE_ERROR BLOCKUSER=MQCAUT_BLOCKUSER \
BLOCKADDR=MQCAUT_BLOCKADDR SSLPEERMAP=MQCAUT_SSLPEERMAP ADDRESSMAP=MQCAUT_ADDRESSMAP USERMAP=MQCAUT_USERMAP \
QMGRMAP=MQCAUT_QMGRMAP
    What the rule looks at.
DESCR MQCA_CHLAUTH_DESC text=64 default=
    A comment for people.
CUSTOM MQCA_CUSTOM text=128 default=
    Features that have no attribute of their own yet.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the rule was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the rule was last changed.
ADDRESS MQCACH_CONNECTION_NAME text=264 default= for=ADDRESSMAP,USERMAP,QMGRMAP,SSLPEERMAP error=MQRCCF_IPADDR_ERROR
    The addresses that the rule is for.
ADDRLIST MQCACH_CONNECTION_NAME_LIST texts=256x48 default= for=BLOCKADDR error=MQRCCF_IPADDR_ERROR
    The addresses that are turned away before anything else is looked at.
USERLIST MQCACH_MCA_USER_ID_LIST texts=100x64 default= for=BLOCKUSER
    The users that may not come in; *MQADMIN stands for all administrators.
CLNTUSER MQCACH_CLIENT_USER_ID text=1024 default= for=USERMAP error=MQRCCF_CHLAUTH_CLNTUSER_ERROR
    The user that the client says it is.
QMNAME MQCA_REMOTE_Q_MGR_NAME text=48 default= for=QMGRMAP
    The partner queue managers that the rule is for.
SSLPEER MQCACH_SSL_PEER_NAME text=1024 default= for=SSLPEERMAP error=MQRCCF_SSL_PEER_NAME_ERROR
    The subjects of certificates that the rule is for.
SSLCERTI MQCA_SSL_CERT_ISSUER_NAME text=1024 default= for=SSLPEERMAP
    The issuers of certificates that the rule is for.
USERSRC MQIACH_USER_SOURCE word default=MAP for=ADDRESSMAP,USERMAP,QMGRMAP,SSLPEERMAP \
error=MQRCCF_CHLAUTH_USERSRC_ERROR MAP=MQUSRC_MAP NOACCESS=MQUSRC_NOACCESS CHANNEL=MQUSRC_CHANNEL
    Whether the rule gives a user, refuses, or leaves the user as it is.
MCAUSER MQCACH_MCA_USER_ID text=64 default= for=ADDRESSMAP,USERMAP,QMGRMAP,SSLPEERMAP
    The user whose authority the connection uses.
CHCKCLNT MQIA_CHECK_CLIENT_BINDING word default=ASQMGR for=ADDRESSMAP,USERMAP,QMGRMAP,SSLPEERMAP \
error=MQRCCF_CHLAUTH_CHKCLI_ERROR ASQMGR=MQCHK_AS_Q_MGR REQUIRED=MQCHK_REQUIRED REQDADM=MQCHK_REQUIRED_ADMIN
    Whether clients that match must give a user and a password.
WARN MQIACH_WARNING word default=NO error=MQRCCF_CHLAUTH_WARN_ERROR NO=MQWARN_NO YES=MQWARN_YES
    Whether a refusal is only reported and not carried out.
* AUTHREC
PROFILE MQCACF_AUTH_PROFILE_NAME text=48 default= lasting error=MQRCCF_PROFILE_NAME_ERROR
    The objects that the authorities are for; an asterisk stands for any characters.
OBJTYPE MQIACF_OBJECT_TYPE word default=QUEUE lasting AUTHINFO=MQOT_AUTH_INFO CHANNEL=MQOT_CHANNEL \
CLNTCONN=MQOT_CLNTCONN_CHANNEL COMMINFO=MQOT_COMM_INFO LISTENER=MQOT_LISTENER NAMELIST=MQOT_NAMELIST \
PROCESS=MQOT_PROCESS QUEUE=MQOT_Q QMGR=MQOT_Q_MGR RQMNAME=MQOT_REMOTE_Q_MGR_NAME SERVICE=MQOT_SERVICE TOPIC=MQOT_TOPIC
    The type of those objects.
ENTITY MQCACF_ENTITY_NAME text=1024 default= lasting
    The user or group that has the authorities.
ENTTYPE MQIACF_ENTITY_TYPE word default=PRINCIPAL lasting PRINCIPAL=1 GROUP=2
    Whether the authorities are those of a user or of a group.
AUTHLIST MQIACF_AUTHORIZATION_LIST words=32 default=NONE error=MQRCCF_AUTH_VALUE_ERROR NONE=MQAUTH_NONE \
ALTUSR=MQAUTH_ALT_USER_AUTHORITY BROWSE=MQAUTH_BROWSE CHG=MQAUTH_CHANGE CLR=MQAUTH_CLEAR CONNECT=MQAUTH_CONNECT \
CRT=MQAUTH_CREATE DLT=MQAUTH_DELETE DSP=MQAUTH_DISPLAY GET=MQAUTH_INPUT INQ=MQAUTH_INQUIRE PUT=MQAUTH_OUTPUT \
PASSALL=MQAUTH_PASS_ALL_CONTEXT PASSID=MQAUTH_PASS_IDENTITY_CONTEXT SET=MQAUTH_SET SETALL=MQAUTH_SET_ALL_CONTEXT \
SETID=MQAUTH_SET_IDENTITY_CONTEXT CTRL=MQAUTH_CONTROL CTRLX=MQAUTH_CONTROL_EXTENDED PUB=MQAUTH_PUBLISH \
SUB=MQAUTH_SUBSCRIBE RESUME=MQAUTH_RESUME SYSTEM=MQAUTH_SYSTEM
    What may be done.
* POLICY
POLICY MQCA_POLICY_NAME name=48
    The queue whose messages are protected.
SIGNALG MQIA_SIGNATURE_ALGORITHM word default=NONE error=MQRCCF_SIGNATURE_ALG_ERROR NONE=MQMLP_SIGN_ALG_NONE \
MD5=MQMLP_SIGN_ALG_MD5 SHA1=MQMLP_SIGN_ALG_SHA1 SHA256=MQMLP_SIGN_ALG_SHA256 SHA384=MQMLP_SIGN_ALG_SHA384 \
SHA512=MQMLP_SIGN_ALG_SHA512
    How messages are signed.
ENCALG MQIA_ENCRYPTION_ALGORITHM word default=NONE error=MQRCCF_ENCRYPTION_ALG_ERROR NONE=MQMLP_ENCRYPTION_ALG_NONE \
RC2=MQMLP_ENCRYPTION_ALG_RC2 DES=MQMLP_ENCRYPTION_ALG_DES 3DES=MQMLP_ENCRYPTION_ALG_3DES \
AES128=MQMLP_ENCRYPTION_ALG_AES128 AES256=MQMLP_ENCRYPTION_ALG_AES256
    How messages are encrypted.
RECIP MQCA_RECIPIENT_DN texts=256x1024 default=
    Who can read the messages.
SIGNER MQCA_SIGNER_DN texts=256x1024 default=
    Whose signature is accepted.
TOLERATE MQIA_TOLERATE_UNPROTECTED word default=NO error=MQRCCF_TOLERATION_POL_ERROR \
NO=MQMLP_TOLERATE_UNPROTECTED_NO YES=MQMLP_TOLERATE_UNPROTECTED_YES
    Whether messages without protection are accepted.
KEYREUSE MQIA_KEY_REUSE_COUNT integer=1..9999999 default=DISABLED DISABLED=MQKEY_REUSE_DISABLED \
UNLIMITED=MQKEY_REUSE_UNLIMITED
    For how many messages one key serves.
""")
