"""The developer configuration of IBM's container image as MQSC, and hints for programs."""

from __future__ import annotations

from typing import Final

LISTENER: Final = "DEV.LISTENER.TCP"
APPLICATION_USER: Final = "app"
ADMINISTRATOR_USER: Final = "admin"
APPLICATION_CHANNEL: Final = "DEV.APP.SVRCONN"
ADMINISTRATOR_CHANNEL: Final = "DEV.ADMIN.SVRCONN"
APPLICATION_PASSWORD: Final = "MQ_APP_PASSWORD"
ADMINISTRATOR_PASSWORD: Final = "MQ_ADMIN_PASSWORD"
EVERYWHERE: Final = "*"

# The MQSC of the developer configuration, without the listener.
SCRIPT: Final = """\
* Queues and a topic to begin with
DEFINE QLOCAL(DEV.QUEUE.1) REPLACE
DEFINE QLOCAL(DEV.QUEUE.2) REPLACE
DEFINE QLOCAL(DEV.QUEUE.3) REPLACE
DEFINE QLOCAL(DEV.DEAD.LETTER.QUEUE) REPLACE
ALTER QMGR DEADQ(DEV.DEAD.LETTER.QUEUE)
DEFINE TOPIC(DEV.BASE.TOPIC) TOPICSTR('dev/') REPLACE
* Administrators show a password, and a connection goes on as the user whose password was right
DEFINE AUTHINFO(DEV.AUTHINFO) AUTHTYPE(IDPWOS) CHCKCLNT(REQDADM) CHCKLOCL(OPTIONAL) ADOPTCTX(YES) REPLACE
ALTER QMGR CONNAUTH(DEV.AUTHINFO) CHLAUTH(ENABLED)
REFRESH SECURITY TYPE(CONNAUTH)
* A channel for applications and one for administrators
DEFINE CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) MCAUSER('app') REPLACE
DEFINE CHANNEL(DEV.ADMIN.SVRCONN) CHLTYPE(SVRCONN) REPLACE
* Nobody comes in, but for those who give a password on the one and the user admin on the other
SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) +
  DESCR('Nobody, where no other rule says so') ACTION(REPLACE)
SET CHLAUTH(DEV.APP.SVRCONN) TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL) CHCKCLNT(REQUIRED) +
  DESCR('Applications with a password') ACTION(REPLACE)
SET CHLAUTH(DEV.ADMIN.SVRCONN) TYPE(BLOCKUSER) USERLIST('nobody') +
  DESCR('Administrators may use this channel') ACTION(REPLACE)
SET CHLAUTH(DEV.ADMIN.SVRCONN) TYPE(USERMAP) CLNTUSER('admin') USERSRC(CHANNEL) CHCKCLNT(REQUIRED) +
  DESCR('The user admin with a password') ACTION(REPLACE)
* What app may do: all that programs do with DEV queues and topics, and replies on queues of its own
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)
SET AUTHREC PROFILE('DEV.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT)
SET AUTHREC PROFILE('DEV.**') OBJTYPE(TOPIC) PRINCIPAL('app') AUTHADD(PUB,SUB,RESUME)
SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,DSP,GET,INQ,PUT)
* Queues in Spark: staging queues, made from a model when they are first needed
SET AUTHREC PROFILE(SYSTEM.DURABLE.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP,PUT)
SET AUTHREC PROFILE('SPARK.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT)
"""


def listener(address: str, port: int) -> str:
    """Returns the MQSC of the listener. It runs after SCRIPT, so that the rules exist before clients can connect."""
    return f"DEFINE LISTENER({LISTENER}) TRPTYPE(TCP) {_where(address, port)} CONTROL(QMGR) REPLACE\n"


def move_listener(address: str, port: int) -> str:
    """Returns the MQSC that moves the listener to another address."""
    return f"STOP LISTENER({LISTENER}) IGNSTATE(YES)\nALTER LISTENER({LISTENER}) TRPTYPE(TCP) {_where(address, port)}\n"


def _where(address: str, port: int) -> str:
    given = address.replace("'", "''")
    return f"PORT({port}) IPADDR('{given}')"


def connection_name(address: str, port: int) -> str:
    """Returns the connection name for programs."""
    return f"{'localhost' if address in ('', EVERYWHERE) else address}({port})"


_HINTS: Final = """\
Queue manager {name} listens on {listens}.

  user   channel            may
  app    DEV.APP.SVRCONN    use DEV.QUEUE.1, 2 and 3 and whatever else is called DEV.something; topics below dev/;
                            queues in Spark, with staging queues called SPARK.something
  admin  DEV.ADMIN.SVRCONN  do everything

{plain}A program with Ostler; MQ_APP_PASSWORD in its environment is the password of app:

  import os, ostler

  with ostler.connect("{name}", "{where}", channel="DEV.APP.SVRCONN",
                      user="app", password=os.environ["MQ_APP_PASSWORD"]) as qm:
      with qm.open("DEV.QUEUE.1") as queue:
          queue.put("hello")
          print(queue.get(wait=5).text)

A program with ibmmq, as it is:

  import os, ibmmq

  qmgr = ibmmq.connect("{name}", "DEV.APP.SVRCONN", "{where}", "app", os.environ["MQ_APP_PASSWORD"])
  queue = ibmmq.Queue(qmgr, "DEV.QUEUE.1", ibmmq.CMQC.MQOO_INPUT_SHARED | ibmmq.CMQC.MQOO_OUTPUT)
  queue.put(b"hello")
  print(queue.get())
  qmgr.disconnect()

A program with pymqi, as it is:

  import os, pymqi

  qmgr = pymqi.connect("{name}", "DEV.APP.SVRCONN", "{where}", "app", os.environ["MQ_APP_PASSWORD"])
  queue = pymqi.Queue(qmgr, "DEV.QUEUE.1", pymqi.CMQC.MQOO_INPUT_SHARED | pymqi.CMQC.MQOO_OUTPUT)
  queue.put(b"hello")
  print(queue.get())
  qmgr.disconnect()

  ostler runmqsc {name}                   MQSC commands
  ostler users set-password {name} app    another password
  ostler endmqm {name}                    its end

MQSC commands as a client, by the user admin:

  MQSERVER='DEV.ADMIN.SVRCONN/TCP/{where}' ostler runmqsc -c -u admin {name}
"""
_OVER_THE_NETWORK: Final = (
    "Other machines reach it, and without TLS passwords cross the network for all to read. See docs/how-to/tls.md;\n"
    "where you trust the network:\n\n  export OSTLER_ALLOW_PLAIN_PASSWORD=1\n\n"
)


def is_loopback(address: str) -> bool:
    return address in ("localhost", "::1") or address.startswith("127.")


def hints(name: str, address: str, port: int) -> str:
    """Returns code to paste into programs; the same at every run."""
    listens = f"all addresses, port {port}" if address in ("", EVERYWHERE) else f"{address}({port})"
    plain = "" if is_loopback(address) else _OVER_THE_NETWORK
    return _HINTS.format(name=name, listens=listens, where=connection_name(address, port), plain=plain)
