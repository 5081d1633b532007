"""A message with an RFH2 header."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
queue = pymqi.Queue(qmgr, "HEADERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
header = pymqi.RFH2()
header["NameValueCCSID"] = 1208
header["Format"] = CMQC.MQFMT_STRING
header["CodedCharSetId"] = 1208
header.add_folder(b"<mine><a>1</a></mine>")
md = pymqi.MD(Format=CMQC.MQFMT_RF_HEADER_2, CodedCharSetId=1208, Encoding=CMQC.MQENC_NATIVE)
queue.put_rfh2(b"behind", md, pymqi.PMO(), [header])
headers: list[pymqi.RFH2] = []
gmo = pymqi.GMO(Options=CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2)
print("got", queue.get_rfh2(None, pymqi.MD(), gmo, headers), headers[0]["mine"], headers[0]["Format"])
queue.close()
qmgr.disconnect()
