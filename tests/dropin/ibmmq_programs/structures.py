"""Every structure of the package, in every version, through the verbs that take it; and what sizes they have."""

import sys

import ibmmq
from ibmmq import CMQC, ibmmqc

CLASSES = (
    ibmmq.BNO,
    ibmmq.CBC,
    ibmmq.CBD,
    ibmmq.CD,
    ibmmq.CMHO,
    ibmmq.CNO,
    ibmmq.CSP,
    ibmmq.CTLO,
    ibmmq.DLH,
    ibmmq.DMHO,
    ibmmq.DMPO,
    ibmmq.GMO,
    ibmmq.IIH,
    ibmmq.IMPO,
    ibmmq.MD,
    ibmmq.MDE,
    ibmmq.OD,
    ibmmq.PD,
    ibmmq.PMO,
    ibmmq.SCO,
    ibmmq.SD,
    ibmmq.SMPO,
    ibmmq.SRO,
    ibmmq.STS,
    ibmmq.TM,
    ibmmq.TMC2,
    ibmmq.XQH,
)
for each in CLASSES:
    print("size", each.__name__, each().get_length())


def connected(**structures: object) -> bool:
    qmgr = ibmmq.connect(*sys.argv[1:], **structures)
    qmgr.disconnect()
    return True


qmgr = ibmmq.connect(*sys.argv[1:])
hconn = qmgr.get_handle()
queue = ibmmq.Queue(qmgr, "STRUCTURES", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
for version in range(1, ibmmqc.__strucversions__["md"] + 1):
    for put_version in range(1, ibmmqc.__strucversions__["pmo"] + 1):
        for get_version in range(1, ibmmqc.__strucversions__["gmo"] + 1):
            md, pmo = ibmmq.MD(Version=version), ibmmq.PMO(Version=put_version)
            queue.put(b"data", md, pmo)
            md, gmo = ibmmq.MD(Version=version), ibmmq.GMO(Version=get_version)
            data = queue.get(None, md, gmo)
            versions = (md.Version, pmo.Version, gmo.Version)
            assert data == b"data", data
            assert versions == (version, put_version, get_version), versions
            assert gmo.ResolvedQName.strip() == pmo.ResolvedQName.strip() == b"STRUCTURES"
            assert (gmo.ReturnedLength == 4) == (get_version > 2), gmo.ReturnedLength
            assert (gmo.MsgToken != bytes(16)) == (get_version > 2), gmo.MsgToken
for version in range(1, ibmmqc.__strucversions__["od"] + 1):
    od = ibmmq.OD(Version=version, ObjectName="STRUCTURES")
    other = ibmmq.Queue(qmgr, od, CMQC.MQOO_OUTPUT)
    assert od.Version == version
    assert (od.ResolvedQName.strip(b" \0") == b"STRUCTURES") == (version > 2), od.ResolvedQName
    other.close()
    qmgr.put1(ibmmq.OD(Version=version, ObjectName="STRUCTURES"), b"one")
    assert queue.get() == b"one"
for version in range(1, ibmmqc.__strucversions__["sts"] + 1):
    status, code, reason = ibmmqc.MQSTAT(hconn, CMQC.MQSTAT_TYPE_ASYNC_ERROR, ibmmq.STS(Version=version).pack())
    assert (code, reason, ibmmq.STS().unpack(status).Version) == (0, 0, version)
print("verbs", True)

for version in range(1, ibmmqc.__strucversions__["cno"] + 1):
    assert connected(cno=ibmmq.CNO(Version=version))
for version in range(1, ibmmqc.__strucversions__["csp"] + 1):
    assert connected(csp=ibmmq.CSP(Version=version))
for version in range(1, ibmmqc.__strucversions__["sco"] + 1):
    assert connected(sco=ibmmq.SCO(Version=version))
assert connected(bno=ibmmq.BNO(), cno=ibmmq.CNO(Version=8, ApplName="a name of its own"))
for version in range(2 if len(sys.argv) > 2 else 1, ibmmqc.__strucversions__["cd"] + 1):
    assert connected(cd=ibmmq.CD(Version=version))
print("connections", True)
queue.close()
qmgr.disconnect()
