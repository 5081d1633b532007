"""Every structure of the package, in every version, through the verbs that take it; and what sizes they have."""

import sys

import pymqi
from pymqi import CMQC

CLASSES = (
    pymqi.CD,
    pymqi.CMHO,
    pymqi.GMO,
    pymqi.IMPO,
    pymqi.MD,
    pymqi.OD,
    pymqi.PD,
    pymqi.PMO,
    pymqi.SCO,
    pymqi.SD,
    pymqi.SMPO,
    pymqi.SRO,
    pymqi.TM,
    pymqi.TMC2,
)
for each in CLASSES:
    print("size", each.__name__, each().get_length())

qmgr = pymqi.connect(*sys.argv[1:])
queue = pymqi.Queue(qmgr, "STRUCTURES", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
for version in (1, 2):
    for put_version in (1, 2, 3):
        for get_version in (1, 2, 3, 4):
            md, pmo = pymqi.MD(Version=version), pymqi.PMO(Version=put_version)
            queue.put(b"data", md, pmo)
            md, gmo = pymqi.MD(Version=version), pymqi.GMO(Version=get_version)
            assert queue.get(None, md, gmo) == b"data"
            assert (md.Version, pmo.Version, gmo.Version) == (version, put_version, get_version)
for version in (1, 2, 3, 4):
    od = pymqi.OD(Version=version, ObjectName=b"STRUCTURES")
    pymqi.Queue(qmgr, od, CMQC.MQOO_OUTPUT).close()
    assert od.Version == version
print("verbs", True)
queue.close()
qmgr.disconnect()
for version in (1, 2, 3, 4, 5):
    qmgr = pymqi.QueueManager(None)
    cd = pymqi.CD(Version=6 + version)
    if len(sys.argv) > 2:
        cd.ChannelName, cd.ConnectionName = (text.encode() for text in sys.argv[2:4])
    qmgr.connect_with_options(sys.argv[1], cd=cd, sco=pymqi.SCO(Version=version), user="app", password="secret")
    assert qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).strip().decode() == sys.argv[1]
    qmgr.disconnect()
print("connections", True)
